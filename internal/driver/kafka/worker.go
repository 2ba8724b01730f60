package kafka

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/kwire"
	"github.com/taktload/takt/pkg/takt"
)

// client is a library that sends records. write and commit are called by one goroutine at
// a time.
type client interface {
	// write sends the records of b and does not wait for the answers, of which each
	// goes to b.end.
	write(b *batch)
	// commit commits or aborts the transaction under way and begins the next.
	commit(ctx context.Context, abort bool) error
	// knows reports whether the client can send to so many partitions; if it cannot yet, it
	// finds out about them.
	knows(ctx context.Context, partitions int32) bool
	// forsake fails what is under way: the topic is gone, as err says.
	forsake(err error)
	close()
}

// worker is one set of connections, with its writers: at most so many batches are
// under way. What falls due meanwhile waits in the queue, and up to a batch of it is
// written together as soon as a writer is free.
type worker struct {
	*producer
	client client
	id     uint64 // from 0

	mu       sync.Mutex
	queue    ring[pending]
	idle     []*batch // of the writers that have nothing under way
	ripe     int      // so many at the head of the queue have lingered long enough
	waits    bool     // the timer runs
	timer    *time.Timer
	busy     bool          // somebody writes, or commits
	flushing bool          // nothing lingers any more
	flushed  bool          // and nothing is left
	answered []record      // of the transaction under way
	room     int           // records that it still takes
	empty    chan struct{} // closed when flushed
	closed   bool
	quiet    chan struct{} // closed when nobody is at work any more

	turn int32 // partition of the next batch without keys; of whoever writes
}

func newWorker(p *producer, id int) *worker {
	partitions := p.partitions.Load()
	w := &worker{
		producer: p, id: uint64(id), room: p.transaction,
		turn: int32(id) % partitions, empty: make(chan struct{}), quiet: make(chan struct{}),
	}
	w.timer = time.AfterFunc(time.Hour, w.ripen)
	w.timer.Stop()
	shared := &numbers{}
	for i := range p.writers {
		b := &batch{worker: w, stamp: stamp{run: p.run, stream: uint16(id)}, numbers: shared}
		if p.unordered {
			b.stamp.stream, b.numbers = uint16(id*p.writers+i), &numbers{}
		}
		w.idle = append(w.idle, b)
	}
	return w
}

// inlineRecords is how many are written by the one who finds that they may be: that
// takes about 10 µs.
const inlineRecords = 16

// job is what a worker has to do next: nothing, write a batch, or commit.
type job struct {
	batch  *batch
	commit bool
}

