package verify

import (
	"math"
	"math/rand/v2"

	"github.com/taktload/takt/internal/judge/stats"
)

const (
	needPower  = 0.9 // the chance to conclude with the needed number
	needTrials = 200 // per simulation; the chance is then accurate to about 2 percentage points
	mostNeeded = 999 // more pairs or runs count as never

	mostSimulated = 20 // pairs; a simulation takes 0.3 ms
)

// surePower is the chance to conclude with the larger number of a forecast of pairs or slices, if the
// difference is as far from the tolerance as cautious assumes.
const surePower = 0.95

// leastPairs is the smallest number of pairs that can give a two-sided p of at most alpha. The smallest
// p is 2 ÷ 2ⁿ, with all differences on one side.
func leastPairs(alpha float64) int {
	n := 1
	for math.Pow(2, float64(1-n)) > alpha {
		n++
	}
	return n
}

// leastRuns is the same for the number of runs of each of two groups: the smallest p is 2 ÷ (2n over n).
func leastRuns(alpha float64) int {
	n := 1
	for 2/stats.Choose(2*n, n) > alpha {
		n++
	}
	return n
}

// pairsNeeded is about how many pairs conclude with the chance needPower at the level alpha, if their
// differences are normal and the true one lies 1 ÷ ratio standard deviations from the tolerance. Few
// pairs have only few possible p-values, so the test itself is simulated. From mostSimulated on,
// byEfficiency is accurate to a pair or two.
func pairsNeeded(ratio, alpha float64) int {
	n := max(leastPairs(alpha), byEfficiency(ratio*ratio, alpha, 2))
	for n < mostSimulated && pairPower(n, ratio, alpha) < needPower {
		n++
	}
	return n
}

// pairPower is the share of simulated series of n pairs that conclude. The seed is fixed.
func pairPower(n int, ratio, alpha float64) float64 {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	d, found := make(stats.Paired, n), 0
	for range needTrials {
		for i := range d {
			d[i] = 1 + ratio*r.NormFloat64()
		}
		if d.P(0) <= alpha {
			found++
		}
	}
	return float64(found) / needTrials
}

// runsNeeded is pairsNeeded for the runs of each of two groups. The variance of their difference is
// twice that of one group.
func runsNeeded(ratio, alpha float64) int {
	return max(leastRuns(alpha), byEfficiency(2*ratio*ratio, alpha, 4))
}

// byEfficiency is the sample size that Wilcoxon's tests need. It starts with the size for Student's
// test: that of the normal test plus z² ÷ divisor for the estimated spread. divisor is 2, or 4 with
// two groups (Guenther, The American Statistician 35, 1981, 243–244). The size of the normal test is
// divided by 3/π, the efficiency of Wilcoxon's tests for normal values (Hodges & Lehmann, Annals of
// Mathematical Statistics 27, 1956, 324–335).
func byEfficiency(variance, alpha, divisor float64) int {
	return byPower(variance, alpha, divisor, needPower)
}

// byPower is byEfficiency for another chance to conclude.
func byPower(variance, alpha, divisor, power float64) int {
	z := stats.NormalQuantile(1 - alpha/2)
	both := z + stats.NormalQuantile(power)
	return int(min(mostNeeded, math.Ceil(both*both*variance*math.Pi/3+z*z/divisor)))
}

// cautious is the distance from the tolerance that a forecast assumes. The measured distance off has
// the standard error se. If it is too large by chance, the forecast is too small, so half a standard
// error is subtracted. The result is at least one standard error, and unknown is true if it is so for
// that reason: the forecast is then the largest one that so few pairs can give, whatever is needed.
func cautious(off, se float64) (distance float64, unknown bool) {
	return max(off-se/2, se), off-se/2 < se
}

// need is how many pairs, slices, or runs of each side a conclusion requires.
type need struct {
	n       int  // enough for a difference that looks larger than it is; for runs, as likely
	likely  int  // enough in 9 of 10 cases if the difference stays as it is
	least   bool // n is the least number that can prove anything: the runs so far are too few
	clear   bool // n is least, and also enough for a difference as large as the one so far
	unknown bool // n is no forecast: it may be more
}

// estimate is what the forecasts of a series or duet said so far: a conclusion needs from low to high
// pairs or slices. Each forecast comes from a few values more than the one before, so by itself it would
// jump. The zero value has said nothing.
type estimate struct{ low, high int }

// narrow makes the estimate narrower. It reports false, and nothing is said, if the new forecast
// contradicts the earlier ones.
func (e *estimate) narrow(low, high int) bool {
	if e.high > 0 {
		low, high = max(low, e.low), min(high, e.high)
	}
	if low > high {
		return false
	}
	e.low, e.high = low, high
	return true
}

// need forecasts n and likely. If have can prove nothing at the level alpha, there is no forecast, and
// n is the least number that can.
func (g *gate) need(have int, method Method, alpha float64) need {
	needed, least, se := runsNeeded, leastRuns, g.sd*math.Sqrt(2/float64(have))
	if method == Paired {
		needed, least, se = pairsNeeded, leastPairs, g.sd/math.Sqrt(float64(have))
	}
	off := math.Abs(g.s.Estimate() - g.bound)
	if g.s.Least() > alpha {
		n := least(alpha)
		sure := off - se // NaN with one pair
		return need{n: n, likely: n, least: true, clear: have >= spreadPairs && sure > 0 && g.s.Estimate() > g.bound && needed(g.sd/sure, alpha) <= n}
	}
	distance := max(off, se) // a smaller distance may be chance
	if distance == 0 {
		return need{n: mostNeeded, likely: mostNeeded} // all values equal the tolerance
	}
	likely := needed(g.sd/distance, alpha)
	if method != Paired {
		return need{n: likely, likely: likely}
	}
	distance, unknown := cautious(off, se)
	ratio := g.sd / distance
	return need{n: max(likely, byPower(ratio*ratio, alpha, 2, surePower)), likely: likely, unknown: unknown}
}
