package engine

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

const ms = time.Millisecond

// flowOf is a flow of the schedule whose first operation is read.
func flowOf(t *testing.T, spec schedule.Spec, limit uint64) *flow {
	t.Helper()
	src, err := spec.Source()
	if err != nil {
		t.Fatal(err)
	}
	f := newFlow(Plan{Options: Options{Warmup: spec.Warmup}, Source: src}, record.New(record.Config{Window: -1, Warmup: spec.Warmup}))
	f.limit = limit
	f.begin()
	return f
}

// tenths is one operation every 100 ms from 0 on, for a second.
func tenths() schedule.Spec { return schedule.Constant(10, time.Second) }

// asap is a closed loop.
func asap() schedule.Spec { return schedule.Constant(math.Inf(1), time.Second) }

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wantState compares what the supervisor waits for.
func (f *flow) wantState(t *testing.T, when string, exhausted, finished bool) {
	t.Helper()
	if a, b := isClosed(f.exhausted), isClosed(f.finished); a != exhausted || b != finished {
		t.Errorf("%s: exhausted %v, finished %v, want %v and %v", when, a, b, exhausted, finished)
	}
}

func (f *flow) counted(t *testing.T) takt.Counts {
	t.Helper()
	return f.rec.Report(record.End{Stop: time.Second}).Counts
}

// Operations are due at their instant and not before, and are counted by it.
func TestFlowTakes(t *testing.T) {
	spec := tenths()
	spec.Stages[0].Duration, spec.Warmup = 600*ms, 400*ms
	f := flowOf(t, spec, 0)
	for i := range uint64(10) {
		at := time.Duration(i) * 100 * ms
		if f.due(at-1) || !f.due(at) {
			t.Fatalf("operation %d is due %v before its instant, %v at it", i, f.due(at-1), f.due(at))
		}
		f.wantState(t, "before the last", false, false)
		var op takt.Op
		f.take(&op, at)
		if f.enter(); op.Seq != i || op.Due != at {
			t.Errorf("operation %d is %+v", i, op)
		}
		if i%2 == 1 {
			f.leave()
		}
	}
	if f.due(time.Hour) || f.busy != 5 || f.peak != 6 {
		t.Errorf("due after the end %v, %d in flight, %d at most", f.due(time.Hour), f.busy, f.peak)
	}
	if scheduled, warm := f.counts(); scheduled != 6 || warm != 4 {
		t.Errorf("%d scheduled, %d in the warm-up", scheduled, warm)
	}
	for range 4 {
		f.leave()
		f.wantState(t, "some are in flight", true, false)
	}
	f.leave()
	f.wantState(t, "none is in flight", true, true)
}

// A driver that waits for something behind the last completion is not finished by it.
func TestFlowLingers(t *testing.T) {
	f := flowOf(t, tenths(), 0)
	f.lingers = true
	f.end(0)
	f.wantState(t, "lingering", true, false)
}

// What is due before the end is served, what is due at it is not, and an end never becomes later.
func TestFlowEnds(t *testing.T) {
	for at, want := range map[time.Duration]int{0: 0, 1: 1, 200 * ms: 2, 200*ms + 1: 3, time.Hour: 10} {
		f, n := flowOf(t, tenths(), 0), 0
		f.end(at)
		f.end(at + time.Hour)
		for ; f.due(time.Hour); n++ {
			var op takt.Op
			f.take(&op, time.Hour)
		}
		if n != want || !isClosed(f.stop) {
			t.Errorf("ended at %v: %d operations, want %d; stop %v", at, n, want, isClosed(f.stop))
		}
	}
	f := flowOf(t, asap(), 0)
	if f.end(500 * ms); f.due(500 * ms) {
		t.Error("an operation of a closed loop is due at its end")
	}
	f = flowOf(t, asap(), 0)
	if !f.due(time.Second-1) || f.due(time.Second) {
		t.Error("a closed loop does not end with its time")
	}
}

// nothing is a source that ends as it begins.
type nothing struct{ feed }

func (*nothing) End() time.Duration { return 0 }

// An end at 0 is an end.
func TestFlowOfNothing(t *testing.T) {
	s := &nothing{feed{due: []time.Duration{0}, over: true}}
	f := newFlow(Plan{Source: s}, record.New(record.Config{}))
	if f.begin(); f.due(0) {
		t.Error("an operation is due at the end")
	}
	f.wantState(t, "at its end", true, true)
	if f := flowOf(t, schedule.Constant(math.Inf(1), 1), 0); !f.due(0) || f.due(1) {
		t.Error("a closed loop of 1 ns has no operation, or does not end")
	}
}

