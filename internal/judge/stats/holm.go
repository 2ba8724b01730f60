package stats

import (
	"cmp"
	"slices"
)

// Holm returns the level at which to test each of the hypotheses, so that the probability of any false
// rejection is at most alpha. The smallest p is compared with alpha ÷ m, the next with
// alpha ÷ (m − 1) and so on until a hypothesis is not rejected; all further ones have the same level
// as that one (Holm, Scandinavian Journal of Statistics 6, 1979, 65–70). A hypothesis is rejected if
// p ≤ its level, so an interval with the confidence 1 − level agrees with the test.
func Holm(p []float64, alpha float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	levels, left := make([]float64, len(p)), len(p)
	for _, i := range order {
		levels[i] = alpha / float64(left)
		if p[i] <= levels[i] {
			left-- // 0 after the last
		}
	}
	return levels
}
