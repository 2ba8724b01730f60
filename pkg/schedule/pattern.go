package schedule

import (
	"math"
	"sort"
	"time"
)

// MaxPattern is the largest number of arrivals of a Pattern: 64 MiB.
const MaxPattern = 1 << 23

// Pattern is the spacing of recorded arrivals, such as those of a log, for Spec.Like. It keeps their
// instants: 8 bytes an arrival.
//
// A schedule of n expected operations uses the first n arrivals, or all of them again and again if
// there are fewer. It stretches them evenly, so that there is one a unit of Λ on average: at a constant
// rate the gaps are those of the log times one factor, and on a ramp the log passes the faster, the
// higher the rate is. From the last arrival to the first of the next pass it is one mean gap.
type Pattern struct {
	name string
	at   []time.Duration // since the first arrival; never falls
}

// NewPattern is a Pattern without arrivals. The name is for the report.
func NewPattern(name string) *Pattern { return &Pattern{name: name} }

// Add adds the arrival at an instant. One before the last arrival counts as simultaneous with that.
// It reports false, and adds nothing, if there are MaxPattern arrivals.
func (p *Pattern) Add(at time.Duration) bool {
	if len(p.at) == MaxPattern {
		return false
	}
	if n := len(p.at); n > 0 {
		at = max(at, p.at[n-1])
	}
	p.at = append(p.at, at)
	return true
}

// Len is the number of arrivals.
func (p *Pattern) Len() int { return len(p.at) }

// span is the time from the first arrival to the last one.
func (p *Pattern) span() time.Duration { return p.at[len(p.at)-1] - p.at[0] }

// CV is the coefficient of variation of the gaps: standard deviation ÷ mean; 0 with fewer than two
// gaps, or if all arrivals are at one instant.
func (p *Pattern) CV() float64 {
	n := float64(len(p.at) - 1)
	if n < 2 || p.span() == 0 {
		return 0
	}
	mean, squares := float64(p.span())/n, 0.0
	for i, at := range p.at[1:] {
		d := float64(at-p.at[i]) - mean
		squares += d * d
	}
	return math.Sqrt(squares/(n-1)) / mean
}

// numbers are those of a schedule with so many expected operations.
func (p *Pattern) numbers(expected uint64) *repeated {
	at := p.at[:min(uint64(len(p.at)), max(expected, 1))]
	r := &repeated{at: at}
	r.units, r.span = float64(len(at)-1), float64(max(1, at[len(at)-1]-at[0]))
	return r
}

// most is how many arrivals there are at most within so many units of Λ.
func (p *Pattern) most(units float64) float64 {
	r := p.numbers(uint64(math.Ceil(units)))
	n := float64(len(r.at))
	passes := math.Floor(units / n)
	rest := units - passes*n
	return passes*n + float64(sort.Search(len(r.at), func(i int) bool { return r.number(i) >= rest }))
}

// repeated gives recorded arrivals in units of their mean gap, again and again. It computes each number
// from the arrival's instant, so errors do not accumulate.
type repeated struct {
	at          []time.Duration
	units, span float64 // from the first arrival of a pass to its last; span in nanoseconds
	passed      float64 // units of the passes before
	i           int     // of at, the next arrival
}

// number is arrival i of a pass.
func (r *repeated) number(i int) float64 { return float64(r.at[i]-r.at[0]) * r.units / r.span }

func (r *repeated) next(x float64) float64 {
	if r.i == len(r.at) {
		r.i, r.passed = 0, r.passed+float64(len(r.at))
	}
	x = max(x, r.passed+r.number(r.i))
	r.i++
	return x
}
