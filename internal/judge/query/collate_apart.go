package query

import (
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
)

// Apart says by how much a row differs from all other rows of its group, in the group's criterion.
type Apart struct {
	Percent float64 `json:"percent"`     // of the others' figure; above 0: the figure is larger
	Low     float64 `json:"low_percent"` // ends of the interval
	High    float64 `json:"high_percent"`
	Worse   bool    `json:"worse"`
}

// The limits of markApart: fewer rows have no "rest", and the exact test of more runs takes seconds.
const (
	fewestApart = 3
	mostApart   = 400 // runs of a group
)

// markApart marks the row that stands out of its group: its figure is beyond those of all other
// rows, and the rank-sum test tells its runs from theirs. A better one is also surely the best. Holm's levels make the probability of any
// wrong mark at most bestAlpha. Of several such rows it marks the one that is furthest away. The
// test compares logarithms, so the interval is of the ratio.
func markApart(g *Group, cells []*cell) {
	m, _ := stored.MetricOf(g.Criterion)
	rows, values, total := logarithms(g, cells)
	if total > mostApart || len(rows) < fewestApart {
		return
	}
	groups, p := make([]stats.Groups, len(rows)), make([]float64, len(rows))
	for i := range rows {
		groups[i].Head = values[i]
		for j := range rows {
			if j != i {
				groups[i].Base = append(groups[i].Base, values[j]...)
			}
		}
		p[i] = groups[i].P(0)
	}
	var best *Apart
	at := 0
	for i, level := range stats.Holm(p, bestAlpha) {
		differs := func(j int) bool { return cells[rows[i]].apart(cells[j], g.Criterion) }
		if p[i] > level || !isBeyond(values, i) || slices.ContainsFunc(rows, differs) {
			continue
		}
		shift := groups[i].Estimate()
		worse := m.Higher == (shift < 0)
		if !worse && !g.Rows[rows[i]].Sure {
			continue // the second best row may be as good
		}
		low, high := groups[i].Interval(level)
		if best == nil || math.Abs(shift) > math.Abs(math.Log1p(best.Percent/100)) {
			best, at = &Apart{Percent: 100 * math.Expm1(shift), Low: 100 * math.Expm1(low), High: 100 * math.Expm1(high), Worse: worse}, rows[i]
		}
	}
	if best != nil {
		g.Rows[at].Apart = best
	}
}

// logarithms are the figures of the rows that are judged, by row, and the number of all figures.
func logarithms(g *Group, cells []*cell) (rows []int, values [][]float64, total int) {
	for _, i := range rankable(g) {
		var logs []float64
		for _, v := range figuresOf(cells[i].runs, g.Criterion) {
			if v > 0 {
				logs = append(logs, math.Log(v))
			}
		}
		if len(logs) > 0 {
			rows, values, total = append(rows, i), append(values, logs), total+len(logs)
		}
	}
	return rows, values, total
}

// isBeyond reports whether the median of row i is below or above those of all others.
func isBeyond(values [][]float64, i int) bool {
	mine, lower, higher := stats.MedianOf(values[i]), 0, 0
	for j, other := range values {
		switch at := stats.MedianOf(other); {
		case j == i:
		case at < mine:
			lower++
		case at > mine:
			higher++
		}
	}
	return lower == len(values)-1 || higher == len(values)-1
}
