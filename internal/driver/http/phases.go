package http

import (
	"context"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/driver/http/script"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// makeValues makes the values of @set, unless an earlier try of the step has made them.
func (s *scenario) makeValues(t *turn) error {
	v := t.visit
	for _, one := range t.at().Sets {
		if !t.makesValues() && v.session.Value(one.Name) != nil {
			continue
		}
		text, missing := s.fillAll(v, one.Value)
		v.session.Unset(one.Name) // also if there is no new one
		switch {
		case missing != "":
			return lacks(missing)
		case len(text) > session.MaxValue:
			return fmt.Errorf("the value {{%s}} of @set has %d bytes, more than %d", one.Name, len(text), session.MaxValue)
		}
		v.session.Set(one.Name, []byte(text))
	}
	return nil
}

// setUp performs the steps with @setup, for a user who is in no figure.
func (s *scenario) setUp(ctx context.Context) error {
	s.keeper = s.visit(s.o.part)
	if err := s.perform(ctx, "@setup", &s.Before); err != nil {
		s.keeper = nil // nothing to tear down
		return err
	}
	s.given = s.keeper.session
	later := s.visit(s.o.part)
	later.done = s.Steps // as if those with @once had succeeded
	for _, t := range s.Tracks {
		if journey.Begin(t.Rules, later.user).Over {
			return fmt.Errorf("the values of @setup leave no step for a round: the conditions of all steps from line %d on do not hold, or their lists are empty", t.Steps[0].Line)
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
	return s.perform(ctx, "@teardown", &s.After)
}

// perform performs the steps of a track once. The error is that of the first step that failed and is not optional.
func (s *scenario) perform(ctx context.Context, phase string, t *script.Track) error {
	if len(t.Steps) == 0 {
		return nil
	}
	conn := s.crowd.Connection()
	defer conn.Close()
	v := s.keeper
	v.track = t
	if s.trial != nil {
		ctx = engine.Tapped(ctx, s.trial)
	}
	watch := s.o.attended.begin()
	n := journey.Begin(t.Rules, v.user)
	for passed := n.Passed; !n.Over; passed = nil {
		if !pause.For(n.Wait, ctx.Done()) {
			return context.Cause(ctx)
		}
		one := &turn{visit: v, place: n.Place, passed: passed}
		watch.say("%s is under way, at step %q", phase, one.at().Name)
		one, r, took := s.exchange(ctx, conn, one)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n = journey.After(t.Rules, n.Place, journey.Result{Class: r.Class, Status: r.Status, Done: one.done}, v.user)
		s.trial.ended(s, one, &r, n, false, took)
		if n.Failed {
			return fmt.Errorf("%s failed: step %q: %w", phase, one.at().Name, whyFailed(&r))
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
