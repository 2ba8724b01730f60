package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// classStart is the class of operations that an asynchronous client refused.
const classStart = "start"

// async is the mode for clients that complete operations in goroutines of their
// own. The pacer starts each operation in the thread that woke up; completions
// find theirs by token.
type async struct {
	*flow
	parking
	ctx     context.Context
	plan    Plan
	now     func() time.Duration
	clients []takt.AsyncWorker
	slots   []slot
	unused  []uint32 // indexes of free slots
	max     int
	cutAt   time.Duration // negative: not yet
	held    takt.Op       // taken, and refused with ErrBusy so far
	holds   bool
	done    sync.WaitGroup
}

// slot is an operation in flight. Its generation makes a token good for one
// completion only.
type slot struct {
	generation      uint32
	busy            bool
	seq             uint64
	due, free, sent time.Duration
}

func newAsync(ctx context.Context, f *flow, p Plan) *async {
	return &async{
		flow: f, ctx: ctx, plan: p, max: p.InFlight(), cutAt: -1,
		parking: newParking(),
	}
}

func (a *async) name() string { return "async" }

func (a *async) prepare(context.Context) error {
	for i := range max(1, a.plan.Connections) {
		c, err := a.plan.Driver.Async(i, a)
		if err != nil {
			return fmt.Errorf("cannot make client %d: %w", i, err)
		}
		a.clients = append(a.clients, c)
	}
	return nil
}

func (a *async) start(now func() time.Duration, newWaiter func() pace.Waiter) {
	a.now = now
	a.begin()
	a.done.Go(func() {
		a.pace(newWaiter())
		a.flush()
	})
	if a.plan.Driver.Receive != nil {
		a.done.Go(func() {
			if err := receive(a.ctx, a.plan.Driver, a); err != nil {
				a.rec.Note("receive", err)
			}
		})
	}
}

func (a *async) pace(w pace.Waiter) {
	defer w.Close()
	var op takt.Op
	for {
		a.mu.Lock()
		a.refill(w.Now())
		if a.starved {
			a.mu.Unlock()
			w.Until(w.Now()+starvedPause, a.flow.stop)
			continue
		}
		if !a.have {
			a.settle()
			a.mu.Unlock()
			return
		}
		due, now := a.next.Due, w.Now()
		switch {
		case !a.due(now):
			a.mu.Unlock()
			w.Until(due, a.flow.stop)
		case a.busy < a.max:
			a.take(&op, now)
			a.enter()
			ready := a.ready
			a.mu.Unlock()
			if !a.launch(&op, ready) {
				return
			}
		case a.plan.Overflow == overflowDrop && due != takt.Asap:
			a.take(&op, now)
			a.mu.Unlock()
			a.rec.Sample(0, record.Event{Seq: op.Seq, Due: op.Due, Outcome: record.Dropped}, nil)
		default:
			a.parked = true
			a.mu.Unlock()
			if !a.park() {
				return
			}
		}
	}
}

// parkFor waits for a completion; alone, with nothing in flight that could
// complete, it only gives the client a moment.
func (a *async) parkFor(alone bool) bool {
	if !alone {
		return a.park()
	}
	select {
	case <-time.After(busyPause):
		return true
	case <-a.quit:
		return false
	}
}

// busyPause is how long a client rests that is busy although nothing is in flight.
const busyPause = time.Millisecond

// launch starts op, if need be again after each completion until the client has
// room for it. It reports whether the run goes on.
func (a *async) launch(op *takt.Op, free time.Duration) bool {
	for {
		client := a.clients[op.Seq%uint64(len(a.clients))]
		if !a.open(op, free) {
			return false
		}
		err := client.Start(op)
		switch {
		case err == nil:
			return true
		case errors.Is(err, takt.ErrBusy):
			if !a.retreat(op) {
				return false
			}
			free = a.now()
		default:
			a.Done(op.Token, &takt.Result{Class: classStart, Err: err})
			return true
		}
	}
}

// open gives op a slot and its token. It reports whether the run still goes on; an
// operation that comes after the cut was never sent.
func (a *async) open(op *takt.Op, free time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cutAt >= 0 {
		a.rec.Sample(0, record.Event{Seq: op.Seq, Due: op.Due, Free: free, Done: a.cutAt, Outcome: record.UnfinishedQueued}, nil)
		return false
	}
	var i uint32
	if n := len(a.unused); n > 0 {
		i, a.unused = a.unused[n-1], a.unused[:n-1]
	} else {
		i = uint32(len(a.slots))
		a.slots = append(a.slots, slot{})
	}
	s := &a.slots[i]
	s.generation++
	s.busy, s.seq, s.due, s.free, s.sent = true, op.Seq, op.Due, free, a.now()
	op.Token = uint64(s.generation)<<32 | uint64(i)
	return true
}

// retreat takes op back from its slot and waits for the next completion.
func (a *async) retreat(op *takt.Op) bool {
	a.mu.Lock()
	if a.cutAt >= 0 {
		a.mu.Unlock()
		return false // the cut has counted it
	}
	a.release(uint32(op.Token))
	a.held, a.holds, a.parked = *op, true, true
	alone := a.busy == 1
	a.mu.Unlock()
	ok := a.parkFor(alone)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cutAt >= 0 {
		return false
	}
	a.holds = false
	return ok
}

func (a *async) release(i uint32) {
	a.slots[i].busy = false
	a.unused = append(a.unused, i)
}

// Done implements takt.Sink.
func (a *async) Done(token uint64, r *takt.Result) {
	i := uint32(token)
	a.mu.Lock()
	if a.cutAt >= 0 || int(i) >= len(a.slots) || !a.slots[i].busy || a.slots[i].generation != uint32(token>>32) {
		a.mu.Unlock()
		return // late or double: it was counted already
	}
	s := a.slots[i]
	a.release(i)
	a.leave()
	a.unpark()
	done := a.now()
	// Sampled under the lock, so that no completion falls between the cut and the report.
	a.rec.Sample(int(i), record.Event{Seq: s.seq, Due: s.due, Free: s.free, Sent: s.sent, Done: done}, r)
	a.mu.Unlock()
}

// Record implements takt.Sink.
func (a *async) Record(phase int, d time.Duration) { a.rec.Latency(phase, phase, a.now(), d) }

// Received implements takt.Sink: beside operations of its own it is a count.
func (a *async) Received(*takt.Result) {
	a.mu.Lock()
	a.extra++
	a.mu.Unlock()
}

func (a *async) flush() {
	for _, c := range a.clients {
		if err := c.Flush(a.ctx); err != nil && a.ctx.Err() == nil {
			a.rec.Note("flush", err)
		}
	}
}

func (a *async) stop(at time.Duration) { a.end(at) }

func (a *async) cut(at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cutAt = at
	close(a.quit)
	for i := range a.slots {
		if s := &a.slots[i]; s.busy {
			a.rec.Sample(i, record.Event{Seq: s.seq, Due: s.due, Free: s.free, Sent: s.sent, Done: at, Outcome: record.UnfinishedSent}, nil)
		}
	}
	if a.holds {
		a.rec.Sample(0, record.Event{Seq: a.held.Seq, Due: a.held.Due, Free: at, Done: at, Outcome: record.UnfinishedQueued}, nil)
	}
	free := at
	if a.busy < a.max && !a.holds {
		free = 0
	}
	a.abandon(at, free)
}

func (a *async) close() {
	leave(&a.done)
	for _, c := range a.clients {
		_ = c.Close() // the run is over
	}
}
