package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// flow is common to all modes: the source with its next operation, and the count of
// operations in flight. Its lock is held for microseconds and never across a wait. Due
// operations that are not taken stay in the source, so no backlog is kept in memory.
type flow struct {
	mu     sync.Mutex
	rec    *record.Recorder
	src    takt.Source
	timed  Timed // src; nil: it needs no time
	next   takt.Op
	have   bool
	cutoff time.Duration // operations due at or after it are not started; negative: no cutoff
	warmup time.Duration
	limit  uint64 // limit of measured operations in a closed loop; 0: no limit

	scheduled, warm uint64        // operations taken from the source, by their due instant
	taken           *record.Steps // taken operations since the last tick, for a journal; nil: no journal
	busy, peak      int           // operations in flight, and their peak since the last tick
	starved         bool          // the source has no operation yet, see Feed
	ready           time.Duration // last instant at which a starved source had an operation that was already due
	late            uint64        // number of times that a starved source was late

	claims uint64 // operations claimed by loops and not counted yet
	extra  uint64 // messages received by a driver that also sends

	left bool         // next was abandoned at the cut and is not counted yet
	rest record.Event // event of the abandoned operations, without Seq and Due

	observed    Observed
	disbelieved atomic.Uint64 // impossible arrival instants from the driver

	lingers bool // the driver still has work after the last completion

	exhausted chan struct{} // closed when the source is exhausted
	finished  chan struct{} // closed when also nothing is in flight
	stop      chan struct{} // closed when the schedule ended
	broken    chan struct{} // closed when the driver cannot go on
	once      struct{ exhausted, finished, stop, broken bool }
}

func newFlow(p Plan, rec *record.Recorder) *flow {
	f := &flow{
		rec: rec, src: p.Source, warmup: p.Warmup, cutoff: -1,
		exhausted: make(chan struct{}),
		finished:  make(chan struct{}),
		stop:      make(chan struct{}),
		broken:    make(chan struct{}),
	}
	if p.Closed() {
		f.limit = p.Requests
	}
	if p.Journal != nil {
		f.taken = new(record.Steps)
	}
	f.timed, _ = p.Source.(Timed)
	if p.Source.End() >= 0 {
		f.cutoff = p.Source.End()
	}
	return f
}

// begin reads the first operation.
func (f *flow) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance(0)
	f.settle()
}

// Feed is a Source that receives its operations during the run. Its Next never waits: without
// an operation it returns false, Starved returns true, and the engine asks again. When the
// operations have ended before the schedule, End is the instant at which the next operation would
// have been due: n operations at a rate then have the window n ÷ rate, however late it shows that
// there are no more.
type Feed interface {
	takt.Source
	Starved() bool    // why the last Next returned false: true for not yet, false for never
	EndedEarly() bool // the operations ended before the schedule
	Err() error       // the error that ended the feed, or nil
}

// Reactive is a Feed whose operations follow from answers. They may be due before the one that the engine has read already,
// and before now: then takt is not early with them, but the answer was late.
type Reactive interface {
	Feed
	Sooner(op *takt.Op)  // replaces op, which was not taken, if another operation is due before
	Last() time.Duration // when the last operation is due that no answer decides; negative: unknown, or there is none
}

// Resting is a Feed that says, when it is starved, at what instant it may have an operation though nobody wakes the engine;
// known is false if that is never.
type Resting interface {
	RestsUntil() (at time.Duration, known bool)
}

// Timed is a Source whose next operation depends on the time: the engine says how late it is before each Next, which may
// not look at a clock itself.
type Timed interface {
	At(now time.Duration)
}

// Stepped is the Data of an operation that is a step of a scenario.
type Stepped interface {
	StepNumber() int32          // see takt.Sample
	IsFirst() bool              // of its round. Overflow drop is about whole rounds: their other steps wait
	Overflow(due time.Duration) // the step is dropped, since operations in flight have reached their limit
	Counts()                    // what its client said of it is in the report: the cut did not come before
}

// isBound reports whether op waits for room, although operations without room are dropped.
func isBound(op *takt.Op) bool {
	s, ok := op.Data.(Stepped)
	return ok && !s.IsFirst()
}

// stepOf is the number of op's step; 0: it is none.
func stepOf(op *takt.Op) int32 {
	if s, ok := op.Data.(Stepped); ok {
		return s.StepNumber()
	}
	return 0
}

// starvedPause is the wait before a starved source is asked again.
const starvedPause = time.Millisecond

// advance reads the next operation; the caller holds the lock.
func (f *flow) advance(now time.Duration) {
	if f.timed != nil {
		f.timed.At(now)
	}
	more := !f.isFull()
	f.have = more && f.src.Next(&f.next)
	f.starved = false
	if more && !f.have {
		feed, ok := f.src.(Feed)
		f.starved = ok && feed.Starved() && !f.once.stop
	}
	f.checkCutoff(0)
}

// refill asks a starved source again. Operations that became due meanwhile waited for the
// source only. The caller holds the lock.
func (f *flow) refill(now time.Duration) {
	if !f.starved {
		return
	}
	f.advance(now)
	if _, reacts := f.src.(Reactive); !reacts && f.have && f.next.Due >= 0 && f.next.Due < now {
		f.ready = now
		f.late++
	}
	f.settle()
}

