package users

import (
	"sync"
	"time"

	"github.com/taktload/takt/internal/ring"
	"github.com/taktload/takt/pkg/takt"
)

// Courses is a source for rounds whose steps follow from answers. With a schedule of instants, each of them begins a round.
// Without one, a user begins a round when its last one is over.
type Courses struct {
	base    takt.Source
	numbers Numbers
	users   int                     // without a schedule; 0: there is one
	first   func(number uint64) any // Data of a round's first operation

	mu      sync.Mutex
	wake    func()
	now     time.Duration
	begun   uint64 // rounds
	active  int    // rounds in progress, and users that pause after one
	taken   uint64 // operations, with a schedule
	next    takt.Op
	have    bool               // next is the beginning of a round that has not begun
	pending ring.Heap[pending] // by the instant at which an operation is due or ready
	starved bool
	ended   bool // no other round begins
	stopped bool // no other operation
	last    time.Duration
}

// pending is an operation of a round in progress, or the end of a user's pause.
type pending struct {
	data any // nil: a pause
	at   time.Duration
}

// NewCourses wraps the schedule base.
func NewCourses(base takt.Source, numbers Numbers, users int, first func(number uint64) any) *Courses {
	return &Courses{base: base, numbers: numbers, users: users, first: first, wake: func() {}, pending: ring.NewHeap(func(a, b pending) bool { return a.at < b.at })}
}

// Begin says how to wake the engine.
func (c *Courses) Begin(wake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = wake
}

// At implements engine.Timed.
func (c *Courses) At(now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Next implements takt.Source.
func (c *Courses) Next(op *takt.Op) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starved = false
	if c.stopped {
		return false
	}
	if c.users > 0 {
		return c.nextOfUsers(op)
	}
	return c.nextDue(op)
}

// nextOfUsers is Next without a schedule. The caller holds the lock.
func (c *Courses) nextOfUsers(op *takt.Op) bool {
	for c.pending.Len() > 0 && c.pending.Top().data == nil && c.pending.Top().at <= c.now {
		c.pending.Pop()
		c.active--
	}
	number := c.numbers.number(c.begun)
	follows := c.pending.Len() > 0 && c.pending.Top().at <= c.now
	if !follows && (c.active == c.users || c.numbers.stops(number)) {
		c.starved = c.active > 0
		return false
	}
	if c.stopped = !c.base.Next(op); c.stopped {
		return false
	}
	if follows {
		op.Data = c.pending.Pop().data
		return true
	}
	c.active++
	c.begun++
	op.Data = c.first(number)
	return true
}

// nextDue is Next with a schedule. The caller holds the lock.
func (c *Courses) nextDue(op *takt.Op) bool {
	if !c.have && !c.ended {
		c.have = c.base.Next(&c.next) && !c.numbers.stops(c.numbers.number(c.begun))
		c.ended = !c.have
	}
	switch {
	case c.pending.Len() > 0 && !(c.have && c.next.Due < c.pending.Top().at):
		p := c.pending.Pop()
		op.Due, op.Data = p.at, p.data
	case c.have:
		op.Due, op.Data, c.have = c.next.Due, c.first(c.numbers.number(c.begun)), false
		c.begun++
		c.active++
	default:
		c.starved = c.active > 0
		return false
	}
	c.last = max(c.last, op.Due)
	op.Seq = c.numbers.number(c.taken)
	c.taken++
	return true
}

// Sooner implements engine.Reactive.
func (c *Courses) Sooner(op *takt.Op) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users > 0 || c.pending.Len() == 0 || c.pending.Top().at >= op.Due {
		return
	}
	p := c.pending.Pop()
	c.pending.Push(pending{op.Data, op.Due})
	op.Due, op.Data = p.at, p.data
}

// Follow says that the operation with this Data follows in a round, at an instant since the start of the run.
func (c *Courses) Follow(data any, at time.Duration) { c.push(pending{data, at}, 0) }

// Over says that a round is over. Without a schedule, its user begins the next one after the pause.
func (c *Courses) Over(at, pause time.Duration) {
	if c.users > 0 && pause > 0 {
		c.push(pending{nil, at + pause}, 0)
		return
	}
	c.push(pending{}, 1)
}

// push adds what is pending, or ends rounds, and wakes the engine.
func (c *Courses) push(p pending, over int) {
	c.mu.Lock()
	if c.active -= over; over == 0 {
		c.pending.Push(p)
	}
	wake := c.wake
	c.mu.Unlock()
	wake()
}

// End implements takt.Source. With a schedule it is known only when the last round is over, since each is finished.
func (c *Courses) End() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.base.End()
	if c.users > 0 {
		return end
	}
	if !c.ended || c.active > 0 || c.pending.Len() > 0 {
		return -1
	}
	return max(end, c.last+1)
}

// Starved implements engine.Feed.
func (c *Courses) Starved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starved
}

// EndedEarly implements engine.Feed.
func (c *Courses) EndedEarly() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.users == 0 && c.numbers.stops(c.numbers.number(c.begun))
}

// Err implements engine.Feed.
func (c *Courses) Err() error { return nil }
