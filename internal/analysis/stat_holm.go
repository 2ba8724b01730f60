package analysis

import (
	"cmp"
	"slices"
)

// holm gives the level at which each of the hypotheses is tested so that the probability
// of even one false rejection is alpha at most: the smallest p against alpha ÷ m, the
// next against alpha ÷ (m − 1) and so on until one is not rejected; the rest stays at its
// level (Holm, Scandinavian Journal of Statistics 6, 1979, 65–70). A hypothesis is
// rejected if p ≤ its level, so an interval of that confidence says the same.
func holm(p []float64, alpha float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	levels, left := make([]float64, len(p)), len(p)
	for _, i := range order {
		levels[i] = alpha / float64(left)
		if p[i] <= levels[i] && left > 1 {
			left--
		}
	}
	return levels
}
