package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// flow is what all modes share: the source with the operation that is next, and
// the accounting of what is in flight. Its lock is held for microseconds and never
// across anything that waits. What is due and not taken stays in the source, so
// that no backlog is ever kept in memory.
type flow struct {
	mu     sync.Mutex
	rec    *record.Recorder
	src    takt.Source
	next   takt.Op
	have   bool
	cutoff time.Duration // nothing due at or after it is started; negative: none
	warmup time.Duration
	limit  uint64 // measured operations of a closed loop; 0: none

	scheduled, warm uint64        // taken from the source, by due
	taken           *record.Steps // the same, since the last tick, for a journal; nil: none is kept
	busy, peak      int           // in flight, and its highest value since the last tick
	starved         bool          // the source has nothing yet, see Feed
	ready           time.Duration // when it last had something again that was due before
	late            uint64        // how often

	claims uint64 // operations that loops wait for, not counted yet
	extra  uint64 // received by a driver that also sends

	left bool         // next was abandoned and is not counted yet …
	rest record.Event // … as this, but for its Seq and Due

	observed    Observed
	disbelieved atomic.Uint64 // instants of arrival that cannot be

	lingers bool // the driver waits for something behind the last completion

	exhausted chan struct{} // closed when the source has nothing more
	finished  chan struct{} // closed when nothing is in flight either
	stop      chan struct{} // closed when the schedule was ended
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
	if p.Source.End() >= 0 {
		f.cutoff = p.Source.End()
	}
	return f
}

// begin reads the first operation.
func (f *flow) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	f.settle()
}

// Feed is a Source whose operations come from elsewhere as the run goes. Its Next
// never waits: when it has no operation yet it says so, and is asked again.
type Feed interface {
	takt.Source
	Starved() bool    // why the last Next gave nothing: true for not yet, false for never
	EndedEarly() bool // it ended before the schedule
	Err() error       // the fault that ended it; nil when there was none
}

// starvedPause is how long a source that has nothing yet is left alone.
const starvedPause = time.Millisecond

// advance reads the next operation; the caller holds the lock.
func (f *flow) advance() {
	more := !f.isFull()
	f.have = more && f.src.Next(&f.next)
	f.starved = false
	if more && !f.have {
		feed, ok := f.src.(Feed)
		f.starved = ok && feed.Starved() && !f.once.stop
	}
	f.checkCutoff(0)
}

// refill asks a source again that had nothing. What was due meanwhile waited for it,
// and for nobody else; the caller holds the lock.
func (f *flow) refill(now time.Duration) {
	if !f.starved {
		return
	}
	f.advance()
	if f.have && f.next.Due >= 0 && f.next.Due < now {
		f.ready = now
		f.late++
	}
	f.settle()
}

// checkCutoff forgets a next operation that comes too late. In a closed loop it
// is due when it is taken: now.
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
	f.advance()
}

// move moves the next operation into op, whose Data the source may reuse. It goes a word
// at a time: a copy of the whole reads two words at once, and the processor waits for
// those that were written one by one just now.
func (f *flow) move(op *takt.Op) {
	op.Seq, op.Due = f.next.Seq, f.next.Due
	op.Data, f.next.Data = f.next.Data, op.Data
}

// count counts an operation that is taken at the instant now; the caller holds the
// lock.
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

// settle tells the supervisor when there is nothing more to start, and nothing
// more in flight; the caller holds the lock.
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

// signal wakes whoever waits on c, which has room for one signal. If one is there
// already, its receiver will see everything that this one means.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// end stops the schedule at the instant at: what is due by then is still served.
func (f *flow) end(at time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cutoff < 0 || at < f.cutoff {
		f.cutoff = at
	}
	f.checkCutoff(at)
	f.starved = false // what has not come by now is not waited for
	f.settle()
	closeOnce(&f.once.stop, f.stop)
}

// abandon leaves everything still queued at the instant at to countRest. free is
// from when a slot was there for it: at, or 0 if the generator held it up. The
// caller holds the lock.
func (f *flow) abandon(at, free time.Duration) {
	f.rest = record.Event{Free: free, Done: at, Outcome: record.UnfinishedQueued}
	f.left, f.have = f.have, false
	f.settle()
}

// countRest counts what was abandoned as unfinished. It may be millions of
// operations, and their rows have to go somewhere: after every n of them comes pause.
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
	e.Seq, e.Due = op.Seq, op.Due
	f.rec.Sample(0, e, nil)
	return true
}

// tick reads what the recorder wants to know at the end of an interval.
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
