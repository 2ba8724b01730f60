package engine

import (
	"context"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// finishTimeout limits how long a driver may take for its part of the report.
const finishTimeout = 30 * time.Second

// report makes the report of a run that was over at the instant end.
func (r *run) report(end time.Duration, used proc.Span) (*takt.Report, error) {
	closed := r.closed()
	r.lastInterval(end)
	scheduled, warm := r.flow.counts()
	var settlement takt.Settlement
	if f := r.plan.Driver.Settle; f != nil {
		settlement = f()
	}
	rep := r.rec.Report(record.End{
		Scheduled: scheduled, WarmupScheduled: warm, Settlement: settlement,
		Closed: closed, ReceiveOnly: r.receiveOnly(), Stop: end, RTT: time.Duration(r.flow.observed.rtt.Load()),
	})
	rep.Kind = r.plan.Kind
	rep.StartedAt = r.started.UTC()
	r.describe(rep)
	r.generator(rep, used, closed)
	late, received := r.flow.asides()
	asides(rep, late, received)
	clientTime(rep)
	r.flow.observed.warn(rep, r.plan.Scrub)
	r.plan.addresses.report(rep)
	r.clock(rep)
	if n := r.flow.disbelieved.Load(); n > 0 {
		rep.Warn(warn.Arrived, "the driver says of %s that the answer came before the request was sent, or after the answer was read: that cannot be, and is not believed; %s",
			takt.Number("operations", n).As(figure.Plural(n, "operation")), takt.Advice("correct what sets Result.Arrived"))
	}
	if f := r.plan.Driver.Finish; f != nil {
		ctx, cancel := context.WithTimeout(r.flow.observed.context(), finishTimeout)
		defer cancel()
		if err := f(ctx, rep); err != nil {
			rep.Warn(warn.Finish, "the driver could not complete its part of the report: %v", err)
		}
	}
	return rep, nil
}

func (r *run) receiveOnly() bool { return r.mode.name() == "async" && r.plan.Driver.Async == nil }

func (r *run) closed() bool { return !r.receiveOnly() && r.plan.Closed() }

// asides reports what the flow counts besides operations.
func asides(rep *takt.Report, late, received uint64) {
	if late > 0 {
		rep.Warn(warn.ListLate, "operations waited %s for the list that they come from: that time is in response time, and neither the target's nor the generator's", takt.Number("waits", late).As(figure.Plural(late, "time")))
	}
	if received > 0 {
		rep.Extra["received"] = received
	}
}

// clientMost is the median part of the service time that takt's own client may take without a
// warning.
const clientMost = 15 // µs

// clientTime warns of a client that is slow to write a request.
func clientTime(rep *takt.Report) {
	if p50 := rep.Latency[NetPhases[phaseClient]].P50; p50 > clientMost {
		rep.Warn(warn.ClientTime, "service time includes %.0f µs of takt's own client at the median, from sent until the request is written; %s",
			takt.Micros("client_p50", p50), takt.Advice("the loop mode needs none, and takt's own client less than net/http"))
	}
}

// clock warns of a wall clock that was set during the run. Under fake time there are no
// stamps.
func (r *run) clock(rep *takt.Report) {
	_, _ = r.wall.Look()
	if r.wall.Steps == 0 || r.plan.NewWaiter != nil {
		return
	}
	rep.Warn(warn.ClockStep, "the wall clock was set during the run, by %v: answers that came just then count as received when takt read them; durations do not depend on that clock, dates do", takt.Time("moved", r.wall.Moved.Round(time.Microsecond)))
}

// lastInterval ends the interval after the last full second.
func (r *run) lastInterval(end time.Duration) {
	t := r.flow.tick(end)
	scheduled, warm := r.flow.counts()
	t.Scheduled, t.Backlog, t.Over = scheduled+warm, 0, true
	r.swap(t)
}

func (r *run) describe(rep *takt.Report) {
	rep.Schedule = r.plan.Described()
	if log := r.plan.recording; log != nil && !log.given && rep.Schedule.GapCV > 0 {
		log.warn(rep, max(1, r.plan.Shard.parts()))
	}
}

// Described is the schedule of a run with these options, as its report has it.
func (o *Options) Described() (d takt.Schedule) {
	if spec, err := o.Spec(); err == nil {
		d = spec.Describe()
	}
	if o.unread() {
		d.Arrivals = o.Arrivals.String()
	}
	d.Seed = o.Seed
	_, d.ShardFrom = o.Shard.Resolved()
	if o.Recorded {
		d.Profile, d.Arrivals = "replay", recorded
	}
	return d
}

// describer is a mode that reports its number of loops, and the part of the time for which
// the busiest loop worked.
type describer interface {
	describe(rep *takt.Report, ran time.Duration) (loops int, worked float64)
	advise(rep *takt.Report)
}

func (r *run) generator(rep *takt.Report, used proc.Span, closed bool) {
	rep.Generator = r.host()
	rep.Generator.OwnRetransmits = r.flow.observed.resent.known()
	h := verdict.Host{Closed: closed, Told: r.rec.Stamped() || r.plan.NewWaiter != nil} // a test may use fake time
	m, loops := r.mode.(describer)
	if loops {
		h.Loops, h.Worked = m.describe(rep, used.Wall)
	}
	_, lags := r.mode.(*async)
	if o := &r.plan.Options; !r.plan.loops() && (o.paced() && !lags || o.Loops > 0) {
		rep.Warn(warn.NoLoop, "--loops is for the loop mode, --pacing and --max-lag for the loop and async modes, and this run was in %s mode", rep.Generator.Engine)
	}
	spent(rep, used, h)
	if loops {
		m.advise(rep)
	}
}

// spent reports what the run cost, and judges it.
func spent(rep *takt.Report, used proc.Span, h verdict.Host) {
	g := &rep.Generator
	h.Stolen = used.Share(used.Steal)
	g.WaitedS, g.ThrottledS = used.Waited.Seconds(), used.Throttled.Seconds()
	g.CPUS, g.MaxRSS, g.GCCycles, g.GCPauseMaxUS = used.CPU.Seconds(), used.MaxRSS, used.GCCycles, float64(used.GCPauseMax)/1e3
	g.Retransmits, g.Stolen = used.Resent, 100*h.Stolen
	h.Resent, h.Own = used.Resent, g.OwnRetransmits != nil
	if h.Own {
		h.Resent = *g.OwnRetransmits
	}
	h.CPU, h.Idle, h.Quota = used.Share(used.CPU), used.Share(used.Idle), used.Share(used.Throttled)
	h.Ran, h.Waited, h.Throttled, h.Wall = used.CPU, used.Waited, used.Throttled, used.Wall
	h.GCPauseMax, h.GCCycles = used.GCPauseMax, used.GCCycles
	h.Judge(rep)
}
