package verdict

import (
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// remedy is what to do about a generator that is the bottleneck.
const remedy = "lower the rate, free the CPU, or spread the run with --shard"

// Operations is what the operations of a run say about their generator.
type Operations struct {
	Response, Lag *hist.Histogram // of the response time and the schedule lag
	Behind, Drops *Drops          // sent behind the generator's backlog; dropped
	Unsent        uint64          // not sent in time although a connection was free
	Held          Held            // the connections that operations waited for
	Clamped       uint64          // latencies outside the range of the histograms
	Closed        bool            // a closed loop: nothing was intended
	ReceiveOnly   bool            // nothing was sent
}

// Judge sets the verdict of r, whose counts, rates and errors are known, and adds the warnings
// that follow.
func (o *Operations) Judge(r *takt.Report) {
	r.Verdict = takt.Valid
	n := r.Counts
	if !adds(n) || !adds(r.WarmupCounts) {
		invalid(r, "accounting", "the accounting does not add up: scheduled %d, ok %d + failed %d + dropped %d + unfinished %d; this is a fault of takt, please report it",
			n.Scheduled, n.OK, n.Failed, n.Dropped, n.Unfinished)
	}
	if o.Closed {
		r.Warn("closed_loop", "closed loop: the next operation waits for the last answer, so the time in which the target stalls is missing from the percentiles; give --rate for what users feel")
	} else if !o.ReceiveOnly {
		o.late(r)
		o.unsent(r)
		o.held(r)
	}
	limits(r)
	if n.Dropped > 0 {
		r.Warn("dropped", "%d operations were dropped at the in-flight bound and are in no percentile: the tail is truncated", n.Dropped)
	}
	if o.Clamped > 0 {
		r.Warn("clamped", "%d latencies were outside %v to %v and count as the nearer end", o.Clamped, hist.Lowest, hist.Highest)
	}
}

func adds(c takt.Counts) bool { return c.Scheduled == c.OK+c.Failed+c.Dropped+c.Unfinished }

// late judges operations that were sent, or dropped, later than the target and the bound on
// connections allowed.
func (o *Operations) late(r *takt.Report) {
	l, due := Of(o.Response, o.Lag), r.Counts.Scheduled
	if l.Bottleneck() {
		invalid(r, "generator_bottleneck", "the generator was the bottleneck: %d operations (%.1f %%) were sent more than %v after they could have been; "+remedy,
			l.Late, 100*l.Share, l.Bound)
	}
	if n := o.Drops.Above(l.Bound); many(n, due) {
		invalid(r, "generator_behind", "the generator fell behind: %d of %d operations were dropped more than %v after they were due, so the generator held them up, not the bound; "+remedy, n, due, l.Bound)
	}
	if n := o.Behind.Above(l.Bound); many(n, due) {
		invalid(r, "generator_backlog", "the generator was the bottleneck: it had stood still, and %d of %d operations waited for a connection behind its backlog and were sent more than %v late; "+remedy, n, due, l.Bound)
	}
	if l.Doubtful() {
		r.Warn("generator_late", "the generator was late: schedule lag p99 is %v beside a response p99 of %v", l.Lag, l.Response)
	}
}

// unsent: more than 1 % of what was due was not sent in time although a connection was free.
func (o *Operations) unsent(r *takt.Report) {
	if due := r.Counts.Scheduled; float64(o.Unsent) > LateShare*float64(due) {
		invalid(r, "generator_behind", "the generator fell behind: %d of %d operations were not sent by the end of the window although nothing but the generator held them up; lower the rate or spread the run with --shard", o.Unsent, due)
	}
}

// held: a rate that was not reached for want of connections is the generator's fault if the
// generator held them.
func (o *Operations) held(r *takt.Report) {
	if o.Held.Bottleneck(r.Rate.Achieved, *r.Rate.Intended) {
		invalid(r, "generator_held", "the generator was the bottleneck: %.1f %% of the rate were achieved, and while operations waited for a connection the generator held the connections for %.0f %% of the time, with answers that it had not read and requests that it had not sent; "+remedy,
			achieved(r), 100*o.Held.Share())
	}
}

// limits: operations that the generator or its host could not even try say nothing of the
// target, in a closed loop neither.
func limits(r *takt.Report) {
	l := OfLimits(r.Errors, r.Counts.Scheduled)
	if l.Bottleneck() {
		r.Verdict = takt.Invalid
	}
	if l.Failed > 0 {
		r.Warn("host_limit", "%d operations (%.2g %%) failed at a limit of this host, not at the target: %s", l.Failed, 100*l.Share, l.Sample)
	}
}

const (
	busyMost      = 0.9  // of all cores, or of a loop's time, that the generator may use
	busySome      = 0.33 // of all cores, while less than idleLeast are idle
	idleLeast     = 0.05
	throttledMost = 0.1 // of the time that a quota may hold the generator back
	starvedMost   = 0.5 // of the time that its threads together may wait for a core
)

// Host is what the generator used of its host, as parts of all cores: 0.5 is half of the
// machine.
type Host struct {
	CPU, Idle                    float64
	Ran, Waited, Throttled, Wall time.Duration // of its threads together; of its cgroup; of the run
	Loops                        int           // of the loop mode; 0: another mode
	Worked                       float64       // of the time, by the busiest loop
	Closed                       bool          // a closed loop
	Told                         bool          // operations tell already whether the generator was slow
}

// Judge makes r invalid if the rate was the generator's limit, and warns in a closed loop. With
// a full pool a generator that gets no CPU looks like a slow target: every answer is read late,
// and the wait for a connection looks like the bound's. So a rate that was not reached is the
// generator's fault when it used nearly all of its cores, or a third of what others left while
// the machine had nothing more to give. Where operations do not tell by themselves how long
// their answers were not read, so it is when the generator did not get the cores that it wanted.
func (h Host) Judge(r *takt.Report) {
	if h.Worked > busyMost && r.Counts.Scheduled > 0 {
		if !h.Closed {
			r.Verdict = takt.Invalid
		}
		r.Warn("generator_saturated", "a loop worked %.0f %% of the time: the rate may be its limit, not the target's; use more of them (--loops, %d now) on cores of their own, or spread the run with --shard", 100*h.Worked, h.Loops)
	}
	switch {
	case h.Closed:
		if h.CPU > busyMost {
			r.Warn("generator_saturated", "the generator used %.0f %% of all cores: the rate may be its limit, not the target's", 100*h.CPU)
		}
	case r.Rate.Intended == nil:
	case r.Rate.Achieved >= shortRate**r.Rate.Intended:
	case h.CPU > busyMost, h.CPU > busySome && h.Idle < idleLeast:
		invalid(r, "generator_saturated", "the generator was the bottleneck: it used %.0f %% of all cores, %.0f %% were idle, and %.1f %% of the rate were achieved; lower the rate, give the target cores of its own, or spread the run with --shard",
			100*h.CPU, 100*h.Idle, achieved(r))
	case h.Told:
	case h.Throttled.Seconds() > throttledMost*h.Wall.Seconds():
		invalid(r, "generator_saturated", "the generator was the bottleneck: the CPU quota of its cgroup held it back for %v, and %.1f %% of the rate were achieved; raise the quota or lower the rate",
			h.Throttled.Round(time.Millisecond), achieved(r))
	case h.Waited > h.Ran && h.Waited.Seconds() > starvedMost*h.Wall.Seconds():
		invalid(r, "generator_saturated", "the generator was the bottleneck: its threads waited for a core for %v in all, and ran for %v, and %.1f %% of the rate were achieved; free the CPU, or lower the rate",
			h.Waited.Round(time.Millisecond), h.Ran.Round(time.Millisecond), achieved(r))
	}
}

// achieved is in per cent of the intended rate.
func achieved(r *takt.Report) float64 { return 100 * r.Rate.Achieved / *r.Rate.Intended }

func invalid(r *takt.Report, code, format string, args ...any) {
	r.Verdict = takt.Invalid
	r.Warn(code, format, args...)
}
