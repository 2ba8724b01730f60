package analysis

import (
	"cmp"
	"math"
	"slices"
)

// maxSigned is how many differences the signed-rank test takes with its exact
// distribution; R takes it below 50. The sums of 60 ranks need 30 µs.
const maxSigned = 60

// maxChosen bounds k·N, the size of the smaller group times that of both, for the exact
// distribution of the rank sum, which costs at most (k·N)² additions: 1 ms, and an
// interval needs 25 of them. 25 runs against 25 are 1250.
const maxChosen = 1250

// snap writes values as whole multiples of 10⁻¹² of the largest of them, so that what is
// equal but for the rounding of a subtraction is a tie.
func snap(values []float64, largest float64) {
	if largest == 0 {
		return
	}
	for i, v := range values {
		values[i] = math.Round(v / largest * 1e12)
	}
}

// doubledRanks are twice the ranks of values, from 2 on. Equal values share the mean of
// their ranks, which doubled is a whole number.
func doubledRanks(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]int, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = from + to + 1 // the ranks from+1 … to
		}
		from = to
	}
	return ranks
}

// signTail is the probability that the sum of those ranks whose fair coin shows heads is
// at most t: the null distribution of the signed-rank statistic given its ranks, exact
// also with ties (Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3rd ed.,
// 3.1). Above maxSigned ranks it is the normal approximation of the same section, with
// the correction for continuity.
func signTail(ranks []int, t int) float64 {
	if len(ranks) > maxSigned {
		var sum, squares float64
		for _, r := range ranks {
			sum += float64(r)
			squares += float64(r) * float64(r)
		}
		return normalCDF((float64(t) + 1 - sum/2) / math.Sqrt(squares/4))
	}
	p := make([]float64, t+1)
	p[0] = 1
	for _, r := range ranks {
		for s := t; s >= 0; s-- {
			p[s] /= 2
			if s >= r {
				p[s] += p[s-r] / 2
			}
		}
	}
	return min(1, total(p))
}

// chooseTail is the probability that k of the ranks, drawn without replacement, sum up to
// at most t: the null distribution of the rank sum, exact also with ties (Hollander et
// al., 4.1). Beyond maxChosen it is the normal approximation, with the variance of a sum
// drawn from a finite population and the correction for continuity.
func chooseTail(ranks []int, k, t int) float64 {
	n := len(ranks)
	if k*n > maxChosen {
		mean, squares := float64(n+1), 0.0
		for _, r := range ranks {
			squares += (float64(r) - mean) * (float64(r) - mean)
		}
		variance := float64(k) * float64(n-k) / float64(n) / float64(n-1) * squares
		return normalCDF((float64(t) + 1 - float64(k)*mean) / math.Sqrt(variance))
	}
	least := slices.Min(ranks)
	t -= k * least // the sums are counted from there on: then they are fewer
	if t < 0 {
		return 0
	}
	ways := make([][]float64, k+1) // ways[j][s]: to draw j ranks of sum s
	for j := range ways {
		ways[j] = make([]float64, t+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		r -= least
		for j := min(i+1, k); j > 0; j-- {
			for s := t; s >= r; s-- {
				ways[j][s] += ways[j-1][s-r]
			}
		}
	}
	return min(1, total(ways[k])/choose(n, k))
}

// choose is the number of ways to draw k of n.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return math.Round(c)
}

func total(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum
}

// median of values that are sorted.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
