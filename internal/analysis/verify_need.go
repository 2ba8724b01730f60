package analysis

import (
	"math"
	"math/rand/v2"
)

const (
	needPower  = 0.9 // the chance to conclude that a needed number gives
	needTrials = 200 // of a simulation: the chance is then right to about 2 points
	mostNeeded = 999 // more is as good as never

	mostSimulated = 20 // pairs: 0.3 ms a simulation
)

// surePower is the chance to conclude that the upper number of a forecast of pairs gives.
const surePower = 0.95

// leastPairs is the smallest number of pairs that can give a two-sided p of alpha: all
// differences on one side, 2 ÷ 2ⁿ.
func leastPairs(alpha float64) int {
	n := 1
	for math.Pow(2, float64(1-n)) > alpha {
		n++
	}
	return n
}

// leastRuns is the same for the runs of each of two groups: 2 ÷ (2n over n).
func leastRuns(alpha float64) int {
	n := 1
	for 2/choose(2*n, n) > alpha {
		n++
	}
	return n
}

// pairsNeeded is about how many pairs conclude with needPower at the level alpha, when
// their differences are normal and the true one lies 1 ÷ ratio standard deviations from
// the tolerance. The few p-values that few pairs can have are simulated with the test
// itself; above mostSimulated byEfficiency is right to a pair or two.
func pairsNeeded(ratio, alpha float64) int {
	n := max(leastPairs(alpha), byEfficiency(ratio*ratio, alpha, 2))
	for n < mostSimulated && pairPower(n, ratio, alpha) < needPower {
		n++
	}
	return n
}

// pairPower is the share of simulated verifications that conclude; the seed is fixed.
func pairPower(n int, ratio, alpha float64) float64 {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	d, found := make(paired, n), 0
	for range needTrials {
		for i := range d {
			d[i] = 1 + ratio*r.NormFloat64()
		}
		if d.p(0) <= alpha {
			found++
		}
	}
	return float64(found) / needTrials
}

// runsNeeded is the same for the runs of each of two groups, whose difference varies twice
// as much as one of them.
func runsNeeded(ratio, alpha float64) int {
	return max(leastRuns(alpha), byEfficiency(2*ratio*ratio, alpha, 4))
}

// byEfficiency is the size of the sample that Student's test needs: that of the normal
// test and z² ÷ 2, or ÷ 4 with two groups, for the spread that has to be estimated
// (Guenther, The American Statistician 35, 1981, 243–244). The normal part is divided by
// 3/π, the efficiency of Wilcoxon's tests beside it when values are normal (Hodges &
// Lehmann, Annals of Mathematical Statistics 27, 1956, 324–335).
func byEfficiency(variance, alpha, part float64) int {
	return byPower(variance, alpha, part, needPower)
}

// byPower is byEfficiency for another chance to conclude.
func byPower(variance, alpha, part, power float64) int {
	z := normalQuantile(1 - alpha/2)
	both := z + normalQuantile(power)
	return int(min(mostNeeded, math.Ceil(both*both*variance*math.Pi/3+z*z/part)))
}

// cautious is the distance from the tolerance that a forecast reckons with, so that nineteen of
// twenty come true. The distance that values show is uncertain by se, and one that is too large
// by chance makes a number that is too small. So half a standard error is taken off. What is
// left may lie that near by chance, so it counts as one standard error at least.
func cautious(off, se float64) float64 { return max(off-se/2, se) }

// need is how many pairs, or runs of each side, a conclusion takes.
type need struct {
	n      int  // enough in nineteen of twenty cases; of runs, in nine of ten if the difference stays
	likely int  // enough in nine of ten cases if the difference stays as it is
	least  bool // n is the least number that can prove anything: the runs so far are too few
	clear  bool // least, and enough for a difference as large as the one so far
}

// need is a forecast. So few pairs or runs that can prove nothing at the level alpha give none.
func (g *gate) need(have int, method Method, alpha float64) need {
	needed, least, se := runsNeeded, leastRuns, g.sd*math.Sqrt(2/float64(have))
	if method == Paired {
		needed, least, se = pairsNeeded, leastPairs, g.sd/math.Sqrt(float64(have))
	}
	off := math.Abs(g.s.estimate() - g.bound)
	if g.s.least() > alpha {
		n := least(alpha)
		sure := off - se // NaN with one pair
		return need{n, n, true, have >= spreadPairs && sure > 0 && g.s.estimate() > g.bound && needed(g.sd/sure, alpha) <= n}
	}
	distance := max(off, se) // what lies nearer may lie there by chance
	if distance == 0 {
		return need{n: mostNeeded, likely: mostNeeded} // all lie on the tolerance
	}
	likely := needed(g.sd/distance, alpha)
	if method != Paired {
		return need{n: likely, likely: likely}
	}
	ratio := g.sd / cautious(off, se)
	return need{n: max(likely, byPower(ratio*ratio, alpha, 2, surePower)), likely: likely}
}
