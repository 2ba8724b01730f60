package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/pkg/takt"
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
	s.title(g, m)
	s.progress(g, 1, m)
	s.footer(g, g.height-1, m)
	if m.Help {
		help(g, 3)
		return g
	}
	s.body(g, 2, g.height-1, m)
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

// body draws the curves, the heat map, the errors and the assertions into the lines from to end.
func (s *State) body(g *grid, y, end int, m Moment) {
	curves := s.curves()
	tall := max(1, min(3, g.height/12-1)) // 2 lines from 36 on, 3 from 48 on
	below := s.below(m, max(2, (end-y-1-len(curves)*tall)/2))
	if !s.head.answered() { // no heat map
		tall = max(1, min(6, (end-y-1-len(below))/len(curves)))
	}
	list := s.newest(max(0, g.width-plotFrom-scaleWidth))
	for _, c := range curves {
		c.draw(g, y, tall, list)
		y += tall
	}
	heat := max(0, end-y-1-len(below))
	heatMap(g, y, heat, list)
	axis(g, y+heat, list)
	if s.head.answered() {
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

// curves are the figures of the view, from top to bottom.
func (s *State) curves() []curve {
	c := s.current()
	due := func(c *column) float64 { return perSecond(c.due, c.length) }
	done := func(c *column) float64 { return perSecond(c.ok+c.failed, c.length) }
	always := func(st style) func(*column) style { return func(*column) style { return st } }
	rate := func(v float64) string { return si(v) + "/s" }
	var list []curve
	if s.head.scheduled() {
		list = append(list, curve{label: "due", value: rate(due(c)), of: due, with: done, text: rate, style: always(plain)})
	}
	list = append(list, curve{label: "done", value: rate(done(c)), of: done, with: due, text: rate, style: s.doneStyle})
	if s.head.answered() {
		for _, l := range []struct {
			label string
			of    func(*column) float64
		}{
			{"response p50", func(c *column) float64 { return c.responseP50 }},
			{"response p99", func(c *column) float64 { return c.responseP99 }},
			{"service p50", func(c *column) float64 { return c.serviceP50 }},
			{"service p99", func(c *column) float64 { return c.serviceP99 }},
		} {
			list = append(list, curve{label: l.label, value: latency(l.of(c), c), of: l.of, text: page.Human, style: always(cyan)})
		}
	}
	if s.head.Receives {
		return list
	}
	inFlight := func(c *column) float64 { return float64(c.inFlight) }
	list = append(list, curve{label: "in flight", value: si(inFlight(c)), of: inFlight, text: si, style: s.fullStyle})
	lag := curve{label: "lag p99", value: s.lag(c), of: func(c *column) float64 { return c.lag }, text: page.Human, style: lagStyle}
	if s.head.scheduled() {
		lag.scale = "≤" + page.Human(float64(lateness(c).Bound)/1e3)
	}
	return append(list, lag)
}

// doneStyle marks a second that ended much less than was due, and one in which 1 % failed.
func (s *State) doneStyle(c *column) style {
	switch {
	case 100*c.failed > c.ok+c.failed:
		return red
	case s.head.scheduled() && float64(c.ok+c.failed) < 0.95*float64(c.due):
		return yellow
	}
	return green
}

// fullStyle marks a second that reached the limit of operations in flight.
func (s *State) fullStyle(c *column) style {
	if s.head.Room > 0 && c.inFlight >= s.head.Room && !s.head.Closed {
		return yellow
	}
	return plain
}

// note is a line below the heat map.
type note struct {
	label, text, more string
	style             style
}

// below are the lines below the heat map, at most room.
func (s *State) below(m Moment, room int) (list []note) {
	if m.Note != "" {
		room--
	}
	assertions := min(len(s.assertions), max(1, room-min(2, 1+len(s.errors))))
	list = append(list, s.errorNotes(max(1, room-assertions))...)
	list = append(list, s.assertionNotes(assertions)...)
	if m.Note != "" {
		list = append(list, note{"message", m.Note, "", yellow})
	}
	return list
}

// errorNotes are the failures, in at most room lines, the most frequent class first.
func (s *State) errorNotes(room int) []note {
	t, classes := s.total, s.errors
	if t.Dropped > 0 {
		classes = append([]takt.ErrorClass{{Class: "dropped", Count: t.Dropped, Sample: "the limit in flight was reached"}}, classes...)
	}
	n := t.Failed + t.Dropped
	all := fmt.Sprintf("%s of %s operations", si(float64(n)), si(float64(t.OK+n)))
	if n > 0 {
		all += ", " + page.Percent(float64(n), float64(t.OK+n))
	}
	if len(classes) >= room {
		all += fmt.Sprintf(", in %d classes", len(classes))
	}
	list := []note{{"errors", all, "", bad(n)}}
	for _, e := range classes[:min(len(classes), room-1)] {
		list = append(list, note{"", fmt.Sprintf("%-5s %s", si(float64(e.Count)), e.Class), oneLine(e.Sample), red})
	}
	return list
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// assertionNotes are the assertions in their order. If there is no room for all, those that are
// false come first.
func (s *State) assertionNotes(room int) []note {
	list := slices.Clone(s.judgeAll())
	if len(list) > room {
		slices.SortStableFunc(list, func(a, b note) int { return cmp.Compare(urgency(a), urgency(b)) })
		left := len(list) - room + 1
		list = append(list[:room-1], note{text: fmt.Sprintf("and %d more", left), style: dim})
	}
	if len(list) > 0 {
		list[0].label = "assertions"
	}
	return list
}

// judgeAll judges the assertions once a second: the quantiles of a run take 0.5 ms.
func (s *State) judgeAll() []note {
	if s.judgedSoFar == nil && len(s.assertions) > 0 {
		r := s.soFar()
		for _, a := range s.assertions {
			s.judgedSoFar = append(s.judgedSoFar, s.judged(a, r))
		}
	}
	return s.judgedSoFar
}

func urgency(n note) int {
	if n.style == red {
		return 0
	}
	return 1
}

// judged is an assertion as it is at this moment. Only the report decides.
func (s *State) judged(a assert.Assertion, r *takt.Report) note {
	switch {
	case a.Metric == "unfinished", a.Of != "" && a.Of != takt.LatencyResponse && a.Of != takt.LatencyService:
		return note{text: "at the end " + a.Text, style: dim}
	case s.total.OK+s.total.Failed == 0:
		return note{text: "not yet    " + a.Text, style: dim}
	}
	v, missing := a.Value(r)
	if missing != "" {
		return note{text: "not yet    " + a.Text, more: missing, style: dim}
	}
	more := a.Name() + " is " + figure(a.Unit, v)
	switch grows := a.Unit == takt.UnitCount && (a.Op == ">" || a.Op == ">="); {
	case a.Holds(v):
		return note{text: "true       " + a.Text, more: more, style: green}
	case grows:
		return note{text: "not yet    " + a.Text, more: more, style: yellow}
	}
	return note{text: "FALSE      " + a.Text, more: more, style: red}
}

// figure writes a value of an assertion with three significant digits.
func figure(u takt.Unit, v float64) string {
	switch u {
	case takt.UnitMicroseconds:
		return page.Human(v)
	case takt.UnitPercent:
		return page.Short(v) + " %"
	case takt.UnitPerSecond:
		return si(v) + "/s"
	}
	return si(v)
}

// soFar is a report of the seconds that are over, as far as assertions need it.
func (s *State) soFar() *takt.Report {
	t := s.total
	r := &takt.Report{
		DurationS: s.measured,
		Counts:    takt.Counts{Scheduled: t.Scheduled, Sent: t.OK + t.Failed, OK: t.OK, Failed: t.Failed, Dropped: t.Dropped},
		Rate:      takt.Rate{Achieved: perSecond(t.OK+t.Failed, s.measured)},
		Latency:   map[string]takt.Latency{takt.LatencyResponse: s.response.Figures(), takt.LatencyService: s.service.Figures()},
	}
	if intended := perSecond(t.Scheduled, s.measured); !s.head.Closed {
		r.Rate.Intended = &intended
	}
	return r
}

func (s *State) footer(g *grid, y int, m Moment) {
	if !m.Keys {
		return
	}
	text := "space pause   q quit   ? help"
	switch {
	case m.Stopping:
		text = fmt.Sprintf("the run ends when its open operations have ended, in %s at most; Ctrl-C ends it at once", span(max(time.Second, s.head.Drain)))
	case m.Paused:
		text = "space continue   q quit   ? help          the run goes on"
	}
	g.put(0, y, g.width, dim, text)
}

// help draws what keys and colours mean.
func help(g *grid, y int) {
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
		g.put(0, y+i, g.width, plain, text)
	}
}
