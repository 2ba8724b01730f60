package query

import (
	"cmp"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// maxMerged is the largest number of reports read for their histograms. At 30 intervals, a report
// contains about 50 kB of histograms, so takt reads 5 MB.
const maxMerged = 100

// columnsOf returns the metrics of a kind of run, plus the metric to sort by, and the metric that
// decides which row is best.
func columnsOf(kind string, cells []*cell, sort Sort) (names []string, criterion string) {
	k := stored.KindOf(kind)
	names, judges := slices.Clone(k.Columns), k.Judges
	missing := func(name string) bool {
		return !slices.ContainsFunc(cells, func(c *cell) bool { return len(figuresOf(c.runs, name)) > 0 })
	}
	if by := sort.metric(); by != "" && !slices.Contains(names, by) && !missing(by) {
		names = append(names, by)
	}
	if missing(judges[0]) && !missing(judges[1]) {
		return names, judges[1]
	}
	return names, judges[0]
}

// row builds the row of a cell. whole is the merged response time of its newest runs.
func (c *cell) row(metrics []string, whole pooled) Row {
	newest := c.runs[0]
	row := Row{
		StartedAt: newest.StartedAt.UTC(), RevisionDate: stored.RevisionDate(newest), Value: c.value, Revision: c.revision, Flags: c.flags,
		Figures: map[string]Figure{}, Merged: whole.runs,
	}
	for _, r := range c.runs {
		row.IDs = append(row.IDs, r.ID)
	}
	for _, name := range metrics {
		values := figuresOf(c.runs, name)
		if len(values) == 0 {
			continue
		}
		f := Figure{Value: stats.Median(values), Median: stats.Median(values), Min: values[0], Max: values[len(values)-1]}
		if of, statistic := stored.SplitName(name); of == takt.LatencyResponse {
			var ok bool
			if f.Value, ok = whole.percentile(newest, statistic); !ok {
				continue
			}
		}
		row.Figures[name] = f
	}
	return row
}

// pooled is the response time of all operations of several runs; a single run has none.
type pooled struct {
	runs     int
	response takt.Latency
}

// percentile comes from the merged histogram, or if there is none, from the newest run.
func (m pooled) percentile(newest *stored.Run, statistic string) (float64, bool) {
	if m.response.Count == 0 {
		return newest.Figures.Get(statistic)
	}
	v, missing := stored.LatencyOf(&takt.Report{Latency: map[string]takt.Latency{takt.LatencyResponse: m.response}}, takt.LatencyResponse, statistic)
	return v, missing == ""
}

// mergeCells merges the histograms of repeated runs. If there are more than maxMerged, it uses the
// newest of each row. It leaves out histograms that cannot be read.
func mergeCells(cells []*cell, load Load) (all map[*cell]pooled, unreadable []string, err error) {
	var several []*cell
	all = map[*cell]pooled{}
	for _, c := range cells {
		all[c] = pooled{runs: 1}
		if len(c.runs) > 1 {
			several = append(several, c)
		}
	}
	slices.SortStableFunc(several, func(a, b *cell) int { return cmp.Compare(len(a.runs), len(b.runs)) })
	asked, share := 0, map[*cell]int{}
	for i, c := range several { // longer rows get what shorter rows do not need
		share[c] = min(len(c.runs), (maxMerged-asked)/(len(several)-i))
		if share[c] < 2 {
			share[c] = 0
		}
		asked += share[c]
	}
	for _, c := range several {
		if share[c] == 0 {
			continue
		}
		var bad []string
		if all[c], bad, err = mergeResponse(c.runs[:share[c]], load); err != nil {
			return nil, nil, err
		}
		unreadable = append(unreadable, bad...)
	}
	return all, unreadable, nil
}

// mergedAtOnce is how many reports are in memory at once while histograms are merged.
const mergedAtOnce = 8

func mergeResponse(runs []*stored.Run, load Load) (p pooled, unreadable []string, err error) {
	h := hist.New()
	for some := range slices.Chunk(runs, mergedAtOnce) {
		var ids []string
		for _, r := range some {
			ids = append(ids, r.ID)
		}
		reports, err := load(ids...)
		if err != nil {
			return p, nil, err
		}
		for _, r := range reports {
			encoded := r.Latency[takt.LatencyResponse].HDR
			if err := h.MergeEncoded(encoded); err != nil {
				unreadable = append(unreadable, r.ID)
			} else if encoded != "" {
				p.runs++
			}
		}
	}
	return pooled{max(p.runs, 1), h.Summary()}, unreadable, nil
}

// bestAlpha is the probability that a row is marked as surely better although both are equal.
const bestAlpha = 0.05

// markBest marks the best row by the group's criterion. The mark is sure if the rank-sum test tells
// its runs from those of the second best row, in the same direction. 3 runs of each row never
// suffice: chance alone separates them once in 10 times.
func markBest(g *Group, cells []*cell) {
	m, _ := stored.MetricOf(g.Criterion)
	shown := func(i int) float64 { return g.Rows[i].Figures[g.Criterion].Value }
	judged := rankable(g)
	slices.SortStableFunc(judged, func(a, b int) int {
		if m.Higher {
			a, b = b, a
		}
		return cmp.Compare(shown(a), shown(b))
	})
	if len(judged) < 2 || shown(judged[0]) == shown(judged[1]) || cells[judged[0]].apart(cells[judged[1]], g.Criterion) {
		return
	}
	first, second := figuresOf(cells[judged[0]].runs, g.Criterion), figuresOf(cells[judged[1]].runs, g.Criterion)
	best, apart := &g.Rows[judged[0]], stats.Groups{Base: second, Head: first}
	best.Best, best.Wanted = true, wanted(len(first), len(second))
	best.Sure = best.Wanted == 0 && m.Higher == (apart.Estimate() > 0) && apart.P(0) <= bestAlpha
}

// markUnranked sets why rows are not ranked: a server that drops its events would be the most
// efficient, and fast refusals would be the best answers.
func markUnranked(g *Group, cells []*cell) {
	for i := range g.Rows {
		g.Rows[i].Unranked = stored.StandingOf(cells[i].runs...).Bars(g.Criterion)
	}
}

// rankable are the rows that may be ranked and have a figure.
func rankable(g *Group) (rows []int) {
	for i, r := range g.Rows {
		if _, ok := r.Figures[g.Criterion]; ok && r.Unranked == "" {
			rows = append(rows, i)
		}
	}
	return rows
}

// apart reports whether the metric of two rows cannot be compared.
func (c *cell) apart(other *cell, metric string) bool {
	return stored.StandingOf(c.runs...).Apart(stored.StandingOf(other.runs...), "", "", metric, stored.ErrorTolerance) != ""
}

// wanted is the fewest runs that two rows each need so that the rank-sum test can tell them apart at
// all; 0: they have enough.
func wanted(a, b int) int {
	for n := 1; ; n++ {
		if 2/stats.Choose(max(a, n)+max(b, n), max(b, n)) <= bestAlpha {
			if n <= min(a, b) {
				return 0
			}
			return n
		}
	}
}
