package live

import (
	"fmt"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/pkg/takt"
)

// mark is what happened to the target in a second.
type mark uint8

const (
	markOutage mark = 1 << iota // a part of the target did not work
	markFault                   // a command of --fault began
)

// addMarks marks the seconds of the newest outage, which may have been noticed late, and of faults.
func (s *State) addMarks(o *takt.Outage, faults []takt.Fault) {
	s.outage, s.faults = o, faults
	for i := range s.columns {
		c := &s.columns[i]
		if o != nil && c.t > o.From && (o.To == nil || c.t-c.length < *o.To) {
			c.mark |= markOutage
		}
		for _, f := range faults {
			if c.t > f.From && c.t-c.length <= f.From {
				c.mark |= markFault
			}
		}
	}
}

// marked reports whether a second of the list has a mark.
func marked(list []*column) bool {
	for _, c := range list {
		if c.mark != 0 {
			return true
		}
	}
	return false
}

// markLine draws the marks below the curves.
func markLine(g *grid, y int, list []*column) {
	g.put(0, y, plotFrom-1, dim, "outages, faults")
	for i, c := range list {
		x := plotFrom + i
		switch {
		case c.mark&markFault != 0:
			g.put(x, y, g.width-scaleWidth, yellow, "▲")
		case c.mark&markOutage != 0:
			g.put(x, y, g.width-scaleWidth, red, "▄")
		}
	}
}

// troubleNotes say that the target is overloaded, what the newest outage is, and the newest fault.
func (s *State) troubleNotes() (list []note) {
	if s.overload != nil {
		list = append(list, note{"overload", overload.Words(s.overload), "", yellow})
	}
	if n := s.mute(); n > 0 && (s.outage == nil || s.outage.To != nil) {
		list = append(list, note{"outage", "no operation has ended for " + span(page.Seconds(n)), "", yellow})
	} else if s.outage != nil {
		list = append(list, s.outageNote(s.outage))
	}
	if len(s.faults) == 0 {
		return list
	}
	f := &s.faults[len(s.faults)-1]
	text, st := "since "+instant(f.From), yellow
	if f.To != nil {
		text, st = "at "+instant(f.From), plain
	}
	label := "fault"
	if n := len(s.faults); n > 1 {
		label = fmt.Sprint("fault ", n)
	}
	return append(list, note{label, text, oneLine(f.Command), st})
}

func (s *State) outageNote(o *takt.Outage) note {
	more := oneLine(o.First)
	if o.Parts > 1 {
		more += fmt.Sprintf(" and %d more", o.Parts-1)
	}
	more += ": " + oneLine(o.Cause)
	if o.To == nil {
		return note{"outage", fmt.Sprintf("since %s, for %s", instant(o.From), span(page.Seconds(max(0, s.last-o.From)))), more, red}
	}
	return note{"outage", fmt.Sprintf("over, %s to %s", instant(o.From), instant(*o.To)), more, plain}
}

// mute is the time, in seconds, for which nothing has ended although operations are in flight; 0 if it
// is less than two seconds.
func (s *State) mute() (length float64) {
	list, n := s.newest(len(s.columns)), 0
	for i := len(list) - 1; i >= 0 && list[i].ok+list[i].failed == 0 && list[i].inFlight > 0; i-- {
		length += list[i].length
		n++
	}
	if n < 2 {
		return 0
	}
	return length
}

// instant is an instant of the run.
func instant(s float64) string { return fmt.Sprintf("%.1fs", s) }
