package answer

import (
	"fmt"
	"math"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/judge/stats"
)

// The size of a curve in cells.
const (
	curveWidth  = 60
	curveHeight = 5
)

// column is what a cell's width of a curve shows: the median of its points.
type column struct {
	value, level float64
	change       bool // a change is in the column
}

// columnsOf puts the points of a series into at most curveWidth columns, and returns the range of the
// values.
func columnsOf(s *history.Series) (list []column, low, high float64) {
	n := min(len(s.Points), curveWidth)
	changed := map[int]bool{}
	for _, c := range s.Changes {
		changed[c.At] = true
	}
	low, high = math.Inf(1), math.Inf(-1)
	for i := range n {
		var c column
		var values []float64
		for _, p := range s.Points[i*len(s.Points)/n : (i+1)*len(s.Points)/n] {
			values = append(values, p.Value)
			c.level, c.change = p.Level, c.change || changed[p.At]
		}
		c.value = stats.MedianOf(values)
		low, high = min(low, c.value, c.level), max(high, c.value, c.level)
		list = append(list, c)
	}
	return list, low, high
}

// sparkline is a curve of one line. A series that hardly varies is flat: its range is at least a tenth
// of its values.
func sparkline(s *history.Series) string {
	list, low, high := columnsOf(s)
	if least := math.Abs(high) / 10; high-low < least {
		middle := (low + high) / 2
		low, high = middle-least/2, middle+least/2
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	line := make([]rune, len(list))
	for i, c := range list {
		at := 0.0
		if high > low {
			at = (c.value - low) / (high - low)
		}
		line[i] = bars[int(math.Round(at*float64(len(bars)-1)))]
	}
	return string(line)
}

// historyPlot draws points and levels, with the changes below.
func historyPlot(s *history.Series) (lines []string) {
	list, low, high := columnsOf(s)
	row := func(v float64) int {
		if high <= low {
			return curveHeight / 2
		}
		return curveHeight - 1 - int(math.Round((v-low)/(high-low)*(curveHeight-1)))
	}
	var cells [curveHeight][curveWidth]rune
	below := []rune{}
	for x, c := range list {
		for y := range cells {
			cells[y][x] = ' '
		}
		cells[row(c.level)][x] = '─'
		cells[row(c.value)][x] = '●'
		mark := ' '
		if c.change {
			mark = '▲'
		}
		below = append(below, mark)
	}
	for y := range cells {
		label := ""
		switch y {
		case 0:
			label = page.Amount(s.Unit, high)
		case curveHeight - 1:
			label = page.Amount(s.Unit, low)
		}
		lines = append(lines, fmt.Sprintf("%s │%s", page.Right(label, 12), string(cells[y][:len(list)])))
	}
	return append(lines, fmt.Sprintf("%s  %s", page.Right("", 12), string(below)))
}
