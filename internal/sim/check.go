package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Fault is something that must not be: the engine did it, or says it in its report.
type Fault struct{ Kind, Text string }

// checker is the oracle: it knows what was injected and what the target saw, and holds the
// rows and the report against it.
type checker struct {
	sc         *Scenario
	faults     []Fault
	injected   map[string]int
	dialFaults int // connections that could not be made
	stalls     []span
	rows       []takt.Sample
	done       map[uint64]time.Duration // of the rows
	got        []batch
}

// mostFaults is how many faults of one run are kept.
const mostFaults = 20

func newChecker(sc *Scenario) *checker {
	return &checker{sc: sc, injected: map[string]int{}, done: map[uint64]time.Duration{}}
}

func (k *checker) fault(kind, format string, args ...any) {
	if len(k.faults) < mostFaults {
		k.faults = append(k.faults, Fault{kind, fmt.Sprintf(format, args...)})
	}
}

// check is the last word on a run.
func (k *checker) check(w *world, rep *takt.Report) {
	if k.sc.Mode == modeReceive { // which has no rows
		k.counted(w, rep)
		k.end(w, rep)
		return
	}
	k.accounts(rep)
	for _, r := range k.rows {
		k.done[r.Seq] = r.Done
	}
	for i := range k.rows {
		k.row(w, &k.rows[i])
	}
	k.percentiles(rep)
	k.verdict(w, rep)
	k.attribution(rep)
	k.bounds(w)
	k.end(w, rep)
	if n := len(w.net.conns); n > 0 {
		k.fault("descriptor", "%d sockets are left open", n)
	}
}

func (k *checker) accounts(rep *takt.Report) {
	c := rep.Counts
	if c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
		k.fault("identity", "scheduled %d, ok %d + failed %d + dropped %d + unfinished %d", c.Scheduled, c.OK, c.Failed, c.Dropped, c.Unfinished)
	}
	var of takt.Counts
	for _, r := range k.rows {
		of.Scheduled++
		switch r.Class {
		case "":
			of.OK++
		case takt.ClassDropped:
			of.Dropped++
		case takt.ClassUnfinished:
			of.Unfinished++
		default:
			of.Failed++
		}
	}
	if of.Scheduled != c.Scheduled || of.OK != c.OK || of.Failed != c.Failed || of.Dropped != c.Dropped || of.Unfinished != c.Unfinished {
		k.fault("rows", "the rows hold %+v, the report %+v", of, c)
	}
	var ok, failed, dropped uint64
	for _, iv := range rep.Intervals {
		ok, failed, dropped = ok+iv.OK, failed+iv.Failed, dropped+iv.Dropped
	}
	if wc := rep.WarmupCounts; ok != c.OK+wc.OK || failed != c.Failed+wc.Failed || dropped != c.Dropped+wc.Dropped {
		k.fault("intervals", "the intervals hold %d ok, %d failed, %d dropped of %+v and %+v", ok, failed, dropped, c, wc)
	}
}

// row holds one operation against what the target saw.
func (k *checker) row(w *world, r *takt.Sample) {
	q := w.net.srv.requests[r.Seq]
	if r.Sent != takt.NotSent && (r.Due > r.Free || r.Free > r.Sent || r.Sent > r.Done) {
		k.fault("order", "operation %d: due %v, free %v, sent %v, done %v", r.Seq, r.Due, r.Free, r.Sent, r.Done)
	}
	if k.sc.Mode == modeAsync && r.Class != takt.ClassDropped && r.Class != takt.ClassUnfinished {
		k.completed(w, r, q)
		return
	}
	switch r.Class {
	case "":
		k.answered(w, r, q)
	case takt.ClassDropped:
		if q != nil {
			k.fault("dropped", "operation %d was dropped, and sent", r.Seq)
		}
	case takt.ClassUnfinished:
		if q != nil && r.Sent == takt.NotSent {
			k.fault("unfinished", "operation %d was never sent, says its row, but the target has it", r.Seq)
		}
	case "5xx":
		k.answered(w, r, q)
	default:
		k.failed(w, r, q)
	}
}

