package record

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// End is what the engine knows when a run is over.
type End struct {
	Scheduled, WarmupScheduled uint64
	Closed                     bool          // a closed loop, which has no intended rate
	ReceiveOnly                bool          // nothing was sent
	Stop                       time.Duration // instant at which the run was over
	RTT                        time.Duration // shortest round trip to the target; 0: unknown
	Settlement                 takt.Settlement
}

// Report makes the recorder's part of the report: counts, rates, latencies,
// errors, intervals, verdict. It is called once, after the last Swap.
func (r *Recorder) Report(e End) *takt.Report {
	r.collect(func() {}) // operations cut off came after the last interval
	window := r.windowLength(e)
	if r.cfg.Window < 0 {
		r.total.Achieved, r.total.Unsent = r.total.course.until(r.cfg.Warmup + window)
	}
	intervals, span := r.history.all()
	rep := &takt.Report{
		SchemaVersion: takt.SchemaVersion,
		DurationS:     window.Seconds(),
		WarmupS:       r.cfg.Warmup.Seconds(),
		IntervalS:     float64(span),
		Counts:        r.total.Counts,
		WarmupCounts:  r.total.Warm,
		Bytes:         r.total.Bytes,
		Latency:       r.latencies(e.ReceiveOnly),
		Status:        r.total.statusMap(),
		Errors:        r.Errors(),
		Intervals:     intervals,
		Warnings:      []takt.Warning{},
		Words:         r.cfg.Words,
		Labels:        map[string]string{},
		Variables:     map[string]any{},
		Extra:         map[string]any{},
	}
	rep.Counts.Scheduled = e.Scheduled
	rep.WarmupCounts.Scheduled = e.WarmupScheduled
	r.rates(rep, e, window)
	fail(rep, e.Settlement.Failed)
	if r.cfg.Goal != "" {
		rep.Goodput = &takt.Goodput{SLO: r.cfg.Goal, Good: min(r.total.Good, rep.Counts.OK), Undecided: r.total.Undecided}
		rep.Goodput.Of(rep.Counts.Scheduled, rep.DurationS)
	}
	switch {
	case e.ReceiveOnly:
		r.receiveOnly(rep, e)
	case !r.cfg.OneWay:
		rep.Attribution = r.total.attribution(e.RTT)
	}
	r.judge(rep, e)
	rep.Stalls, _ = outage.FindStalls(rep) // its own histograms: cannot fail
	r.rowsReport(rep)
	r.notesMu.Lock()
	rep.Warnings = append(rep.Warnings, r.notes...)
	r.notesMu.Unlock()
	return rep
}

// fail turns successful operations into failed ones of class c; those of the warm-up last.
func fail(rep *takt.Report, c takt.ErrorClass) {
	warm := c.Count - min(c.Count, rep.Counts.OK)
	c.Count -= warm
	move(&rep.Counts, c.Count)
	move(&rep.WarmupCounts, min(warm, rep.WarmupCounts.OK))
	if c.Count > 0 {
		rep.Errors = append(rep.Errors, c)
		slices.SortStableFunc(rep.Errors, func(a, b takt.ErrorClass) int { return cmp.Compare(b.Count, a.Count) })
	}
}

// move counts n successful operations as failed.
func move(c *takt.Counts, n uint64) { c.OK, c.Failed = c.OK-n, c.Failed+n }

// windowLength is the measured time: from the end of the warm-up to the end of the schedule
// or to the stop. In a closed loop it lasts to the last completion.
func (r *Recorder) windowLength(e End) time.Duration {
	end := time.Duration(r.window.Load())
	if end == math.MaxInt64 {
		end = e.Stop
	}
	if e.Closed && r.total.LastDone > r.cfg.Warmup {
		end = r.total.LastDone
	}
	return max(0, end-r.cfg.Warmup)
}

