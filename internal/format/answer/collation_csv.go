package answer

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/query"
)

// CollationCSV writes one header for all groups: every metric with its unit and the range of
// its runs.
func CollationCSV(w io.Writer, c query.Collation) error {
	metrics := allMetrics(c)
	out := csv.NewWriter(w)
	head := []string{"group", "kind", "same", "id", "runs", "started_at", "revision_date", "revision", "variable", "value", "flags"}
	for _, m := range metrics {
		name := metricColumn(m)
		head = append(head, name, name+"_min", name+"_max")
	}
	// The writer keeps its first error for Error.
	_ = out.Write(append(head, "merged_runs", "best", "runs_wanted"))
	for i, g := range c.Groups {
		for _, r := range g.Rows {
			_ = out.Write(csvRow(i, &g, &r, c.Field, metrics))
		}
	}
	out.Flush()
	return out.Error()
}

// allMetrics are the metrics of all groups, in order of appearance.
func allMetrics(c query.Collation) (names []string) {
	for _, g := range c.Groups {
		for _, m := range g.Metrics {
			if !slices.Contains(names, m) {
				names = append(names, m)
			}
		}
	}
	return names
}

func csvRow(group int, g *query.Group, r *query.Row, variable string, metrics []string) []string {
	var same []string
	for _, s := range g.Same {
		same = append(same, s.Name+"="+rawText(s.Value))
	}
	date := ""
	if !r.RevisionDate.IsZero() {
		date = r.RevisionDate.UTC().Format(time.RFC3339)
	}
	row := []string{strconv.Itoa(group + 1), g.Kind, strings.Join(same, " "), r.IDs[0], strconv.Itoa(len(r.IDs)),
		r.StartedAt.UTC().Format(time.RFC3339Nano), date, r.Revision, variable, rawText(r.Value), r.Flags}
	for _, m := range metrics {
		f, ok := r.Figures[m]
		if !ok {
			row = append(row, "", "", "")
			continue
		}
		row = append(row, page.Float(f.Value), page.Float(f.Min), page.Float(f.Max))
	}
	best := map[bool]string{true: "sure"}[r.Sure]
	if r.Best && !r.Sure {
		best = "unsure"
	}
	return append(row, strconv.Itoa(r.Merged), best, strconv.Itoa(r.Wanted))
}
