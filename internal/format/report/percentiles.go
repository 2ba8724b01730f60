package report

import (
	"slices"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// statistic is a figure of a latency, in µs.
type statistic struct {
	name string
	of   func(takt.Latency) float64
}

// statistics are those of the percentile table.
func statistics() (list []statistic) {
	for _, name := range stored.Statistics() {
		list = append(list, statistic{name, func(l takt.Latency) float64 { return stored.Statistic(l, name) }})
	}
	return list
}

// Primary is the name of a report's main latency: the response time, or the send time without
// answers, or the transfer time without own operations; "" without measurements.
func Primary(r *takt.Report) string {
	for _, name := range append([]string{takt.LatencyResponse, takt.LatencySend, "transfer"}, page.Sorted(r.Latency)...) {
		if r.Latency[name].Count > 0 {
			return name
		}
	}
	return ""
}

// Columns are the latencies with all percentiles. The ok responses have their own column
// if other responses exist.
func Columns(r *takt.Report) []string {
	first := Primary(r)
	if first != takt.LatencyResponse {
		return slices.DeleteFunc([]string{first}, func(s string) bool { return s == "" })
	}
	columns := []string{first, takt.LatencyService}
	if ok := r.Latency[takt.LatencyResponseOK].Count; ok > 0 && ok < r.Latency[first].Count {
		columns = append(columns, takt.LatencyResponseOK)
	}
	return slices.DeleteFunc(columns, func(s string) bool { return r.Latency[s].Count == 0 })
}

// unitOf is the unit of all latencies in text and Markdown.
func unitOf(r *takt.Report) page.Unit {
	l := r.Latency[Primary(r)]
	return page.UnitFor(l.P50, l.Max)
}

// percentiles has the main latencies: in text and pages a column each with all percentiles, and in Markdown a
// row each with the usual ones and the schedule lag, which shows whether they are credible.
func percentiles(r *run) part.Part {
	names := Columns(r.Report)
	if len(names) == 0 {
		return part.Part{}
	}
	t := &part.Table{Caption: "Percentiles come from histograms of all operations.", Unit: r.unit, Columns: []part.Column{{Title: "latency", Words: true, Width: page.LabelWidth}}}
	count := []part.Value{part.Words("count")}
	for i, name := range names {
		t.Columns = append(t.Columns, part.Column{Title: page.Words(name), Width: 14})
		count = append(count, part.Count(r.Latency[name].Count))
		if i == 0 && r.interval != nil {
			t.Columns = append(t.Columns, part.Column{Title: r.interval.title(), Words: true, Gap: 1})
			count = append(count, part.Value{})
		}
	}
	t.Add(count...)
	for _, s := range statistics() {
		row := []part.Value{part.Words(s.name)}
		for i, name := range names {
			row = append(row, r.figure(i, name, s))
			if i == 0 && r.interval != nil {
				row = append(row, r.interval.of(s.name))
			}
		}
		t.Add(row...)
	}
	notes := r.unknown(names)
	if len(r.own) > 0 {
		notes = append(notes, part.Sentence{Text: r.own.String(), Tone: part.Warn})
	}
	if overload.Of(r.Report) != nil {
		notes = append(notes, part.Sentence{Text: overload.Mark, Tone: part.Warn})
	}
	if n := r.Counts.Dropped; n > 0 {
		notes = append(notes, part.Sentence{Text: "truncated: " + page.Count(n) + " dropped operations are in no percentile", Tone: part.Warn, In: part.Text | part.HTML})
	}
	if floor := r.Generator.NoiseFloorUS; floor > 0 {
		notes = append(notes, part.Sentence{Text: "noise floor of the generator: " + figure.Micros(floor), In: part.Text})
	}
	return part.Part{ID: "percentiles", Title: "Percentiles", Beside: true, Blocks: []part.Block{
		{In: part.HTML, Drawing: "spectrum"},
		{In: part.Text | part.HTML, Table: t, Below: notes},
		{In: part.Markdown, Table: r.usual(names), Below: append(r.interval.legend(), notes...)},
	}}
}

// usual is the table of Markdown.
func (r *run) usual(names []string) *part.Table {
	if r.Latency[takt.LatencyScheduleLag].Count > 0 {
		names = append(names, takt.LatencyScheduleLag)
	}
	t := &part.Table{Unit: r.unit, Columns: []part.Column{{Title: "latency", Words: true}, {Title: "count"}}}
	for _, name := range names {
		t.Add(part.Words(page.Words(name)), part.Count(r.Latency[name].Count))
	}
	for _, s := range statistics() {
		if !slices.Contains([]string{"p50", "p90", "p99", "p99.9", "max"}, s.name) {
			continue
		}
		t.Columns = append(t.Columns, part.Column{Title: s.name})
		for i, name := range names {
			t.Rows[i].Cells = append(t.Rows[i].Cells, r.figure(i, name, s))
		}
	}
	return t
}

// figure is a statistic of a latency, marked if lateness made it. The main latency is in the first column.
func (r *run) figure(column int, latency string, s statistic) part.Value {
	if l := r.Latency[latency]; isMax(&l, s.name) {
		return part.Unknown()
	}
	v := part.Latency(s.of(r.Latency[latency])).Marked(r.own.mark(column, s.name))
	if column == 0 && r.interval != nil {
		if beside := r.interval.of(s.name); beside != (part.Value{}) {
			v.Beside = &beside
		}
	}
	return v
}