// A closed loop with a number of operations ends with the last of them; those of its warm-up do
// not count.
func TestFlowIsFull(t *testing.T) {
	spec := asap()
	spec.Warmup = 500 * ms
	f := flowOf(t, spec, 2)
	for i, at := range []time.Duration{0, 499 * ms, 500 * ms, 501 * ms} {
		var op takt.Op
		if !f.due(at) {
			t.Fatalf("operation %d is not due at %v", i, at)
		}
		if f.take(&op, at); op.Due != at {
			t.Errorf("operation %d is due at %v, want when it is taken, at %v", i, op.Due, at)
		}
	}
	if scheduled, warm := f.counts(); f.due(502*ms) || !f.isFull() || scheduled != 2 || warm != 2 {
		t.Errorf("%d scheduled, %d in the warm-up, full %v", scheduled, warm, f.isFull())
	}
}

// A claim is counted when it starts. Until then the schedule is not exhausted.
func TestClaimIsCountedWhenItStarts(t *testing.T) {
	f := flowOf(t, schedule.Constant(10, 100*ms), 0)
	var op takt.Op
	if claimed, starved := f.claim(&op, 0); !claimed || starved {
		t.Fatalf("claimed %v, starved %v", claimed, starved)
	}
	if claimed, starved := f.claim(new(takt.Op), 0); claimed || starved {
		t.Errorf("a second one: claimed %v, starved %v", claimed, starved)
	}
	if scheduled, warm := f.counts(); scheduled+warm != 0 || f.busy != 0 || f.claims != 1 {
		t.Errorf("a claim: %d scheduled, %d in flight, %d claims", scheduled+warm, f.busy, f.claims)
	}
	f.wantState(t, "claimed", false, false)
	started, ready := f.startClaim(&op, 5*ms, true)
	if scheduled, _ := f.counts(); !started || ready != 0 || scheduled != 1 || f.busy != 1 || f.claims != 0 {
		t.Errorf("started %v, ready %v, %d scheduled, %d in flight, %d claims", started, ready, scheduled, f.busy, f.claims)
	}
	f.wantState(t, "started", true, false)
	f.ended()
	f.wantState(t, "ended", true, true)
}

// A claim that is due at the end of the schedule or later does not start.
func TestClaimAfterTheEnd(t *testing.T) {
	for end, want := range map[time.Duration]bool{100 * ms: false, 100*ms + 1: true} {
		for name, drop := range map[string]func(f *flow, op *takt.Op) bool{
			"start": func(f *flow, op *takt.Op) bool { started, _ := f.startClaim(op, 300*ms, true); return started },
			"drop":  func(f *flow, op *takt.Op) bool { return !f.dropLate(op, 300*ms) },
		} {
			f := flowOf(t, tenths(), 0)
			var first, op takt.Op
			f.claim(&first, 0)
			f.startClaim(&first, 0, true)
			f.claim(&op, 0)
			f.end(end)
			if got := drop(f, &op); got != want {
				t.Errorf("%s, end %v: the operation due at %v goes on: %v", name, end, op.Due, got)
			}
			if scheduled, _ := f.counts(); name == "start" && (scheduled == 2) != want || !want && f.claims != 0 {
				t.Errorf("%s, end %v: %d scheduled, %d claims", name, end, scheduled, f.claims)
			}
		}
	}
	// In a closed loop it is due now.
	for now, late := range map[time.Duration]bool{500*ms - 1: false, 500 * ms: true} {
		f := flowOf(t, asap(), 0)
		var op takt.Op
		f.claim(&op, 0)
		f.end(500 * ms)
		if got := f.dropLate(&op, now); got != late {
			t.Errorf("a closed loop that ends at 500ms: too late at %v: %v", now, got)
		}
	}
	f := flowOf(t, asap(), 0)
	var last takt.Op
	f.claim(&last, 0)
	if f.end(0); f.claims != 1 {
		t.Errorf("%d claims", f.claims)
	}
	if started, _ := f.startClaim(&last, 0, true); started {
		t.Error("a claim starts at the end at 0")
	}
	f = flowOf(t, asap(), 0)
	if f.claim(&last, 0); f.dropLate(&last, 0) {
		t.Error("a claim is too late before the end")
	}
	if f.end(0); !f.dropLate(&last, 0) {
		t.Error("a claim is not too late at the end at 0")
	}
	f = flowOf(t, asap(), 1)
	f.claim(&last, 0)
	if started, _ := f.startClaim(&last, 0, true); !started {
		t.Error("the only operation does not start")
	}
	f.wantState(t, "the only operation started", true, false)
	f = flowOf(t, asap(), 1)
	var a, b takt.Op
	f.claim(&a, 0)
	f.claim(&b, 0)
	if f.dropLate(&b, 0) {
		t.Error("a claim is too late although the limit is not reached")
	}
	f.startClaim(&a, 7, true)
	if started, _ := f.startClaim(&takt.Op{Due: takt.Asap}, 8, true); started || !f.dropLate(&b, 0) {
		t.Errorf("started %v above the limit of operations", started)
	}
	if a.Due != 7 {
		t.Errorf("due at %v, want when it started", a.Due)
	}
}

