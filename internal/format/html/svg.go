package html

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/taktload/takt/internal/format/page"
)

// usualWidth is the width of a chart's curves in their own coordinates. The browser stretches them to
// the width of the page; texts stay as they are, since their positions are shares of the width.
const usualWidth = 1000

// drawing is an unfinished chart: x and y are 0 … 1, y from below.
type drawing struct {
	rows   bool            // there are names of rows at the left
	links  bool            // marks are links, so a screen reader must see inside
	height float64         // pixels
	width  float64         // of the curves, before the browser stretches them
	whole  bool            // curves have whole pixels: they have many points
	curves strings.Builder // stretched
	under  strings.Builder // lines and areas below the curves
	over   strings.Builder // texts and marks, not stretched
}

func newDrawing(height float64) *drawing { return &drawing{height: height, width: usualWidth} }

// The height of a row of dots, in pixels, and from how many rows on it is the lower one, so that the picture
// fits a printed page.
const (
	rowHeight = 34
	lowRow    = 24
	manyRows  = 14
)

// newRows is a drawing with n rows, each with a name at its left.
func newRows(n int) *drawing {
	height := rowHeight
	if n > manyRows {
		height = lowRow
	}
	d := newDrawing(float64(height * n))
	d.rows = true
	return d
}

func (d *drawing) y(f float64) float64 { return d.height * (1 - f) }

// fine is a part of the width.
func fine(f float64) string { return fmt.Sprintf("%.2f%%", f*100) }

// horizontal adds a line over the whole width, with a label at its left if there is one.
func (d *drawing) horizontal(f float64, class, label string) {
	y := short(d.y(f))
	fmt.Fprintf(&d.under, `<line class="%s" x1="0" x2="100%%" y1="%s" y2="%s"/>`, class, y, y)
	if label != "" {
		fmt.Fprintf(&d.over, `<text class="tick" x="-8" y="%s" text-anchor="end">%s</text>`, short(d.y(f)+4), html.EscapeString(label))
	}
}

func (d *drawing) vertical(f float64, class string) {
	fmt.Fprintf(&d.under, `<line class="%s" x1="%s" x2="%s" y1="0" y2="%s"/>`, class, fine(f), fine(f), short(d.height))
}

// anchor is where a label under the plot is anchored, and the part of the label that is left of f.
func anchor(f float64) (name string, left float64) {
	switch {
	case f > 0.97:
		return "end", 1
	case f < 0.01:
		return "start", 0
	}
	return "middle", 0.5
}

