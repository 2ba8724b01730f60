package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// Server writes the seconds of the server under test as curves of one line each, below the
// latency of the same seconds; nothing without them.
func Server(w io.Writer, r *takt.Report) error {
	p := &page.Page{}
	part.WriteText(p, server(&run{Report: r, primary: Primary(r)}))
	return p.Print(w)
}

// mostServerSeconds is the number of seconds from which a page shows neighbours as one: its table
// has 200 bytes for each.
const mostServerSeconds = 400

// server has the server under test over time: in text below the latency, in a page on the axis of the latency.
func server(r *run) (one part.Part) {
	if len(r.ServerSeconds) == 0 || len(r.Intervals) == 0 {
		return one
	}
	one.Within = "time"
	if len(r.Intervals) > 1 {
		one.Blocks = append(one.Blocks, part.Block{In: part.Text, Title: "the server", Curves: serverLines(r)})
	}
	seconds := timeline.Coarser(r.ServerSeconds, mostServerSeconds)
	for _, c := range []struct {
		title string
		high  bool
		names [][2]string // of the figures, and the classes of their curves
	}{
		{"Server: events a second", true, [][2]string{{timeline.Accepted, "due"}, {timeline.Acked, "ok"}, {timeline.Dropped, "bad"}}},
		{"Server: events in its queue", false, [][2]string{{timeline.Queued, "ok"}}},
		{"Server: memory", false, [][2]string{{timeline.Heap, "service"}, {timeline.Memory, "ok"}}},
		{"Server: CPU, of one core", false, [][2]string{{timeline.CPU, "ok"}}},
		{"Server: garbage collections a second", false, [][2]string{{timeline.GC, "ok"}}},
		{"Server: time in pauses for garbage collection, a second", false, [][2]string{{timeline.Paused, "ok"}}},
		{"Server: lines of its log a second", false, [][2]string{{timeline.Warnings, "service"}, {timeline.Errors, "bad"}}},
	} {
		curves := r.curves()
		curves.High, curves.Table = c.high, "server-seconds"
		for _, name := range c.names {
			if curve, shown := serverCurve(figureOf(name[0]), name[1], seconds); shown {
				curves.List = append(curves.List, curve)
			}
		}
		if curves.List != nil {
			one.Blocks = append(one.Blocks, part.Block{In: part.HTML, Title: c.title, Curves: curves})
		}
	}
	if t := serverTable(r, seconds); len(t.Columns) > 2 {
		one.Blocks = append(one.Blocks, part.Block{In: part.HTML, Fold: "The server as a table", Table: t})
	}
	return one
}

func figureOf(name string) timeline.Figure {
	list := timeline.Figures()
	return list[slices.IndexFunc(list, func(f timeline.Figure) bool { return f.Name == name })]
}

// serverLines are the latency and all figures.
func serverLines(r *run) part.Curves {
	curves := r.curves()
	latency := r.curve(r.primary+" p99", "response", func(iv *takt.Interval) (float64, bool) { return iv.ResponseP99, iv.OK+iv.Failed > 0 })
	latency.Print = figure.Micros
	curves.List = append(curves.List, latency)
	for _, f := range timeline.Figures() {
		if curve, shown := serverCurve(f, "", r.ServerSeconds); shown {
			curves.List = append(curves.List, curve)
		}
	}
	return curves
}

// serverCurve is a figure over time. It is not shown if it is unknown in all seconds, or if nothing bad is to be
// seen.
func serverCurve(f timeline.Figure, class string, seconds []takt.ServerSecond) (c part.Curve, shown bool) {
	c = part.Curve{Name: f.Title, Class: class, Binary: f.Unit == timeline.Bytes}
	c.Print = func(v float64) string { return serverFigure(f, v) }
	c.Axis = func(v float64) string { return axisOf(f, v) }
	for i := range seconds {
		v, ok := f.Of(&seconds[i])
		c.Points = append(c.Points, part.Point{From: seconds[i].From, To: seconds[i].T, Value: v, Unknown: !ok})
		shown = shown || ok && !(f.Bad && v <= 0)
	}
	return c, shown
}

// serverTable is the table behind the charts of a page. Its rows end with the run, as the charts do: the script
// finds a row by its part of the whole.
func serverTable(r *run, seconds []takt.ServerSecond) *part.Table {
	end, over := r.curves().End, 0.0
	var shown []takt.ServerSecond
	for _, one := range seconds {
		if one.T = min(one.T, end); one.From < one.T {
			shown, over = append(shown, one), one.T
		}
	}
	if over < end {
		shown = append(shown, takt.ServerSecond{From: over, T: end})
	}
	t := &part.Table{ID: "server-seconds", Caption: "The server under test, read once a second. A dash is unknown. Counts are for a second, memory and the queue are at the end of the time; the latency is that of the interval in the middle."}
	t.Column(part.Column{Title: "until", Words: true}, len(shown), func(i int) part.Value {
		return part.Figure(page.Span(math.Round(100*shown[i].T) / 100))
	})
	for _, f := range timeline.Figures() {
		if _, ok := serverCurve(f, "", seconds); ok {
			t.Column(part.Column{Title: f.Title}, len(shown), func(i int) part.Value {
				v, ok := f.Of(&shown[i])
				return part.Known(ok, part.Figure(serverFigure(f, v)))
			})
		}
	}
	t.Column(part.Column{Title: page.Words(r.primary) + " p99"}, len(shown), func(i int) part.Value {
		iv := r.intervalAt((shown[i].From + shown[i].T) / 2)
		return part.Known(iv.OK+iv.Failed > 0, part.Latency(iv.ResponseP99))
	})
	return t
}

// serverFigure is a figure with its unit. A counter's is of one second.
func serverFigure(f timeline.Figure, v float64) string {
	switch {
	case f.Unit == timeline.Bytes:
		return page.Size(v)
	case f.Name == timeline.CPU:
		return fmt.Sprintf("%.3g %%", 100*v)
	case f.Unit == timeline.Seconds:
		return figure.Micros(1e6*v) + "/s"
	case f.Count:
		return page.Rate(page.Round3(v))
	}
	return page.Count(uint64(v))
}

// axisOf is a figure on the axis of a chart, which has little room.
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
