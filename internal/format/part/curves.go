package part

import (
	"cmp"
	"math"
	"strings"

	"github.com/taktload/takt/internal/format/page"
)

const (
	curveColumns = 40 // at most, so that the maximum fits beside a curve
	curveLabel   = 14 // width of a curve's name
)

// columns is the number of equal parts of the run that a curve has in text.
func (c *Curves) columns() int { return max(1, min(curveColumns, c.Intervals)) }

// span says how long the run was, and how long a column is, in tenths of a second.
func (c *Curves) span() string {
	tenths := func(s float64) string { return page.Span(math.Round(10*s) / 10) }
	return " over " + tenths(c.End) + ", " + tenths(c.End/float64(c.columns())) + " a column"
}

// Fewer is the points with neighbours as one, which has the highest value: at most so many.
func Fewer(points []Point, most int) (fewer []Point) {
	each := (len(points) + most - 1) / most
	for i := 0; i < len(points); i += each {
		sum := points[i]
		for _, p := range points[i+1 : min(len(points), i+each)] {
			sum.To = p.To
			if !p.Unknown && (sum.Unknown || p.Value > sum.Value) {
				sum.Value, sum.Unknown = p.Value, false
			}
		}
		fewer = append(fewer, sum)
	}
	return fewer
}

// text draws each curve as one line, from 0 to its highest value. A column is the highest value that has its
// middle there; a column without a value is empty, and a curve without values is left out.
func (c *Curves) text(p *page.Page) {
	for _, curve := range c.List {
		values := make([]float64, c.columns())
		drawn := []rune(strings.Repeat(" ", len(values)))
		highest, known := 0.0, false
		for _, at := range curve.Points {
			if i := c.column(at); i >= 0 && i < len(values) && !at.Unknown {
				values[i] = max(values[i], at.Value)
				highest, known = max(highest, values[i]), true
				drawn[i] = '-'
			}
		}
		bars := []rune("▁▂▃▄▅▆▇█")
		for i, v := range values {
			if drawn[i] != ' ' {
				drawn[i] = bars[min(len(bars)-1, int(v/cmp.Or(highest, 1)*float64(len(bars))))]
			}
		}
		if known {
			p.Linef("  %s%s  max %s", page.Left(curve.Name, curveLabel), string(drawn), curve.Print(highest))
		}
	}
}

// column is the number of the column with the middle of a point; negative: before the run.
func (c *Curves) column(at Point) int {
	middle := (at.From + at.To) / 2
	if middle < 0 {
		return -1
	}
	return int(middle / max(1e-9, c.End) * float64(c.columns()))
}
