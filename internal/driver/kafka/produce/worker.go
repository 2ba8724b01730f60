package produce

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/kafka"
	"github.com/taktload/takt/internal/ring"
	"github.com/taktload/takt/pkg/takt"
)

// client sends records. One goroutine at a time calls write and commit.
type client interface {
	// write sends the records of b without waiting for the answers, each of which goes to
	// b.end.
	write(b *batch)
	// commit commits or aborts the open transaction and begins the next.
	commit(ctx context.Context, abort bool) error
	// knows reports whether the client can send to this number of partitions. If not, it asks
	// for them.
	knows(ctx context.Context, partitions int32) bool
	// forsake fails records in flight: the topic is gone because of err.
	forsake(err error)
	close()
}

// worker is one set of connections with its writers, each with at most one batch in flight.
// Operations due meanwhile wait in the queue. A free writer writes up to a batch of them
// together.
type worker struct {
	*Run
	client client
	id     uint64 // number of the worker, from 0

	mu       sync.Mutex
	queue    ring.Queue[pending]
	idle     []*batch // batches of idle writers
	ripe     int      // number of records at the head of the queue that have lingered long enough
	waits    bool     // the linger timer runs
	timer    *time.Timer
	busy     bool          // a goroutine writes or commits
	flushing bool          // records do not linger any more
	flushed  bool          // flushing, and no record is left
	answered []record      // answered records of the open transaction
	room     int           // number of records for which the transaction has room
	empty    chan struct{} // closed when flushed
	closed   bool
	quiet    chan struct{} // closed when no goroutine works any more

	waiting int // bytes of the records in the queue, if filling
	// Only for the goroutine that writes.
	turn   int32 // partition of the next batch without keys
	onTurn int   // bytes written to that partition in a row, if filling
}

func newWorker(p *Run, id int) *worker {
	partitions := p.partitions.Load()
	w := &worker{
		Run: p, id: uint64(id), room: p.transaction,
		turn: int32(id) % partitions, empty: make(chan struct{}), quiet: make(chan struct{}),
	}
	w.timer = time.AfterFunc(time.Hour, w.ripen)
	w.timer.Stop()
	shared := &numbers{}
	for i := range p.writers {
		b := &batch{worker: w, stamp: cluster.Stamp{Run: p.run, Stream: uint16(p.firstStream + id)}, numbers: shared}
		if p.unordered {
			b.stamp.Stream, b.numbers = uint16(p.firstStream+id*p.writers+i), &numbers{}
		}
		w.idle = append(w.idle, b)
	}
	return w
}

// inlineRecords is the largest batch that the caller writes itself, which takes about 10 µs.
const inlineRecords = 16

// job is a worker's next work: none, write a batch, or commit.
type job struct {
	batch  *batch
	commit bool
}

// push queues this worker's operations of ops, and writes records that are ready. first is
// the number of operations given to all workers before.
func (w *worker) push(ops []takt.Op, first uint64) {
	w.mu.Lock()
	before, all := w.queue.Len(), uint64(len(w.workers))
	for i := (w.id + all - first%all) % all; i < uint64(len(ops)); i += all {
		op := &ops[i]
		w.queue.Push(pending{token: op.Token, seq: op.Seq, due: op.Due})
		if w.filling {
			w.waiting += w.recordSize(op.Seq)
		}
	}
	added := w.queue.Len() - before
	switch {
	case added == 0:
	case w.linger == 0 || w.flushing:
		w.ripe += added
	case !w.waits:
		w.waits = true
		w.timer.Reset(w.linger)
	}
	j := w.next()
	w.mu.Unlock()
	w.begin(j)
}

// begin does j, in another goroutine if it takes longer. The caller is the pacer or handles
// answers, and must not be delayed.
func (w *worker) begin(j job) {
	if j.batch != nil && len(j.batch.ops) <= w.inline {
		j = w.do(j)
	}
	if j != (job{}) {
		go w.work(j)
	}
}

// ripen releases all records when the oldest has lingered long enough. Since the timer was set,
// full batches may have left, and the oldest may be younger.
func (w *worker) ripen() {
	w.mu.Lock()
	w.waits = false
	if left := w.lingers(); left > 0 {
		w.waits = true
		w.timer.Reset(left)
	} else {
		w.ripe = w.queue.Len()
	}
	j := w.next()
	w.mu.Unlock()
	w.work(j)
}

// lingers is how long the oldest record still waits for others. The caller holds the lock.
func (w *worker) lingers() time.Duration {
	if w.queue.Len() == w.ripe {
		return 0
	}
	return w.queue.At(w.ripe).due + w.linger - time.Since(w.start)
}

// recordSize is how many bytes record seq takes in a batch at most.
func (w *worker) recordSize(seq uint64) int {
	if r := w.text.recorded; r != nil {
		one := r.of(seq)
		return kafka.RecordSize(len(one.Key), w.text.size(seq), len(one.Headers))
	}
	return kafka.RecordSize(w.text.keyBytes(), w.text.size(seq), len(w.tail))
}

