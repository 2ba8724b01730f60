package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Fault is a broken rule: something that the engine did, or a wrong statement in its report.
type Fault struct{ Kind, Text string }

// checker is the oracle: it knows which faults were injected and what the target saw, and checks
// the rows and the report against both.
type checker struct {
	sc         *Scenario
	faults     []Fault
	injected   map[string]int
	dialFaults int             // injected faults that may each fail one operation before it is sent
	dials      []time.Duration // instants of these faults
	idle       []span          // in which a connection over HTTP/2 had room
	stalls     []span          // of the threads that send in the loop mode
	rows       []takt.Sample
	done       map[uint64]time.Duration // by the number of the operation, as the rows have it
	got        []batch                  // in the receiving mode
}

// mostFaults limits the faults that are stored of one run.
const mostFaults = 20

func newChecker(sc *Scenario) *checker {
	return &checker{sc: sc, injected: map[string]int{}, done: map[uint64]time.Duration{}}
}

func (k *checker) fault(kind, format string, args ...any) {
	if len(k.faults) < mostFaults {
		k.faults = append(k.faults, Fault{kind, fmt.Sprintf(format, args...)})
	}
}

// check checks a run that has ended.
func (k *checker) check(w *world, rep *takt.Report) {
	if k.sc.Mode == modeReceive { // it has no rows
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
	if k.sc.shared() {
		k.shared(w, rep)
	}
	if k.sc.Mode == modeUsers {
		k.users(w, rep)
	}
	if k.sc.Parts > 0 {
		k.streams(w, rep)
	}
	if k.sc.Model {
		k.speeches(w, rep)
	}
	if k.sc.GRPC {
		k.messages(w, rep)
	}
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
	var sum takt.Counts
	classes := map[string]uint64{}
	for _, r := range k.rows {
		sum.Scheduled++
		switch r.Class {
		case "":
			sum.OK++
		case takt.ClassDropped:
			sum.Dropped++
		case takt.ClassUnfinished:
			sum.Unfinished++
		default:
			sum.Failed++
			classes[r.Class]++
		}
	}
	if sum.Scheduled != c.Scheduled || sum.OK != c.OK || sum.Failed != c.Failed || sum.Dropped != c.Dropped || sum.Unfinished != c.Unfinished {
		k.fault("rows", "the rows add up to %+v, the report says %+v", sum, c)
	}
	var ok, failed, dropped uint64
	for _, iv := range rep.Intervals {
		ok, failed, dropped = ok+iv.OK, failed+iv.Failed, dropped+iv.Dropped
		if most := k.sc.Connections; most > 0 && iv.InFlightMax > most {
			k.fault("in flight", "%d operations were in flight over %d connections", iv.InFlightMax, most)
		}
		for class, n := range iv.Errors {
			classes[class] -= n
		}
	}
	for class, n := range classes {
		if n != 0 {
			k.fault("intervals", "of the failures of class %q the intervals have %d fewer than the rows", class, int64(n))
		}
	}
	if wc := rep.WarmupCounts; ok != c.OK+wc.OK || failed != c.Failed+wc.Failed || dropped != c.Dropped+wc.Dropped {
		k.fault("intervals", "the intervals add up to %d ok, %d failed, %d dropped; the report says %+v and, for the warm-up, %+v", ok, failed, dropped, c, wc)
	}
}

// row checks one operation against what the target saw.
func (k *checker) row(w *world, r *takt.Sample) {
	q := w.net.srv.requests[r.Seq]
	if r.Sent != takt.NotSent && (r.Due > r.Free || r.Free > r.Sent || r.Sent > r.Done) {
		k.fault("order", "operation %d: due %v, free %v, sent %v, done %v", r.Seq, r.Due, r.Free, r.Sent, r.Done)
	}
	if r.Class == "" && k.sc.loops() {
		for i, d := range r.Phases {
			if d > r.Done-r.Sent+k.exact() {
				k.fault("phase", "operation %d: phase %d took %v of %v", r.Seq, i, d, r.Done-r.Sent)
			}
		}
	}
	if k.sc.Mode == modeAsync && r.Class != takt.ClassDropped && r.Class != takt.ClassUnfinished {
		k.completed(w, r, q)
		return
	}
	if k.sc.GRPC && k.called(w, r, q) {
		return
	}
	switch r.Class {
	case "":
		k.answered(w, r, q)
	case takt.ClassDropped:
		if q != nil {
			k.fault("dropped", "operation %d was dropped, but the target has it", r.Seq)
		}
	case takt.ClassUnfinished:
		after := k.sc.Mode == modeUsers && q != nil && q.begun-w.origin >= r.Done // users stop a moment after the cut
		if q != nil && r.Sent == takt.NotSent && !after {
			k.fault("unfinished", "operation %d was never sent by its row, but the target has it", r.Seq)
		}
	case "5xx", "check", "capture": // of users, whose oracle knows which of them it must be
		k.answered(w, r, q)
	default:
		k.failed(w, r, q)
	}
}

// answered checks an answer against the one that the target sent to the request.
func (k *checker) answered(w *world, r *takt.Sample, q *request) {
	origin := w.origin
	switch {
	case q != nil && k.confused(w, q):
	case (q == nil || q.arrived == 0) && k.sc.Room < unbounded && k.sc.Stray+k.sc.SpeaksFirst > 0:
		// Bytes that look like an answer came while only a part of the request was sent.
	case q == nil || q.arrived == 0:
		k.fault("answer", "operation %d has an answer, but the target never got the request", r.Seq)
	case q.answered < 0:
		k.fault("answer", "operation %d is ok, but the target never sent its whole answer (%s)", r.Seq, q.fault)
	case r.Status != q.status:
		k.fault("answer", "operation %d has status %d, the target sent %d", r.Seq, r.Status, q.status)
	case k.stamped() && (r.Done-(k.came(q)-origin)).Abs() > k.exact():
		k.fault("done", "operation %d: done %v, but the answer came at %v", r.Seq, r.Done, k.came(q)-origin)
	case r.Done < q.answered-origin-k.exact():
		k.fault("done", "operation %d: done %v, before the answer came at %v", r.Seq, r.Done, q.answered-origin)
	}
}

// stamped reports whether done is the instant at which the kernel received the answer: under a
// schedule, unless somebody sets the wall clock.
func (k *checker) stamped() bool {
	return (k.sc.Rate > 0 || k.sc.shared()) && len(k.sc.ClockSteps) == 0
}

// came is when an answer came. Answers that are read together have the stamp of the last one.
func (k *checker) came(q *request) time.Duration {
	if k.sc.shared() || k.sc.H2 {
		return q.read
	}
	return q.answered
}

// near is how shortly before a request bytes may arrive and still pass for its answer, because the
// clocks are no more exact.
const near = 3 * time.Microsecond

// exact is the largest error allowed for an instant of a row.
func (k *checker) exact() time.Duration {
	if len(k.sc.ClockSteps) > 0 || k.sc.Stalls > 0 || k.sc.LateWakes > 0 {
		return sock.Doubt
	}
	return near
}

// near is the constant near, and for a worker also the 2 µs from reading the clock to the write.
func (k *checker) near() time.Duration {
	if k.threads() {
		return near + 2*time.Microsecond
	}
	return near
}

// confused reports whether the client cannot tell which answer belongs to q: unasked bytes came
// while q, or an earlier request on its connection, was open. From then on each answer may belong
// to the request before.
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

// failed checks a failure against what was injected.
func (k *checker) failed(w *world, r *takt.Sample, q *request) {
	switch {
	case (q == nil || q.c == nil) && (k.sc.isLate(r) || r.Class == engine.ClassConnectTimeout) && r.Done-r.Sent >= min(k.sc.Timeout, k.sc.ConnectTimeout) && (k.sc.LateWakes > 0 || k.stood() || k.frozeHandshake(w, r)):
		// The time was over before a late thread had its connection, or could use it, or before a
		// frozen target shook hands.
	case k.sc.shared() && k.failedShared(w, r, q), k.sc.H2 && k.failedUser(w, r, q):
	case q == nil || q.c == nil: // not even sent
		k.dialFaults--
		if k.dialFaults < 0 {
			k.fault("failure", "operation %d failed (%s) without a fault: it was not sent, and no connection failed", r.Seq, r.Class)
		}
	case k.sc.isLate(r):
		if k.sc.shared() {
			k.stuck(r, q)
		}
		late := slack / 10
		if k.sc.Parts > 0 && k.sc.LateWakes > 0 {
			late *= 2 // a loop that looks at its sockets each millisecond wakes more often, each time late
		}
		if took := r.Done - r.Sent; !k.stood() && took > k.sc.Timeout+late {
			k.fault("timeout", "operation %d timed out too late, after %v instead of %v", r.Seq, took, k.sc.Timeout)
		}
		if r.Done-r.Sent < k.sc.Timeout {
			k.fault("timeout", "operation %d timed out too early, after %v instead of %v", r.Seq, r.Done-r.Sent, k.sc.Timeout)
		}
		if q.answered >= 0 && q.answered-w.origin < r.Sent+k.sc.Timeout-50*time.Microsecond && k.stamped() && !k.stood() {
			k.fault("timeout", "operation %d timed out, but its answer came after %v", r.Seq, q.answered-w.origin-r.Sent)
		}
	case q.c.faults == 0 && q.fault == "":
		k.fault("failure", "operation %d failed (%s) on a connection without a fault", r.Seq, r.Class)
	}
}

// stood reports whether threads of the client may stand still.
func (k *checker) stood() bool { return k.sc.Stalls > 0 || len(k.sc.Halts) > 0 }

// frozeHandshake reports whether the target was frozen while operation r waited for a handshake.
func (k *checker) frozeHandshake(w *world, r *takt.Sample) bool {
	return k.sc.overTLS() && slices.ContainsFunc(k.sc.Freezes, func(f freeze) bool {
		return f.From <= w.origin+r.Done && f.To >= w.origin+r.Sent
	})
}

// end checks that the run ended soon after the last instant that it had to wait for.
func (k *checker) end(w *world, rep *takt.Report) {
	if k.stood() || k.sc.Warmup > 0 { // operations of the warm-up have no row
		return
	}
	k.forgotten()
	last := w.origin + time.Duration((rep.WarmupS+rep.DurationS)*1e9)
	if k.sc.Mode == modeReceive { // its report may end with the last message
		last = max(last, w.origin+k.sc.Warmup+k.sc.Duration)
	}
	for _, r := range k.rows {
		last = max(last, w.origin+r.Done)
		if k.sc.Rate == 0 && r.Class != "" && r.Status == 0 { // its connection pauses, at most until the end of the schedule
			last = max(last, min(w.origin+r.Done+mostIdle, w.origin+k.sc.Duration))
		}
	}
	if over := w.over - last; over > slack {
		k.fault("late end", "the run ended %v after its last operation", over)
	}
}

// forgotten looks for an operation that waited although nothing was in flight: the thread that
// sends it was not woken.
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

// mostIdle limits how long an operation waits while nothing is in flight. All connections of a
// closed loop may pause at once.
const mostIdle = 200 * time.Millisecond

// slack is how long a run may take to notice its end and to stop its threads.
const slack = 50 * time.Millisecond

// percentiles checks the latencies of the report against those of the rows.
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
		got, want := rep.Latency[name], h.Summary()
		if name == takt.LatencyResponse && got.Count > 0 {
			if c, err := proof.Read(got.Blocks); err != nil {
				k.fault("percentile", "%s: %v", name, err)
			} else if c.Count() != want.Count {
				k.fault("percentile", "%s: the blocks have %d values, the rows %d", name, c.Count(), want.Count)
			}
		}
		if got.CI, got.Blocks = nil, nil; got != want {
			k.fault("percentile", "%s: the report has n %d, p50 %v, p99 %v, max %v; the rows n %d, p50 %v, p99 %v, max %v",
				name, got.Count, got.P50, got.P99, got.Max, want.Count, want.P50, want.P99, want.Max)
		}
	}
}

