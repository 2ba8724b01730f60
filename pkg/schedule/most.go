package schedule

import (
	"cmp"
	"math"
)

// surplus is −ln 10⁻⁹: one run of 10⁹ may have more operations than Most.
const surplus = 20.7

// Most is the largest number of operations of s, all shards and the warm-up together, which s without
// arrivals at random has at most, and of 10⁹ runs with such arrivals all but one; +Inf: no limit. s is
// valid and no closed loop.
func (s Spec) Most() float64 {
	warm, all := s.Warmup.Seconds()*s.Stages[0].From, 0.0
	for _, g := range s.Stages {
		if g.Duration == 0 {
			all = math.Inf(1)
		}
		all += g.Duration.Seconds() * (g.From + g.To) / 2
	}
	most := s.within(warm + all)
	if s.Limit > 0 {
		most = min(most, s.within(warm)+float64(s.Limit))
	}
	return most
}

// within is Most within so many units of Λ.
func (s Spec) within(units float64) float64 {
	switch {
	case units == 0 || math.IsInf(units, 1):
		return units
	case s.Like != nil:
		return s.Like.most(units)
	case s.drawn():
		return mostGamma(units, cmp.Or(s.Gamma, 1)) // Poisson has the CV 1
	}
	return math.Ceil(units)
}

// mostGamma is the number n of gaps that end within so many units with a probability of 10⁻⁹ at most.
// Their sum has the shape n/CV². For a gamma variate of shape a and x < a, Chernoff's bound of
// P(variate < x) is exp(−(x − a + a·ln(a/x))).
func mostGamma(units, cv float64) float64 {
	x := units / (cv * cv)
	unlikely := func(a float64) bool { return x-a+a*math.Log(a/x) >= surplus }
	low, high := x, 2*x+surplus // unlikely(high), whatever x is
	for range 60 {
		if middle := (low + high) / 2; unlikely(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Ceil(high*cv*cv) + 1 // the first number is a part of a gap
}
