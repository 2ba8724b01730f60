package answer

import (
	"fmt"
	"math"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/capacity"
)

// scale is the range of the picture: rates from 0 to rate, times from 0 to time µs. Slower
// steps are drawn at the upper edge, so that an overloaded step does not flatten the rest.
type scale struct {
	rate, time float64
	bound      float64 // limit of the SLO in µs; 0: none for the statistic shown
}

// roomAbove is the largest height of the picture, in multiples of the SLO's limit.
const roomAbove = 2.5

func scaleOf(c capacity.Answer) (s scale) {
	s.bound = c.Bound()
	for _, step := range c.Steps {
		response, service := c.Shown(step)
		s.rate, s.time = max(s.rate, step.Offered, step.Throughput()), max(s.time, response, service)
	}
	if s.bound > 0 {
		s.time = min(max(s.time, s.bound*1.25), s.bound*roomAbove)
	}
	if line := c.Line; s.bound == 0 && line != nil && line.Rate > 0 {
		s.rate = max(s.rate, line.Rate)
	}
	return s
}

// CapacityRange is the range of the picture: rates from 0 to rate, times from 0 to time µs. Slower steps are
// drawn at the upper edge. bound is the limit of the SLO in µs; 0: none for the statistic shown.
func CapacityRange(c capacity.Answer) (rate, time, bound float64) {
	s := scaleOf(c)
	return s.rate, s.time, s.bound
}

// ticks returns about n round values from 0 to end.
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

// canvas is the unfinished picture of a text report.
type canvas struct {
	scale
	cells [plotHeight][plotWidth]rune
}

func newCanvas(s scale) *canvas {
	v := &canvas{scale: s}
	for y := range v.cells {
		for x := range v.cells[y] {
			v.cells[y][x] = ' '
		}
	}
	return v
}

func (v *canvas) column(rate float64) int {
	return min(plotWidth-1, max(0, int(math.Round(rate/v.rate*(plotWidth-1)))))
}

func (v *canvas) row(us float64) int {
	return max(0, plotHeight-1-int(math.Round(us/v.time*(plotHeight-1))))
}

// mark draws the time of a step at its rate.
func (v *canvas) mark(c capacity.Answer, step capacity.Step, us float64, mark rune) {
	switch {
	case !c.Counts(step):
		mark = '×'
	case us > v.time:
		mark = '▲'
	}
	v.cells[v.row(us)][v.column(step.Offered)] = mark
}

// DrawCapacity draws response time ● and service time ○ over the offered rate.
func DrawCapacity(p *page.Page, c capacity.Answer) {
	v := newCanvas(scaleOf(c))
	if v.rate <= 0 || v.time <= 0 {
		return
	}
	legend := "● response " + c.Statistic + ", ○ service " + c.Statistic + ", over the offered rate"
	if v.bound > 0 {
		legend += "; ╌ SLO " + figure.Micros(v.bound)
	}
	if c.Ranged() {
		v.upright(*c.Interval.Low)
		v.upright(*c.Interval.High)
		low, high := page.Ends(*c.Interval.Low, *c.Interval.High)
		legend += fmt.Sprintf("; │ %s to %s", page.Rate(low), page.Rate(high))
	} else if c.Sustainable > 0 {
		v.upright(c.Sustainable)
		legend += "; │ " + page.Rate(page.Round3(c.Sustainable))
	}
	for x := range v.cells[0] {
		if v.bound > 0 {
			v.cells[v.row(v.bound)][x] = '╌'
		}
	}
	for _, step := range c.Steps {
		_, service := c.Shown(step)
		v.mark(c, step, service, '○')
	}
	for _, step := range c.Steps { // drawn over the service times
		response, _ := c.Shown(step)
		v.mark(c, step, response, '●')
	}
	v.lines(p)
	p.Bullet("", legend+"; ▲ above the picture, × does not count")
}

// upright draws a vertical line at that rate.
func (v *canvas) upright(rate float64) {
	for y := range v.cells {
		v.cells[y][v.column(rate)] = '│'
	}
}

func (v *canvas) lines(p *page.Page) {
	for y := range v.cells {
		label := ""
		if y%7 == 0 {
			label = figure.Micros(v.time * float64(plotHeight-1-y) / (plotHeight - 1))
		}
		p.Linef("%s │%s", page.Right(label, 9), string(v.cells[y][:]))
	}
	axis, labels := []rune(strings.Repeat("─", plotWidth)), []rune(strings.Repeat(" ", plotWidth+2))
	for _, r := range ticks(v.rate, 6) {
		at := v.column(r)
		axis[at] = '┴'
		text := []rune(page.Rate(r))
		copy(labels[min(at, len(labels)-len(text)):], text)
	}
	p.Linef("%s └%s", page.Right("", 9), string(axis))
	p.Linef("%s %s", page.Right("", 9), string(labels))
}
