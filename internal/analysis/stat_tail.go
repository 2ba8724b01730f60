package analysis

import "math"

// tail is a duet's evidence about a high percentile, from two figures. The percentile of all operations
// together shows pauses that only a few windows have, but such pauses also make it uncertain. The
// percentiles of each window hardly depend on them, and show a change in most windows much sooner.
//
// Either figure can prove that head is worse, each with half of the error probability. Only both
// together can prove that head is not worse.
type tail struct {
	pooled resampled
	each   serial
	bound  float64 // the tolerance, on which the choice of lead depends
}

// lead is the shift that decides: the clearer one of the shifts that say worse; if neither does, the
// one that is less sure.
func (t tail) lead() shift {
	pooled, each := t.pooled.estimate() > t.bound, t.each.estimate() > t.bound
	clearer := t.each.p(t.bound) < t.pooled.p(t.bound)
	if pooled == each && clearer == pooled || each && !pooled {
		return t.each
	}
	return t.pooled
}

func (t tail) estimate() float64 { return t.lead().estimate() }

func (t tail) least() float64 { return max(t.pooled.least(), t.each.least()) }

// p is the smallest p-value of the estimates above theta, doubled because either alone may prove that
// theta is exceeded. If no estimate is above theta, it is the larger p-value of both.
func (t tail) p(theta float64) float64 {
	exceeded, reached := 1.0, false
	both := 0.0
	for _, s := range []shift{t.pooled, t.each} {
		p := s.p(theta)
		if s.estimate() > theta {
			exceeded, reached = min(exceeded, 2*p), true
		}
		both = max(both, p)
	}
	if reached {
		return exceeded
	}
	return both
}

func (t tail) interval(alpha float64) (low, high float64) {
	pooledLow, pooledHigh := t.pooled.interval(alpha)
	eachLow, eachHigh := t.each.interval(alpha)
	low, high = min(pooledLow, eachLow), max(pooledHigh, eachHigh)
	if lead := t.lead(); lead.estimate() > t.bound {
		low, _ = lead.interval(alpha / 2)
	}
	return min(low, t.estimate()), math.Max(high, t.estimate())
}
