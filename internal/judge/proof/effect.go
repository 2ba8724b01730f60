package proof

import (
	"math"

	"github.com/taktload/takt/internal/judge/stats"
)

// effect is the design effect of dependent operations (Kish, Survey Sampling, 1965, 8.2): n of them say as much
// about a share as n ÷ d independent ones.
type effect struct {
	d       float64
	serial  float64 // correlation of neighbouring blocks
	above   float64 // operations that the share has
	freedom float64 // degrees of freedom of d; +Inf: chance alone explains the blocks, so d is 1
}

const (
	mostSerial = 0.8   // largest correlation of neighbours that is believed
	chance     = 1.684 // variance ÷ that of independent operations, up to which chance explains it: chi-squared ÷ 31 at 99 %
	neighbours = 0.41  // correlation of neighbours up to which chance explains it: 2.33 standard errors of 32 blocks
	leastBlock = 16    // blocks, below which their variance is not believed
	leastAlone = 50    // independent operations, below which the effect itself is not believed
)

// effectOf is the effect of dependence on a share: part of all operations, by block. The variance of the share is
// that of the blocks' deviations from it, e = part − share·all, times the stretch (1+r)÷(1−r) of an AR(1) process
// whose neighbours have the correlation r, which has the bias term of Marriott and Pope (Biometrika 41, 1954).
func effectOf(part, all []float64) effect {
	x, n, b := stats.Total(part), stats.Total(all), float64(len(all))
	independent := x * (1 - x/max(1, n))
	if independent <= 0 {
		return effect{d: 1, above: x, freedom: math.Inf(1)}
	}
	var squares, products, before float64
	for i := range part {
		e := part[i] - x/n*all[i]
		squares, products, before = squares+e*e, products+e*before, e
	}
	if squares == 0 {
		return effect{d: 1, above: x, freedom: b - 1}
	}
	serial := (products/squares + 1/b) / (1 - 3/b)
	r := min(max(serial, 0), mostSerial)
	return effect{max(1, squares*b/(b-1)/independent*(1+r)/(1-r)), serial, x, b - 1}
}

// unlessChance is 1 if chance explains what the blocks show.
func (e effect) unlessChance() effect {
	r := min(max(e.serial, 0), mostSerial)
	if ratio := e.d * (1 - r) / (1 + r); ratio < chance && e.serial < neighbours {
		e.d, e.freedom = 1, math.Inf(1)
	}
	return e
}

// size is how many independent operations say as much as n, where each end of an interval may miss with the
// probability miss: the variance is an estimate itself, so Student's t takes the place of the normal quantile.
func (e effect) size(n, miss float64) float64 { return min(n*e.worth(miss), n, mostSize) }

// worth is the part of its operations that a run counts as.
func (e effect) worth(miss float64) float64 {
	part := 1 / e.d
	if e.d > 1 && !math.IsInf(e.freedom, 1) {
		t := stats.StudentQuantile(1-miss, e.freedom) / stats.NormalQuantile(1-miss)
		part /= t * t
	}
	return part
}

// mostSize is the largest size. It is far beyond what histograms of three digits can show, and larger sizes take
// long.
const mostSize = 1e7
