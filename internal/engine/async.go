package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// classStart is the class of operations that an asynchronous client refused.
const classStart = "start"

// async is the mode for clients that complete operations in their own goroutines. The pacer
// starts each operation in the thread that woke up. A completion finds its operation by the
// token.
type async struct {
	*flow
	parking
	ctx     context.Context
	plan    Plan
	now     func() time.Duration
	begun   time.Time // the run's start
	void    bool      // stopped before the start: consumers must take nothing from the broker
	clients []*takt.AsyncClient

	startAll func(ops []takt.Op) // StartAll of the only client; nil: operations start one by one
	relays   bool                // every client relays
	turn     chan struct{}       // contains a token while the pacer lends its turn; whoever receives the token may start operations

	grid time.Duration // shortest time between two wake-ups of the pacer that start operations
	woke time.Duration // instant of the last one

	ops    []takt.Op      // operations that start together; length 1 or maxStart
	events []record.Event // events of one completion; guarded by flow.mu
	slots  []slot
	unused []uint32 // indexes of free slots
	max    int
	cutAt  time.Duration // instant of the cut; negative: not yet
	// fullUntil is the last instant at which the in-flight limit was reached or the client
	// had no room. Operations due earlier waited for room until then, and for the generator
	// after it.
	fullUntil time.Duration
	backlog   record.Backlog
	places    []record.Backlog // of each place of clients that queue, see takt.Turn
	last      record.Slot      // slot after the operation whose end made room
	held      takt.Op          // operation that the client refuses with ErrBusy
	holds     bool
	room      time.Duration // instant from which the client may have room for held; negative: unknown
	wakes     atomic.Uint64 // completions and calls of Wake
	queues    bool          // the clients say when they begin an operation
	nudges    chan struct{} // wakes a pacer whose source is starved
	done      group
}

// slot is an operation in flight. The generation makes a token valid for one completion only.
type slot struct {
	generation      uint32
	busy            bool
	seq             uint64
	due, free, sent time.Duration // sent: notSent while a client that queues has not begun it
	ready           time.Duration // see record.Event
	place           int           // see takt.Turn
	step            int32         // see takt.Sample
	of              Stepped       // nil: it is no step
	before          record.Slot
}

func newAsync(ctx context.Context, f *flow, p Plan) *async {
	return &async{
		flow: f, ctx: ctx, plan: p, max: p.InFlight(), cutAt: -1, done: group{world: p.world()}, backlog: record.Backlog{Size: p.InFlight()},
		parking: newParking(p.world()), ops: make([]takt.Op, 1), turn: make(chan struct{}, 1),
		nudges: make(chan struct{}, 1),
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
		a.relays = c.Relays && (i == 0 || a.relays)
		a.lingers = a.lingers || c.Drain != nil
	}
	a.queues = a.plan.Driver.Queues
	a.grid = a.lagOf()
	a.woke = -a.grid
	if all := a.clients[0].StartAll; all != nil && len(a.clients) == 1 {
		a.startAll, a.ops = all, make([]takt.Op, maxStart)
	}
	return nil
}

// sleepLate is how late a sleep of the pacer usually ends, at most.
const sleepLate = 60 * time.Microsecond

// lagOf is the grid that the options and the clients allow. A wake-up costs 10 µs of CPU and more, so
// at 20k/s a pacer that wakes up for each operation needs a quarter of a core.
func (a *async) lagOf() (grid time.Duration) {
	switch {
	case a.plan.MaxLag > 0:
		grid = a.plan.MaxLag
	case a.plan.Pacing == pacingEconomy:
		grid = economyGrid
	case a.plan.Pacing != pacingPrecise:
		grid = a.clients[0].Collects
		for _, c := range a.clients {
			grid = min(grid, c.Collects)
		}
	}
	return max(0, grid-sleepLate)
}

// maxStart is the largest batch of operations that start together. Handing over a full batch
// takes 10 µs, so its last operation is sent up to 10 µs after its stamp.
const maxStart = 128

