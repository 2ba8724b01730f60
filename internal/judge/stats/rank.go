package stats

import (
	"cmp"
	"math"
	"slices"
)

// MaxSigned is the largest number of differences for which the signed-rank test uses its exact
// distribution; R uses it below 50. The sums of 60 ranks need 30 µs.
const MaxSigned = 60

// maxChosen is the largest k·N (size of the smaller group × size of both) for which the rank-sum test
// uses its exact distribution. That costs at most (k·N)² additions: 1 ms, and an interval needs 25
// such distributions. For 25 runs against 25, k·N is 1250.
const maxChosen = 1250

// snap rounds values to multiples of 10⁻¹² of largest, so that values that differ only by the rounding
// of a subtraction are ties.
func snap(values []float64, largest float64) {
	if largest == 0 {
		return
	}
	for i, v := range values {
		values[i] = math.Round(v / largest * 1e12)
	}
}

// doubledRanks returns twice the ranks of values, starting at 2. Equal values share the mean of their
// ranks, and twice that mean is an integer.
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
			ranks[i] = from + to + 1 // twice the mean of the ranks from+1 … to
		}
		from = to
	}
	return ranks
}

// signTail is the probability that the ranks add up to at most t if a fair coin decides about each
// rank. This is the null distribution of the signed-rank statistic given its ranks (Hollander, Wolfe &
// Chicken, Nonparametric Statistical Methods, 3rd ed., 3.1).
func signTail(ranks []int, t int) float64 {
	if len(ranks) > MaxSigned {
		return signNormal(ranks, t, 1)
	}
	return signExact(ranks, t)
}

// signNormal is the normal approximation of signTail, with a continuity correction and the variance ×
// stretch.
func signNormal(ranks []int, t int, stretch float64) float64 {
	var sum, squares float64
	for _, r := range ranks {
		sum += float64(r)
		squares += float64(r) * float64(r)
	}
	return NormalCDF((float64(t) + 1 - sum/2) / math.Sqrt(squares/4*stretch))
}

// signExact is signTail, exact even with ties.
func signExact(ranks []int, t int) float64 {
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
	return min(1, Total(p))
}

// chooseTail is the probability that k of the ranks, drawn without replacement, add up to at most t.
// This is the null distribution of the rank sum (Hollander et al., 4.1).
func chooseTail(ranks []int, k, t int) float64 {
	if k*len(ranks) > maxChosen {
		return chooseNormal(ranks, k, t)
	}
	return chooseExact(ranks, k, t)
}

// chooseNormal is the normal approximation of chooseTail, with the variance of a sum drawn from a
// finite population and a continuity correction.
func chooseNormal(ranks []int, k, t int) float64 {
	n := len(ranks)
	mean, squares := float64(n+1), 0.0
	for _, r := range ranks {
		squares += (float64(r) - mean) * (float64(r) - mean)
	}
	variance := float64(k) * float64(n-k) / float64(n) / float64(n-1) * squares
	return NormalCDF((float64(t) + 1 - float64(k)*mean) / math.Sqrt(variance))
}

// chooseExact is chooseTail, exact even with ties.
func chooseExact(ranks []int, k, t int) float64 {
	least := slices.Min(ranks)
	t -= k * least // ranks are reduced by least, so there are fewer sums
	if t < 0 {
		return 0
	}
	ways := make([][]float64, k+1) // ways[j][s]: number of ways to draw j ranks with the sum s
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
	return min(1, Total(ways[k])/Choose(len(ranks), k))
}

// Choose is the binomial coefficient: the number of ways to draw k of n.
func Choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return math.Round(c)
}

// Total is the sum of values.
func Total(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum
}

// Median returns the median of sorted values.
func Median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// MedianOf returns the median of values in any order.
func MedianOf(values []float64) float64 { return Median(slices.Sorted(slices.Values(values))) }
