package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// pool is the worker mode. A pacer sleeps until the next due instant and hands the operation
// to an idle worker. A worker that finishes takes an operation that is already due itself, so
// at saturation the pacer is not involved. The pool grows on demand. When it is full,
// operations queue in the source or are dropped.
type pool struct {
	*flow
	parking
	ctx     context.Context // ends after the drain
	create  func(i int) (takt.Worker, error)
	options Options
	max     int
	drop    bool

	addresses *addresses // of the workers' connections; nil: they have none that takt knows
	closed    bool       // closed loop
	now       func() time.Duration
	begun     time.Time // the run's start

	workers []*worker // all workers ever made; guarded by flow.mu
	idle    []*worker // last in, first out: a warm connection is a fast one
	ended   uint64    // number of operations that ended; guarded by flow.mu
	lead    lead
	done    group
	backlog struct {
		mu     sync.Mutex // not flow.mu: cut holds that one while it waits for samples being recorded
		b      record.Backlog
		behind atomic.Bool // the last operation was late
	}
}

// The states of a worker's operation. Whoever swaps stateBusy for another state, the worker
// or the cut, records the operation.
const (
	stateIdle int32 = iota
	stateBusy
	stateDone // it ended and is being recorded
	stateCut
)

const notSent = -1

// If the pacer is late by more than lookLate while operations end, it waits lookTime for a
// worker to become free. Making a worker takes 100 µs of CPU: without the wait, after a
// machine froze for 5 ms, the pacer made a hundred workers and was later and later.
const (
	lookLate = 200 * time.Microsecond
	lookTime = 20 * time.Microsecond
)

type worker struct {
	p     *pool
	index int
	drv   takt.Worker
	conn  atomic.Pointer[conn] // drv, if it is takt's own: it counts the bytes of an operation in flight
	asked atomic.Pointer[asked]
	op    takt.Op
	free  time.Duration
	ready time.Duration // see record.Event
	slot  record.Slot
	early bool         // the pacer handed over the operation, perhaps before it was due
	sent  atomic.Int64 // notSent until the operation has begun
	state atomic.Int32
	wake  chan struct{} // signals that an operation was handed over
	res   takt.Result
	soFar takt.Result // what is known of the operation in flight at the cut

	made    chan struct{} // closed when the driver's worker was made ahead; nil: the first operation makes the worker
	failure error         // error of making the worker ahead

	patience patience
}

func newPool(ctx context.Context, f *flow, w World, factory func(int) (takt.Worker, error), o Options) *pool {
	p := &pool{
		flow: f, ctx: ctx, create: factory, options: o,
		max: o.InFlight(), drop: o.Overflow == overflowDrop, closed: o.Closed(),
		parking: newParking(w), done: group{world: w},
	}
	p.backlog.b.Size = o.InFlight()
	return p
}

func (p *pool) name() string { return "worker" }

// prepare makes the first worker, or all of a fixed pool, in their own goroutines. An error
// of the first worker ends the run before its start.
func (p *pool) prepare(ctx context.Context) error {
	if err := p.prepareFirst(ctx); err != nil {
		close(p.quit) // the workers would wait for operations forever
		return err
	}
	var rest []*worker
	for i := 1; i < min(p.options.Opens(), p.max); i++ {
		rest = append(rest, p.make1())
	}
	for _, w := range rest {
		p.world.First(w.made, ctx.Done()) // a failure shows again with the first operation
	}
	return nil
}

// prepareFirst makes the first worker. A driver may wait for its target longer than the user does.
func (p *pool) prepareFirst(ctx context.Context) error {
	first := p.make1()
	if p.world.First(first.made, ctx.Done()) == 1 && p.world.First(first.made, p.world.After(handGrace)) == 1 {
		return fmt.Errorf("the first worker is not ready: %w", context.Cause(ctx))
	}
	if first.failure != nil {
		return fmt.Errorf("cannot make the first worker: %w", first.failure)
	}
	return nil
}

// make1 makes one worker ahead of its first operation.
func (p *pool) make1() *worker {
	w := p.newWorker()
	w.made = make(chan struct{})
	p.done.Go(w.live)
	return w
}

func (p *pool) newWorker() *worker {
	w := &worker{p: p, index: len(p.workers), wake: make(chan struct{}, 1)}
	p.workers = append(p.workers, w)
	return w
}

func (p *pool) start(begun time.Time, now func() time.Duration, newWaiter func() pace.Waiter) {
	p.now, p.begun = now, begun
	p.observed.measures(begun, p.rec)
	p.idle = slices.Clone(p.workers)
	p.begin()
	p.done.Go(func() { p.pace(newWaiter()) })
}