// answered holds an answer against the one that the target sent for that request.
func (k *checker) answered(w *world, r *takt.Sample, q *request) {
	origin := w.origin
	switch {
	case q != nil && k.confused(w, q):
	case (q == nil || q.arrived == 0) && k.sc.Room < unbounded && k.sc.Stray+k.sc.SpeaksFirst > 0:
		// Bytes that look like an answer came when a part of the request was out.
	case q == nil || q.arrived == 0:
		k.fault("answer", "operation %d has an answer, and the target never had the request", r.Seq)
	case q.answered < 0:
		k.fault("answer", "operation %d is ok, and its answer was never sent whole (%s)", r.Seq, q.fault)
	case r.Status != q.status:
		k.fault("answer", "operation %d has status %d, the target sent %d", r.Seq, r.Status, q.status)
	case k.stamped() && (r.Done-(q.answered-origin)).Abs() > k.exact():
		k.fault("done", "operation %d: done %v, the answer came at %v", r.Seq, r.Done, q.answered-origin)
	case r.Done < q.answered-origin-k.exact():
		k.fault("done", "operation %d: done %v, before the answer came at %v", r.Seq, r.Done, q.answered-origin)
	}
}

// stamped reports whether done is when the kernel had the answer: under a schedule, as long as
// nobody sets the wall clock.
func (k *checker) stamped() bool { return k.sc.Rate > 0 && len(k.sc.ClockSteps) == 0 }

// near is how long before a request bytes may come that cannot be told from an answer to it: the
// clocks are no more exact.
const near = 3 * time.Microsecond

// exact is how far an instant may be off.
func (k *checker) exact() time.Duration {
	if len(k.sc.ClockSteps) > 0 || k.sc.Stalls > 0 || k.sc.LateWakes > 0 {
		return sock.Doubt
	}
	return near
}

// near is near, and the time that a worker takes from reading the clock until it writes.
func (k *checker) near() time.Duration {
	if k.threads() {
		return near + 2*time.Microsecond
	}
	return near
}

// confused reports whether nobody can tell the answer to q: bytes that look like one came while
// it, or an earlier one on its connection, was on its way. From then on each answer may be the
// one to the request before.
func (k *checker) confused(w *world, q *request) bool {
	if q.c == nil {
		return false
	}
	for _, r := range q.c.requests {
		done, ok := k.done[r.seq]
		if !ok {
			done = never
		}
		for _, at := range q.c.strange {
			if at >= r.begun-k.near() && (done == never || at <= w.origin+done+k.exact()) {
				return true
			}
		}
		if r == q {
			return false
		}
	}
	return false
}

// failed holds a failure against what was injected.
func (k *checker) failed(w *world, r *takt.Sample, q *request) {
	switch {
	case (q == nil || q.c == nil) && r.Class == engine.ClassTimeout && r.Done-r.Sent >= k.sc.Timeout && k.sc.LateWakes+k.sc.Stalls > 0:
		// The connection was there when the time was over.
	case q == nil || q.c == nil: // not even sent
		k.dialFaults--
		if k.dialFaults < 0 {
			k.fault("failure", "operation %d failed (%s) without a fault: it was not sent, and no connection failed", r.Seq, r.Class)
		}
	case r.Class == engine.ClassTimeout:
		if took := r.Done - r.Sent; k.sc.Stalls == 0 && took > k.sc.Timeout+slack/10 {
			k.fault("timeout", "operation %d timed out only after %v of %v", r.Seq, took, k.sc.Timeout)
		}
		if r.Done-r.Sent < k.sc.Timeout {
			k.fault("timeout", "operation %d timed out after %v of %v", r.Seq, r.Done-r.Sent, k.sc.Timeout)
		}
		if q.answered >= 0 && q.answered-w.origin < r.Sent+k.sc.Timeout-50*time.Microsecond && k.stamped() && k.sc.Stalls == 0 {
			k.fault("timeout", "operation %d timed out, and its answer came after %v", r.Seq, q.answered-w.origin-r.Sent)
		}
	case q.c.faults == 0 && q.fault == "":
		k.fault("failure", "operation %d failed (%s) on a connection without a fault", r.Seq, r.Class)
	}
}

