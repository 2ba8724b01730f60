package kafka

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/taktload/takt/internal/ledger"
	"github.com/taktload/takt/pkg/takt"
)

// message is a record as it was received.
type message struct {
	partition int32
	offset    int64
	value     []byte
	stamp     []byte    // of the header; nil: none
	sent      time.Time // the record's time, in whole milliseconds
	end       int64     // offset after the partition's last record, as far as the client knows
}

// consumer is a library that receives records.
type consumer interface {
	// consume hands over what arrives, with the instant, until ctx ends, or an error
	// comes that does not pass; others go to t. take may be called by several goroutines.
	consume(ctx context.Context, t *troubles, take func(m *message, at time.Time)) error
	close()
}

// receiver counts what arrives.
type receiver struct {
	wire *wire
	own  *runID // e2e: only records of this run count; nil: those of all

	mu         sync.Mutex
	ledger     *ledger.Ledger[streamKey]
	from       string // what transfer counts from: due, sent, or "" for nothing yet
	skewed     uint64 // arrived before they were due: the clocks differ
	partitions map[int32]*partition
	troubles   troubles
}

// troubles are errors that a client got over by itself.
type troubles struct {
	mu    sync.Mutex
	count int
	last  error
}

func (t *troubles) add(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	t.last = err
}

func (t *troubles) describe(rep *takt.Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count > 0 {
		warn(rep, "fetch_errors", "the consumer met %d errors and went on; the last one: %v", t.count, t.last)
	}
}

// partition is what arrived from one partition.
type partition struct {
	received  uint64
	next, end int64 // offsets
}

func newReceiver(w *wire, own *runID) *receiver {
	return &receiver{wire: w, own: own, ledger: ledger.New[streamKey](own != nil), partitions: map[int32]*partition{}}
}

// What transfer latencies count from.
const (
	fromDue  = "due"
	fromSent = "sent"
)

// note counts a message, and returns its stamp and how long it was under way.
func (r *receiver) note(m *message, at time.Time) (s stamp, ours bool, transfer time.Duration) {
	s, stamped := readStamp(m.stamp)
	if !stamped {
		s, stamped = readStamp(m.value)
	}
	ours = stamped && (r.own == nil || s.run == *r.own)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place(m)
	if ours {
		r.ledger.Note(streamKey{s.run, s.stream, m.partition}, s.number)
	} else {
		r.ledger.Foreign++
	}
	return s, ours, r.transfer(m, &s, stamped, at)
}

// transfer is how long a message was under way. The first message decides from when:
// figures of two kinds would be none.
func (r *receiver) transfer(m *message, s *stamp, stamped bool, at time.Time) time.Duration {
	kind, began := fromSent, m.sent
	if stamped {
		kind, began = fromDue, time.Unix(0, s.due)
	}
	if r.from == "" {
		r.from = kind
	}
	if kind != r.from || began.IsZero() {
		return 0
	}
	took := at.Sub(began)
	if took < 0 {
		r.skewed++
	}
	return max(0, took)
}

// place counts a message for its partition; the caller holds the lock.
func (r *receiver) place(m *message) {
	p := r.partitions[m.partition]
	if p == nil {
		p = &partition{}
		r.partitions[m.partition] = p
	}
	p.received++
	p.next, p.end = m.offset+1, max(p.end, m.end, m.offset+1)
}

// receive is takt.Driver.Receive of consumers.
func (r *receiver) receive(ctx context.Context, c consumer, sink takt.Sink) error {
	return c.consume(ctx, &r.troubles, func(m *message, at time.Time) {
		var res takt.Result
		r.wire.drain(&res)
		_, _, res.Phases[phaseTransfer] = r.note(m, at)
		sink.Received(&res)
	})
}

// describe is the driver's part of the report.
func (r *receiver) describe(rep *takt.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, lag := map[string]any{}, int64(0)
	for i, p := range r.partitions {
		all[strconv.Itoa(int(i))] = map[string]any{"received": p.received, "lag": p.end - p.next}
		lag += p.end - p.next
	}
	rep.Extra["partitions_received"], rep.Extra["lag"] = all, lag
	if r.from != "" {
		rep.Extra["transfer_from"] = r.from
	}
	r.ledger.Describe(rep.Extra)
	r.troubles.describe(rep)
	if r.skewed > 0 {
		warn(rep, "clock_skew", "%d records arrived before they were due: the clocks of sender and receiver differ, and transfer times are wrong by as much", r.skewed)
	}
}