// mostBytes is how many bytes the records that a writer writes together have at most. With keys
// they are for several partitions, each with batches of its own.
func (w *worker) mostBytes() int {
	if w.filling && w.text.isKeyed() {
		return w.batchBytes * int(w.partitions.Load())
	}
	return w.batchBytes
}

// work does j and all work after it.
func (w *worker) work(j job) {
	for j != (job{}) {
		j = w.do(j)
	}
}

// do does j and returns the next job.
func (w *worker) do(j job) job {
	gone := w.gone.Load()
	if !j.commit {
		j.batch.fill()
		w.meter.begun.Add(uint64(len(j.batch.ops)))
	}
	switch {
	case j.commit:
		w.commit()
	case gone != nil:
		j.batch.fail(*gone)
	default:
		w.client.write(j.batch)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = false
	if w.closed {
		close(w.quiet)
	}
	return w.next()
}

// next chooses the next job for the caller. It is empty if another goroutine works, which
// will ask again. The caller holds the lock.
func (w *worker) next() job {
	if w.busy {
		return job{}
	}
	j := job{}
	if !w.closed {
		j = job{w.take(), w.mayCommit()}
	}
	w.busy = j != (job{})
	if over := w.closed || w.flushing && w.queue.Len() == 0; over && !w.busy && len(w.idle) == w.writers && !w.flushed {
		w.flushed = true
		close(w.empty)
	}
	return j
}

// take moves records that are ready from the queue into a batch; nil: no records. The caller
// holds the lock.
func (w *worker) take() *batch {
	most := w.batchSize
	if w.transaction > 0 {
		most = min(most, w.room)
	}
	n := min(most, w.queue.Len())
	limit := w.mostBytes()
	full := n == most || w.filling && kafka.Overhead+w.waiting > limit
	if n == 0 || len(w.idle) == 0 || !full && w.ripe == 0 {
		return nil
	}
	last := len(w.idle) - 1
	b := w.idle[last]
	w.idle = w.idle[:last]
	b.ops, b.tokens, b.room, b.full = b.ops[:0], b.tokens[:0], 0, false
	for range n {
		size := w.recordSize(w.queue.Head().seq)
		if b.full = kafka.Overhead+b.room+size > limit && len(b.ops) > 0; b.full {
			break
		}
		b.room += size
		op := w.queue.Pop()
		b.ops, b.tokens = append(b.ops, op), append(b.tokens, op.token)
	}
	if w.filling {
		w.waiting -= b.room
	}
	w.ripe = max(0, w.ripe-len(b.ops))
	w.room -= len(b.ops)
	return b
}

// ended frees the writer of b, all of whose records have their answer.
func (w *worker) ended(b *batch) {
	took := time.Since(b.began)
	if w.library {
		w.outcomes(b)
	}
	w.meter.batch(took)
	if !w.oneWay {
		w.sink.Record(cluster.PhaseBatch, took)
	}
	switch {
	case w.transaction > 0 || w.apart:
	case len(b.records) == 0:
		w.finishUniform(b)
	default:
		w.finishAll(b.records, b.lastArrival())
	}
	w.mu.Lock()
	if w.transaction > 0 { // a consumer of committed records cannot see these yet
		w.answered = append(w.answered, b.records...)
	}
	w.idle = append(w.idle, b)
	j := w.next()
	w.mu.Unlock()
	w.begin(j)
}

// mayCommit reports whether the transaction is full or must end, and none of its records is
// in flight. The caller holds the lock.
func (w *worker) mayCommit() bool {
	quiet := len(w.answered) > 0 && len(w.idle) == w.writers
	return quiet && (w.room == 0 || w.flushing && w.queue.Len() == 0)
}

// commit ends the transaction, whose records share its result.
func (w *worker) commit() {
	began := time.Now()
	bad := slices.IndexFunc(w.answered, func(r record) bool { return r.err != nil })
	err := w.client.commit(w.ctx, bad >= 0)
	w.sink.Record(cluster.PhaseCommit, time.Since(began))
	if bad >= 0 {
		err = fmt.Errorf("aborted, since a record of it failed: %w", w.answered[bad].err)
	}
	for i := range w.answered {
		if r := &w.answered[i]; r.err == nil && err != nil {
			r.err = &cluster.TransactionError{Cause: err}
		}
	}
	w.finishAll(w.answered, time.Time{})
	w.answered, w.room = w.answered[:0], w.transaction
}

// flush ends lingering and commits the open transaction.
func (w *worker) flush() {
	w.mu.Lock()
	w.flushing = true
	w.ripe = w.queue.Len()
	j := w.next()
	w.mu.Unlock()
	w.work(j)
}

// halt lets nothing else begin.
func (w *worker) halt() (busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.closed = true
	w.next() // perhaps nothing is in flight
	return w.busy
}

// close lets a working goroutine finish, and the client fail open records.
func (w *worker) close() {
	if w.halt() {
		<-w.quiet
	}
	w.client.close()
}

// route is the partition of a key, chosen with murmur2 as in Kafka's own producers.
func (w *worker) route(key []byte, partitions int32) int32 {
	return int32(w.byKey.Partition(&kgo.Record{Key: key}, int(partitions)))
}
