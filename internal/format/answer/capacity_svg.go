package answer

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/capacity"
)

// CapacitySVG draws response and service time over the offered rate and the throughput.
func CapacitySVG(w io.Writer, c capacity.Answer, title string) error {
	d := drawing{scale: scaleOf(c)}
	d.draw(c, title)
	_, err := io.WriteString(w, d.b.String())
	return err
}

// Size of the picture, and corners of the plot in it, in pixels.
const (
	svgWidth, svgHeight = 760, 530
	plotLeft, plotRight = 80.0, 740.0
	plotTop, plotBottom = 60.0, 400.0
)

// drawing is an unfinished SVG.
type drawing struct {
	scale
	b strings.Builder
}

func (d *drawing) linef(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

func (d *drawing) segment(x1, y1, x2, y2 float64, style string) {
	d.linef(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`, x1, y1, x2, y2, style)
}

// text writes s, which is not trusted, as text.
func (d *drawing) text(x, y float64, anchor, s string) {
	fmt.Fprintf(&d.b, `<text x="%.1f" y="%.1f" text-anchor="%s">`, x, y, anchor)
	_ = xml.EscapeText(&d.b, []byte(page.Clean(s))) // cannot fail: writes to memory
	d.linef("</text>")
}

// x and y are the coordinates of a rate and a time in µs, within the plot.
func (d *drawing) x(rate float64) float64 {
	return min(plotRight, max(plotLeft, plotLeft+rate/d.rate*(plotRight-plotLeft)))
}

func (d *drawing) y(us float64) float64 {
	return min(plotBottom, max(plotTop, plotBottom-us/d.time*(plotBottom-plotTop)))
}

func (d *drawing) draw(c capacity.Answer, title string) {
	d.linef(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, svgWidth, svgHeight)
	d.linef(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	d.text(svgWidth/2, 24, "middle", title)
	if d.rate > 0 && d.time > 0 {
		d.axes()
		d.limits(c)
		d.knee(c)
		d.fit(c.Fit())
		d.points(c)
		d.legend(c)
	} else {
		d.text(svgWidth/2, svgHeight/2, "middle", "no step has a latency")
	}
	d.linef("</svg>")
}

func (d *drawing) axes() {
	for _, v := range ticks(d.rate, 8) {
		d.segment(d.x(v), plotTop, d.x(v), plotBottom, `stroke="#ddd"`)
		d.text(d.x(v), plotBottom+18, "middle", page.Rate(v))
	}
	for _, v := range ticks(d.time, 6) {
		d.segment(plotLeft, d.y(v), plotRight, d.y(v), `stroke="#ddd"`)
		d.text(plotLeft-6, d.y(v)+4, "end", figure.Micros(v))
	}
	d.linef(`<path d="M%.1f %.1fV%.1fH%.1f" fill="none" stroke="#333"/>`, plotLeft, plotTop, plotBottom, plotRight)
	d.text((plotLeft+plotRight)/2, plotBottom+38, "middle", "requests per second")
	d.linef(`<g transform="translate(18 %.1f) rotate(-90)">`, (plotTop+plotBottom)/2)
	d.text(0, 0, "middle", "time")
	d.linef("</g>")
}

// knee draws the knee, between the tested rates next to it.
func (d *drawing) knee(c capacity.Answer) {
	if c.Knee == nil || !d.inside(*c.Knee) {
		return
	}
	if r := c.KneeRange; r.Low != nil && r.High != nil {
		d.linef(`<rect x="%.1f" y="%.1f" width="%.1f" height="6" fill="#93c" fill-opacity="0.25"/>`, d.x(*r.Low), plotBottom-6, d.x(*r.High)-d.x(*r.Low))
	}
	d.segment(d.x(*c.Knee), plotTop, d.x(*c.Knee), plotBottom, `stroke="#93c" stroke-dasharray="4 4"`)
	d.text(d.x(*c.Knee), plotTop-4, "middle", "knee")
}

// fit draws the fitted curve with its band. What is above the picture is at its upper edge.
func (d *drawing) fit(curve []capacity.FitPoint) {
	var middle, band strings.Builder
	letter := "M"
	for _, p := range curve {
		fmt.Fprintf(&middle, "%s%.1f %.1f", letter, d.x(p.Rate), d.y(p.Time))
		fmt.Fprintf(&band, "%s%.1f %.1f", letter, d.x(p.Rate), d.y(p.High))
		letter = "L"
	}
	for _, p := range slices.Backward(curve) {
		fmt.Fprintf(&band, "L%.1f %.1f", d.x(p.Rate), d.y(p.Low))
	}
	if curve != nil {
		d.linef(`<path d="%sZ" fill="#1f6feb" fill-opacity="0.15"/>`, band.String())
		d.linef(`<path d="%s" fill="none" stroke="#1f6feb" stroke-opacity="0.7"/>`, middle.String())
	}
}

// limits draws the limit of the SLO, the sustainable rate with its interval, and the line of
// the blade.
func (d *drawing) limits(c capacity.Answer) {
	if i := c.Interval; i.Low != nil && i.High != nil {
		d.linef(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#2a7" fill-opacity="0.15"/>`, d.x(*i.Low), plotTop, d.x(*i.High)-d.x(*i.Low), plotBottom-plotTop)
	}
	if c.Sustainable > 0 && !c.Ranged() {
		d.segment(d.x(c.Sustainable), plotTop, d.x(c.Sustainable), plotBottom, `stroke="#2a7" stroke-width="2"`)
	}
	if d.bound > 0 {
		d.segment(plotLeft, d.y(d.bound), plotRight, d.y(d.bound), `stroke="#c33" stroke-dasharray="6 4"`)
	}
	if l := c.Line; l != nil && d.inside(l.Rate) && d.inside(l.Rate+l.Slope*d.time) {
		d.segment(d.x(l.Rate), plotBottom, d.x(l.Rate+l.Slope*d.time), plotTop, `stroke="#888" stroke-dasharray="2 3"`)
	}
}

