package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/pkg/takt"
)

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
	list = s.troubleNotes()
	list = list[:min(len(list), max(0, room-4))]
	room -= len(list)
	assertions := min(len(s.assertions), max(1, room-min(2, 1+len(s.errors))))
	list = append(list, s.errorNotes(max(1, room-assertions))...)
	list = append(list, s.assertionNotes(assertions)...)
	if m.Note != "" {
		list = append(list, note{"message", m.Note, "", yellow})
	}
	return list
}

// errorNotes are the failures and the dropped operations, in at most room lines, the most frequent class first.
func (s *State) errorNotes(room int) []note {
	t, classes := s.total, s.errors
	if t.Dropped > 0 {
		classes = append([]takt.ErrorClass{{Class: "dropped", Count: t.Dropped, Sample: "the limit in flight was reached"}}, classes...)
	}
	list := []note{s.notOK(len(classes) >= room)}
	for _, e := range classes[:min(len(classes), room-1)] {
		list = append(list, note{"", fmt.Sprintf("%-5s %s", si(float64(e.Count)), e.Class), oneLine(e.Sample), red})
	}
	return list
}

// notOK is the line above the classes. Assertions call failed operations errors, and do not count
// dropped ones.
func (s *State) notOK(classes bool) note {
	t, in := s.total, ""
	n := t.Failed + t.Dropped
	if classes && len(s.errors) > 1 {
		in = fmt.Sprintf(" in %d classes", len(s.errors))
	}
	text := fmt.Sprintf("%s of %s", si(float64(n)), si(float64(t.OK+n)))
	if n == 0 {
		text += " operations"
	} else {
		text += fmt.Sprintf(", %s: %s failed%s, %s dropped", page.Percent(float64(n), float64(t.OK+n)), si(float64(t.Failed)), in, si(float64(t.Dropped)))
	}
	return note{"not ok", text, "", bad(n)}
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
	case a.Metric == "unfinished", a.InPart(), a.Of != "" && a.Of != takt.LatencyResponse && a.Of != takt.LatencyService:
		return note{text: "at the end " + a.Text, style: dim}
	case s.total.OK+s.total.Failed == 0:
		return note{text: "not yet    " + a.Text, style: dim}
	}
	v, missing := a.Value(r)
	if missing != "" {
		return note{text: "not yet    " + a.Text, more: missing, style: dim}
	}
	more := a.Name() + " is " + valueOf(a, v)
	switch grows := a.Unit == takt.UnitCount && (a.Op == ">" || a.Op == ">="); {
	case a.Holds(v):
		return note{text: "true       " + a.Text, more: more, style: green}
	case grows:
		return note{text: "not yet    " + a.Text, more: more, style: yellow}
	}
	return note{text: "FALSE      " + a.Text, more: more, style: red}
}

// valueOf writes the value of an assertion with three significant digits, or as many as tell it from
// the bound.
func valueOf(a assert.Assertion, v float64) string {
	switch a.Unit {
	case takt.UnitMicroseconds:
		return figure.MicrosNear(v, a.Bound)
	case takt.UnitPercent:
		return figure.Near(v, a.Bound) + " %"
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
	if t.Good != nil {
		r.Goodput = &takt.Goodput{Good: *t.Good}
		r.Goodput.Of(t.OK+t.Failed+t.Dropped, s.measured)
	}
	if t.Lag != nil {
		r.Extra = map[string]any{"lag": *t.Lag}
	}
	if intended := perSecond(t.Scheduled, s.measured); !s.head.Closed {
		r.Rate.Intended = &intended
	}
	return r
}