// push queues those of the operations that are this worker's, and writes what may be
// written now. first is how many all workers had before.
func (w *worker) push(ops []takt.Op, first uint64) {
	w.mu.Lock()
	before, all := w.queue.len(), uint64(len(w.workers))
	for i := (w.id + all - first%all) % all; i < uint64(len(ops)); i += all {
		op := &ops[i]
		w.queue.push(pending{token: op.Token, seq: op.Seq, due: op.Due})
	}
	added := w.queue.len() - before
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

// begin does j, but in another goroutine if that takes longer: the caller is the
// engine's pacer, or brings answers, and others wait for both.
func (w *worker) begin(j job) {
	if j.batch != nil && len(j.batch.ops) <= w.inline {
		j = w.do(j)
	}
	if j != (job{}) {
		go w.work(j)
	}
}

// ripen lets go what has lingered.
func (w *worker) ripen() {
	w.mu.Lock()
	w.waits = false
	w.ripe = w.queue.len()
	j := w.next()
	w.mu.Unlock()
	w.work(j)
}

// work does j and all that is to be done after it.
func (w *worker) work(j job) {
	for j != (job{}) {
		j = w.do(j)
	}
}

// do does j and returns what is to be done next.
func (w *worker) do(j job) job {
	switch gone := w.gone.Load(); {
	case j.commit:
		w.commit()
	case gone != nil:
		j.batch.fill()
		j.batch.fail(*gone)
	default:
		j.batch.fill()
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

// next chooses what is to be done and makes the caller the one that does it. There is
// nothing when somebody is at work: that one asks again. The caller holds the lock.
func (w *worker) next() job {
	if w.busy || w.closed {
		return job{}
	}
	j := job{w.take(), w.mayCommit()}
	w.busy = j != (job{})
	if w.flushing && !w.busy && w.queue.len() == 0 && len(w.idle) == w.writers && !w.flushed {
		w.flushed = true
		close(w.empty)
	}
	return j
}

// take moves what may be written now from the queue into a batch; nil: nothing. The
// caller holds the lock.
func (w *worker) take() *batch {
	most := w.batchSize
	if w.transaction > 0 {
		most = min(most, w.room)
	}
	n := min(most, w.queue.len())
	if n == 0 || len(w.idle) == 0 || (n < most && w.ripe == 0) {
		return nil
	}
	last := len(w.idle) - 1
	b := w.idle[last]
	w.idle = w.idle[:last]
	b.ops, b.tokens, b.room = b.ops[:0], b.tokens[:0], 0
	for range n {
		size := w.text.size(w.queue.head().seq) + w.overhead
		if kwire.Overhead+b.room+size > w.batchBytes && len(b.ops) > 0 {
			break
		}
		b.room += size
		op := w.queue.pop()
		b.ops, b.tokens = append(b.ops, op), append(b.tokens, op.token)
	}
	w.ripe = max(0, w.ripe-len(b.ops))
	w.room -= len(b.ops)
	return b
}

// ended takes the writer of b back, whose records all have their answer.
func (w *worker) ended(b *batch) {
	took := time.Since(b.began)
	w.meter.batch(took)
	if !w.oneWay {
		w.sink.Record(phaseBatch, took)
	}
	switch {
	case w.transaction > 0 || w.apart:
	case len(b.records) == 0:
		w.finishUniform(b)
	default:
		w.finishAll(b.records, b.lastArrival())
	}
	w.mu.Lock()
	if w.transaction > 0 { // no consumer that reads committed records sees them yet
		w.answered = append(w.answered, b.records...)
	}
	w.idle = append(w.idle, b)
	j := w.next()
	w.mu.Unlock()
	w.begin(j)
}

// mayCommit reports whether the transaction is full, or has to end, and nothing of it
// is under way; the caller holds the lock.
func (w *worker) mayCommit() bool {
	quiet := len(w.answered) > 0 && len(w.idle) == w.writers
	return quiet && (w.room == 0 || w.flushing && w.queue.len() == 0)
}

// commit ends the transaction, whose records share its fate.
func (w *worker) commit() {
	began := time.Now()
	bad := slices.IndexFunc(w.answered, func(r record) bool { return r.err != nil })
	err := w.client.commit(w.ctx, bad >= 0)
	w.sink.Record(phaseCommit, time.Since(began))
	if bad >= 0 {
		err = fmt.Errorf("aborted, since a record of it failed: %w", w.answered[bad].err)
	}
	for i := range w.answered {
		if r := &w.answered[i]; r.err == nil && err != nil {
			r.err = &transactionError{err}
		}
	}
	w.finishAll(w.answered, time.Time{})
	w.answered, w.room = w.answered[:0], w.transaction
}

// transactionError is why a record failed that was acknowledged all the same.
type transactionError struct{ cause error }

func (e *transactionError) Error() string { return "the transaction failed: " + e.cause.Error() }
func (e *transactionError) Unwrap() error { return e.cause }

// flush lets go everything: nothing lingers any more, and what is open is committed.
func (w *worker) flush() {
	w.mu.Lock()
	w.flushing = true
	w.ripe = w.queue.len()
	j := w.next()
	w.mu.Unlock()
	w.work(j)
}

// close lets whoever is at work end, and the client fail what is open.
func (w *worker) close() {
	w.mu.Lock()
	w.timer.Stop()
	w.closed = true
	busy := w.busy
	w.mu.Unlock()
	if busy {
		<-w.quiet
	}
	w.client.close()
}

// route is the partition of a key among so many, as Kafka's own producers choose it: murmur2.
func (w *worker) route(key []byte, partitions int32) int32 {
	return int32(w.byKey.Partition(&kgo.Record{Key: key}, int(partitions)))
}
