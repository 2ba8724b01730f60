package engine

import (
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// claim moves the next operation into op ahead of its due instant, without counting
// it: of several loops each waits for one of its own, so that only one wakes for it,
// and a source that exists only once is dealt out in order.
func (f *flow) claim(op *takt.Op) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.have {
		return false
	}
	*op, f.next = f.next, *op
	f.claims++
	f.advance()
	return true
}

// startClaim counts the claimed op, which is due, or reports that it came too late: the
// schedule was ended before it.
func (f *flow) startClaim(op *takt.Op, now time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claims--
	if op.Due == takt.Asap {
		op.Due = now
	}
	if f.cutoff >= 0 && op.Due >= f.cutoff || f.limit > 0 && f.scheduled >= f.limit {
		f.settle()
		return false
	}
	if op.Due < f.warmup {
		f.warm++
	} else {
		f.scheduled++
	}
	f.enter()
	return true
}

// ended counts an operation in flight as over.
func (f *flow) ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave()
}

// dropClaim ends the claim on op at the instant at. One that was due by then is counted
// as unfinished; free is from when a slot was there for it.
func (f *flow) dropClaim(op *takt.Op, at, free time.Duration) {
	if op.Due == takt.Asap || op.Due > at {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.claims--
		f.settle()
		return
	}
	if f.startClaim(op, at) {
		f.rec.Sample(0, record.Event{Seq: op.Seq, Due: op.Due, Free: free, Done: at, Outcome: record.UnfinishedQueued}, nil)
		f.ended()
	}
}
