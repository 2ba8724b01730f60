package live

import (
	"strings"

	"github.com/taktload/takt/internal/figure"
)

// curves are the figures of the view, from top to bottom.
func (s *State) curves() []curve {
	c := s.current()
	due := func(c *column) float64 { v, _ := c.rate(c.due); return v }
	done := func(c *column) float64 { v, _ := c.rate(c.ok + c.failed); return v }
	always := func(st style) func(*column) style { return func(*column) style { return st } }
	rate := func(v float64) string { return si(v) + "/s" }
	now := func(n uint64) string {
		if v, known := c.rate(n); known {
			return rate(v)
		}
		return "-"
	}
	var list []curve
	if s.head.scheduled() {
		list = append(list, curve{label: "due", value: now(c.due), of: due, with: done, text: rate, style: always(plain)})
	}
	list = append(list, curve{label: "done", value: now(c.ok + c.failed), of: done, with: due, text: rate, style: s.doneStyle})
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
			list = append(list, curve{label: l.label, value: latency(l.of(c), c), of: l.of, text: figure.Micros, style: always(cyan)})
		}
	}
	for i, name := range s.head.shown() {
		of := func(c *column) float64 { return c.timed[i] }
		value := "-"
		if of(c) > 0 {
			value = figure.Micros(of(c))
		}
		list = append(list, curve{label: briefly(name) + " p99", value: value, of: of, text: figure.Micros, style: always(cyan)})
	}
	if s.head.Receives {
		return list
	}
	inFlight := func(c *column) float64 { return float64(c.inFlight) }
	list = append(list, curve{label: "in flight", value: si(inFlight(c)), of: inFlight, text: si, style: s.fullStyle})
	lag := curve{label: "lag p99", value: s.lag(c), of: func(c *column) float64 { return c.lag }, text: figure.Micros, style: s.lagStyle}
	if s.head.scheduled() {
		lag.scale = "≤" + figure.Duration(c.lateness().Bound)
	}
	return append(list, lag)
}

// briefly is the name of a latency without its last words, so that p99 fits beside it.
func briefly(name string) string {
	words := strings.Fields(strings.Map(func(r rune) rune {
		if r == '_' || r < ' ' {
			return ' '
		}
		return r
	}, name))
	for len(words) > 1 && len(strings.Join(words, " "))+len(" p99") >= labelWidth {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
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
