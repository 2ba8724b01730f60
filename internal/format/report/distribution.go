package report

import (
	"math"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/hist"
)

const (
	bodyBins = 8 // up to p99
	tailBins = 3 // beyond p99: with equal steps a long tail would leave the body one bar
	barWidth = 40
)

// bin is a bar of the histogram: the values above the previous bin's end and up to to.
type bin struct {
	to    float64 // µs
	count uint64
}

// distribution has the main latency by its size. A page has the heat map and the percentile spectrum instead.
func distribution(r *run) part.Part {
	h := r.main
	if h.Count() == 0 {
		return part.Part{}
	}
	t := &part.Table{Unit: r.unit, Columns: []part.Column{
		{Title: page.Words(r.primary), Words: true, Width: 15}, {Title: "count", Width: 10}, {Title: "share", Width: 11}, {Words: true, Gap: 2},
	}}
	bins := fill(edges(h, r.unit), h)
	var highest uint64
	for _, b := range bins {
		highest = max(highest, b.count)
	}
	for _, b := range bins {
		t.Add(part.Bound(b.to), part.Count(b.count), part.Ratio(float64(b.count), float64(h.Count())), part.Words(bar(b.count, highest)))
	}
	return part.Part{Blocks: []part.Block{{In: part.Text, Table: t}}}
}

// edges are the upper ends of the bins: in equal ratios from the fastest to p99, and from
// there to the slowest. Edges with equal text are merged. h is not empty.
func edges(h *hist.Histogram, u page.Unit) []float64 {
	low, p99, high := hist.Micros(h.Buckets()[0].To), hist.Micros(h.Quantile(0.99)), hist.Micros(h.Max())
	var list []float64
	for _, edge := range append(ratios(low, p99, bodyBins), ratios(p99, high, tailBins)...) {
		if len(list) == 0 || u.Aligned(list[len(list)-1]) != u.Aligned(edge) {
			list = append(list, edge)
		} else {
			list[len(list)-1] = edge
		}
	}
	return list
}

// ratios returns n values in equal ratios, from from (exclusive) to to.
func ratios(from, to float64, n int) []float64 {
	if from <= 0 || to <= from {
		return []float64{to}
	}
	var list []float64
	for i := 1; i < n; i++ {
		list = append(list, from*math.Pow(to/from, float64(i)/float64(n)))
	}
	return append(list, to)
}

// fill counts the values of each bin. A bucket of h across an edge, 0.1 % wide, counts by its
// upper end, as in percentiles.
func fill(edges []float64, h *hist.Histogram) []bin {
	bins := make([]bin, len(edges))
	for i, edge := range edges {
		bins[i].to = edge
	}
	i := 0
	for _, b := range h.Buckets() {
		for i < len(bins)-1 && hist.Micros(b.To) > bins[i].to {
			i++
		}
		bins[i].count += b.Count
	}
	return bins
}

// bar draws n in eighths of a cell. A count above 0 is always visible.
func bar(n, highest uint64) string {
	if n == 0 || highest == 0 {
		return ""
	}
	eighths := max(1, int(math.Round(float64(n)/float64(highest)*barWidth*8)))
	partial := []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}
	return strings.Repeat("█", eighths/8) + partial[eighths%8]
}