// end holds the end of the run against what it had to wait for: nobody sleeps through it.
func (k *checker) end(w *world, rep *takt.Report) {
	if k.sc.Stalls > 0 || k.sc.Warmup > 0 { // operations of the warm-up have no row
		return
	}
	k.forgotten()
	last := w.origin + time.Duration((rep.WarmupS+rep.DurationS)*1e9)
	if k.sc.Mode == modeReceive { // its window ends with the last message
		last = max(last, w.origin+k.sc.Warmup+k.sc.Duration)
	}
	for _, r := range k.rows {
		last = max(last, w.origin+r.Done)
	}
	if over := w.over - last; over > slack {
		k.fault("late end", "the run ended %v after its last operation", over)
	}
}

// forgotten looks for an operation that waited to be sent although nothing was in flight:
// nobody woke whoever sends it.
func (k *checker) forgotten() {
	var last time.Duration
	var waited *takt.Sample
	for i := range k.rows {
		r := &k.rows[i]
		switch {
		case r.Class != takt.ClassUnfinished:
			last = max(last, r.Done)
		case r.Sent != takt.NotSent:
			return
		case waited == nil || r.Due < waited.Due:
			waited = r
		}
	}
	if waited != nil && k.sc.LostSYN == 0 && waited.Done-max(last, waited.Due) > mostIdle {
		k.fault("forgotten", "operation %d, due at %v, was never sent, and nothing was in flight from %v to the end at %v", waited.Seq, waited.Due, last, waited.Done)
	}
}

// mostIdle is how long nothing may be in flight while an operation waits: connections of a
// closed loop may all pause.
const mostIdle = 200 * time.Millisecond

// slack is how long a run may take to notice that it is over, and to end its threads.
const slack = 50 * time.Millisecond

// percentiles holds the report's latencies against those of the rows.
func (k *checker) percentiles(rep *takt.Report) {
	response, service, lag := hist.New(), hist.New(), hist.New()
	for _, r := range k.rows {
		if r.Class == takt.ClassDropped {
			continue
		}
		response.Record(r.Done - r.Due)
		if r.Sent != takt.NotSent {
			service.Record(r.Done - r.Sent)
			lag.Record(r.Sent - max(r.Due, r.Free))
		}
	}
	for name, h := range map[string]*hist.Histogram{takt.LatencyResponse: response, takt.LatencyService: service, takt.LatencyScheduleLag: lag} {
		if got, want := rep.Latency[name], h.Summary(); got != want {
			k.fault("percentile", "%s: the report has n %d, p50 %v, p99 %v, max %v; the rows n %d, p50 %v, p99 %v, max %v",
				name, got.Count, got.P50, got.P99, got.Max, want.Count, want.P50, want.P99, want.Max)
		}
	}
}

