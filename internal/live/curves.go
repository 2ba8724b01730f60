package live

import "math"

// The columns beside the curves.
const (
	labelWidth = 13
	valueWidth = 7
	plotFrom   = labelWidth + valueWidth + 1
	scaleWidth = 11
)

// curve is a figure of each second as a sparkline.
type curve struct {
	label string
	value string
	scale string // what the full height means; "": the highest value
	of    func(*column) float64
	text  func(float64) string
	style func(*column) style
	with  func(*column) float64 // a second figure that shares the scale; nil: none
}

// eighths are the blocks of a sparkline, lowest first.
const eighths = "▁▂▃▄▅▆▇█"

// draw draws the curve into height lines from y.
func (c *curve) draw(g *grid, y, height int, list []*column) {
	middle := y + height - 1
	g.put(0, middle, labelWidth, dim, c.label)
	g.right(plotFrom-1, middle, c.style(last(list)), c.value)
	top := 0.0
	for _, col := range list {
		top = max(top, c.of(col))
		if c.with != nil {
			top = max(top, c.with(col))
		}
	}
	scale := c.scale
	if scale == "" && top > 0 {
		scale = "max " + c.text(top)
	}
	g.put(g.width-scaleWidth+1, y, g.width, dim, scale)
	for i, col := range list {
		bar(g, plotFrom+i, y, height, share(c.of(col), top), c.style(col))
	}
}

func last(list []*column) *column {
	if len(list) == 0 {
		return &column{}
	}
	return list[len(list)-1]
}

func share(v, top float64) float64 {
	if top <= 0 {
		return 0
	}
	return v / top
}

// bar draws a bar of height lines whose part full is filled. What is above 0 is visible, and a
// full bar leaves a gap to the line above.
func bar(g *grid, x, y, height int, full float64, s style) {
	blocks := []rune(eighths)
	n := int(math.Ceil(full * float64(height*len(blocks)-1)))
	for i := height - 1; i >= 0 && n > 0; i-- {
		k := min(n, len(blocks))
		g.put(x, y+i, g.width-scaleWidth, s, string(blocks[k-1]))
		n -= k
	}
}
