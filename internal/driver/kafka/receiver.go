package kafka

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/ledger"
	"github.com/taktload/takt/pkg/takt"
)

// message is a record as it was received.
type message struct {
	partition int32
	offset    int64
	value     []byte
	header    []byte    // with the stamp; nil: none
	sent      time.Time // the record's time, in whole milliseconds
	end       int64     // offset after the partition's last record, as far as the client knows

	// What the receiver finds out.
	stamp    stamp
	stamped  bool
	transfer time.Duration // how long it was under way
}

// maxTogether bounds how many messages a consumer hands over at once.
const maxTogether = 512

// consumer is a library that receives records.
type consumer interface {
	// consume hands over what arrives together from a partition, with the instant, until
	// ctx ends, or an error comes that does not pass; others go to t. take may be called
	// by several goroutines.
	consume(ctx context.Context, t *troubles, take func(all []message, at time.Time)) error
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

// read finds out what messages say of themselves.
func (r *receiver) read(all []message, at time.Time) {
	for i := range all {
		m := &all[i]
		if m.stamp, m.stamped = readStamp(m.header); !m.stamped {
			m.stamp, m.stamped = readStamp(m.value)
		}
	}
	now := at.UnixNano()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range all {
		all[i].transfer = r.transfer(&all[i], now)
	}
}

// transfer is how long a message was under way. The first message decides from when:
// figures of two kinds would be none. The caller holds the lock.
func (r *receiver) transfer(m *message, now int64) time.Duration {
	kind, began := fromDue, m.stamp.due
	if !m.stamped {
		if m.sent.IsZero() {
			return 0
		}
		kind, began = fromSent, m.sent.UnixNano()
	}
	if r.from == "" {
		r.from = kind
	}
	if kind != r.from {
		return 0
	}
	if now < began {
		r.skewed++
	}
	return time.Duration(max(0, now-began))
}

// ours reports whether a message counts, and is not a foreign one.
func (r *receiver) ours(m *message) bool {
	return m.stamped && (r.own == nil || m.stamp.run == *r.own)
}

// count counts messages of one partition that were read.
func (r *receiver) count(all []message) {
	if len(all) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place(all)
	for i := range all {
		if m := &all[i]; r.ours(m) {
			r.ledger.Note(streamKey{m.stamp.run, m.stamp.stream, m.partition}, m.stamp.number)
		} else {
			r.ledger.Foreign++
		}
	}
}

// place counts messages for their partition; the caller holds the lock.
func (r *receiver) place(all []message) {
	last := &all[len(all)-1]
	p := r.partitions[last.partition]
	if p == nil {
		p = &partition{}
		r.partitions[last.partition] = p
	}
	p.received += uint64(len(all))
	p.next, p.end = last.offset+1, max(p.end, last.end, last.offset+1)
}

// receive is takt.Driver.Receive of consumers.
func (r *receiver) receive(ctx context.Context, c consumer, sink takt.Sink) error {
	taker := sink.(engine.Taker)
	pool := sync.Pool{New: func() any { return new([maxTogether]takt.Result) }}
	return c.consume(ctx, &r.troubles, func(all []message, at time.Time) {
		r.read(all, at)
		results := pool.Get().(*[maxTogether]takt.Result)
		defer pool.Put(results)
		for i := range all {
			results[i].Phases[phaseTransfer] = all[i].transfer
		}
		r.wire.drain(&results[0])
		r.count(all[:taker.Take(results[:len(all)])])
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
