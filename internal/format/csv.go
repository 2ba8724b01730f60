package format

import (
	"io"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// column is one column of the format csv: a figure of Interval, by its JSON name.
type column struct {
	name  string
	value func(*takt.Interval) string
}

// columnsOf are columns, and those of what only some loads measure. A cell of an interval in which it did not happen is
// empty.
func columnsOf(a timeline.Announced) []column {
	all := columns()
	if a.Goal != "" {
		all = append(all, column{"good", func(iv *takt.Interval) string {
			if iv.Good == nil {
				return ""
			}
			return page.Count(*iv.Good)
		}})
	}
	for _, name := range a.Courses() {
		for _, s := range []struct {
			name string
			of   func(takt.Course) float64
		}{{"_p50_us", func(c takt.Course) float64 { return c.P50 }}, {"_p99_us", func(c takt.Course) float64 { return c.P99 }}, {"_max_us", func(c takt.Course) float64 { return c.Max }}} {
			all = append(all, column{name + s.name, func(iv *takt.Interval) string {
				c, measured := iv.Latency[name]
				if !measured {
					return ""
				}
				return page.Float(s.of(c))
			}})
		}
	}
	return all
}

// columns are all figures of an interval without the histograms, which spreadsheets cannot
// use; the formats hlog and json have them.
func columns() []column {
	return []column{
		{"t_s", func(iv *takt.Interval) string { return page.Float(iv.T) }},
		{"warmup", func(iv *takt.Interval) string { return strconv.FormatBool(iv.Warmup) }},
		{"scheduled", func(iv *takt.Interval) string { return page.Count(iv.Scheduled) }},
		{"ok", func(iv *takt.Interval) string { return page.Count(iv.OK) }},
		{"failed", func(iv *takt.Interval) string { return page.Count(iv.Failed) }},
		{"dropped", func(iv *takt.Interval) string { return page.Count(iv.Dropped) }},
		{"in_flight_max", func(iv *takt.Interval) string { return strconv.Itoa(iv.InFlightMax) }},
		{"response_p50_us", func(iv *takt.Interval) string { return page.Float(iv.ResponseP50) }},
		{"response_p99_us", func(iv *takt.Interval) string { return page.Float(iv.ResponseP99) }},
		{"response_max_us", func(iv *takt.Interval) string { return page.Float(iv.ResponseMax) }},
		{"schedule_lag_p99_us", func(iv *takt.Interval) string { return page.Float(iv.ScheduleLagP99) }},
	}
}

type csvWriter struct {
	w       io.Writer
	columns []column
}

// openCSV writes the head at once, so that a full disk is noticed before the run.
func openCSV(w io.Writer, head takt.Report) (Writer, error) {
	c := csvWriter{w, columnsOf(timeline.AnnouncedIn(&head))}
	return c, c.row(func(c column) string { return plainName(c.name) })
}

func (c csvWriter) Interval(iv takt.Interval, _ timeline.Lent) error {
	return c.row(func(c column) string { return c.value(&iv) })
}

func (c csvWriter) Close(*takt.Report) error { return nil }

// plainName is a name of a column without what CSV would take for its own syntax: the file of a stranger may have any.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// row writes a line. Names and numbers need no quotes.
func (c csvWriter) row(cell func(column) string) error {
	var cells []string
	for _, col := range c.columns {
		cells = append(cells, cell(col))
	}
	_, err := io.WriteString(c.w, strings.Join(cells, ",")+"\n")
	return err
}
