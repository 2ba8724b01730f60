package format

import (
	"math"
	"strings"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/pkg/takt"
)

// scale are the ends of the picture: rates from 0 to rate, times from 0 to time µs. What
// is slower stands at the upper edge, so that an overloaded step does not flatten the rest.
type scale struct {
	rate, time float64
	bound      float64 // of the SLO, µs; 0: none of the statistic that is shown
}

// roomAbove is how many times the bound of the SLO the picture is high at most.
const roomAbove = 2.5

func scaleOf(c analysis.Capacity) (s scale) {
	s.bound = c.Bound()
	for _, step := range c.Steps {
		response, service := c.Shown(step)
		s.rate, s.time = max(s.rate, step.Offered, step.Achieved), max(s.time, response, service)
	}
	if s.bound > 0 {
		s.time = min(max(s.time, s.bound*1.25), s.bound*roomAbove)
	}
	if line := c.Line; s.bound == 0 && line != nil && line.Rate > 0 {
		s.rate = max(s.rate, line.Rate)
	}
	return s
}

// ticks are about n round values from 0 up to the end.
func ticks(end float64, n int) (list []float64) {
	if end <= 0 {
		return nil
	}
	step := math.Pow10(int(math.Floor(math.Log10(end / float64(n)))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if end/(step*factor) <= float64(n) {
			step *= factor
			break
		}
	}
	for i := 0; float64(i)*step <= end; i++ {
		list = append(list, float64(i)*step)
	}
	return list
}

// The size of the picture in a text report, in cells.
const (
	plotWidth  = 66
	plotHeight = 15
)

// capacityPlot draws the hockey stick: response time ● and service time ○ over the offered
// rate.
func capacityPlot(p *page, c analysis.Capacity) {
	s := scaleOf(c)
	if s.rate <= 0 || s.time <= 0 {
		return
	}
	var grid [plotHeight][plotWidth]rune
	for y := range grid {
		for x := range grid[y] {
			grid[y][x] = ' '
		}
	}
	column := func(rate float64) int {
		return min(plotWidth-1, max(0, int(math.Round(rate/s.rate*(plotWidth-1)))))
	}
	row := func(us float64) int {
		return max(0, plotHeight-1-int(math.Round(us/s.time*(plotHeight-1))))
	}
	if c.Sustainable > 0 {
		for y := range grid {
			grid[y][column(c.Sustainable)] = '│'
		}
	}
	if s.bound > 0 {
		for x := range grid[0] {
			grid[row(s.bound)][x] = '╌'
		}
	}
	for _, service := range []bool{true, false} { // response above service
		for _, step := range c.Steps {
			mark, us, other := '●', 0.0, 0.0
			if us, other = c.Shown(step); service {
				mark, us = '○', other
			}
			switch {
			case step.Verdict == takt.Invalid:
				mark = '×'
			case us > s.time:
				mark = '▲'
			}
			grid[row(us)][column(step.Offered)] = mark
		}
	}
	plotLines(p, grid, s)
	legend := "● response " + c.Statistic + ", ○ service " + c.Statistic + ", over the offered rate"
	if s.bound > 0 {
		legend += "; ╌ SLO " + human(s.bound)
	}
	if c.Sustainable > 0 {
		legend += "; │ " + rate(round3(c.Sustainable))
	}
	p.bullet("", legend+"; ▲ above the picture, × invalid")
}

func plotLines(p *page, grid [plotHeight][plotWidth]rune, s scale) {
	for y := range grid {
		label := ""
		if y%7 == 0 {
			label = human(s.time * float64(plotHeight-1-y) / (plotHeight - 1))
		}
		p.linef("%s │%s", right(label, 9), string(grid[y][:]))
	}
	axis, labels := []rune(strings.Repeat("─", plotWidth)), []rune(strings.Repeat(" ", plotWidth+2))
	for _, v := range ticks(s.rate, 6) {
		at := int(math.Round(v / s.rate * (plotWidth - 1)))
		axis[at] = '┴'
		text := []rune(rate(v))
		copy(labels[min(at, len(labels)-len(text)):], text)
	}
	p.linef("%s └%s", right("", 9), string(axis))
	p.linef("%s %s", right("", 9), string(labels))
}
