package engine

import (
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// claim moves the next operation into op before it is due, without counting it. With several
// loops each waits for its own operation, so only one wakes for it, and the shared source is
// dealt out in order. starved says that an operation may come later.
func (f *flow) claim(op *takt.Op, now time.Duration) (claimed, starved bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refill(now)
	if !f.have {
		return false, f.starved
	}
	f.move(op)
	f.claims++
	f.advance(now)
	return true, false
}

// peek returns the due instant of the next operation; starved is as in claim.
func (f *flow) peek(now time.Duration) (due time.Duration, have, starved bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refill(now)
	return f.next.Due, f.have, f.starved
}

// startClaim counts the claimed op, which is due. It reports false if the schedule ended
// before op. ready is the instant from which the source had the operation. An operation that is
// not sent is in flight until ended is called, but does not count for the peak.
func (f *flow) startClaim(op *takt.Op, now time.Duration, sent bool) (started bool, ready time.Duration) {
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
	if sent {
		f.enter()
	} else {
		f.busy++
	}
	f.have = f.have && !f.isFull() // drop a next operation beyond the limit: maybe no loop has a connection to claim it
	f.settle()
	return true, f.ready
}

// isFull reports whether a closed loop reached its limit. The caller holds the lock.
func (f *flow) isFull() bool { return f.limit > 0 && f.scheduled >= f.limit }

// ended counts an operation in flight as over.
func (f *flow) ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave()
}

// dropLate ends the claim on op if the schedule ended before op, or other loops reached the
// limit, and reports whether it did. An operation of a closed loop is due now: without
// dropLate a loop whose connections all paused ran 128 ms too long.
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

// dropClaim ends the claim on op at the cut. An op that was due counts as unfinished, as rest says:
// its Free is the instant from which a slot was free for op.
func (f *flow) dropClaim(op *takt.Op, rest record.Event) {
	if op.Due == takt.Asap || op.Due > rest.Done {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.claims--
		f.settle()
		return
	}
	if started, ready := f.startClaim(op, rest.Done, false); started {
		rest.Seq, rest.Due, rest.Free = op.Seq, op.Due, max(rest.Free, ready)
		f.rec.Sample(0, rest, nil)
		f.ended()
	}
}
