package history

import (
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
)

const (
	intervalLevel = 0.05 // of the intervals of position and size, each by itself
	redraws       = 200  // series drawn again for the position of a change
)

// change describes the i-th change, at the point k.
func (s *Series) change(g *Group, o Options, values []float64, found []int, i, k int, rho float64) Change {
	from, to := around(found, i, len(values))
	sides := beside(values, found, i, k)
	near := max(from, k-nearest)
	first, last := placed(values[near:min(to, k+nearest)], k-near, rho)
	r := g.Revisions[s.Points[k].At]
	c := Change{
		At: s.Points[k].At, Revision: r.Name, Date: r.Date,
		From: s.Points[near+first-1].At, To: s.Points[near+last].At,
		Before: s.inUnit(stats.MedianOf(values[from:k])), Now: s.inUnit(stats.MedianOf(values[k:to])),
	}
	c.After, c.Until = g.Revisions[c.From].Name, g.Revisions[c.To].Name
	difference := sides.Estimate()
	c.Difference, c.Worse = s.shown(difference), s.worse(difference) > 0
	if low, high := sized(sides, rho); !math.IsInf(low, 0) && !math.IsInf(high, 0) {
		low, high = s.shown(low), s.shown(high)
		c.Low, c.High = &low, &high
	}
	c.Accepted = c.Worse && g.accepts(c, o.Accept)
	return c
}

// stretch is the variance of a mean of correlated neighbours, divided by that of independent points.
func stretch(rho float64) float64 { return (1 + rho) / (1 - rho) }

// sized is the interval of the difference of two levels: that of the rank-sum test, wider by √stretch
// if neighbours are correlated.
func sized(sides stats.Groups, rho float64) (low, high float64) {
	low, high = sides.Interval(intervalLevel)
	middle, wide := sides.Estimate(), math.Sqrt(stretch(rho))
	return middle - (middle-low)*wide, middle + (high-middle)*wide
}

// placed is the interval of the first point of the new level: what the best split of a series varies if
// its residuals come in another order (bootstrap of change points: Antoch, Hušková & Veraverbeke,
// J. Nonparametr. Stat. 5, 1995; reflected at the estimate).
func placed(values []float64, k int, rho float64) (first, last int) {
	before, after := stats.MedianOf(values[:k]), stats.MedianOf(values[k:])
	s := newShuffler(residualsOf(values, []int{k}), rho)
	again := make([]float64, len(values))
	var at []int
	for range redraws {
		copy(again, s.draw())
		for i := range again {
			if i < k {
				again[i] += before
			} else {
				again[i] += after
			}
		}
		if best, ok := bestSplit(again); ok {
			at = append(at, best)
		}
	}
	if len(at) == 0 {
		return k, k
	}
	slices.Sort(at)
	skip := int(intervalLevel / 2 * float64(len(at)))
	first, last = 2*k-at[len(at)-1-skip], 2*k-at[skip]
	return max(1, min(first, k)), min(len(values)-1, max(last, k))
}
