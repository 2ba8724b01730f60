package live

import (
	"fmt"
	"strings"
	"time"
)

// MinWidth and MinHeight are the size from which the view has all its parts.
const (
	MinWidth  = 80
	MinHeight = 24
)

// View returns the lines of the full view: exactly height lines of at most width columns.
func (s *State) View(m Moment, width, height int, p Palette) []string {
	return s.picture(m, width, height).lines(p)
}

func (s *State) picture(m Moment, width, height int) *grid {
	g := newGrid(width, height)
	end := max(2, g.height-1) // of the body
	s.title(g, m)
	s.progress(g, 1, m)
	s.footer(g, end, m)
	if m.Help {
		help(g, 3, end)
		return g
	}
	s.body(g, 2, end, m)
	return g
}

func (s *State) title(g *grid, m Moment) {
	word, st := "running", green
	switch {
	case m.Paused:
		word, st = "paused", yellow
	case m.Stopping:
		word, st = "stopping", yellow
	case s.drains(m):
		word, st = "drain", yellow
	case m.Elapsed < 0:
		word, st = "waiting", yellow
	case !s.Begun():
		word, st = "starting", yellow
	case m.Elapsed < s.head.Warmup:
		word, st = "warm-up", yellow
	}
	g.right(g.width, 0, st, word)
	g.put(0, 0, g.width-len(word)-2, bold, shortened(s.head.Command, g.width-len(word)-2))
}

// shortened leaves out the middle of a command line that is too long: its last word is usually
// the target.
func shortened(command string, room int) string {
	i := strings.LastIndexByte(command, ' ')
	tail := " … " + command[i+1:]
	rest := []rune(command)
	if len(rest) <= room || i < 0 || len([]rune(tail)) > room/2 {
		return command
	}
	return string(rest[:room-len([]rune(tail))]) + tail
}

// progress draws how much of the run is over.
func (s *State) progress(g *grid, y int, m Moment) {
	x := g.put(0, y, plotFrom-1, plain, s.elapsed(m))
	x = max(x+1, plotFrom)
	left, known := s.remaining(m.Elapsed)
	text := "until q or Ctrl-C"
	switch {
	case s.drains(m):
		text = "open operations end"
	case known && s.head.End > 0:
		text = span(left) + " left"
	case known:
		text = "about " + span(left) + " left"
	case s.head.Requests > 0:
		text = ""
	}
	g.right(g.width, y, plain, text)
	if part := s.share(m.Elapsed); part >= 0 {
		room := g.width - x - len([]rune(text)) - 1
		full := int(part * float64(max(0, room)))
		for i := range max(0, room) {
			st, r := dim, "░"
			if i < full {
				st, r = green, "█"
			}
			g.put(x+i, y, g.width, st, r)
		}
	}
}

func (s *State) elapsed(m Moment) string {
	switch {
	case m.Elapsed < 0:
		return "starts in " + span(-m.Elapsed)
	case s.head.End > 0:
		return span(m.Elapsed) + " of " + span(s.head.End)
	}
	return span(m.Elapsed)
}

// leastHeat is the least number of lines of a heat map: the only one of 1 would begin at
// 1 µs, whatever the latencies.
const leastHeat = 3

// body draws the curves, the heat map, the errors and the assertions into the lines from to end.
func (s *State) body(g *grid, y, end int, m Moment) {
	curves := s.curves()
	tall := max(1, min(3, g.height/12-1)) // 2 lines from 36 on, 3 from 48 on
	rest := end - y - 1 - len(curves)*tall
	list := s.newest(max(0, g.width-plotFrom-scaleWidth))
	marks := 0
	if marked(list) {
		marks = 1
	}
	rest -= marks
	room := max(2, rest/2)
	if rest-room < leastHeat {
		room = max(2, rest)
	}
	below := s.below(m, room)
	if !s.head.answered() { // no heat map
		tall = max(1, min(6, (end-y-1-marks-len(below))/len(curves)))
	}
	for _, c := range curves {
		if y+tall > end {
			return
		}
		c.draw(g, y, tall, list)
		y += tall
	}
	if y >= end {
		return
	}
	heat := max(0, end-y-1-marks-len(below))
	if heat < leastHeat && s.head.answered() {
		heat = 0
	}
	heatMap(g, y, heat, list)
	if marks > 0 && y+heat < end-1 {
		markLine(g, y+heat, list)
		y++
	}
	axis(g, y+heat, list)
	if s.head.answered() && heat > 0 {
		g.put(0, y+heat, plotFrom-1, dim, "response time")
	}
	y += heat + 1
	for _, l := range below {
		if y >= end {
			break
		}
		x := g.put(0, y, labelWidth, dim, l.label)
		x = g.put(max(x, labelWidth+1), y, g.width, l.style, l.text)
		g.put(x+2, y, g.width, dim, l.more)
		y++
	}
}

func (s *State) footer(g *grid, y int, m Moment) {
	text := "space pause   q quit   ? help"
	switch {
	case !m.Keys:
		text = m.Hint
	case m.Stopping:
		text = fmt.Sprintf("the run ends when its open operations have ended, in %s at most; Ctrl-C ends it at once", span(max(time.Second, s.head.Drain)))
	case m.Paused:
		text = "space continue   q quit   ? help          the run goes on"
	}
	g.put(0, y, g.width, dim, text)
}

// help draws what keys and colours mean into the lines from y to end.
func help(g *grid, y, end int) {
	for i, text := range []string{
		"space    pause the view; the run goes on",
		"q        end the run and print its report, as the first Ctrl-C does",
		"Ctrl-C   the same; again: end at once",
		"?        close this help",
		"",
		"due      operations due in this second        done     operations that ended",
		"response from due to done                     service  from sent to done",
		"lag      how late takt itself sent: yellow is a warning, red is above the bound;",
		"         with more than 1 % of the operations above the bound the run is invalid",
		"",
		"The heat map has a column for each second, and latency upwards on a log axis.",
		"A brighter cell has more operations. Assertions show the run so far; only the",
		"report decides.",
	} {
		if y+i < end {
			g.put(0, y+i, g.width, plain, text)
		}
	}
}