// verdict holds the verdict against what was injected. Without a fault a run is valid and
// nothing fails; when the threads stood still while more than 2 % of the operations became due
// and grew late, or as many failed at a limit of the host, it is invalid.
func (k *checker) verdict(w *world, rep *takt.Report) {
	valid := rep.Verdict == takt.Valid
	codes := func() string {
		var list []string
		for _, w := range rep.Warnings {
			list = append(list, w.Code+": "+w.Message)
		}
		return strings.Join(list, "; ")
	}
	harmless := k.injected["503"] + k.injected["partial write"]
	if total(k.injected) == harmless && len(k.sc.Freezes) == 0 && len(k.sc.ClockSteps) == 0 && k.sc.Cancel == 0 {
		// What lies unread while a loop may sleep, or another loop sleeps, or until a client's
		// thread wakes, holds connections.
		lazy := k.sc.Mode == modeAsync || k.sc.Drop || k.sc.Pacing == "economy" || k.sc.MaxLag > 0
		if held := lazy && rep.Warned("generator_held"); !valid && !held {
			k.fault("verdict", "nothing disturbed the generator, and the run is invalid: %s", codes())
		}
		for _, r := range k.rows {
			if ended := r.Class != takt.ClassDropped && r.Class != takt.ClassUnfinished; ended && r.Class != "" && r.Class != "5xx" && r.Class != engine.ClassTimeout {
				k.fault("failure", "nothing was injected, and operation %d failed: %s", r.Seq, r.Class)
			}
		}
	}
	limits := 0
	for _, r := range k.rows {
		if r.Class == engine.ClassFiles {
			limits++
		}
	}
	if limits >= 10 && float64(limits) > 0.001*float64(len(k.rows)) && valid {
		k.fault("verdict", "%d of %d operations failed for want of descriptors, and the run is valid", limits, len(k.rows))
	}
	if valid && k.sc.Rate > 0 {
		k.late(w, rep)
	}
	if len(k.sc.ClockSteps) > 0 && !strings.Contains(codes(), "clock_step") {
		for _, s := range k.sc.ClockSteps {
			if s.By.Abs() > 100*time.Microsecond && s.At > w.origin+time.Millisecond && s.At < w.over-time.Millisecond && s.At < w.origin+time.Duration(rep.DurationS*1e9) && k.sc.Cancel == 0 {
				k.fault("clock", "the wall clock was set by %v at %v, and the report does not say so", s.By, s.At)
			}
		}
	}
}

func total(injected map[string]int) (n int) {
	for _, k := range injected {
		n += k
	}
	return n
}

// held counts the operations that fell due while the only sending thread stood still, and that
// nobody else held up: more than 1 % of them make a run invalid, sent or dropped.
func (k *checker) held(w *world, rep *takt.Report, bound time.Duration) {
	if k.sc.Mode != modeLoop || k.sc.Loops > 1 || k.sc.Connections > 0 || len(k.sc.Freezes) > 0 || k.sc.Files > 0 {
		return
	}
	n := 0
	for _, r := range k.rows {
		due := w.origin + r.Due
		for _, s := range k.stalls {
			if s.from <= due && due < s.to-2*bound {
				n++
				break
			}
		}
	}
	if n >= 10 && float64(n) > 0.011*float64(len(k.rows)) {
		k.fault("verdict", "%d of %d operations fell due while the thread stood still, and the run is valid", n, len(k.rows))
	}
}

// late counts the rows that were later than a valid run allows, by the rule of docs/exit-codes.md.
func (k *checker) late(w *world, rep *takt.Report) {
	bound := max(time.Millisecond, time.Duration(rep.Latency[takt.LatencyResponse].P99*100))
	k.held(w, rep, bound)
	late, sent := 0, 0
	for _, r := range k.rows {
		if r.Sent == takt.NotSent {
			continue
		}
		sent++
		if r.Sent-max(r.Due, r.Free) > bound+bound/50 { // a bucket is 0.8 % wide at most
			late++
		}
	}
	if late >= 10 && float64(late) > 0.01*float64(sent) {
		k.fault("verdict", "%d of %d operations were sent more than %v late, and the run is valid", late, sent, bound)
	}
}

// bounds holds what was open at once against what was asked for.
func (k *checker) bounds(w *world) {
	most := k.sc.InFlight
	if k.sc.Connections > 0 {
		most = k.sc.Connections
	}
	if k.sc.Mode != modeAsync {
		most++ // the first one, until it is used
	}
	if w.net.most > most {
		k.fault("bound", "%d connections were open at once, of %d", w.net.most, most)
	}
}
