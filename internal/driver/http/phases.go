package http

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// phases are what a reader of a scenario knows of its phases and groups.
type phases struct {
	phase  phase
	rounds *payload.Env   // of the steps of rounds
	values []string       // of @setup, for all phases
	all    []string       // of values, those that are lists
	files  []payload.File // of the phases before
	before *step          // the step before; nil: there is none
	groups map[string]int // lines with which the groups begin
}

func newPhases() phases { return phases{phase: setUp, groups: map[string]int{}} }

// enter puts a step behind the one before, into its phase and its group, and reports whether it is the first of the file
// or of the rounds.
func (r *scenarioReader) enter(s *step) (first bool, err error) {
	before := r.before
	first = before == nil || before.phase != s.phase
	r.before = s
	switch {
	case s.phase < r.phase && s.phase == setUp:
		return first, r.at(s.lines["@setup"], errors.New("a step with @setup behind others; those with @setup are the first of the file"))
	case s.phase < r.phase:
		return first, r.at(s.line, errors.New("a step behind those with @teardown; these are the last of the file"))
	case s.pace != nil && !first && s.journey == "":
		return first, r.at(s.lines["@pace"], errors.New("@pace is about rounds; write it in the first step of the file, or of each journey"))
	}
	if !r.o.closed {
		s.pace = nil // a rate says when rounds begin
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
		return &payload.Env{Seed: r.o.seed, Run: &r.o.run, Open: r.o.openNear}
	}
	if r.rounds == nil {
		r.rounds = &payload.Env{Seed: r.o.seed, Run: &r.o.run, Open: r.o.openNear, Ends: true, Lends: true}
	}
	return r.rounds
}

