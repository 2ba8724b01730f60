package stats

import "math"

// Tail is a duet's evidence about a high percentile, from two figures. The percentile of all operations
// together shows pauses that only a few windows have, but such pauses also make it uncertain. The
// percentiles of each window hardly depend on them, and show a change in most windows much sooner.
//
// Either figure can prove that head is worse, each with half of the error probability. Only both
// together can prove that head is not worse.
type Tail struct {
	Pooled Resampled
	Each   Serial
	Bound  float64 // the tolerance, on which the choice of lead depends
}

// Lead is the shift that decides: the clearer one of the shifts that say worse; if neither does, the
// one that is less sure.
func (t Tail) Lead() Shift {
	pooled, each := t.Pooled.Estimate() > t.Bound, t.Each.Estimate() > t.Bound
	clearer := t.Each.P(t.Bound) < t.Pooled.P(t.Bound)
	if pooled == each && clearer == pooled || each && !pooled {
		return t.Each
	}
	return t.Pooled
}

// Estimate is that of the shift that decides.
func (t Tail) Estimate() float64 { return t.Lead().Estimate() }

// Least is the larger one of both figures.
func (t Tail) Least() float64 { return max(t.Pooled.Least(), t.Each.Least()) }

// P is the smallest p-value of the estimates above theta, doubled because either alone may prove that
// theta is exceeded. If no estimate is above theta, it is the larger p-value of both.
func (t Tail) P(theta float64) float64 {
	exceeded, reached := 1.0, false
	both := 0.0
	for _, s := range []Shift{t.Pooled, t.Each} {
		p := s.P(theta)
		if s.Estimate() > theta {
			exceeded, reached = min(exceeded, 2*p), true
		}
		both = max(both, p)
	}
	if reached {
		return exceeded
	}
	return both
}

// Interval covers the intervals of both figures. If the deciding shift exceeds the bound, the lower end
// is its own, with alpha/2, as in P.
func (t Tail) Interval(alpha float64) (low, high float64) {
	pooledLow, pooledHigh := t.Pooled.Interval(alpha)
	eachLow, eachHigh := t.Each.Interval(alpha)
	low, high = min(pooledLow, eachLow), max(pooledHigh, eachHigh)
	if lead := t.Lead(); lead.Estimate() > t.Bound {
		low, _ = lead.Interval(alpha / 2)
	}
	return min(low, t.Estimate()), math.Max(high, t.Estimate())
}