// Wake implements takt.Sink.
func (a *async) Wake() {
	a.wakes.Add(1)
	signal(a.nudges)
	a.mu.Lock()
	holds := a.holds
	a.mu.Unlock()
	var now time.Duration
	if holds { // before the start there is no clock, and no operation was refused
		now = a.now()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if holds && a.holds {
		a.madeRoom(now)
	}
	a.unpark()
}

func (a *async) start(begun time.Time, now func() time.Duration, newWaiter func() pace.Waiter) {
	a.now, a.begun = now, begun
	a.observed.measures(begun, a.rec)
	for _, c := range a.clients {
		if c.Started != nil && !a.void {
			c.Started(a.begun)
		}
	}
	a.begin()
	a.done.Go(func() {
		a.pace(newWaiter())
		a.flush()
		a.drain()
	})
	if a.plan.Driver.Receive != nil && !a.void {
		a.done.Go(func() {
			if err := receive(a.ctx, a.plan.Driver, a); err != nil {
				a.breakOffFor(err)
				a.breakOff() // operations in flight would never end
			}
		})
	}
}

func (a *async) pace(w pace.Waiter) {
	defer w.Close()
	var heldFrom, heldTo time.Duration // the last waits for room, one behind the other
	for {
		now := w.Now()
		a.mu.Lock()
		a.refill(now)
		if a.starved {
			a.mu.Unlock()
			a.pause(false)
			a.rest(w)
			continue
		}
		if !a.have {
			a.settle()
			a.mu.Unlock()
			return
		}
		due := a.next.Due
		switch {
		case !a.due(now):
			a.mu.Unlock()
			a.pause(false)
			a.await(w, max(due, a.woke+a.grid))
		case a.busy < a.max:
			a.woke = now
			ops := a.takeDue(now)
			a.mu.Unlock()
			if !a.launch(ops) {
				return
			}
		case a.plan.Overflow == overflowDrop && due != takt.Asap && !isBound(&a.next):
			op := &a.ops[0]
			a.take(op, now)
			a.mu.Unlock()
			at := now
			if heldFrom <= due && due <= heldTo { // behind a step that waited for room, so there was none
				at = due
			}
			a.rec.Sample(0, record.Event{Seq: op.Seq, Due: op.Due, Done: at, Outcome: record.Dropped, Step: stepOf(op)}, nil)
			if s, ok := op.Data.(Stepped); ok {
				s.Overflow(due)
			}
		default:
			a.parked = true
			a.mu.Unlock()
			a.pause(true)
			if !a.lend() {
				return
			}
			if due > heldTo {
				heldFrom = now
			}
			heldTo = w.Now()
		}
	}
}

// await waits until the next operation is due. An answer may make another operation due before.
func (a *async) await(w pace.Waiter, until time.Duration) {
	w.Until(until, a.woken())
	reactive, ok := a.src.(Reactive)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.have {
		reactive.Sooner(&a.next)
	}
}

// rest waits until a starved source is asked again: at the next Wake if the clients queue, whose
// source waits for their completions.
func (a *async) rest(w pace.Waiter) {
	until := w.Now() + starvedPause
	if r, ok := a.src.(Resting); ok && a.queues {
		at, known := r.RestsUntil()
		if until = at; !known {
			until = w.Now() + time.Hour // or until it is woken
		}
	}
	w.Until(until, a.woken())
}

// woken ends a wait of the pacer: at the next Wake or stop if the clients queue, otherwise at stop.
func (a *async) woken() <-chan struct{} {
	if a.queues {
		return a.nudges
	}
	return a.flow.stop
}

func (a *async) pause(full bool) {
	for _, c := range a.clients {
		if c.Pause != nil {
			c.Pause(full)
		}
	}
}

// drain waits until all clients are drained, then lets the run end.
func (a *async) drain() {
	for _, c := range a.clients {
		if c.Drain != nil {
			c.Drain(a.ctx)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lingers = false
	a.settle()
}

// End implements takt.Sink.
func (a *async) End() { a.breakOff() }

// parkFor waits for a completion. With alone nothing in flight can complete, so parkFor only
// waits busyPause.
func (a *async) parkFor(alone bool) bool {
	if !alone {
		return a.park()
	}
	return a.world.Either(a.world.After(busyPause), a.quit) == 0
}

// busyPause is the wait before the next try at a client that is busy with nothing in flight.
const busyPause = time.Millisecond

// takeDue takes the operations that start now, at least one, and gives each a slot. The
// caller holds the lock.
func (a *async) takeDue(now time.Duration) []takt.Op {
	n := 0
	for n < len(a.ops) && a.busy < a.max && a.due(now) {
		op := &a.ops[n]
		a.take(op, now)
		a.enter()
		a.assign(op, max(a.ready, a.fullUntil), now)
		n++
	}
	return a.ops[:n]
}

// launch starts operations that have slots and reports whether the run goes on. It retries a
// refused operation after each completion.
func (a *async) launch(ops []takt.Op) bool {
	for {
		wakes := a.wakes.Load()
		if a.offer(ops) {
			return true
		}
		if op := &ops[0]; !a.retreat(op, wakes) || !a.reopen(op) {
			return false
		}
	}
}

// offer hands operations to their clients. It reports false if the client has no room for a
// single operation.
func (a *async) offer(ops []takt.Op) bool {
	if a.startAll != nil {
		a.startAll(ops)
		return true
	}
	op := &ops[0]
	c := a.clients[op.Seq%uint64(len(a.clients))]
	if c.StartAll != nil {
		c.StartAll(ops[:1])
		return true
	}
	err := c.Start(op)
	if err != nil && !errors.Is(err, takt.ErrBusy) {
		a.Done(op.Token, &takt.Result{Class: classStart, Err: err})
		return true
	}
	return err == nil
}

// reopen gives op a new slot and reports whether the run goes on. After the cut, op counts as
// never sent.
func (a *async) reopen(op *takt.Op) bool {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cutAt >= 0 {
		a.rec.Sample(0, record.Event{Seq: op.Seq, Due: op.Due, Free: now, Done: a.cutAt, Outcome: record.UnfinishedQueued}, nil)
		return false
	}
	free := now
	if a.room >= 0 {
		free = a.room
	}
	a.fullUntil = free // the client had no room before
	a.assign(op, free, now)
	return true
}

// assign gives op a slot and a token; now is the instant of sending. The caller holds the
// lock.
func (a *async) assign(op *takt.Op, free, now time.Duration) {
	var i uint32
	if n := len(a.unused); n > 0 {
		i, a.unused = a.unused[n-1], a.unused[:n-1]
	} else {
		i = uint32(len(a.slots))
		a.slots = append(a.slots, slot{})
	}
	s := &a.slots[i]
	s.generation++
	s.busy, s.seq, s.due, s.free, s.sent = true, op.Seq, op.Due, free, now
	s.ready, s.before, s.place = a.ready, a.last, 0
	if s.step, s.of = 0, nil; a.queues {
		s.sent, s.step = notSent, stepOf(op)
		s.of, _ = op.Data.(Stepped)
	}
	op.Token = uint64(s.generation)<<32 | uint64(i)
}

// takeBack removes the refused op from its slot, unless the cut has counted op. The caller
// holds the lock.
func (a *async) takeBack(op *takt.Op) bool {
	if a.cutAt >= 0 {
		return false
	}
	a.release(uint32(op.Token))
	a.held, a.holds, a.room = *op, true, -1
	return true
}

// madeRoom notes that the client may have room from the instant at. The caller holds the
// lock.
func (a *async) madeRoom(at time.Duration) {
	if a.room < 0 {
		a.room = at
	}
}

// retreat removes op from its slot and waits for the next completion. It does not wait if the
// client woke the pacer after wakes was read.
func (a *async) retreat(op *takt.Op, wakes uint64) bool {
	a.mu.Lock()
	if !a.takeBack(op) {
		a.mu.Unlock()
		return false
	}
	a.parked = a.wakes.Load() == wakes
	alone, parks := a.busy == 1, a.parked
	a.mu.Unlock()
	ok := !parks || a.parkFor(alone)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cutAt >= 0 {
		return false
	}
	a.holds = false
	return ok
}

// lend parks the pacer until only the pacer can go on. Meanwhile goOn may start operations if
// every client relays. lend reports false when the run is over.
func (a *async) lend() bool {
	if !a.relays {
		return a.park()
	}
	a.turn <- struct{}{}
	ok := a.park()
	a.world.Either(a.turn, nil)
	a.mu.Lock()
	op, refused := a.held, a.holds && a.cutAt < 0
	if refused {
		a.holds = false
	}
	a.mu.Unlock()
	if !ok || !refused {
		return ok
	}
	return a.reopen(&op) && a.launch([]takt.Op{op})
}

// Began implements takt.Sink.
func (a *async) Began(token uint64, t takt.Turn) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.inFlight(token)
	if s == nil {
		return
	}
	s.sent, s.place = now, t.Place
	if t.Free.IsZero() {
		return
	}
	if free := min(t.Free.Sub(a.begun), now); free > max(s.due, s.free) {
		s.free, s.before = free, record.Slot{Service: t.Service, Read: t.Read.Sub(a.begun)}
	}
}

// Drop implements takt.Sink. What the client did not begin says nothing of the generator's
// lateness, so the operation counts as dropped when it was due.
func (a *async) Drop(token uint64) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.inFlight(token)
	if s == nil {
		return
	}
	a.release(uint32(token))
	s.counts()
	a.rec.Sample(0, record.Event{Seq: s.seq, Due: s.due, Done: s.due, Outcome: record.Dropped, Looked: true, Step: s.step}, nil)
	if a.busy == a.max {
		a.fullUntil = now // an operation that waited for this room was not late before
	}
	a.busy--
	a.wakes.Add(1)
	a.unpark()
	a.settle()
}

// backlogOf is the backlog of the operations that wait with the one in s. Those of a place wait only for
// each other, so a late one delays all behind it, however many places are free.
func (a *async) backlogOf(s *slot) *record.Backlog {
	if s.place <= 0 {
		return &a.backlog
	}
	for len(a.places) < s.place {
		a.places = append(a.places, record.Backlog{Size: 1})
	}
	return &a.places[s.place-1]
}

// counts tells a step that it is in the report. The caller holds the lock, so the cut comes before or after both.
func (s *slot) counts() {
	if s.of != nil {
		s.of.Counts()
		s.of = nil
	}
}

func (a *async) release(i uint32) {
	a.slots[i].busy = false
	a.unused = append(a.unused, i)
}

// Done implements takt.Sink.
func (a *async) Done(token uint64, r *takt.Result) {
	a.DoneAll([]uint64{token}, r)
}

// DoneAll implements takt.Sink.
func (a *async) DoneAll(tokens []uint64, r *takt.Result) {
	read := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = slices.Grow(a.events[:0], len(tokens))
	for _, token := range tokens {
		s := a.inFlight(token)
		if s == nil {
			continue
		}
		a.events = a.events[:len(a.events)+1]
		e := &a.events[len(a.events)-1] // filled in place: see flow.move
		e.Seq, e.Due, e.Free, e.Sent, e.Read, e.Outcome = s.seq, s.due, s.free, s.sent, read, record.Ended
		e.Ready, e.Before, e.Step = s.ready, s.before, s.step
		if e.Sent == notSent { // its client could not begin it
			e.Sent = read
		}
		e.Done = a.arrival(r, a.begun, e.Sent, read)
		a.release(uint32(token))
		s.counts()
		if a.backlogOf(s).Note(e); a.busy == a.max {
			a.fullUntil = e.Done
		}
		a.last = e.After(0)
		a.busy--
	}
	if len(a.events) == 0 {
		return
	}
	a.wakes.Add(1) // there may be room for a refused operation
	a.madeRoom(read)
	if r.Class != "" {
		failed := *r // r belongs to the driver: do not change it
		blameHost(&failed)
		r = &failed
	}
	// The lock stays held: no completion may fall between the cut and the report.
	a.rec.SampleAll(0, a.events[:1], r)
	if len(a.events) > 1 {
		rest := *r
		rest.BytesSent, rest.BytesReceived = 0, 0
		a.rec.SampleAll(0, a.events[1:], &rest)
	}
	a.settle()
	a.goOn(len(a.events))
}

// goOn starts operations that waited for the room of n completions. It starts them here if
// the pacer has lent its turn, because waking the pacer takes longer; the pacer starts the
// rest. The caller holds the lock, which goOn releases meanwhile.
func (a *async) goOn(n int) {
	select {
	case <-a.turn:
	default: // the pacer, another goroutine or a caller of this one has the turn
		a.unpark()
		return
	}
	now := a.unlockedNow()
	// The pacer retries a refused operation before any other one is taken.
	for n > 0 && !a.holds && a.busy < a.max && a.due(now) {
		ops := a.takeDue(now)
		n -= len(ops)
		a.mu.Unlock()
		started := a.offer(ops)
		now = a.now()
		a.mu.Lock()
		if !started {
			a.takeBack(&ops[0])
			break
		}
	}
	if a.busy == a.max && !a.holds {
		a.mu.Unlock()
		a.pause(true)
		a.mu.Lock()
	}
	a.turn <- struct{}{}
	if a.busy < a.max || a.holds || !a.have { // only the pacer ends the schedule and asks the source again
		a.unpark()
	}
}

// unlockedNow reads the clock without the lock, which the caller holds before and after.
func (a *async) unlockedNow() time.Duration {
	a.mu.Unlock()
	defer a.mu.Lock()
	return a.now()
}

// inFlight is the slot of a token; nil for a late or repeated completion, whose operation was
// already counted. The caller holds the lock.
func (a *async) inFlight(token uint64) *slot {
	i := uint32(token)
	if a.cutAt >= 0 || int(i) >= len(a.slots) {
		return nil
	}
	s := &a.slots[i]
	if !s.busy || s.generation != uint32(token>>32) {
		return nil
	}
	return s
}

// Record implements takt.Sink.
func (a *async) Record(phase int, d time.Duration) { a.rec.Latency(phase, phase, a.now(), d) }

// Received implements takt.Sink. A driver that also sends has such messages counted only.
func (a *async) Received(all []takt.Result) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.extra += uint64(len(all))
	return len(all)
}

