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
	end       int64     // offset after the partition's last record, as far as the client knows; 0: see others

	// What the receiver finds out.
	stamp    stamp
	stamped  bool
	transfer time.Duration // how long it was under way; negative: the clocks differ
}

// maxBatch bounds how many messages a consumer hands over at once.
const maxBatch = 512

// taking takes messages of one partition that arrived together at that instant, and
// tells how many of the first the run wanted: the others are not to be committed. It
// does not keep them.
type taking func(batch []message, at time.Time) int

// consumer is a library that receives records.
type consumer interface {
	// consume hands over what arrives until ctx ends, or an error comes that does not
	// pass; others go to t. take may be called by several goroutines.
	consume(ctx context.Context, t *troubles, take taking) error
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

// decode finds out what messages say of themselves.
func (r *receiver) decode(batch []message, at time.Time) {
	for i := range batch {
		m := &batch[i]
		if m.stamp, m.stamped = readStamp(m.header); !m.stamped {
			m.stamp, m.stamped = readStamp(m.value)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range batch {
		batch[i].transfer = r.transfer(&batch[i], at)
	}
}

// transfer is how long a message was under way. The first message decides from when:
// figures of two kinds would be none. The caller holds the lock.
func (r *receiver) transfer(m *message, at time.Time) time.Duration {
	kind, began := fromSent, m.sent
	if m.stamped {
		kind, began = fromDue, time.Unix(0, m.stamp.due)
	}
	if r.from == "" {
		r.from = kind
	}
	if kind != r.from || began.IsZero() {
		return 0
	}
	return at.Sub(began)
}

// ours reports whether a message counts, and is not a foreign one.
func (r *receiver) ours(m *message) bool {
	return m.stamped && (r.own == nil || m.stamp.run == *r.own)
}

// count counts the first messages of a batch, which the run wanted.
func (r *receiver) count(batch []message, wanted int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place(batch, wanted)
	for i := range wanted {
		m := &batch[i]
		if m.transfer < 0 {
			r.skewed++
		}
		if r.ours(m) {
			r.ledger.Note(streamKey{m.stamp.run, m.stamp.stream, m.partition}, m.stamp.number)
		} else {
			r.ledger.Foreign++
		}
	}
}

// place counts a batch for its partition; the caller holds the lock.
func (r *receiver) place(batch []message, wanted int) {
	first, last := &batch[0], &batch[len(batch)-1]
	p := r.partitions[first.partition]
	if p == nil {
		p = &partition{next: first.offset}
		r.partitions[first.partition] = p
	}
	p.end = max(p.end, last.end, last.offset+1)
	if wanted > 0 {
		p.received += uint64(wanted)
		p.next = batch[wanted-1].offset + 1
	}
}

// receive is takt.Driver.Receive of consumers.
func (r *receiver) receive(ctx context.Context, c consumer, sink takt.Sink) error {
	taker := sink.(engine.Taker)
	pool := sync.Pool{New: func() any { return new([maxBatch]takt.Result) }}
	return c.consume(ctx, &r.troubles, func(batch []message, at time.Time) int {
		r.decode(batch, at)
		results := pool.Get().(*[maxBatch]takt.Result)
		defer pool.Put(results)
		for i := range batch {
			results[i].Phases[phaseTransfer] = max(0, batch[i].transfer)
		}
		r.wire.drain(&results[0])
		wanted := taker.Take(results[:len(batch)])
		r.count(batch, wanted)
		return wanted
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