// At the cut a claim that was due is unfinished and was never sent; one that was not is nothing.
func TestDropClaim(t *testing.T) {
	for at, want := range map[time.Duration]takt.Counts{100*ms - 1: {}, 100 * ms: {Unfinished: 1}, 900 * ms: {Unfinished: 1}} {
		f := flowOf(t, schedule.Spec{Stages: []schedule.Stage{{Duration: 100 * ms}, {Duration: time.Second, From: 10, To: 10}}}, 0)
		var op takt.Op
		f.claim(&op, 0) // due at 100 ms
		f.dropClaim(&op, unsent(at, at))
		scheduled, _ := f.counts()
		if got := f.counted(t); got != want || scheduled != want.Unfinished || f.claims != 0 || f.busy != 0 {
			t.Errorf("cut at %v: %+v, want %+v; %d scheduled, %d claims, %d in flight", at, got, want, scheduled, f.claims, f.busy)
		}
	}
	f := flowOf(t, asap(), 0)
	var op takt.Op
	f.claim(&op, 0)
	if f.dropClaim(&op, unsent(500*ms, 0)); f.claims != 0 || f.counted(t) != (takt.Counts{}) {
		t.Errorf("a closed loop: %d claims, %+v", f.claims, f.counted(t))
	}
}

// What is queued at the cut is unfinished if it was due by then, and makes pauses.
func TestCountRest(t *testing.T) {
	late := flowOf(t, tenths(), 0)
	var op takt.Op
	late.claim(&op, 0)
	late.claim(&op, 0) // due at 100 ms
	late.ready = 300 * ms
	late.dropClaim(&op, unsent(500*ms, 0))
	if got := late.rec.Report(record.End{Scheduled: 1, Stop: time.Second}).Attribution.Whole(); got.Late != 0.2 || got.Queue != 0.2 {
		t.Errorf("an operation that its source had at 300 ms: %+v", got)
	}

	for at, want := range map[time.Duration]uint64{-1: 0, 0: 1, 400*ms - 1: 4, 400 * ms: 5, time.Hour: 10} {
		f, pauses := flowOf(t, tenths(), 0), 0
		f.abandon(unsent(at, 0))
		if f.due(time.Hour) {
			t.Error("what was abandoned is due")
		}
		f.countRest(2, func() { pauses++ })
		scheduled, _ := f.counts()
		if got := f.counted(t); got != (takt.Counts{Unfinished: want}) || scheduled != want || uint64(pauses) != want/2 {
			t.Errorf("cut at %v: %+v, %d scheduled, %d pauses, want %d", at, got, scheduled, pauses, want)
		}
		f.wantState(t, "abandoned", true, true)
	}
	f := flowOf(t, asap(), 0)
	f.abandon(unsent(500*ms, 0))
	if f.countRest(1, func() {}); f.counted(t) != (takt.Counts{}) {
		t.Errorf("a closed loop left %+v", f.counted(t))
	}
	f = flowOf(t, tenths(), 0)
	if f.countRest(1, func() {}); f.counted(t) != (takt.Counts{}) {
		t.Errorf("without a cut %+v is left", f.counted(t))
	}
}