func (d *drawing) inside(rate float64) bool { return rate >= 0 && rate <= d.rate }

func (d *drawing) points(c capacity.Answer) {
	for _, s := range c.ByRate() {
		response, service := c.Shown(s)
		fill, hollow := "#1f6feb", "#d97706"
		if !c.Counts(s) {
			fill, hollow = "#bbb", "#bbb"
		}
		d.linef(`<circle cx="%.1f" cy="%.1f" r="4" fill="none" stroke="%s" stroke-width="1.5"/>`, d.x(s.Offered), d.y(service), hollow)
		x, y := d.x(s.Throughput()), d.y(response)
		d.linef(`<path d="M%.1f %.1fl6 6m0-6l-6 6" stroke="%s" stroke-width="1.5"/>`, x-3, y-3, fill)
		if response > d.time {
			d.linef(`<path d="M%.1f %.1fl5 9h-10z" fill="%s"/>`, d.x(s.Offered), y, fill)
			continue
		}
		d.linef(`<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`, d.x(s.Offered), y, fill)
	}
}

// legend explains the marks below the plot.
func (d *drawing) legend(c capacity.Answer) {
	const first, second, third, fourth = plotBottom + 58, plotBottom + 78, plotBottom + 98, plotBottom + 118
	d.linef(`<circle cx="%.1f" cy="%.1f" r="4" fill="#1f6feb"/>`, plotLeft, first-4)
	d.text(plotLeft+10, first, "start", "response "+c.Statistic+" over the offered rate")
	d.linef(`<path d="M%.1f %.1fl6 6m0-6l-6 6" stroke="#1f6feb" stroke-width="1.5"/>`, plotLeft+247, first-7)
	d.text(plotLeft+260, first, "start", "over the throughput")
	d.linef(`<circle cx="%.1f" cy="%.1f" r="4" fill="none" stroke="#d97706" stroke-width="1.5"/>`, plotLeft+430, first-4)
	d.text(plotLeft+440, first, "start", "service "+c.Statistic)
	d.text(plotLeft, second, "start", "red dashes: SLO; green: limit and its interval; violet: knee; grey dashes: limit line of the runs")
	d.text(plotLeft, third, "start", "triangle: above the picture; grey mark: invalid, the generator shaped it")
	if c.Fit() != nil {
		d.text(plotLeft, fourth, "start", "blue line: response "+c.Statistic+" as the runs near the limit show it, with its 95 % confidence band")
	}
}