// below adds a label under the plot.
func (d *drawing) below(f float64, label string, class string) {
	anchor, _ := anchor(f)
	fmt.Fprintf(&d.over, `<text class="tick%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, fine(f), short(d.height+17), anchor, html.EscapeString(label))
}

// Widths on a phone of 360 px, in pixels.
const (
	phonePlot  = 264 // of a plot
	phoneRows  = 176 // of a plot with names of rows at its left
	labelChar  = 7   // of a character of a label
	labelSpace = 6   // between two labels
)

// columns adds vertical lines with labels, on a phone only those that have room.
func (d *drawing) columns(at []float64, label func(i int) string) {
	width, end := float64(phonePlot), math.Inf(-1)
	if d.rows {
		width = phoneRows
	}
	for i, f := range at {
		d.vertical(f, "grid")
		size, class := float64(labelChar*utf8.RuneCountInString(label(i))), " roomy"
		_, left := anchor(f)
		if from := f*width - left*size; from >= end+labelSpace {
			class, end = "", from+size
		}
		d.below(f, label(i), class)
	}
}

// area fills a part of the plot.
func (d *drawing) area(from, to, low, high float64, class string) {
	fmt.Fprintf(&d.under, `<rect class="%s" x="%s" width="%s" y="%s" height="%s"/>`, class, fine(from), fine(max(0.002, to-from)), short(d.y(high)), short(max(0, d.y(low)-d.y(high))))
}

func (d *drawing) text(x, y float64, anchor, class, s string) {
	fmt.Fprintf(&d.over, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, fine(x), short(y), anchor, html.EscapeString(s))
}

// label names a row, at its left.
func (d *drawing) label(y float64, name string) {
	fmt.Fprintf(&d.over, `<text class="row-name" x="-12" y="%s" text-anchor="end">%s</text>`, short(d.y(y)+4), html.EscapeString(page.Cut(name, longestLabel)))
}

// longestLabel is the number of characters for which a row has room.
const longestLabel = 18

func (d *drawing) dot(x, y, radius float64, class, title string) {
	fmt.Fprintf(&d.over, `<circle class="%s" cx="%s" cy="%s" r="%s"><title>%s</title></circle>`, class, fine(x), short(d.y(y)), short(radius), html.EscapeString(title))
}

// The directions of arrows, in degrees.
const (
	rightward = 0
	downward  = 90
	leftward  = 180
	upward    = 270
)

// arrow says at the edge that a value is beyond it.
func (d *drawing) arrow(x, y float64, degrees int, class, title string) {
	fmt.Fprintf(&d.over, `<svg class="arrow" x="%s" y="%s" overflow="visible"><polygon class="%s" points="0,0 -9,-5 -9,5" transform="rotate(%d)"><title>%s</title></polygon></svg>`, fine(x), short(d.y(y)), class, degrees, html.EscapeString(title))
}

// across is a dot at a value of x, or an arrow where the value is beyond the scale.
func (d *drawing) across(x scale, v, y, radius float64, class, title string) {
	switch x.beyond(v) {
	case -1:
		d.arrow(0, y, leftward, class, title)
	case 1:
		d.arrow(1, y, rightward, class, title)
	default:
		d.dot(x.at(v), y, radius, class, title)
	}
}

// upright is across for a value of y.
func (d *drawing) upright(x float64, y scale, v, radius float64, class, title string) {
	switch y.beyond(v) {
	case -1:
		d.arrow(x, 0, downward, class, title)
	case 1:
		d.arrow(x, 1, upward, class, title)
	default:
		d.dot(x, y.at(v), radius, class, title)
	}
}

// link adds a dot that leads to a row of a table.
func (d *drawing) link(x float64, y scale, v float64, id, class, title string) {
	d.links = true
	fmt.Fprintf(&d.over, `<a href="#%s" aria-label="%s">`, html.EscapeString(id), html.EscapeString(title))
	d.upright(x, y, v, 5, class, title)
	d.over.WriteString("</a>")
}

// point is a plateau of a stepped curve, from one x to another.
type point struct {
	from, to, y float64
	gap         bool // nothing was measured: the curve is interrupted
}

// steps draws a stepped curve.
func (d *drawing) steps(list []point, class string) {
	p := pen{whole: d.whole}
	down := false
	for _, one := range list {
		switch {
		case one.gap:
			down = false
			continue
		case !down:
			p.move(one.from*d.width, d.y(one.y))
		}
		p.to(p.x, d.y(one.y))
		p.to(one.to*d.width, d.y(one.y))
		down = true
	}
	d.path(p.path(), class)
}

// line draws a curve through points: their from and y.
func (d *drawing) line(list []point, class string) {
	var path strings.Builder
	for i, p := range list {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&path, "%s%s %s", letter, short(p.from*d.width), short(d.y(p.y)))
	}
	d.path(path.String(), class)
}

func (d *drawing) path(path, class string) {
	if path != "" {
		fmt.Fprintf(&d.curves, `<path class="%s" d="%s"/>`, class, path)
	}
}

// between fills the area between two stepped curves of equal steps, where the first is higher.
func (d *drawing) between(upper, lower []point, class string) {
	p := pen{whole: d.whole}
	for i := 0; i < len(upper); {
		n := i
		for n < len(upper) && !upper[n].gap && !lower[n].gap && upper[n].y > lower[n].y {
			n++
		}
		if n == i {
			i++
			continue
		}
		p.move(upper[i].from*d.width, d.y(lower[i].y))
		for _, one := range upper[i:n] {
			p.to(p.x, d.y(one.y))
			p.to(one.to*d.width, d.y(one.y))
		}
		for k := n - 1; k >= i; k-- {
			p.to(p.x, d.y(lower[k].y))
			p.to(lower[k].from*d.width, d.y(lower[k].y))
		}
		p.close()
		i = n
	}
	d.path(p.path(), class)
}

// svg finishes the chart. label is what a screen reader says; attributes are for the script.
func (d *drawing) svg(label, attributes string) template.HTML {
	return d.svgOf("plot", label, attributes)
}

func (d *drawing) svgOf(class, label, attributes string) template.HTML {
	h, role := short(d.height), "img"
	if d.links {
		role = "group"
	}
	if d.rows {
		class += " rows"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="%s" role="%s" aria-label="%s" width="100%%" height="%s"%s>`, class, role, html.EscapeString(label), h, attributes)
	b.WriteString(d.under.String())
	fmt.Fprintf(&b, `<svg viewBox="0 0 %s %s" width="100%%" height="%s" preserveAspectRatio="none" aria-hidden="true">%s</svg>`, short(d.width), h, h, d.curves.String())
	b.WriteString(d.over.String())
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // only numbers, constants and escaped texts
}
