package produce

import (
	"errors"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/pkg/takt"
)

// awaited is an acknowledged record, which may have been received.
type awaited struct {
	token     uint64
	acked     time.Duration // instant of the acknowledgement since the run's start
	stream    uint16
	partition int32
	number    uint64
}

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
		for _, a := range p.overdue(time.Since(p.start)) {
			p.missing(a)
			p.sink.Done(a.token, &takt.Result{Class: cluster.ClassLost, Err: p.errLost()})
		}
	}
}

// overdue are the records that should have arrived, or will not arrive any more. They may include
// records that did arrive: an operation ends only once.
func (p *Run) overdue(now time.Duration) (list []awaited) {
	p.fateMu.Lock()
	defer p.fateMu.Unlock()
	gone := p.gone.Load() != nil
	for p.awaited.Len() > 0 && (gone || now-p.awaited.Head().acked >= p.timeout) {
		list = append(list, p.awaited.Pop())
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

// tally counts and keeps records acknowledged now, and keeps failed ones.
func (p *Run) tally(records []record, now time.Duration) {
	p.fateMu.Lock()
	defer p.fateMu.Unlock()
	p.meter.answered(records)
	for i := range records {
		r := &records[i]
		if r.err == nil && !p.closing {
			p.awaited.Push(awaited{r.token, now, r.stream, r.partition, r.number})
		} else if len(p.failed) < maxFailed {
			p.failed = append(p.failed, failedRecord{r.stream, r.partition, r.number})
		}
	}
}

// fates are the number of acknowledged records, and of records that were received although they were
// not acknowledged.
func (p *Run) fates(has func(cluster.StreamKey, uint64) bool) (acked, unasked uint64) {
	p.fateMu.Lock()
	defer p.fateMu.Unlock()
	for _, f := range p.failed {
		if has(cluster.StreamKey{Run: p.run, Stream: f.stream, Partition: f.partition}, f.number) {
			unasked++
		}
	}
	return p.acked, unasked
}
