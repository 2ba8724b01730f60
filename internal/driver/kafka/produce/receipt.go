package produce

import (
	"errors"
	"sync"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/ring"
	"github.com/taktload/takt/pkg/takt"
)

// receipts are the results of records in a run whose operations end with a receipt.
type receipts struct {
	mu      sync.Mutex
	awaited ring.Queue[awaited]
	closing bool   // later acknowledged records need not be received
	acked   uint64 // number of records acknowledged before closing; set then
	failed  []failedRecord
}

// awaited is an acknowledged record, which may have been received.
type awaited struct {
	token     uint64
	acked     time.Duration // instant of the acknowledgement since the run's start
	stream    uint16
	partition int32
	number    uint64
}

// forever is an instant before which each record is acknowledged.
const forever = 1 << 62

// giveUp fails operations whose record does not arrive, until the producer is closed. Without
// giveUp a closed loop would wait for them for ever.
func (p *Run) giveUp() {
	tick := time.NewTicker(max(p.timeout/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			return
		}
		upTo := time.Since(p.start) - p.timeout
		if p.gone.Load() != nil {
			upTo = forever // no record arrives any more
		}
		for _, a := range p.receipts.overdue(upTo) {
			p.missing(a)
			p.sink.Done(a.token, &takt.Result{Class: cluster.ClassLost, Err: p.errLost()})
		}
	}
}

// overdue are the records that were acknowledged up to an instant since the run's start. They may
// include records that did arrive: an operation ends only once.
func (r *receipts) overdue(upTo time.Duration) (list []awaited) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.awaited.Len() > 0 && r.awaited.Head().acked <= upTo {
		list = append(list, r.awaited.Pop())
	}
	return list
}

func (p *Run) errLost() error {
	if p.oneWay {
		return errors.New("written, and not received in time")
	}
	return errors.New("acknowledged, and not received in time")
}

// failedRecord is a record that was not acknowledged during the run.
type failedRecord struct {
	stream    uint16
	partition int32
	number    uint64
}

// maxFailed is the largest number of failed records that e2e keeps, to see whether they
// arrive nevertheless.
const maxFailed = 1 << 16

// add counts records answered now, and keeps those that should arrive, and failed ones.
func (r *receipts) add(m *meter, records []record, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.answered(records)
	for i := range records {
		one := &records[i]
		if one.err == nil && !r.closing {
			r.awaited.Push(awaited{one.token, now, one.stream, one.partition, one.number})
		} else if len(r.failed) < maxFailed {
			r.failed = append(r.failed, failedRecord{one.stream, one.partition, one.number})
		}
	}
}

// close fixes the number of acknowledged records, all of which should arrive.
func (r *receipts) close(m *meter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing, r.acked = true, total(m.written())
}

// fates are the number of acknowledged records, and of records that were received although they were
// not acknowledged.
func (p *Run) fates(has func(cluster.StreamKey, uint64) bool) (acked, unasked uint64) {
	r := &p.receipts
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.failed {
		if has(cluster.StreamKey{Run: p.run, Stream: f.stream, Partition: f.partition}, f.number) {
			unasked++
		}
	}
	return r.acked, unasked
}
