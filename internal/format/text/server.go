package text

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// Server writes the seconds of the server under test as curves of one line each, below the
// latency of the same seconds; nothing without them.
func Server(w io.Writer, r *takt.Report) error {
	p := &page.Page{}
	server(p, r)
	return p.Print(w)
}

// serverColumns is the largest number of columns of a curve, so that its maximum fits beside it.
const serverColumns = 40

func server(p *page.Page, r *takt.Report) {
	if len(r.ServerSeconds) == 0 || len(r.Intervals) < 2 {
		return
	}
	end := r.Intervals[len(r.Intervals)-1].T
	c := columns{end: end, list: make([]column, min(serverColumns, len(r.Intervals)))}
	for _, iv := range r.Intervals {
		if iv.OK+iv.Failed > 0 {
			c.add(iv.T-min(iv.T, max(1, r.IntervalS))/2, iv.ResponseP99)
		}
	}
	p.Linef("")
	p.Linef("%s", p.Paint(page.Bold, "the server over "+span(end)+", "+span(end/float64(len(c.list)))+" a column"))
	c.line(p, Primary(r)+" p99", figure.Micros)
	for _, f := range timeline.Figures() {
		c := columns{end: end, list: make([]column, len(c.list))}
		for i := range r.ServerSeconds {
			s := &r.ServerSeconds[i]
			if v, ok := f.Of(s); ok {
				c.add((s.From+s.T)/2, v)
			}
		}
		if highest, _ := c.highest(); f.Bad && highest == 0 {
			continue
		}
		c.line(p, f.Title, func(v float64) string { return ServerFigure(f, v) })
	}
}

// span is a time for a heading, in tenths of a second.
func span(s float64) string { return page.Span(math.Round(10*s) / 10) }

// ServerFigure is a figure with its unit. A counter's is of one second.
func ServerFigure(f timeline.Figure, v float64) string {
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

// columns are the highest values of equal parts of a run.
type columns struct {
	end  float64
	list []column
}

type column struct {
	v     float64
	known bool
}

// add counts the value for the part that contains the instant.
func (c *columns) add(at, v float64) {
	if i := int(at / max(1e-9, c.end) * float64(len(c.list))); at >= 0 && i < len(c.list) {
		c.list[i] = column{max(v, c.list[i].v), true}
	}
}

func (c *columns) highest() (v float64, known bool) {
	for _, one := range c.list {
		v, known = max(v, one.v), known || one.known
	}
	return v, known
}

// line draws a curve, from 0 to its highest value. A part without a value is empty.
func (c *columns) line(p *page.Page, name string, words func(float64) string) {
	highest, known := c.highest()
	if !known {
		return
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	drawn := make([]rune, len(c.list))
	for i, one := range c.list {
		drawn[i] = ' '
		if one.known {
			drawn[i] = bars[min(len(bars)-1, int(one.v/cmp.Or(highest, 1)*float64(len(bars))))]
		}
	}
	p.Linef("  %s%s  max %s", page.Left(name, serverLabel), string(drawn), words(highest))
}

// serverLabel is the width of a curve's name.
const serverLabel = 14
