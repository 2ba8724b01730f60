package html

import (
	"math"
	"strings"
)

// pen writes the path of a stepped curve with few bytes: relative, rounded to a tenth, and with one
// stroke for strokes that follow each other in one direction. A run of ten minutes has 600 steps in
// each of a dozen curves.
type pen struct {
	whole   bool // y is rounded to whole pixels
	b       strings.Builder
	x, y    float64 // the end of the strokes, not rounded
	shownX  float64 // the end of what is written
	shownY  float64
	pending bool // strokes along x are not written yet
}

func tenth(v float64) float64 { return math.Round(v*10) / 10 }

func (p *pen) rounded(y float64) float64 {
	if p.whole {
		return math.Round(y)
	}
	return tenth(y)
}

// move begins a new curve.
func (p *pen) move(x, y float64) {
	p.flush()
	p.x, p.y, p.shownX, p.shownY = x, y, tenth(x), p.rounded(y)
	p.b.WriteString("M" + short(x) + " " + short(p.shownY))
}

// to draws a stroke along x, or along y.
func (p *pen) to(x, y float64) {
	if y := p.rounded(y); y != p.shownY {
		p.flush()
		p.b.WriteString("v" + short(y-p.shownY))
		p.shownY = y
	}
	p.pending = p.pending || x != p.x
	p.x, p.y = x, y
}

// flush writes the strokes along x.
func (p *pen) flush() {
	if p.pending && tenth(p.x) != p.shownX {
		p.b.WriteString("h" + short(tenth(p.x)-p.shownX))
		p.shownX = tenth(p.x)
	}
	p.pending = false
}

func (p *pen) close() {
	p.flush()
	p.b.WriteString("z")
}

func (p *pen) path() string {
	p.flush()
	return p.b.String()
}