// verdict checks the verdict against what was injected. Without a fault the run must be valid and
// nothing may fail. It must be invalid if at least 10 operations, and enough of all, failed for
// want of descriptors (0.1 %), became due during a stall (1.1 %) or were sent late (1 %).
func (k *checker) verdict(w *world, rep *takt.Report) {
	valid := rep.Verdict == takt.Valid
	codes := func() string {
		var list []string
		for _, w := range rep.Warnings {
			list = append(list, string(w.Code)+": "+w.Message)
		}
		return strings.Join(list, "; ")
	}
	harmless := k.injected["503"] + k.injected["redirect"] + k.injected["partial write"]
	if total(k.injected) == harmless && len(k.sc.Freezes) == 0 && len(k.sc.Halts) == 0 && len(k.sc.ClockSteps) == 0 && k.sc.Cancel == 0 {
		// Answers that wait unread keep connections busy: while a loop may sleep, while another
		// loop sleeps, or until a client's thread wakes.
		lazy := k.sc.Mode == modeAsync || k.sc.Mode == modeUsers || k.sc.Drop || k.sc.Pacing == "economy" || k.sc.MaxLag > 0
		if held := lazy && rep.Warned(warn.GeneratorHeld); !valid && !held {
			k.fault("verdict", "nothing disturbed the generator, but the run is invalid: %s", codes())
		}
		for _, r := range k.rows {
			if ended := r.Class != takt.ClassDropped && r.Class != takt.ClassUnfinished; ended && r.Class != "" && r.Class != "5xx" && r.Class != "check" && !k.sc.isLate(&r) {
				k.fault("failure", "nothing was injected, but operation %d failed: %s", r.Seq, r.Class)
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
		k.fault("verdict", "%d of %d operations failed for want of descriptors, but the run is valid", limits, len(k.rows))
	}
	if valid && k.sc.Rate > 0 {
		k.late(w, rep)
	}
	if len(k.sc.ClockSteps) > 0 && !strings.Contains(codes(), "clock_step") {
		for _, s := range k.sc.ClockSteps {
			if s.By.Abs() > 100*time.Microsecond && s.At > w.origin+time.Millisecond && s.At < w.over-time.Millisecond && s.At < w.origin+time.Duration(rep.DurationS*1e9) && k.sc.Cancel == 0 {
				k.fault("clock", "the wall clock was set by %v at %v, but the report does not say so", s.By, s.At)
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

// held counts the operations that became due while the only sending thread stood still, sent or
// dropped, in runs where nothing else can delay them. More than 1 % make a run invalid.
func (k *checker) held(w *world, rep *takt.Report, bound time.Duration) {
	if k.sc.Mode != modeLoop || k.sc.Loops > 1 || k.sc.Connections > 0 || len(k.sc.Freezes) > 0 || k.sc.Files > 0 {
		return
	}
	n := 0
	for _, r := range k.rows {
		due := w.origin + r.Due
		for _, s := range k.stalls {
			to := s.to
			if r.Class == takt.ClassUnfinished {
				to = min(to, w.origin+r.Done) // the cut may come within the stall
			}
			if s.from <= due && due < to-2*bound {
				n++
				break
			}
		}
	}
	if n >= 10 && float64(n) > 0.011*float64(len(k.rows)) {
		k.fault("verdict", "%d of %d operations became due while the thread was frozen, but the run is valid", n, len(k.rows))
	}
}

// late counts the operations that were sent later than docs/exit-codes.md allows in a valid run.
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
		k.fault("verdict", "%d of %d operations were sent more than %v late, but the run is valid", late, sent, bound)
	}
}

// bounds checks the number of connections open at once, or operations in flight, against its limit.
func (k *checker) bounds(w *world) {
	most := k.sc.InFlight
	if k.sc.Connections > 0 {
		most = k.sc.Connections
	}
	if k.sc.Mode == modeUsers && k.sc.Rate == 0 {
		most *= 2 // a round may begin before the connection of the last one is closed
	}
	if k.sc.Mode != modeAsync {
		most++ // the probe's connection, until it is reused
	}
	if w.net.most > most && !k.sc.shared() {
		k.fault("bound", "%d connections were open at once, at most %d may be", w.net.most, most)
	}
}
