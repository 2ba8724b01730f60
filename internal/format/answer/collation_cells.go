package answer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
)

// collationColumn is a column of a group's table.
type collationColumn struct {
	title string
	cell  func(*query.Row) string
}

// collationColumns are the columns of a group: for apm first hey-apm's in its order, then
// takt's own.
func collationColumns(c query.Collation, g *query.Group) []collationColumn {
	apm := stored.KindOf(g.Kind).HeyApm
	columns := []collationColumn{{"id", idCell}, {"date (UTC)", func(r *query.Row) string { return date(r.StartedAt, "2006-01-02 15:04") }}}
	if apm {
		columns = []collationColumn{{"report id", idCell}, {"revision date", func(r *query.Row) string { return date(r.RevisionDate, "06-01-02 15:04") }}}
	}
	var percentiles []collationColumn
	for _, m := range g.Metrics {
		col := collationColumn{metricTitle(m), func(r *query.Row) string { return figureCell(m, r) }}
		if apm && (m == "p50" || m == "p99") { // not in hey-apm
			percentiles = append(percentiles, col)
			continue
		}
		columns = append(columns, col)
	}
	columns = append(columns, collationColumn{c.Variable, func(r *query.Row) string { return settingText(c.Field, r.Value) }})
	if revisionsDiffer(g) {
		columns = append(columns, collationColumn{"revision", func(r *query.Row) string { return orDash(page.Clean(r.Revision)) }})
	}
	if slices.ContainsFunc(g.Rows, func(r query.Row) bool { return r.Flags != "" }) {
		columns = append(columns, collationColumn{"flags", func(r *query.Row) string { return orDash(page.Clean(r.Flags)) }})
	}
	columns = append(columns, percentiles...)
	columns = append(columns, collationColumn{"n", func(r *query.Row) string { return strconv.Itoa(len(r.IDs)) }})
	if slices.ContainsFunc(g.Rows, func(r query.Row) bool { return len(r.IDs) > 1 }) {
		columns = append(columns, collationColumn{"spread", func(r *query.Row) string { return spread(r, g.Criterion) }})
	}
	if slices.ContainsFunc(g.Rows, func(r query.Row) bool { return r.Sure || r.Wanted > 0 }) {
		columns = append(columns, collationColumn{"best", bestCell})
	}
	return columns
}

// revisionsDiffer reports whether a branch has several revisions in the group.
func revisionsDiffer(g *query.Group) bool {
	revisions := map[any]string{}
	for _, r := range g.Rows {
		if other, ok := revisions[r.Value]; ok && other != r.Revision {
			return true
		}
		revisions[r.Value] = r.Revision
	}
	return false
}

// idCell is the newest run and the number of further runs.
func idCell(r *query.Row) string {
	if n := len(r.IDs) - 1; n > 0 {
		return fmt.Sprintf("%s +%d", r.IDs[0], n)
	}
	return r.IDs[0]
}

func date(t time.Time, layout string) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(layout)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func bestCell(r *query.Row) string {
	switch {
	case r.Sure:
		return "yes"
	case r.Wanted > 0:
		return "? " + page.Plural(r.Wanted, "run")
	}
	return ""
}

// spread is half the range of the runs by the group's criterion, as a part of their median.
func spread(r *query.Row, criterion string) string {
	f, ok := r.Figures[criterion]
	if !ok || len(r.IDs) < 2 || f.Median == 0 {
		return "-"
	}
	return fmt.Sprintf("±%.1f%%", (f.Max-f.Min)/2/math.Abs(f.Median)*100)
}

func metricTitle(name string) string {
	switch name {
	case "max_rss":
		return "max rss"
	case "efficiency":
		return "effic"
	}
	return name
}

// figureCell writes a latency or a rate as the text report does, other figures as hey-apm
// does, with decimal units.
func figureCell(metric string, r *query.Row) string {
	f, ok := r.Figures[metric]
	if !ok {
		return "-"
	}
	m, _ := stored.MetricOf(metric)
	switch {
	case metric == "throughput":
		return fmt.Sprintf("%.1fdps", f.Value)
	case metric == "efficiency":
		return fmt.Sprintf("%.3f", f.Value)
	case m.Unit == stored.BytesPerSecond:
		return decimalSize(f.Value) + "ps"
	case m.Unit == stored.Bytes:
		return decimalSize(f.Value)
	case m.Unit == stored.Milliseconds:
		return fmt.Sprintf("%.0fms", f.Value)
	case m.Unit == stored.Ratio:
		return fmt.Sprintf("%.1f%%", f.Value*100)
	case m.Unit == stored.Percent:
		return page.Percent(f.Value, 100)
	case m.Unit == stored.PerSecond:
		return page.Rate(f.Value)
	case m.Unit == stored.Microseconds:
		return figure.Micros(f.Value)
	}
	return page.Float(f.Value)
}

// metricColumn is the metric's name with its unit.
func metricColumn(name string) string {
	m, _ := stored.MetricOf(name)
	suffix := map[stored.Unit]string{
		stored.Microseconds: "_us", stored.Milliseconds: "_ms", stored.Percent: "_percent", stored.Ratio: "_ratio",
		stored.PerSecond: "_per_s", stored.Bytes: "_bytes", stored.BytesPerSecond: "_bytes_per_s",
	}
	return name + suffix[m.Unit]
}

// decimalSize writes bytes as hey-apm does: 812b, 7.5Mb.
func decimalSize(n float64) string {
	if n < 1000 {
		return fmt.Sprintf("%.0fb", n)
	}
	units := "kMGTPE"
	for n /= 1000; n >= 999.95 && len(units) > 1; units = units[1:] {
		n /= 1000
	}
	return fmt.Sprintf("%.1f%cb", n, units[0])
}

// settingName is the name of a setting in a table; three have hey-apm's name, which filters
// accept, too.
func settingName(name string) string {
	switch name {
	case "duration_s":
		return "duration"
	case "workers":
		return "concurrency"
	case "memory_limit_bytes":
		return "limit"
	}
	return page.Clean(name)
}

// settingText writes an exact value in the unit of its variable's name, in a form that
// filters accept.
func settingText(name string, v any) string {
	n, number := v.(float64)
	switch {
	case v == nil:
		return "-"
	case !number:
		return orDash(page.Clean(rawText(v)))
	case strings.HasSuffix(name, "_per_s"):
		return page.Float(n) + "/s"
	case strings.HasSuffix(name, "_s") && math.Mod(n*1e3, 1) == 0: // span shows whole milliseconds only
		return page.Span(n)
	case strings.HasSuffix(name, "_bytes"):
		return exactSize(n)
	}
	return page.Float(n)
}

// exactSize writes bytes in the largest unit that gives a whole number.
func exactSize(n float64) string {
	for _, u := range []struct {
		name  string
		bytes float64
	}{{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}} {
		if n > 0 && math.Mod(n, u.bytes) == 0 {
			return page.Float(n/u.bytes) + u.name
		}
	}
	return page.Float(n)
}

// rawText writes a value as JSON, but text without quotes, and nothing for null.
func rawText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return page.Float(v)
	}
	return fmt.Sprint(v)
}