// join puts a step into its group.
func (r *scenarioReader) join(s, before *step) error {
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

// add adds a step to those of its phase. Journeys have those of rounds.
func (s *scenario) add(at *step) {
	switch at.phase {
	case setUp:
		s.before.add(at, s.rulesOf(at))
	case tearDown:
		s.after.add(at, s.rulesOf(at))
	default:
		s.steps = append(s.steps, at)
	}
}

// add adds a step, which is in a group with those before that have the same name of a group.
func (t *track) add(at *step, rules journey.Step) {
	for i := len(t.steps) - 1; i >= 0 && at.group != "" && t.steps[i].group == at.group; i-- {
		t.rules[i].Behind++
		rules.Before++
	}
	t.steps, t.rules = append(t.steps, at), append(t.rules, rules)
}

// isNeverEmpty reports whether each round has a step, whatever the values are that its steps capture. lists are those of
// @setup, which are known before the load.
func (t *track) isNeverEmpty(lists []string) bool {
	for i, r := range t.rules {
		list := t.rules[i-r.Before].Repeat.List
		if r.When == nil && t.rules[i-r.Before].When == nil && (list == "" || slices.Contains(lists, list)) {
			return true
		}
	}
	return false
}

// setting is one @set of a step: a value that is made before the step is sent.
type setting struct {
	name, text string
	line       int
	value      *payload.Template
}

// parseSetting reads NAME TEXT.
func parseSetting(rest string, line int) (s setting, err error) {
	s.line = line
	s.name, s.text, _ = strings.Cut(rest, " ")
	s.text = strings.TrimSpace(s.text)
	if strings.HasPrefix(s.text, "= ") {
		return s, fmt.Errorf("%.40q has a = that would be a part of the value; write @set %s %.40s", rest, s.name, s.text[2:])
	}
	if !session.IsName(s.name) || s.text == "" {
		return s, fmt.Errorf("%.40q is not a name and a value; write @set order {{uuid}}, with a name of letters, digits and _", rest)
	}
	return s, nil
}

// values are the names of what a step captures and sets.
func (s *step) values() (names []string) {
	for _, c := range s.captures {
		names = append(names, c.Name)
	}
	for _, one := range s.sets {
		names = append(names, one.name)
	}
	return names
}

// makeValues makes the values of @set, unless an earlier try of the step has made them.
func (s *scenario) makeValues(t *turn) error {
	v := t.visit
	for _, one := range t.at().sets {
		if !t.makesValues() && v.session.Value(one.name) != nil {
			continue
		}
		text, missing := s.fillAll(v, one.value)
		v.session.Unset(one.name) // also if there is no new one
		switch {
		case missing != "":
			return lacks(missing)
		case len(text) > session.MaxValue:
			return fmt.Errorf("the value {{%s}} of @set has %d bytes, more than %d", one.name, len(text), session.MaxValue)
		}
		v.session.Set(one.name, []byte(text))
	}
	return nil
}

// setUp performs the steps with @setup, for a user who is in no figure.
func (s *scenario) setUp(ctx context.Context) error {
	s.keeper = s.visit(s.o.part)
	if err := s.perform(ctx, "@setup", &s.before); err != nil {
		s.keeper = nil // nothing to tear down
		return err
	}
	s.given = s.keeper.session
	later := s.visit(s.o.part)
	later.done = s.steps // as if those with @once had succeeded
	for _, t := range s.tracks {
		if journey.Begin(t.rules, later.user).Over {
			return fmt.Errorf("the values of @setup leave no step for a round: the conditions of all steps from line %d on do not hold, or their lists are empty", t.steps[0].line)
		}
	}
	return nil
}

// tearDown performs the steps with @teardown once after setUp, for the same user.
func (s *scenario) tearDown(ctx context.Context) error {
	if s.keeper == nil {
		return nil
	}
	defer func() { s.keeper = nil }()
	return s.perform(ctx, "@teardown", &s.after)
}

// perform performs the steps of a track once. The error is that of the first step that failed and is not optional.
func (s *scenario) perform(ctx context.Context, phase string, t *track) error {
	if len(t.steps) == 0 {
		return nil
	}
	conn := s.crowd.Connection()
	defer conn.Close()
	v := s.keeper
	v.track = t
	watch := s.o.attended.begin()
	n := journey.Begin(t.rules, v.user)
	for passed := n.Passed; !n.Over; passed = nil {
		if !pause.For(n.Wait, ctx.Done()) {
			return context.Cause(ctx)
		}
		one := &turn{visit: v, place: n.Place, passed: passed}
		watch.say("%s is under way, at step %q", phase, one.at().name)
		one, r, took := s.exchange(ctx, conn, one)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n = journey.After(t.rules, n.Place, journey.Result{Class: r.Class, Status: r.Status, Done: one.done}, v.user)
		s.trial.ended(s, one, &r, n, false, took)
		if n.Failed {
			return fmt.Errorf("%s failed: step %q: %w", phase, one.at().name, whyFailed(&r))
		}
	}
	return nil
}

// exchange performs a step, and is the last of the redirects that it follows, if it follows any.
func (s *scenario) exchange(ctx context.Context, conn engine.Connection, t *turn) (last *turn, r takt.Result, took time.Duration) {
	for {
		r = takt.Result{}
		if s.prepare(t, &r); r.Class == "" {
			conn.Do(ctx, &takt.Op{Data: t}, &r)
		}
		next := s.follower(t, &r)
		took = time.Since(t.visit.sent)
		if next == nil || ctx.Err() != nil {
			s.checkTimes(t, &r, took, took)
			return t, r, took
		}
		s.trial.ended(s, t, &r, journey.Next{}, true, took)
		t = next
	}
}

// whyFailed is why an operation failed, with the beginning of the body of its answer.
func whyFailed(r *takt.Result) error {
	err := r.Err
	if err == nil {
		err = fmt.Errorf("status %d", r.Status)
	}
	if len(r.Body) == 0 {
		return err
	}
	return fmt.Errorf("%w; the answer begins with %q", err, foreign.Line(string(r.Body[:min(len(r.Body), 200)])))
}

// noteTearDown performs @teardown, and warns if it fails.
func (s *scenario) noteTearDown(ctx context.Context, r *takt.Report) {
	if err := s.tearDown(ctx); err != nil {
		r.Warn(warn.Teardown, "%v: what the run left at the target is still there; %s", err, takt.Advice("remove it by hand"))
	}
}

// notePace says that rounds lasted longer than the pace of their users.
func (s *scenario) notePace(r *takt.Report) {
	if s.late > 0 {
		r.Warn(warn.PaceMissed, "%d rounds lasted longer than their @pace, so their users began the next round late: the load was lower than asked for; %s",
			takt.Number("rounds", s.late), takt.Advice("give the run a rate, which does not wait for answers"))
	}
}

// lacks is the error of a step that needs a value which its round does not have.
func lacks(name string) error {
	return fmt.Errorf("the round has no value {{%s}}: the step that captures it was passed over, or failed", name)
}
