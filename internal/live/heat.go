package live

import (
	"math"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
)

// heatMap draws the response times of each second into height lines from y: latency upwards on a
// log axis, more operations in a brighter shade.
func heatMap(g *grid, y, height int, list []*column) {
	low, high, most := extent(list)
	if high < low || height < 1 {
		return
	}
	low, per := rows(low, high, height)
	for i := range height {
		from := low + i*per
		at := y + height - 1 - i
		if from >= buckets {
			continue
		}
		g.right(plotFrom-2, at, dim, figure.Micros(lowest(from)))
		g.put(plotFrom-1, at, plotFrom, dim, "┤")
		for x, c := range list {
			if n := c.between(from, from+per); n > 0 {
				level := shade(n, most)
				g.put(plotFrom+x, at, g.width-scaleWidth, heat1+style(level), string([]rune("·░▒▓█")[level]))
			}
		}
	}
}

// rows returns the bucket of the lowest line and the number of buckets of each line, which leads to
// round figures at the axis.
func rows(low, high, height int) (from, per int) {
	for _, per = range []int{1, 2, partsOfStep, 2 * partsOfStep, perDecade, 2 * perDecade, 4 * perDecade, buckets} {
		if from = low - low%per; (high-from)/per < height {
			break
		}
	}
	return from, per
}

// extent is the range of buckets in use, in whole steps so that the axis rarely moves, and the
// largest count.
func extent(list []*column) (low, high int, most uint64) {
	low, high = buckets, -1
	for _, c := range list {
		for b, n := range c.heat {
			if n > 0 {
				low, high, most = min(low, b), max(high, b), max(most, uint64(n))
			}
		}
	}
	if high < 0 {
		return 0, -1, 0
	}
	return low - low%partsOfStep, min(high-high%partsOfStep+partsOfStep-1, buckets-1), most
}

// between counts the operations of buckets from to below to.
func (c *column) between(from, to int) (n uint64) {
	for b := from; b < min(to, buckets); b++ {
		n += uint64(c.heat[b])
	}
	return n
}

// shade is 0 to 4, by the cube of the count's logarithm: a single slow answer is visible beside
// 100 000 fast ones, and the upper shades still differ.
func shade(n, most uint64) int {
	if most <= 1 {
		return 4
	}
	part := math.Log(float64(n)) / math.Log(float64(most))
	return max(0, min(4, int(part*part*part*4+0.5)))
}

// axis draws the time below the columns, a mark every ten seconds.
func axis(g *grid, y int, list []*column) {
	free := plotFrom
	for i, c := range list {
		text := span(page.Seconds(c.t))
		if x := plotFrom + i; int(c.t+0.5)%10 == 0 && x >= free {
			free = g.put(x, y, g.width-scaleWidth, dim, "╵"+text) + 2
		}
	}
}
