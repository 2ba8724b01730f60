package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// maxMerged is how many reports are read for their histograms. At 30 intervals a report
// has about 50 kB of them, so this is 5 MB to read.
const maxMerged = 100

// columnsOf are the metrics of a kind of run, and the one that says which row is best.
func columnsOf(kind string, cells []*cell) (names []string, criterion string) {
	names, judges := []string{"rate", "p50", "p99", "p99.9", "errors"}, []string{"p99", "rate"}
	if kind == "apm" {
		names = []string{"pushed", "accepted", "throughput", "latency", "index", "max_rss", "efficiency", "p50", "p99"}
		judges = []string{"efficiency", "p99"}
	}
	for _, name := range judges {
		if slices.ContainsFunc(cells, func(c *cell) bool { return len(figuresOf(c.runs, name)) > 0 }) {
			return names, name
		}
	}
	return names, judges[0]
}

// row makes the row of a cell. whole is the response time of the newest so many runs.
func (c *cell) row(metrics []string, whole pooled) Row {
	newest := c.runs[0]
	row := Row{
		StartedAt: newest.StartedAt.UTC(), RevisionDate: revisionDate(newest), Value: c.value, Revision: c.revision, Flags: c.flags,
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
		f := Figure{Value: median(values), Min: values[0], Max: values[len(values)-1]}
		if of, statistic := split(name); of == takt.LatencyResponse {
			var ok bool
			if f.Value, ok = whole.percentile(newest, statistic); !ok {
				continue
			}
		}
		row.Figures[name] = f
	}
	return row
}

// revisionDate is the zero time where the label is missing or no date.
func revisionDate(r *Run) time.Time {
	date, err := time.Parse(time.RFC3339, r.Labels[labelRevisionDate])
	if err != nil {
		return time.Time{}
	}
	return date.UTC()
}

// pooled is the response time of all operations of several runs.
type pooled struct {
	runs     int
	response takt.Latency
}

// percentile is that of the merged histogram, or of the newest run when it is of that
// run alone.
func (m pooled) percentile(newest *Run, statistic string) (float64, bool) {
	if m.runs <= 1 {
		return newest.Figures.Get(statistic)
	}
	v, missing := latency(&takt.Report{Latency: map[string]takt.Latency{takt.LatencyResponse: m.response}}, takt.LatencyResponse, statistic)
	return v, missing == ""
}

// mergeCells merges the histograms of repeated runs, of each row the newest ones when
// all of them are more than maxMerged.
func mergeCells(cells []*cell, load Load) (map[*cell]pooled, error) {
	var several []*cell
	all := map[*cell]pooled{}
	for _, c := range cells {
		all[c] = pooled{runs: 1}
		if len(c.runs) > 1 {
			several = append(several, c)
		}
	}
	slices.SortStableFunc(several, func(a, b *cell) int { return cmp.Compare(len(a.runs), len(b.runs)) })
	var ids []string
	share := map[*cell]int{}
	for i, c := range several { // what short rows leave is for the longer ones
		share[c] = min(len(c.runs), (maxMerged-len(ids))/(len(several)-i))
		if share[c] < 2 {
			share[c] = 0
		}
		for _, r := range c.runs[:share[c]] {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return all, nil
	}
	reports, err := load(ids...)
	if err != nil {
		return nil, err
	}
	for _, c := range several {
		if share[c] == 0 {
			continue
		}
		if all[c], err = mergeResponse(reports[:share[c]]); err != nil {
			return nil, err
		}
		reports = reports[share[c]:]
	}
	return all, nil
}

func mergeResponse(reports []*takt.Report) (pooled, error) {
	h, n := hist.New(), 0
	for _, r := range reports {
		encoded := r.Latency[takt.LatencyResponse].HDR
		if err := h.MergeEncoded(encoded); err != nil {
			return pooled{}, fmt.Errorf("run %s: %w", r.ID, err)
		}
		if encoded != "" {
			n++
		}
	}
	return pooled{max(n, 1), h.Summary()}, nil
}

// bestAlpha is the probability with which rows that are equal are told apart.
const bestAlpha = 0.05

// markBest marks the row that is best by the criterion. It is sure when the rank-sum
// test tells its runs from those of the second best. 3 runs of each never suffice:
// they are apart by chance once in 10 times.
func markBest(g *Group, cells []*cell) {
	m, _ := MetricOf(g.Criterion)
	var judged []int
	values := make([][]float64, len(cells))
	for i, c := range cells {
		if values[i] = figuresOf(c.runs, g.Criterion); len(values[i]) > 0 {
			judged = append(judged, i)
		}
	}
	if len(judged) < 2 {
		return
	}
	slices.SortStableFunc(judged, func(a, b int) int {
		order := cmp.Compare(median(values[a]), median(values[b]))
		if m.Higher {
			return -order
		}
		return order
	})
	first, second := values[judged[0]], values[judged[1]]
	if median(first) == median(second) {
		return
	}
	best := &g.Rows[judged[0]]
	best.Best, best.Wanted = true, wanted(len(first), len(second))
	best.Sure = best.Wanted == 0 && groups{base: second, head: first}.p(0) <= bestAlpha
}

// wanted is the number of runs that two rows need each at least, so that the rank-sum
// test can tell them apart at all; 0: they have them.
func wanted(a, b int) int {
	for n := 1; ; n++ {
		if 2/choose(max(a, n)+max(b, n), max(b, n)) <= bestAlpha {
			if n <= min(a, b) {
				return 0
			}
			return n
		}
	}
}
