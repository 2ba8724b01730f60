package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// abortError is the cause of a run that a condition of --abort-on ended.
type abortError struct {
	condition string
	second    int    // of the run, from 1, the warm-up included
	reason    string // "p99 was 2.3s"
}

func (e *abortError) Error() string {
	return fmt.Sprintf("aborted: %s was true in second %d (%s)", e.condition, e.second, e.reason)
}

// crashError is the cause of a run that --crash ended.
type crashError struct{ reason error }

func (e *crashError) Error() string { return fmt.Sprintf("ended by --crash: %v", e.reason) }

// aborted is the condition of --abort-on, or the bad reply, that ended the run, nil if
// none did.
func aborted(ctx context.Context) error {
	var condition *abortError
	if errors.As(context.Cause(ctx), &condition) {
		return condition
	}
	if crashed(ctx) {
		return context.Cause(ctx)
	}
	return nil
}

func crashed(ctx context.Context) bool {
	var crash *crashError
	return errors.As(context.Cause(ctx), &crash)
}

// look is what the driver sees of operations, nil if it does not look.
func (l *load) look(ctx context.Context) func(phases []string, list []takt.Sample) []trace.Record {
	if l.driver.Look == nil {
		return nil
	}
	show := func(text string) { fmt.Fprint(l.env.Stderr, l.hide(text)) }
	return l.driver.Look(show, func(reason error) {
		if ctx.Err() == nil { // else it ends already
			fmt.Fprintf(l.env.Stderr, "takt: ended by --crash: %s\n", l.hide(reason.Error()))
			l.abort(&crashError{errors.New(l.hide(reason.Error()))})
		}
	})
}

// hide takes secrets out of what others wrote.
func (l *load) hide(text string) string { return hideCredentials(l.scrub.Replace(text)) }

// guarded is watch, and ends the run with the first condition that is true.
func (l *load) guarded(ctx context.Context, watch func(takt.Interval), source takt.Source, d *takt.Driver) func(takt.Interval) {
	g := &guard{
		conditions: l.conditions, warmup: l.engine.Warmup, end: source.End(),
		receives: d.Loop == nil && d.Async == nil && d.Worker == nil,
		strike: func(e *abortError) {
			if ctx.Err() == nil { // else it ends already, and what is open drains
				fmt.Fprintf(l.env.Stderr, "takt: %v; the run ends here\n", e)
				l.abort(e)
			}
		},
	}
	return func(iv takt.Interval) {
		watch(iv)
		g.interval(iv, time.Now())
	}
}

// noteEnd says in the report that it is of a run which was ended. One that had no
// end of its own is complete.
func (l *load) noteEnd(ctx context.Context, r *takt.Report) {
	if e := aborted(ctx); e != nil {
		r.Warnings = append(r.Warnings, takt.Warning{Code: "aborted", Message: "the run was " + e.Error() + "; it ended there, and is shorter than was asked for"})
	}
	var signal *SignalError
	if errors.As(context.Cause(ctx), &signal) && !l.engine.Endless() {
		r.Warnings = append(r.Warnings, takt.Warning{Code: "cancelled", Message: fmt.Sprintf(
			"the run was %v after %.1f s; it is shorter than was asked for, and is not compared with others", signal, r.DurationS)})
	}
}

// parseConditions reads --abort-on. A closed loop intends no rate.
func parseConditions(texts []string, closed bool) (all []analysis.Assertion, faults []error) {
	all, faults = analysis.ParseAssertions(texts...)
	for _, a := range all {
		faults = appendError(faults, a.InInterval(closed))
	}
	for i, err := range faults {
		faults[i] = fmt.Errorf("bad --abort-on: %w", err)
	}
	return all, faults
}

// guard holds the conditions of --abort-on against each full second of one run:
// against the whole run so far, a long good one would hide a target that dies.
type guard struct {
	conditions []analysis.Assertion
	warmup     time.Duration
	end        time.Duration // of the schedule; negative: not known
	receives   bool          // nothing is sent: silence is no pause of the schedule
	strike     func(*abortError)

	from time.Duration // end of the interval before, since the run's start
	last time.Time     // when that came
	open int64         // what was due by then and had not ended; below 0: what ended early
}

// interval judges one interval, and strikes with the first condition that is true.
func (g *guard) interval(iv takt.Interval, now time.Time) {
	to := time.Duration(iv.T * float64(time.Second))
	whole := g.isWhole(to, now.Sub(g.last))
	from, pause := g.from, g.isPause(iv)
	g.from, g.last = to, now
	if len(g.conditions) == 0 || !whole || from < g.warmup || pause {
		return
	}
	r := analysis.OfInterval(iv, time.Second.Seconds())
	for _, c := range g.conditions {
		if o := c.Check(r); o.Result == takt.Pass {
			g.strike(&abortError{c.Text, int(from/time.Second) + 1, o.Reason})
			return
		}
	}
}

// isWhole reports whether the interval that ends at to, and came so long after the
// one before, is a full second of the schedule. The drain is none. The schedule's
// last second is one, though all that was due in it may have ended early. Any other
// one that came late, or at once after a late one, is not: the generator had stood
// still, and that is not the target's fault.
func (g *guard) isWhole(to, since time.Duration) bool {
	switch {
	case g.end >= 0 && g.from+time.Second > g.end:
		return false
	case to-g.from < time.Second:
		return g.end >= 0 && g.from+2*time.Second > g.end
	}
	return g.last.IsZero() || since > time.Second/2 && since < 3*time.Second/2
}

// isPause reports whether the schedule asked for nothing in iv, and nothing was open.
// What is in flight does not tell: an operation that is due at the end of iv is sent
// up to 150 µs early, or the end came late, and it may even have its answer by then.
func (g *guard) isPause(iv takt.Interval) bool {
	due := g.open + int64(iv.Scheduled)
	g.open = due - int64(iv.OK+iv.Failed+iv.Dropped)
	return !g.receives && due <= 0
}
