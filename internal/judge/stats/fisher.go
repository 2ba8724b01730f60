package stats

import "math"

// MoreOften is the p-value of k of n against j of m, if both have the same probability: the probability of k or
// more among the k + j (Fisher's exact test, one-sided).
func MoreOften(k, n, j, m int) (p float64) {
	all := k + j
	whole := choose(n+m, all)
	for i := k; i <= min(all, n); i++ {
		if all-i <= m {
			p += math.Exp(choose(n, i) + choose(m, all-i) - whole)
		}
	}
	return min(p, 1)
}

// choose is the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
