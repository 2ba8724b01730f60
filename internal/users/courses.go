package users

import (
	"container/heap"
	"sync"
	"time"

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
	started time.Time
	begun   uint64 // rounds
	active  int    // rounds in progress, and users that pause after one
	taken   uint64 // operations, with a schedule
	next    takt.Op
	have    bool // next is the beginning of a round that has not begun
	pending byReady
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
	return &Courses{base: base, numbers: numbers, users: users, first: first, wake: func() {}}
}

// Begin says when the run has begun, and how to wake the engine.
func (c *Courses) Begin(at time.Time, wake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started, c.wake = at, wake
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
	now := time.Duration(0)
	if !c.started.IsZero() {
		now = time.Since(c.started)
	}
	for len(c.pending) > 0 && c.pending[0].data == nil && c.pending[0].at <= now {
		heap.Pop(&c.pending)
		c.active--
	}
	number := c.numbers.number(c.begun)
	follows := len(c.pending) > 0 && c.pending[0].at <= now
	if !follows && (c.active == c.users || c.numbers.stops(number)) {
		c.starved = c.active > 0
		return false
	}
	if c.stopped = !c.base.Next(op); c.stopped {
		return false
	}
	if follows {
		op.Data = heap.Pop(&c.pending).(pending).data
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
	case len(c.pending) > 0 && !(c.have && c.next.Due < c.pending[0].at):
		p := heap.Pop(&c.pending).(pending)
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
	if c.users > 0 || len(c.pending) == 0 || c.pending[0].at >= op.Due {
		return
	}
	p := heap.Pop(&c.pending).(pending)
	heap.Push(&c.pending, pending{op.Data, op.Due})
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
		heap.Push(&c.pending, p)
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
	if !c.ended || c.active > 0 || len(c.pending) > 0 {
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

// byReady is a heap by the instant at which an operation is due or ready.
type byReady []pending

func (h byReady) Len() int           { return len(h) }
func (h byReady) Less(i, j int) bool { return h[i].at < h[j].at }
func (h byReady) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *byReady) Push(x any) { *h = append(*h, x.(pending)) }

// Pop implements heap.Interface.
func (h *byReady) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last] = pending{}
	*h = (*h)[:last]
	return p
}