// pace hands over each operation at its due instant until the source is exhausted.
func (p *pool) pace(w pace.Waiter) {
	defer w.Close()
	p.lead.begin(w.Live())
	var scratch takt.Op
	var last time.Duration // previous due instant
	var ended uint64       // p.ended at the last look for a free worker
	looked := false        // the last look was for the next operation
	for {
		now := w.Now()
		p.mu.Lock()
		p.refill(now)
		if p.starved {
			p.mu.Unlock()
			w.Until(now+starvedPause, p.flow.stop)
			continue
		}
		if !p.have {
			p.settle()
			p.mu.Unlock()
			return
		}
		due, lead := p.next.Due, time.Duration(0)
		if len(p.idle) > 0 {
			lead = max(0, min(p.lead.now(), due-last)) // at most one worker spins
		}
		switch {
		case !p.due(now + lead):
			p.mu.Unlock()
			w.Until(due-lead, p.flow.stop)
		case !looked && p.ended != ended && p.late(now):
			looked, ended = true, p.ended
			p.mu.Unlock()
			w.Until(now+lookTime, p.flow.stop)
		case len(p.idle) > 0 || len(p.workers) < p.max:
			last, looked = due, false
			p.handOver(now)
		case p.drop && due != takt.Asap:
			p.take(&scratch, now)
			p.mu.Unlock()
			p.rec.Sample(0, record.Event{Seq: scratch.Seq, Due: scratch.Due, Done: now, Outcome: record.Dropped}, nil)
		default:
			p.parked = true
			p.mu.Unlock()
			if !p.park() {
				return
			}
		}
	}
}

// late reports whether the next operation is late and needs a new worker.
func (p *pool) late(now time.Duration) bool {
	due := p.next.Due
	return len(p.idle) == 0 && len(p.workers) < p.max && due != takt.Asap && now-due > lookLate
}

// handOver gives the next operation to an idle or a new worker. The caller holds the lock;
// handOver releases it.
func (p *pool) handOver(now time.Duration) {
	if i := p.chooseIdle(); i >= 0 {
		w := p.idle[i]
		p.idle = slices.Delete(p.idle, i, i+1)
		w.accept(now, 0)
		w.early = true
		p.mu.Unlock()
		w.wake <- struct{}{} // never blocks: an idle worker's channel is empty
		return
	}
	w := p.newWorker()
	w.accept(now, 0)
	p.mu.Unlock()
	w.wake <- struct{}{}
	p.done.Go(w.live)
}

// chooseIdle is the idle worker that is to have the next operation; -1: none is. The caller holds the lock.
func (p *pool) chooseIdle() int {
	return p.addresses.choose(func(i int) string {
		if c := p.idle[i].conn.Load(); c != nil {
			return c.addr
		}
		return ""
	}, len(p.idle), len(p.workers) < p.max)
}

// accept takes the next operation. The caller holds the lock. free is 0 if a slot was free at
// the due instant.
func (w *worker) accept(now, free time.Duration) {
	w.p.take(&w.op, now)
	w.p.enter()
	w.ready = w.p.ready
	w.free = max(free, w.ready)
	w.sent.Store(notSent)
	w.state.Store(stateBusy)
}

// live performs operations until the run is over.
func (w *worker) live() {
	defer w.close()
	if w.made != nil {
		w.failure = w.connect()
		close(w.made)
	}
	for w.waitForWork() {
		for w.perform() {
		}
	}
}

// asked is a worker that says, to another goroutine, what is known of its operation in flight, such as takt's
// part of the connection that is being made. It may ask the kernel.
type asked interface{ SoFar() takt.Result }

func (w *worker) connect() (err error) {
	w.drv, err = w.p.create(w.index)
	if a, ok := w.drv.(asked); ok {
		w.asked.Store(&a)
	}
	if c, ok := w.drv.(*conn); ok {
		w.conn.Store(c)
	}
	return err
}

func (w *worker) close() {
	if w.drv != nil {
		_ = w.drv.Close() // the run is over: nothing is lost with the connection
	}
}

func (w *worker) waitForWork() bool {
	return w.p.world.Either(w.wake, w.p.quit) == 0
}

