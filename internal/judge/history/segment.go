package history

import (
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
)

// segmented finds the changes of values, in ascending order: the first points of new levels. level is
// the probability that it finds any change in a series without one, and a wrong one beside true ones.
type segmented struct {
	values []float64
	level  float64
	rho    float64
	found  []int
}

func segment(values []float64, level, rho float64) []int {
	s := segmented{values: values, level: level, rho: rho}
	s.within(0, len(values))
	slices.Sort(s.found)
	s.settle()
	return s.found
}

// within searches a part of the series. A part is tested at its share of the level, so all parts that
// end a search share the level of the whole (hierarchical testing: Meinshausen, Biometrika 95, 2008).
func (s *segmented) within(from, to int) {
	part := scores(s.values[from:to])
	if part == nil {
		return
	}
	level := s.level * float64(to-from) / float64(len(s.values))
	at, ok := plain(s.values[from:to])
	if !ok {
		var best split
		if best, ok = changes(part, s.rho, level); !ok {
			return
		}
		at = best.at
	}
	at += from
	s.found = append(s.found, at)
	s.within(from, at)
	s.within(at, to)
}

const (
	fewestPlain = 10 // points that can show a plain step
	plainGap    = 3  // ranges of a side, between the sides of a plain step
)

// plain finds a step between two sides that are at least plainGap times as far apart as the points of
// either. Few points have few orders, and a correlation that is known from few points is assumed large, so
// a test by orders alone would miss such a step.
func plain(values []float64) (at int, ok bool) {
	if len(values) < fewestPlain {
		return 0, false
	}
	at, ok = bestSplit(values)
	if !ok {
		return 0, false
	}
	a, b := values[:at], values[at:]
	wide := max(slices.Max(a)-slices.Min(a), slices.Max(b)-slices.Min(b))
	gap := max(slices.Min(b)-slices.Max(a), slices.Min(a)-slices.Max(b))
	return at, gap > 0 && gap >= plainGap*wide
}

// settle moves each change to the best place between its neighbours, because the first changes were
// found when others still disturbed them.
func (s *segmented) settle() {
	for range 2 {
		for i, at := range s.found {
			from, to := s.around(i)
			if best, ok := bestSplit(s.values[from:to]); ok {
				at = from + best
			}
			s.found[i] = at
		}
	}
}

// around are the ends of the two levels beside a change.
func (s *segmented) around(i int) (from, to int) { return around(s.found, i, len(s.values)) }

func around(found []int, i, n int) (from, to int) {
	to = n
	if i > 0 {
		from = found[i-1]
	}
	if i+1 < len(found) {
		to = found[i+1]
	}
	return from, to
}

// bestSplit is the best place of the one change in values.
func bestSplit(values []float64) (at int, ok bool) {
	part := scores(values)
	if part == nil || len(part) < 2*fewestBeside {
		return 0, false
	}
	best := scan(part, []interval{{0, len(part)}}, make([]float64, len(part)+1))
	return best.at, !math.IsNaN(best.distance) && best.distance > 0
}

// largeOnly leaves out changes up to a size, the smallest first. What is left out counts for the
// differences of the others, so a metric that creeps up in small steps has a change in the end.
func largeOnly(values []float64, found []int, size float64) []int {
	for len(found) > 0 {
		least, at := math.Inf(1), 0
		for i, k := range found {
			if d := math.Abs(beside(values, found, i, k).Estimate()); d < least {
				least, at = d, i
			}
		}
		if least > size {
			break
		}
		found = slices.Delete(found, at, at+1)
		settled := segmented{values: values, found: found}
		settled.settle()
	}
	return found
}

// nearest is the largest number of points of a level that estimates use: with more of them, they would
// need more than 10 ms.
const nearest = 100

// beside are the points of the levels before and after a change.
func beside(values []float64, found []int, i, at int) stats.Groups {
	from, to := around(found, i, len(values))
	return stats.Groups{Base: values[max(from, at-nearest):at], Head: values[at:min(to, at+nearest)]}
}

// eachLevel calls do for the points of each level.
func eachLevel(found []int, n int, do func(from, to int)) {
	from := 0
	for _, to := range append(slices.Clone(found), n) {
		do(from, to)
		from = to
	}
}

// residualsOf are the distances of values from the medians of their levels.
func residualsOf(values []float64, found []int) []float64 {
	residuals := make([]float64, 0, len(values))
	eachLevel(found, len(values), func(from, to int) {
		middle := stats.MedianOf(values[from:to])
		for _, v := range values[from:to] {
			residuals = append(residuals, v-middle)
		}
	})
	return residuals
}
