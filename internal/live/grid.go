package live

import (
	"strings"
	"unicode"
)

// covered marks the second column of a wide rune.
const covered rune = -1

// cell is one column of one line. The zero value is a space.
type cell struct {
	r     rune
	style style
}

// grid is a picture: no text can leave it or change its shape.
type grid struct {
	width, height int
	cells         []cell
}

func newGrid(width, height int) *grid {
	width, height = max(0, width), max(0, height)
	return &grid{width, height, make([]cell, width*height)}
}

// put writes text from the column x of the line y to the column end, exclusive, and returns the
// column after it. The text comes from anywhere: what has no certain width becomes a dot.
func (g *grid) put(x, y, end int, s style, text string) int {
	if y < 0 || y >= g.height || x < 0 {
		return x
	}
	end = min(end, g.width)
	line := g.cells[y*g.width : (y+1)*g.width]
	for _, r := range text {
		if x >= end {
			break
		}
		w := widthOf(r)
		if w == 0 {
			r, w = '·', 1
		}
		if x+w > end {
			line[x] = cell{'…', s}
			return end
		}
		line[x] = cell{r, s}
		if w == 2 {
			line[x+1] = cell{covered, s}
		}
		x += w
	}
	return x
}

// right writes text that ends before the column end.
func (g *grid) right(end, y int, s style, text string) {
	g.put(max(0, end-len([]rune(text))), y, end, s, text)
}

// lines are the lines of the picture without spaces at their ends.
func (g *grid) lines(p Palette) []string {
	list := make([]string, g.height)
	for y := range list {
		list[y] = lineOf(g.cells[y*g.width:(y+1)*g.width], p)
	}
	return list
}

func lineOf(cells []cell, p Palette) string {
	for len(cells) > 0 && (cells[len(cells)-1].r == 0 || cells[len(cells)-1].r == ' ') {
		cells = cells[:len(cells)-1]
	}
	var b strings.Builder
	on := "" // the parameters in effect
	for _, c := range cells {
		if c.r == covered {
			continue
		}
		if c.r == 0 {
			c = cell{' ', plain}
		}
		if sgr := p.sgr(c.style); sgr != on && !(c.r == ' ' && on == "") {
			b.WriteString("\x1b[0")
			if sgr != "" {
				b.WriteString(";" + sgr)
			}
			b.WriteByte('m')
			on = sgr
		}
		b.WriteRune(c.r)
	}
	if on != "" {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// widthOf is the number of columns that every terminal uses for r; 0: terminals differ, or r
// moves the cursor, combines with its neighbour or changes the direction of writing.
func widthOf(r rune) int {
	switch {
	case r < ' ' || r >= 0x7f && r < 0xa0 || r == unicode.ReplacementChar || r == 0xad:
		return 0
	case r < 0x300, unicode.In(r, unicode.Greek, unicode.Cyrillic) && unicode.IsLetter(r):
		return 1
	case r >= 0x2010 && r <= 0x2027, r >= 0x2030 && r <= 0x205e, r >= 0x20a0 && r <= 0x20bf:
		return 1
	case r >= 0x2190 && r <= 0x22ff && r != 0x231a && r != 0x231b, r >= 0x2500 && r <= 0x25fc:
		return 1
	case r >= 0x4e00 && r <= 0x9fff, r >= 0x3041 && r <= 0x3096, r >= 0x30a1 && r <= 0x30ff, r >= 0xac00 && r <= 0xd7a3, r >= 0x3001 && r <= 0x3029:
		return 2
	}
	return 0
}