// perform does the worker's operation and reports whether it took another one. If no driver
// worker can be made, the operation fails and the next one tries again: the target may come
// back.
func (w *worker) perform() bool {
	sent := w.p.now()
	if w.early {
		w.early = false
		sent = w.p.lead.arrived(sent, w.op.Due, w.p.now)
	}
	w.res.Reset()
	if c := w.conn.Load(); c != nil {
		c.begin(&w.res) // before sent: a cut must not count what was the operation's before
	}
	w.sent.Store(int64(sent))
	if w.state.Load() == stateCut {
		return false
	}
	e := record.Event{Seq: w.op.Seq, Due: w.op.Due, Free: w.free, Sent: sent, Ready: w.ready, Before: w.slot}
	w.p.note(&e)
	if w.drv == nil {
		if err := w.connect(); err != nil {
			w.res.Class, w.res.Err = ClassWorker, err
			if own := (interface{ Class() string })(nil); errors.As(err, &own) {
				w.res.Class = cmp.Or(own.Class(), ClassWorker) // an empty class would mean success
			}
		}
	}
	if w.drv != nil {
		w.drv.Do(w.p.ctx, &w.op, &w.res)
	}
	read := w.p.now()
	blameHost(&w.res)
	if !w.state.CompareAndSwap(stateBusy, stateDone) {
		return false // the cut counted the operation as unfinished
	}
	done := w.p.arrival(&w.res, w.p.begun, sent, read)
	e.Done, e.Read = done, read
	w.p.rec.Sample(w.index, e, &w.res)
	w.slot = e.After(w.p.rec.Own(&w.res))
	w.state.Store(stateIdle)
	if w.p.closed {
		if pause := w.patience.after(&w.res); pause > 0 {
			done = w.pause(pause)
		}
	}
	return w.p.again(w, done)
}

// lagNoted is the delay above which the backlog notes an operation.
const lagNoted = 100 * time.Microsecond

// note tells the backlog of an operation that was sent late, and of the next one on time.
func (p *pool) note(e *record.Event) {
	late := e.Sent-e.Due > lagNoted
	if p.closed || !late && !p.backlog.behind.Load() {
		return
	}
	p.backlog.mu.Lock()
	p.backlog.b.Note(e)
	p.backlog.mu.Unlock()
	p.backlog.behind.Store(late)
}

// pause pauses, at most until the run's end, and returns the time.
func (w *worker) pause(d time.Duration) time.Duration {
	w.p.world.First(w.p.world.After(d), w.p.exhausted, w.p.flow.stop, w.p.quit)
	return w.p.now()
}

// arrival is the instant at which the answer came: the driver's if it is plausible for an
// operation sent and read at these instants, else read.
func (f *flow) arrival(r *takt.Result, begun time.Time, sent, read time.Duration) time.Duration {
	if r.Arrived.IsZero() {
		return read
	}
	at := r.Arrived.Sub(begun)
	if at < sent-sock.Doubt || at > read+sock.Doubt {
		f.disbelieved.Add(1)
		return read
	}
	return min(max(sent, at), read)
}

// again gives w, free since the instant at, the next operation if one is due. Otherwise w
// becomes idle.
func (p *pool) again(w *worker, at time.Duration) bool {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended++
	full := len(p.idle) == 0 && len(p.workers) >= p.max
	if p.due(now) {
		free := at
		if !full {
			free = 0 // another slot was free all the time
		}
		p.busy--
		w.accept(at, free)
		p.settle() // this may be the last operation, and the pacer waits for a worker
		return true
	}
	p.idle = append(p.idle, w)
	p.leave()
	p.unpark()
	return false
}

// cut counts all operations open at the instant at as unfinished.
func (p *pool) cut(at time.Duration) {
	p.mu.Lock()
	open := slices.Clone(p.workers)
	p.mu.Unlock()
	for _, w := range open { // without the lock, see World
		if a := w.asked.Load(); a != nil && w.state.Load() == stateBusy {
			w.soFar = (*a).SoFar()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.quit)
	for _, w := range p.workers {
		if w.state.CompareAndSwap(stateBusy, stateCut) {
			p.unfinished(w, at)
		}
		for w.state.Load() == stateDone {
			runtime.Gosched() // its sample takes 30 ns; the report must not miss it
		}
	}
	free := at
	if len(p.idle) > 0 || len(p.workers) < p.max {
		free = 0 // a slot was free: the generator delayed the rest
	}
	p.abandon(unsent(at, free))
}

func (p *pool) unfinished(w *worker, at time.Duration) {
	e := record.Event{Seq: w.op.Seq, Due: w.op.Due, Free: w.free, Sent: time.Duration(w.sent.Load()), Ready: w.ready, Before: w.slot, Outcome: record.UnfinishedSent}
	e.Done = max(at, e.Sent) // the operation may have been sent just after the cut began
	if e.Sent == notSent {
		e.Outcome = record.UnfinishedQueued
	}
	if c := w.conn.Load(); c != nil { // again: since the look without the lock the next operation may have begun
		w.soFar.BytesSent, w.soFar.BytesReceived = c.sent.Load(), c.received.Load()
	}
	p.rec.Sample(w.index, e, &w.soFar)
}

func (p *pool) stop(at time.Duration) { p.end(at) }

func (p *pool) close() {
	p.mu.Lock()
	closeOnce(&p.once.stop, p.flow.stop)
	p.mu.Unlock()
	p.done.leave()
}