// An interval has what was due in it, also if nobody took it, and the most in flight.
func TestFlowTick(t *testing.T) {
	f := flowOf(t, tenths(), 0)
	f.taken = new(record.Steps)
	var op takt.Op
	for i := range 3 {
		f.take(&op, time.Duration(i)*100*ms)
		f.enter()
	}
	f.leave()
	f.leave()
	tick := f.tick(650 * ms)
	if tick.At != 650*ms || tick.Scheduled != 7 || tick.InFlightMax != 3 || tick.Backlog != 4 || tick.BacklogFrom != 300*ms || tick.Taken == nil || tick.Taken == f.taken {
		t.Errorf("%+v", tick)
	}
	f.end(700*ms + 1)
	if tick := f.tick(5 * time.Second); tick.At != 5*time.Second || tick.Scheduled != 8 || tick.InFlightMax != 1 || tick.Backlog != 5 {
		t.Errorf("after the end %+v", tick)
	}
	for range 5 {
		f.take(&op, time.Second)
	}
	if tick := f.tick(5 * time.Second); tick.Scheduled != 8 || tick.Backlog != 0 || tick.BacklogFrom != 0 {
		t.Errorf("without a backlog %+v", tick)
	}
	none := flowOf(t, tenths(), 0)
	none.end(0)
	if none.end(time.Second); none.tick(time.Second).Scheduled != 0 {
		t.Errorf("%d are due in a run that ended at its start", none.tick(time.Second).Scheduled)
	}
	closed := flowOf(t, asap(), 0)
	closed.take(&op, 0)
	if tick := closed.tick(ms); tick.Scheduled != 1 || tick.Taken != nil {
		t.Errorf("a closed loop %+v", tick)
	}
}

// feed is a source that has what was given to it.
type feed struct {
	due  []time.Duration
	over bool
}

func (s *feed) End() time.Duration { return -1 }
func (s *feed) Starved() bool      { return !s.over }
func (s *feed) EndedEarly() bool   { return false }
func (s *feed) Err() error         { return nil }

func (s *feed) Next(op *takt.Op) bool {
	if len(s.due) == 0 {
		return false
	}
	op.Due, s.due = s.due[0], s.due[1:]
	return true
}

// A source that has nothing yet is asked again. What was due meanwhile could not be sent before
// it came.
func TestFlowStarves(t *testing.T) {
	s := &feed{}
	f := newFlow(Plan{Source: s}, record.New(record.Config{Window: -1}))
	f.limit = 0
	f.begin()
	f.wantState(t, "nothing yet", false, false)
	var op takt.Op
	if claimed, starved := f.claim(&op, ms); claimed || !starved {
		t.Errorf("claimed %v, starved %v", claimed, starved)
	}
	var readies []time.Duration
	for _, due := range []time.Duration{2 * ms, 10*ms - 1, 10 * ms, 20 * ms} {
		s.due = append(s.due, due)
		if at, have, starved := f.peek(10 * ms); !have || starved || at != due {
			t.Errorf("due at %v: %v, have %v, starved %v", due, at, have, starved)
		}
		f.claim(&op, 10*ms)
		_, ready := f.startClaim(&op, 30*ms, true)
		readies = append(readies, ready)
		f.ended()
		f.ready = 0
	}
	if want := []time.Duration{10 * ms, 10 * ms, 0, 0}; !slices.Equal(readies, want) || f.late != 2 {
		t.Errorf("ready at %v, want %v; %d were late", readies, want, f.late)
	}
	f.wantState(t, "nothing yet", false, false)
	s.over = true
	if _, have, starved := f.peek(40 * ms); have || starved {
		t.Errorf("after its end: have %v, starved %v", have, starved)
	}
	f.wantState(t, "at its end", true, true)

	f = newFlow(Plan{Source: &feed{}}, f.rec)
	f.begin()
	f.end(ms) // nothing is waited for
	f.wantState(t, "ended", true, true)
	if _, starved := f.claim(&op, 2*ms); starved {
		t.Error("starved after the end")
	}
}

// Each signal is given once, and nobody waits to give one.
func TestSignals(t *testing.T) {
	c := make(chan struct{}, 1)
	signal(c)
	signal(c)
	if <-c; len(c) != 0 {
		t.Error("two signals")
	}
	f := flowOf(t, tenths(), 0)
	for range 2 {
		f.breakOff()
		f.end(0)
	}
	if !isClosed(f.broken) || !isClosed(f.stop) || isClosed(f.finished) == f.have {
		t.Error("not told")
	}
}
