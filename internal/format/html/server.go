package html

import (
	"cmp"
	"math"
	"slices"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/text"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// serverChart is a chart of the server under test: up to three figures with one axis.
type serverChart struct {
	title  string
	height float64
	curves []serverCurve
}

type serverCurve struct{ name, class string }

// serverCharts are all charts of a server, in their order.
func serverCharts() []serverChart {
	return []serverChart{
		{"Server: events a second", panelHeight, []serverCurve{{timeline.Accepted, "due"}, {timeline.Acked, "ok"}, {timeline.Dropped, "bad"}}},
		{"Server: events in its queue", stripHeight, []serverCurve{{timeline.Queued, "ok"}}},
		{"Server: memory", stripHeight, []serverCurve{{timeline.Heap, "service"}, {timeline.Memory, "ok"}}},
		{"Server: CPU, of one core", stripHeight, []serverCurve{{timeline.CPU, "ok"}}},
		{"Server: garbage collections a second", stripHeight, []serverCurve{{timeline.GC, "ok"}}},
		{"Server: time in pauses for garbage collection, a second", stripHeight, []serverCurve{{timeline.Paused, "ok"}}},
		{"Server: lines of its log a second", stripHeight, []serverCurve{{timeline.Warnings, "service"}, {timeline.Errors, "bad"}}},
	}
}

// mostServerSeconds is the number of seconds from which the page shows neighbours as one: its table
// has 200 bytes for each.
const mostServerSeconds = 400

// server has the charts of the server under test, on the axis of the latency above, and their
// table; nothing if the run has no such seconds.
func (s *series) server(r *takt.Report) (list []block) {
	if len(r.ServerSeconds) == 0 {
		return nil
	}
	shown := *r
	shown.ServerSeconds = timeline.Coarser(r.ServerSeconds, mostServerSeconds)
	r = &shown
	for _, c := range serverCharts() {
		if b, ok := s.serverBlock(r, c); ok {
			list = append(list, b)
		}
	}
	if len(list) > 0 {
		list = append(list, s.serverTable(r))
	}
	return list
}

// serverBlock is a chart without the figures that are unknown in all seconds. ok is false if
// nothing is known, or if nothing bad is to be seen.
func (s *series) serverBlock(r *takt.Report, c serverChart) (b block, ok bool) {
	highest, first := 0.0, timeline.Figure{}
	var curves []serverCurve
	var figures []timeline.Figure
	for _, curve := range c.curves {
		f := figureOf(curve.name)
		top, known := highestOf(r, f)
		if !known || f.Bad && top == 0 {
			continue
		}
		if len(curves) == 0 {
			first = f
		}
		highest = max(highest, top)
		curves, figures = append(curves, curve), append(figures, f)
		b.Legend = append(b.Legend, legend{curve.class, f.Title})
	}
	if len(curves) == 0 {
		return b, false
	}
	unit := 1.0 // so that the axis has round figures of MiB
	for first.Unit == timeline.Bytes && highest >= 1024*unit {
		unit *= 1024
	}
	y := linear(1.1 * cmp.Or(highest, 1) / unit)
	d := s.drawing(c.height)
	s.frame(d, y, func(v float64) string { return axisOf(first, v*unit) })
	for i, curve := range curves {
		d.steps(s.serverPoints(r, figures[i], func(v float64) float64 { return y.at(v / unit) }), curve.class)
	}
	b.Title, b.Picture = c.title, d.svg(c.title+"; the table of the server has the figures", ` data-table="server-seconds"`)
	return b, true
}

func figureOf(name string) timeline.Figure {
	list := timeline.Figures()
	return list[slices.IndexFunc(list, func(f timeline.Figure) bool { return f.Name == name })]
}

func highestOf(r *takt.Report, f timeline.Figure) (top float64, known bool) {
	for i := range r.ServerSeconds {
		if v, ok := f.Of(&r.ServerSeconds[i]); ok {
			top, known = max(top, v), true
		}
	}
	return top, known
}

// serverPoints are the plateaus of a figure within the run.
func (s *series) serverPoints(r *takt.Report, f timeline.Figure, y func(float64) float64) (list []point) {
	for i := range r.ServerSeconds {
		one := &r.ServerSeconds[i]
		v, ok := f.Of(one)
		from, to := max(0, one.From), min(s.end, one.T)
		if from < to {
			list = append(list, point{from: s.x(from), to: s.x(to), y: y(v), gap: !ok})
		}
	}
	return list
}

// axisOf is a label of the axis, which has little room.
func axisOf(f timeline.Figure, v float64) string {
	switch {
	case f.Unit == timeline.Bytes:
		return page.Size(v)
	case f.Name == timeline.CPU:
		return page.Short(100*v) + " %"
	case f.Unit == timeline.Seconds:
		return figure.Micros(1e6 * v)
	}
	return page.Short(v)
}

// serverTable is the table behind the charts of the server. Its rows end with the run, as the
// charts do: the script finds a row by its part of the whole.
func (s *series) serverTable(r *takt.Report) block {
	t := &table{ID: "server-seconds", Caption: "The server under test, read once a second. A dash is unknown. Counts are for a second, memory and the queue are at the end of the time; the latency is that of the interval in the middle.", Words: 1, Head: []string{"until"}}
	var figures []timeline.Figure
	for _, f := range timeline.Figures() {
		if top, known := highestOf(r, f); known && (!f.Bad || top > 0) {
			figures = append(figures, f)
			t.Head = append(t.Head, f.Title)
		}
	}
	t.Head = append(t.Head, page.Words(text.Primary(r))+" p99")
	add := func(one *takt.ServerSecond) {
		row := []string{page.Span(math.Round(100*one.T) / 100)}
		for _, f := range figures {
			cell := "–"
			if v, ok := f.Of(one); ok {
				cell = text.ServerFigure(f, v)
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, append(row, s.latencyAt((one.From+one.T)/2)))
	}
	over := 0.0
	for _, one := range r.ServerSeconds {
		if one.T = min(one.T, s.end); one.From < one.T {
			add(&one)
			over = one.T
		}
	}
	if over < s.end {
		add(&takt.ServerSecond{From: over, T: s.end})
	}
	return block{Fold: "The server as a table", Table: t}
}

// latencyAt is the p99 of the interval that contains an instant.
func (s *series) latencyAt(t float64) string {
	for i := range s.list {
		if one := &s.list[i]; t <= one.T {
			return one.measured(one.ResponseP99)
		}
	}
	return "–"
}
