package html

import (
	"fmt"
	"slices"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/pkg/takt"
)

// replayed draws recorded and replayed p50, p95 and p99 of each class, one row a class.
func replayed(r *takt.Report, _ *series) ([]block, error) {
	classes := report.Replayed(r)
	low, high := 0.0, 0.0
	for _, c := range classes {
		all := slices.Concat(c.Recorded[:], c.Response[:])
		high = max(high, slices.Max(all))
		if v := slices.Min(all); v > 0 && (low == 0 || v < low) {
			low = v
		}
	}
	x := latencyScale(low, high)
	d := newRows(len(classes))
	var at []float64
	ticks := x.ticks(6)
	for _, v := range ticks {
		at = append(at, x.at(v))
	}
	d.columns(at, func(i int) string { return figure.Micros(ticks[i]) })
	for i, c := range classes {
		y := 1 - (float64(i)+0.5)/float64(len(classes))
		d.label(y, c.Name)
		for k, name := range []string{"p50", "p95", "p99"} {
			up, down := y+6/d.height, y-6/d.height
			radius := 3.5 + float64(k)
			d.dot(x.at(c.Recorded[k]), up, radius, "ring", fmt.Sprintf("%s recorded %s %s", c.Name, name, figure.Micros(c.Recorded[k])))
			d.dot(x.at(c.Response[k]), down, radius, "dot", fmt.Sprintf("%s replayed %s %s", c.Name, name, figure.Micros(c.Response[k])))
		}
	}
	return []block{{
		Legend:  []legend{{"ring", "recorded"}, {"dotkey", "replayed, response time"}},
		Picture: d.svg("recorded and replayed percentiles by class; the table has them", ""),
		Help:    "From the left: p50, p95 and p99 of each class.",
	}}, nil
}