func (r *Recorder) rates(rep *takt.Report, e End, window time.Duration) {
	perSecond := func(n uint64) float64 {
		if window <= 0 {
			return 0
		}
		return float64(n) / window.Seconds()
	}
	achieved := r.total.Achieved
	if e.Closed { // operations sent within the window count even if they ended after it
		achieved = r.total.Counts.OK + r.total.Counts.Failed
	} else {
		achieved -= min(achieved, e.late(r.total.Counts))
	}
	rep.Rate.Achieved = perSecond(achieved)
	if !e.Closed && !e.ReceiveOnly {
		intended := perSecond(e.Scheduled)
		rep.Rate.Intended = &intended
	}
}

// late is the number of operations that count as sent within the window, but were written after it. Clients
// write in order, so operations that never ended were the last ones, and they count as sent nowhere.
func (e End) late(n takt.Counts) uint64 {
	open := n.Sent - n.OK - n.Failed
	return e.Settlement.Unwritten - min(e.Settlement.Unwritten, open)
}

// receiveOnly sets the counts of a run without operations of its own: scheduled = received +
// missing.
func (r *Recorder) receiveOnly(rep *takt.Report, e End) {
	rep.Counts.OK = r.total.Received
	rep.Counts.Scheduled = max(e.Scheduled, r.total.Received+rep.Counts.Failed)
	rep.Counts.Unfinished = rep.Counts.Scheduled - r.total.Received - rep.Counts.Failed
	rep.WarmupCounts.Scheduled = rep.WarmupCounts.OK
	if rep.DurationS > 0 {
		rep.Rate.Achieved = float64(r.total.Received) / rep.DurationS
	}
}

func (r *Recorder) latencies(receiveOnly bool) map[string]takt.Latency {
	t, m, response := r.total, map[string]takt.Latency{}, r.response()
	switch {
	case receiveOnly:
	case r.cfg.OneWay:
		m[takt.LatencySend] = proof.With(response.Summary(), response, t.blocks)
	default:
		m[takt.LatencyResponseOK] = t.ok.Summary()
		m[takt.LatencyResponse] = proof.With(response.Summary(), response, t.blocks)
		m[takt.LatencyService] = t.service.Summary()
	}
	if !receiveOnly {
		if r.knowsOnTime() {
			m[takt.LatencyOnTime] = t.onTime.Summary()
		}
		m[takt.LatencySendDelay] = t.delay.Summary()
		m[takt.LatencyScheduleLag] = t.lag.Summary()
	}
	for i, h := range t.phases {
		if h != nil && h.Count() > 0 {
			l := h.Summary()
			if k := i - len(r.cfg.Phases); k >= 0 {
				l = proof.With(l, h, t.timed[k])
			}
			m[r.cfg.phase(i)] = l
		}
	}
	return m
}

// response is the response time of ok, failed and unfinished operations together.
func (r *Recorder) response() *hist.Histogram {
	all := hist.New()
	all.Merge(r.total.ok)
	all.Merge(r.total.other)
	return all
}

// SoFar is how many operations have a response time, and their sample. Call it where Swap is called.
func (r *Recorder) SoFar() (n uint64, sample func() *proof.Sample) {
	return r.total.ok.Count() + r.total.other.Count(), func() *proof.Sample { return proof.NewSample(r.response(), r.total.blocks) }
}

// onTime is the response time without the generator's own part. A recorder from the seconds of an older
// takt, or of another process, lacks that part: then it is the response time.
func (r *Recorder) onTime() *hist.Histogram {
	if !r.knowsOnTime() {
		return r.response()
	}
	return r.total.onTime
}

func (r *Recorder) knowsOnTime() bool {
	t := r.total
	return t.onTime.Count() == t.ok.Count()+t.other.Count()
}

// Errors are the classes of failed operations so far, most frequent first. Call it where Swap is
// called.
func (r *Recorder) Errors() []takt.ErrorClass {
	list := make([]takt.ErrorClass, 0, len(r.total.classes))
	for _, c := range r.total.classes {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b takt.ErrorClass) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
	})
	return list
}
