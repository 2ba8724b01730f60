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

type csvWriter struct{ w io.Writer }

// openCSV writes the head at once, so that a full disk is noticed before the run.
func openCSV(w io.Writer, _ takt.Report) (Writer, error) {
	c := csvWriter{w}
	return c, c.row(func(c column) string { return c.name })
}

func (c csvWriter) Interval(iv takt.Interval, _ timeline.Lent) error {
	return c.row(func(c column) string { return c.value(&iv) })
}

func (c csvWriter) Close(*takt.Report) error { return nil }

// row writes a line. Names and numbers need no quotes.
func (c csvWriter) row(cell func(column) string) error {
	var cells []string
	for _, col := range columns() {
		cells = append(cells, cell(col))
	}
	_, err := io.WriteString(c.w, strings.Join(cells, ",")+"\n")
	return err
}