// checkCutoff drops a next operation that is due after the cutoff. In a closed loop an
// operation is due when it is taken: now.
func (f *flow) checkCutoff(now time.Duration) {
	due := f.next.Due
	if due == takt.Asap {
		due = now
	}
	if f.have && f.cutoff >= 0 && due >= f.cutoff {
		f.have = false
	}
}

// due reports whether an operation is due at now; the caller holds the lock.
func (f *flow) due(now time.Duration) bool {
	if f.have && f.next.Due == takt.Asap {
		f.checkCutoff(now)
		return f.have
	}
	return f.have && f.next.Due <= now
}

// take moves the next operation into op and counts it; the caller holds the lock.
func (f *flow) take(op *takt.Op, now time.Duration) {
	f.move(op)
	f.count(op, now)
	f.advance(now)
}

// move moves the next operation into op; the source may reuse op's old Data. It copies word
// by word: a copy of the whole struct reads two words at once and stalls on words that were
// just written one by one.
func (f *flow) move(op *takt.Op) {
	op.Seq, op.Due = f.next.Seq, f.next.Due
	op.Data, f.next.Data = f.next.Data, op.Data
}

// count counts an operation taken at the instant now. The caller holds the lock.
func (f *flow) count(op *takt.Op, now time.Duration) {
	if op.Due == takt.Asap {
		op.Due = now
	}
	if op.Due < f.warmup {
		f.warm++
	} else {
		f.scheduled++
	}
	if f.taken != nil {
		f.taken.Add(op.Due, 1)
	}
}

// enter and leave count operations in flight; the caller holds the lock.
func (f *flow) enter() {
	f.busy++
	f.peak = max(f.peak, f.busy)
}

func (f *flow) leave() {
	f.busy--
	f.settle()
}

// settle tells the supervisor when nothing is left to start, and when nothing is left in
// flight. The caller holds the lock.
func (f *flow) settle() {
	if f.have || f.claims > 0 || f.starved {
		return
	}
	closeOnce(&f.once.exhausted, f.exhausted)
	if f.busy == 0 && !f.lingers {
		closeOnce(&f.once.finished, f.finished)
	}
}

// breakOff ends the schedule as a signal does.
func (f *flow) breakOff() {
	f.mu.Lock()
	defer f.mu.Unlock()
	closeOnce(&f.once.broken, f.broken)
}

func closeOnce(done *bool, c chan struct{}) {
	if !*done {
		*done = true
		close(c)
	}
}

// signal wakes the receiver of c, whose buffer holds one signal. A signal that is already
// there serves for this one, too.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// end stops the schedule at the instant at; operations due by then are still served.
func (f *flow) end(at time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cutoff < 0 || at < f.cutoff {
		f.cutoff = at
	}
	f.checkCutoff(at)
	f.starved = false // do not wait for operations that have not come yet
	f.settle()
	closeOnce(&f.once.stop, f.stop)
}

// unsent is the event of operations that are queued at the instant at, without Seq and Due. free is
// the instant from which they had a slot: at, or 0 if the generator delayed them.
func unsent(at, free time.Duration) record.Event {
	return record.Event{Free: free, Done: at, Outcome: record.UnfinishedQueued}
}

// abandon leaves all operations that are queued at the cut to countRest. The caller holds the lock.
func (f *flow) abandon(rest record.Event) {
	f.rest = rest
	f.left, f.have = f.have, false
	f.settle()
}

// countRest counts abandoned operations as unfinished. There may be millions, each with a
// row, so it calls pause after every n for the rows to be written.
func (f *flow) countRest(n int, pause func()) {
	var op takt.Op
	for i := 1; f.countOne(&op); i++ {
		if i%n == 0 {
			pause()
		}
	}
}

func (f *flow) countOne(op *takt.Op) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.rest
	if !f.left || f.next.Due == takt.Asap || f.next.Due > e.Done {
		return false
	}
	f.take(op, e.Done)
	f.left, f.have = f.have, false
	e.Seq, e.Due, e.Step = op.Seq, op.Due, stepOf(op)
	f.rec.Sample(0, e, nil)
	return true
}

// tick collects what the recorder needs at the end of an interval.
func (f *flow) tick(at time.Duration) record.Tick {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := record.Tick{At: at, Scheduled: f.scheduled + f.warm, InFlightMax: f.peak}
	if c, ok := f.src.(takt.Counter); ok {
		if f.cutoff >= 0 {
			at = min(at, f.cutoff)
		}
		t.Scheduled = c.DueBefore(at)
	}
	if f.taken != nil {
		t.Taken, f.taken = f.taken, new(record.Steps)
		if due := f.scheduled + f.warm; due < t.Scheduled {
			t.Backlog, t.BacklogFrom = t.Scheduled-due, f.next.Due
		}
	}
	f.peak = f.busy
	return t
}

func (f *flow) counts() (scheduled, warm uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.scheduled, f.warm
}
