package loadcmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// abortError is the context's cause after a condition of --abort-on ended the run.
type abortError struct {
	condition string
	second    int    // second of the run, counted from 1, including the warm-up
	reason    string // "p99 was 2.3s"
}

func (e *abortError) Error() string {
	return fmt.Sprintf("aborted: %s was true in second %d (%s)", e.condition, e.second, e.reason)
}

// crashError is the context's cause after --crash ended the run.
type crashError struct{ reason error }

func (e *crashError) Error() string { return fmt.Sprintf("ended by --crash: %v", e.reason) }

// aborted returns the abortError or crashError that ended the run; nil: neither did.
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

// look returns the driver's function for finished operations; nil: the driver has none.
func (l *load) look(ctx context.Context) func(phases []string, list []takt.Sample) []trace.Record {
	if l.driver.Look == nil {
		return nil
	}
	show := func(text string) { fmt.Fprint(l.env.Stderr, l.hide(text)) }
	return l.driver.Look(show, func(reason error) {
		if ctx.Err() == nil { // else the run is ending already
			fmt.Fprintf(l.env.Stderr, "takt: ended by --crash: %s\n", l.hide(reason.Error()))
			l.abort(&crashError{errors.New(l.hide(reason.Error()))})
		}
	})
}

// hide removes secrets from a text that takt did not write, such as an answer.
func (l *load) hide(text string) string { return core.HideCredentials(l.scrub.Replace(text)) }

// overloadCondition is the condition of --abort-on that is not an assertion.
const overloadCondition = "overload"

// guarded ends the run when a condition of --abort-on is true.
func (l *load) guarded(ctx context.Context) live.Watcher {
	g := &guard{
		conditions: l.conditions,
		strike: func(e *abortError) {
			if ctx.Err() == nil { // else the run is already draining
				fmt.Fprintf(l.env.Stderr, "takt: %v; the run ends here\n", e)
				l.abort(e)
			}
		},
	}
	return live.Watcher{
		Begin: func(h live.Head, _ time.Time) { g.warmup, g.end, g.receives = h.Warmup, h.End, h.Receives },
		Second: func(s live.Snapshot) {
			g.interval(s.Interval, s.Lent, time.Now())
			if o := s.Overload; l.abortOverload && o != nil && !s.Interval.Warmup {
				g.strike(&abortError{overloadCondition, int(math.Ceil(s.Interval.T)), overload.Words(o)})
			}
		},
	}
}

// noteEnd adds a warning if the run was ended early. An endless run that a signal ended is
// complete, so it gets none, and so is one whose schedule was over: its unfinished operations are
// counted.
func (l *load) noteEnd(ctx context.Context, r *takt.Report) {
	if e := aborted(ctx); e != nil {
		r.Warn(warn.Aborted, "the run was %v; it ended there, so it is shorter than was asked for", e)
	}
	if signal := core.SignalOf(ctx); signal != nil && !l.engine.Endless() && !l.lasted(r) {
		by := signal.Error()
		if l.quitByKey.Load() && signal.Number == int(syscall.SIGINT) {
			by = "stopped by q"
		}
		r.Warn(warn.Cancelled, "the run was %s after %.1f s; it is shorter than was asked for, and is not compared with others", by, takt.Seconds("after", r.DurationS))
	}
}

// lasted reports whether a run lasted to the end of its schedule.
func (l *load) lasted(r *takt.Report) bool {
	source, err := l.engine.Source()
	if err != nil || source.End() < 0 {
		return false
	}
	return math.Round(1e9*(r.WarmupS+r.DurationS)) >= float64(source.End())
}

// parseConditions reads --abort-on. A closed loop has no intended rate, which rules out some
// metrics. onOverload: the run ends when its target is overloaded.
func parseConditions(texts []string, closed bool, timed []takt.Timed) (all []assert.Assertion, onOverload bool, faults []error) {
	for _, text := range texts {
		parts := strings.Split(text, ",")
		rest := slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return strings.TrimSpace(s) == overloadCondition })
		onOverload = onOverload || len(rest) < len(parts)
		if len(rest) == 0 {
			continue
		}
		some, bad := assert.ParseAssertions(strings.Join(rest, ","))
		for _, a := range some {
			bad = core.AppendError(core.AppendError(bad, a.InInterval(closed, timed)), a.Unleveled())
		}
		for _, err := range bad {
			faults = append(faults, value.Bad("abort-on", text, fmt.Errorf("bad --abort-on: %w", err)))
		}
		all = append(all, some...)
	}
	return all, onOverload, faults
}

