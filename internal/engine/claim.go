package engine

import (
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// claim moves the next operation into op ahead of its due instant, without counting
// it: of several loops each waits for one of its own, so that only one wakes for it,
// and a source that exists only once is dealt out in order. starved says that there
// may be one later.
func (f *flow) claim(op *takt.Op, now time.Duration) (claimed, starved bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refill(now)
	if !f.have {
		return false, f.starved
	}
	f.move(op)
	f.claims++
	f.advance()
	return true, false
}

// peek tells when the next operation is due, if there is one; starved as claim says it.
func (f *flow) peek(now time.Duration) (due time.Duration, have, starved bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refill(now)
	return f.next.Due, f.have, f.starved
}

// startClaim counts the claimed op, which is due, or reports that it came too late: the
// schedule was ended before it. ready is from when it was known what to do.
func (f *flow) startClaim(op *takt.Op, now time.Duration) (started bool, ready time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claims--
	due := op.Due
	if due == takt.Asap {
		due = now
	}
	if f.cutoff >= 0 && due >= f.cutoff || f.isFull() {
		f.settle()
		return false, 0
	}
	f.count(op, now)
	f.enter()
	f.have = f.have && !f.isFull() // nobody may have a connection to claim that one
	f.settle()
	return true, f.ready
}

// isFull reports whether a closed loop has had its limit; the caller holds the lock.
func (f *flow) isFull() bool { return f.limit > 0 && f.scheduled >= f.limit }

// ended counts an operation in flight as over.
func (f *flow) ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave()
}

// dropLate ends the claim on op if the schedule was ended before it is due, or others
// have made its limit full, and reports whether it was. An operation of a closed loop is due
// now: without that a loop whose connections all pause went on for 128 ms after its end.
func (f *flow) dropLate(op *takt.Op, now time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	full, due := f.isFull(), op.Due
	if due == takt.Asap {
		due = now
	}
	if !full && (f.cutoff < 0 || due < f.cutoff) {
		return false
	}
	f.have = f.have && !full
	f.claims--
	f.settle()
	return true
}

// dropClaim ends the claim on op at the cut, at the instant at. One that was due by
// then is counted as unfinished; free is from when a slot was there for it.
func (f *flow) dropClaim(op *takt.Op, at, free time.Duration) {
	if op.Due == takt.Asap || op.Due > at {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.claims--
		f.settle()
		return
	}
	if started, ready := f.startClaim(op, at); started {
		free = max(free, ready)
		f.rec.Sample(0, record.Event{Seq: op.Seq, Due: op.Due, Free: free, Done: at, Outcome: record.UnfinishedQueued}, nil)
		f.ended()
	}
}
