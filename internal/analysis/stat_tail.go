package analysis

import "math"

// tail is what a duet says of a high percentile, in two ways. The percentile of all operations
// together sees a pause that few seconds have, but such pauses also make it uncertain. The
// percentile of each second does not: a change that most seconds show is found long before.
//
// Either may prove that head is worse; each has half of the error then. That head is no worse
// takes both.
type tail struct {
	pooled resampled
	each   serial
	bound  float64 // the tolerance: which of the two leads depends on it
}

// lead is the shift that decides: of the shifts that say worse the clearer one, else the shift
// that is less sure of no worse.
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

// p is the smaller one of two: that theta is exceeded, and that it is not reached.
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
