package record

import (
	"fmt"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// unsentShare is the part of what was due that may not be sent in time.
const unsentShare = 0.01

// judge sets the verdict and the warnings that follow from the figures alone.
func (r *Recorder) judge(rep *takt.Report, e End) {
	rep.Verdict = takt.Valid
	if !r.adds(rep) {
		r.invalid(rep, "accounting", "the accounting does not add up: scheduled %d, ok %d + failed %d + dropped %d + unfinished %d; this is a fault of takt, please report it",
			rep.Counts.Scheduled, rep.Counts.OK, rep.Counts.Failed, rep.Counts.Dropped, rep.Counts.Unfinished)
	}
	if e.Closed {
		warn(rep, "closed_loop", "closed loop: the next operation waits for the last answer, so the time in which the target stalls is missing from the percentiles; give --rate for what users feel")
	} else if !e.ReceiveOnly {
		r.judgeLag(rep)
		r.judgeUnsent(rep)
		r.judgeHeld(rep)
	}
	r.judgeLimits(rep)
	if n := rep.Counts.Dropped; n > 0 {
		warn(rep, "dropped", "%d operations were dropped at the in-flight bound and are in no percentile: the tail is truncated", n)
	}
	if n := r.total.clamped(); n > 0 {
		warn(rep, "clamped", "%d latencies were outside %v to %v and count as the nearer end", n, hist.Lowest, hist.Highest)
	}
}

func (r *Recorder) adds(rep *takt.Report) bool {
	sum := func(c takt.Counts) bool { return c.Scheduled == c.OK+c.Failed+c.Dropped+c.Unfinished }
	return sum(rep.Counts) && sum(rep.WarmupCounts)
}

func (r *Recorder) judgeLag(rep *takt.Report) {
	l := verdict.Of(r.response(), r.total.lag)
	if l.Bottleneck() {
		r.invalid(rep, "generator_bottleneck", "the generator was the bottleneck: %d operations (%.1f %%) were sent more than %v after they could have been; lower the rate, free the CPU, or spread the run with --shard",
			l.Late, 100*l.Share, l.Bound)
	}
	if n, due := r.total.drops.Above(l.Bound), rep.Counts.Scheduled; verdict.Many(n, due) {
		r.invalid(rep, "generator_behind", "the generator fell behind: %d of %d operations were dropped more than %v after they were due, so the generator held them up, not the bound; lower the rate, free the CPU, or spread the run with --shard", n, due, l.Bound)
	}
	if n, due := r.total.behind.Above(l.Bound), rep.Counts.Scheduled; verdict.Many(n, due) {
		r.invalid(rep, "generator_backlog", "the generator was the bottleneck: %d of %d operations waited more than %v for connections that were late because the generator had sent earlier operations late; lower the rate, free the CPU, or spread the run with --shard", n, due, l.Bound)
	}
	if l.Doubtful() {
		warn(rep, "generator_late", "the generator was late: schedule lag p99 is %v beside a response p99 of %v", l.Lag, l.Response)
	}
}

// judgeUnsent: more than 1 % of what was due was not sent in time although a slot was free.
func (r *Recorder) judgeUnsent(rep *takt.Report) {
	n, due := r.total.unsent, rep.Counts.Scheduled
	if float64(n) > unsentShare*float64(due) {
		r.invalid(rep, "generator_behind", "the generator fell behind: %d of %d operations were not sent by the end of the window although nothing but the generator held them up; lower the rate or spread the run with --shard", n, due)
	}
}

// judgeHeld: a rate that was not reached for want of connections is the generator's fault
// if the generator held them.
func (r *Recorder) judgeHeld(rep *takt.Report) {
	held := r.total.queued
	if r.total.blind > 0 { // what found no connection did not wait for one
		held = r.total.all
	}
	if held.Bottleneck(rep.Rate.Achieved, *rep.Rate.Intended) {
		r.invalid(rep, "generator_held", "the generator was the bottleneck: %.1f %% of the rate were achieved, and while operations waited for a connection the generator held the connections for %.0f %% of the time, with answers that it had not read and requests that it had not sent; lower the rate, free the CPU, or spread the run with --shard",
			100*rep.Rate.Achieved / *rep.Rate.Intended, 100*held.Share())
	}
}

// Stamped reports whether answers had been there before they were read, of operations so
// far: then the operations tell themselves whether the generator was slow.
func (r *Recorder) Stamped() bool { return r.total.all.Generator > 0 }

// judgeLimits: operations that the generator or its host could not even try say nothing of
// the target, in a closed loop neither.
func (r *Recorder) judgeLimits(rep *takt.Report) {
	l := verdict.OfLimits(rep.Errors, rep.Counts.Scheduled)
	if l.Bottleneck() {
		rep.Verdict = takt.Invalid
	}
	if l.Failed > 0 {
		warn(rep, "host_limit", "%d operations (%.2g %%) failed at a limit of this host, not at the target: %s", l.Failed, 100*l.Share, l.Sample)
	}
}

func (r *Recorder) invalid(rep *takt.Report, code, format string, args ...any) {
	rep.Verdict = takt.Invalid
	warn(rep, code, format, args...)
}

func warn(rep *takt.Report, code, format string, args ...any) {
	rep.Warnings = append(rep.Warnings, takt.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
}