// checkOverload refuses --abort-on overload for a run that cannot say whether its target is overloaded.
func (l *load) checkOverload() error {
	why := ""
	switch {
	case !l.abortOverload:
	case l.engine.Closed():
		why = "a closed loop has no rate that its target could miss; give --rate"
	case overload.Waits(l.driver.Variables()):
		why = "users wait for their answers, so an overloaded target gets less load; use a latency, as in p99>2s"
	case l.driver.NoAnswer != nil:
		if none, instead := l.driver.NoAnswer(); none != "" {
			why = none + "; use " + instead
		}
	}
	if why == "" {
		return nil
	}
	return value.Faultf("condition %q of --abort-on cannot be judged: %s", overloadCondition, why)
}

// guard checks the conditions of --abort-on in each full second of one run. It does not check
// the run so far, because a long good run would hide a target that dies.
type guard struct {
	conditions []assert.Assertion
	warmup     time.Duration
	end        time.Duration // end of the schedule; negative: unknown
	receives   bool          // the run only receives, so silence is not a pause of the schedule
	strike     func(*abortError)

	from time.Duration // end of the previous interval, since the run's start
	last time.Time     // when the previous interval arrived
	seen int           // seconds judged
	near []evidence    // of each condition, over the newest seconds in which it was true
	open int64         // operations due before from that had not ended; below 0: some ended before they were due
}

// interval judges one interval, and strikes with the first condition that is true.
func (g *guard) interval(iv takt.Interval, lent timeline.Lent, now time.Time) {
	to := time.Duration(iv.T * float64(time.Second))
	whole := g.isWhole(to, now.Sub(g.last))
	from, pause := g.from, g.isPause(iv)
	g.from, g.last = to, now
	if len(g.conditions) == 0 || !whole || from < g.warmup || pause {
		return
	}
	r := assert.OfInterval(iv, lent, time.Second.Seconds())
	g.seen++
	if g.near == nil {
		g.near = make([]evidence, len(g.conditions))
	}
	for i, c := range g.conditions {
		o := c.Check(r)
		if o.Result != takt.Pass || c.OwnLateness(r) {
			g.near[i] = evidence{}
			continue
		}
		if g.near[i].proves(c, r, g.seen) {
			g.strike(&abortError{c.Text, int(from/time.Second) + 1, o.Reason})
			return
		}
	}
}

// evidence is how many operations were beyond a bound, of all, while a condition was true without a break. One slow
// operation of ten is the p99 of its second, and proves nothing.
type evidence struct{ part, all float64 }

// mistaken is the probability that chance ends a run whose target is at a bound, however long the run is. Second k
// has the part 1 ÷ (k·(k+1)) of it.
const mistaken = 0.05

// proves adds the second of r, in which the condition is true, and reports whether it is proven. seen is the
// number of the second. What is a fact of the second needs no proof.
func (e *evidence) proves(c assert.Assertion, r *takt.Report, seen int) bool {
	part, all, share, ok := c.Evidence(r)
	if !ok {
		return true
	}
	e.part, e.all = e.part+part, e.all+all
	return proof.Exceeds(e.part, e.all, share, mistaken/float64(seen)/float64(seen+1))
}

// isWhole reports whether the interval that ends at to is a full second of the schedule; since
// is the time since the previous interval arrived. The drain is not one. The schedule's last
// second is one, even if it is short because all its operations ended early. An interval that
// arrived late, or right after a late one, is not: the generator froze, which is not the
// target's fault.
func (g *guard) isWhole(to, since time.Duration) bool {
	switch {
	case g.end >= 0 && g.from+time.Second > g.end:
		return false
	case to-g.from < time.Second:
		return g.end >= 0 && g.from+2*time.Second > g.end
	}
	return g.last.IsZero() || since > time.Second/2 && since < 3*time.Second/2
}

// isPause reports whether no operation was due in iv and none was open. The count in flight
// cannot decide this: an operation due just after iv is sent up to 150 µs early, or the end of
// iv came late, so it may be in flight or even answered by then.
func (g *guard) isPause(iv takt.Interval) bool {
	due := g.open + int64(iv.Scheduled)
	g.open = due - int64(iv.OK+iv.Failed+iv.Dropped)
	return !g.receives && due <= 0
}