func (a *async) flush() {
	for _, c := range a.clients {
		if c.Flush == nil {
			continue
		}
		if err := c.Flush(a.ctx); err != nil && a.ctx.Err() == nil {
			a.rec.Note(warn.Flush, "%v", err)
		}
	}
}

func (a *async) stop(at time.Duration) {
	a.void = a.void || a.now == nil
	a.end(at)
	signal(a.nudges)
}

func (a *async) cut(at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cutAt = at
	close(a.quit)
	for i := range a.slots {
		if s := &a.slots[i]; s.busy {
			// An operation may have started after the instant at, before the lock was taken
			// here.
			e := record.Event{Seq: s.seq, Due: s.due, Free: s.free, Sent: s.sent, Done: max(at, s.sent), Ready: s.ready, Before: s.before, Outcome: record.UnfinishedSent, Step: s.step}
			if s.sent == notSent { // it waits for the operation before it
				e.Free, e.Done, e.Outcome = max(at, s.free), max(at, s.due), record.UnfinishedQueued
			}
			a.rec.Sample(0, e, nil)
		}
	}
	if a.holds {
		a.rec.Sample(0, record.Event{Seq: a.held.Seq, Due: a.held.Due, Free: at, Done: at, Outcome: record.UnfinishedQueued}, nil)
	}
	free := at
	if a.busy < a.max && !a.holds {
		free = 0
	}
	a.abandon(unsent(at, free))
}

func (a *async) close() {
	a.done.leave()
	for _, c := range a.clients {
		if c.Close != nil {
			_ = c.Close() // the run is over
		}
	}
}

// Observed implements Observer.
func (a *async) Observed() *Observed { return &a.observed }
