package verdict

import (
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// remedy is the advice for a generator that is the bottleneck, unless its host says why: see Host.explain.
const remedy takt.Advice = "lower the rate, free the CPU, or " + takt.SpreadLoad

// Evidence is what a recorder counts of operations for the rules about them alone. It is plain data, for journals.
type Evidence struct {
	Unsent uint64 `json:"unsent,omitempty"` // operations not sent in time although a connection was free
	Queued Held   `json:"queued"`           // use of the connections that operations waited for
	All    Held   `json:"all"`              // use of all connections
	Drops  Drops  `json:"drops,omitzero"`   // delays of dropped operations
	Blind  uint64 `json:"blind,omitempty"`  // operations dropped although an unread answer may have freed a connection
	Behind Drops  `json:"behind,omitzero"`  // delays of operations sent late, or queued behind late operations
}

// Merge adds o.
func (e *Evidence) Merge(o *Evidence) {
	e.Unsent += o.Unsent
	e.Queued.Merge(o.Queued)
	e.All.Merge(o.All)
	e.Drops.Merge(&o.Drops)
	e.Blind += o.Blind
	e.Behind.Merge(&o.Behind)
}

// waited is the use of the connections that operations waited for. A dropped operation did not wait for a
// connection.
func (e *Evidence) waited() Held {
	if e.Blind > 0 {
		return e.All
	}
	return e.Queued
}

// Operations is what a run's operations show about their generator.
type Operations struct {
	Delays
	Evidence
	Clamped     uint64 // latencies outside the range of the histograms
	Closed      bool   // a closed loop, which has no intended rate
	ReceiveOnly bool   // nothing was sent
}

// Judge sets the verdict of r, whose counts, rates and errors are complete, and adds the
// warnings.
func (o *Operations) Judge(r *takt.Report) {
	r.Verdict = takt.Valid
	n := r.Counts
	if !adds(n) || !adds(r.WarmupCounts) {
		Invalidate(r, warn.Accounting, "the accounting does not add up: scheduled %d, ok %d + failed %d + dropped %d + unfinished %d; this is a fault of takt, please report it",
			takt.Number("scheduled", n.Scheduled), takt.Number("ok", n.OK), takt.Number("failed", n.Failed), takt.Number("dropped", n.Dropped), takt.Number("unfinished", n.Unfinished))
	}
	if r.WarmupS > 0 && r.DurationS == 0 && !o.ReceiveOnly {
		Invalidate(r, warn.NothingMeasured, "the run ended in its warm-up of %s, so nothing was measured; %s",
			figure.Time("warmup", time.Duration(r.WarmupS*float64(time.Second))), takt.Advice("let it run for longer, or warm up for less time"))
	}
	if o.Closed {
		r.Warn(warn.ClosedLoop, "closed loop: the next operation waits for the last answer, so the time in which the target stalls is missing from the percentiles; %s", takt.GiveRate+" for what users feel")
	} else if !o.ReceiveOnly {
		o.late(r)
		o.unsent(r)
		o.held(r)
	}
	limits(r)
	dropped(r)
	if o.Clamped > 0 {
		r.Warn(warn.Clamped, "%d latencies were outside %v to %v and count as the nearer end", takt.Number("clamped", o.Clamped), takt.Time("lowest", hist.Lowest), takt.Time("highest", hist.Highest))
	}
}

func adds(c takt.Counts) bool { return c.Scheduled == c.OK+c.Failed+c.Dropped+c.Unfinished }

// late judges operations that were sent or dropped later than the target and the connection
// limit explain.
func (o *Operations) late(r *takt.Report) {
	l, due := latenessOf(o.Delays), r.Counts.Scheduled
	if l.Bottleneck() {
		l.invalidate(r, "the generator was", remedy)
	}
	if n := o.Drops.Above(l.Bound); many(n, due) {
		Invalidate(r, warn.GeneratorBehind, "the generator fell behind: %d of %d operations were dropped more than %s after they were due, so the generator held them up, not the bound; %s",
			takt.Number("late", n), takt.Number("due", due), figure.Time("bound", l.Bound), remedy)
	}
	// A few late operations, with a few behind them, are many together. An operation may be both.
	n := o.Behind.Above(l.Bound)
	if all := min(due, n+l.Late); n > 0 && many(all, due) {
		Invalidate(r, warn.GeneratorBacklog, "the generator was the bottleneck: it was slow or froze, and %d of %d operations were sent more than %s late; %d of them waited for a connection behind its backlog; %s",
			takt.Number("late", all), takt.Number("due", due), figure.Time("bound", l.Bound), takt.Number("behind", n), remedy)
	}
	if l.Doubtful() {
		l.warn(r, "the generator was")
	}
}

// unsent: more than 1 % of due operations were not sent in time although a connection was
// free.
func (o *Operations) unsent(r *takt.Report) {
	if due := r.Counts.Scheduled; float64(o.Unsent) > LateShare*float64(due) {
		Invalidate(r, warn.GeneratorBehind, "the generator fell behind: %d of %d operations were not sent by the end of the window although nothing but the generator held them up; %s", takt.Number("unsent", o.Unsent), takt.Number("due", due), remedy)
	}
}

// held: if a rate was not achieved for lack of connections, and the generator used the
// connections, the generator is the cause.
func (o *Operations) held(r *takt.Report) {
	if h := o.waited(); h.Bottleneck(r.Rate.Achieved, *r.Rate.Intended) {
		Invalidate(r, warn.GeneratorHeld, "the generator was the bottleneck: %.1f %% of the rate were achieved, and while operations waited for a connection the generator held the connections for %.0f %% of the time, with answers that it had not read and requests that it had not sent; %s",
			achieved(r), takt.Percent("held", 100*h.Share()), remedy)
	}
}

// limits: operations that failed at a limit of the generator or its host say nothing about
// the target, in a closed loop, too.
func limits(r *takt.Report) {
	l := limitsOf(r.Errors, r.Counts.Scheduled)
	if l.Failed > 0 {
		warner(r, l.Bottleneck())(warn.HostLimit, "%d operations (%.2g %%) failed at a limit of this host, not at the target: %s", takt.Number("failed", l.Failed), takt.Percent("failed_share", 100*l.Share), l.Sample)
	}
}

func dropped(r *takt.Report) {
	if n := r.Counts.Dropped; n > 0 {
		r.Warn(warn.Dropped, "%d operations were dropped at the in-flight bound and are in no percentile: the tail is truncated", takt.Number("dropped", n))
	}
}

// Rejudge makes a report that says valid invalid if the generator was late by the current rule:
// an older takt may have had another rule.
func Rejudge(r *takt.Report, d Delays) {
	if l := latenessOf(d); l.Bottleneck() {
		Invalidate(r, warn.Rejudged, "the report says valid, but its histograms show that the generator was the bottleneck: %d operations (%.1f %%) were sent more than %s after they could have been",
			takt.Number("late", l.Late), takt.Percent("late_share", 100*l.Share), figure.Time("bound", l.Bound))
	}
}

// invalidate makes r invalid for late operations.
func (l Lateness) invalidate(r *takt.Report, who string, remedy takt.Advice) {
	Invalidate(r, warn.GeneratorBottleneck, "%s the bottleneck: %d operations (%.1f %%) were sent more than %s after they could have been; %s",
		who, takt.Number("late", l.Late), takt.Percent("late_share", 100*l.Share), figure.Time("bound", l.Bound), remedy)
}

// achieved is the rate in per cent of the intended rate, as the part of it that is missing.
func achieved(r *takt.Report) takt.Figure {
	p := 100 * r.Rate.Achieved / *r.Rate.Intended
	return takt.Percent("missed", 100-p).As(p)
}

// Invalidate makes a report invalid, with a warning that says why. format and args are those
// of fmt.Sprintf.
func Invalidate(r *takt.Report, code takt.WarningCode, format string, args ...any) {
	r.Verdict = takt.Invalid
	r.Warn(code, format, args...)
}

// warner is r.Warn, or Invalidate for r if what it says is a reason.
func warner(r *takt.Report, reason bool) func(code takt.WarningCode, format string, args ...any) {
	if !reason {
		return r.Warn
	}
	return func(code takt.WarningCode, format string, args ...any) { Invalidate(r, code, format, args...) }
}
