package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
)

// phases are what a reader of a scenario knows of its phases and groups.
type phases struct {
	phase  phase
	rounds *payload.Env   // of the steps of rounds
	values []string       // of @setup, for all phases
	all    []string       // of values, those that are lists
	files  []payload.File // of the phases before
	before *Step          // the step before; nil: there is none
	groups map[string]int // lines with which the groups begin
}

func newPhases() phases { return phases{phase: setUp, groups: map[string]int{}} }

// enter puts a step behind the one before, into its phase and its group, and reports whether it is the first of the file
// or of the rounds.
func (r *scenarioReader) enter(s *Step) (first bool, err error) {
	before := r.before
	first = before == nil || before.phase != s.phase
	r.before = s
	switch {
	case s.phase < r.phase && s.phase == setUp:
		return first, r.at(s.lines["@setup"], errors.New("a step with @setup behind others; those with @setup are the first of the file"))
	case s.phase < r.phase:
		return first, r.at(s.Line, errors.New("a step behind those with @teardown; these are the last of the file"))
	case s.Pace != nil && !first && s.journey == "":
		return first, r.at(s.lines["@pace"], errors.New("@pace is about rounds; write it in the first step of the file, or of each journey"))
	}
	if !r.Closed {
		s.Pace = nil // a rate says when rounds begin
	}
	if s.phase > r.phase {
		r.change(s.phase)
	}
	return first, r.join(s, before)
}

// change begins a phase. It has the values of @setup, and no others yet.
func (r *scenarioReader) change(to phase) {
	if r.phase == setUp {
		r.values, r.all = r.env.Values, r.lists
	}
	r.phase, r.files = to, append(r.files, r.env.Files()...)
	r.env = r.envOf(to)
	r.env.Values, r.lists = slices.Clone(r.values), slices.Clone(r.all)
}

// envOf is what the templates of a phase have in common. Only in rounds do files end a run, and lend lines.
func (r *scenarioReader) envOf(p phase) *payload.Env {
	if p != inRounds {
		return &payload.Env{Seed: r.Seed, Run: r.Run, Open: r.openNear}
	}
	if r.rounds == nil {
		r.rounds = &payload.Env{Seed: r.Seed, Run: r.Run, Open: r.openNear, Ends: true, Lends: true}
	}
	return r.rounds
}

// join puts a step into its group.
func (r *scenarioReader) join(s, before *Step) error {
	if s.group == "" {
		return nil
	}
	if before != nil && before.group == s.group && before.phase == s.phase && s.journey == "" {
		if s.repeat != (journey.Repeat{}) {
			return r.at(s.lines["@repeat"], fmt.Errorf("@repeat in a later step of the group %s; write it in the first one, which repeats the whole group, or take the step out of the group", s.group))
		}
		return nil
	}
	if line := r.groups[s.group]; line > 0 {
		return r.at(s.lines["@group"], fmt.Errorf("the group %s begins in line %d, and ended before this step; the steps of a group stand together, so give this one another name", s.group, line))
	}
	r.groups[s.group] = s.lines["@group"]
	if s.repeat == (journey.Repeat{}) && s.conditions == nil {
		return r.at(s.lines["@group"], fmt.Errorf("the first step of the group %s has no @repeat, @when or @unless, so the group has no effect; write one of them here", s.group))
	}
	return nil
}

// setting is one @set of a step: a value that is made before the step is sent.
type setting struct {
	Name, text string
	line       int
	Value      *payload.Template
}

// parseSetting reads NAME TEXT.
func parseSetting(rest string, line int) (s setting, err error) {
	s.line = line
	s.Name, s.text, _ = strings.Cut(rest, " ")
	s.text = strings.TrimSpace(s.text)
	if strings.HasPrefix(s.text, "= ") {
		return s, fmt.Errorf("%.40q has a = that would be a part of the value; write @set %s %.40s", rest, s.Name, s.text[2:])
	}
	if !session.IsName(s.Name) || s.text == "" {
		return s, fmt.Errorf("%.40q is not a name and a value; write @set order {{uuid}}, with a name of letters, digits and _", rest)
	}
	return s, nil
}

// Values are the names of what a step captures and sets.
func (s *Step) Values() (names []string) {
	for _, c := range s.Captures {
		names = append(names, c.Name)
	}
	for _, one := range s.Sets {
		names = append(names, one.Name)
	}
	return names
}
