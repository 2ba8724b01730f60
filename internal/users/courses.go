package users

import (
	"cmp"
	"sync"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/ring"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Courses is a source for rounds whose steps follow from answers. With a schedule of instants, each of them begins a round.
// Without one, a user begins a round when its last one is over.
type Courses struct {
	base    takt.Source
	numbers Numbers
	users   int           // without a schedule; 0: there is one
	longest time.Duration // after the beginning of a round its last step is due, if no answer is late
	first   First

	mu      sync.Mutex
	wake    func()
	now     time.Duration
	begun   uint64          // rounds
	made    int             // users, without a schedule
	resting ring.Queue[any] // users without a round that may begin one, without a schedule
	active  int             // rounds in progress, and users that pause after one
	taken   uint64          // operations, with a schedule
	next    takt.Op
	have    bool               // next has not been used: with a schedule, for the beginning of a round
	pending ring.Heap[pending] // by the instant at which an operation is due or ready
	starved bool
	planned time.Duration // when the operation is due that the engine has and did not take yet, with a schedule
	ended   bool          // no other round begins
	stopped bool          // no other operation
	last    time.Duration
}

// FailPause is how long a user without a schedule rests after a round that got no answer. Else it would begin thousands of
// rounds a second at a dead target.
const FailPause = 100 * time.Millisecond

// Shape makes users of the connections of a closed loop: as many as given, now or at an earlier call, or else fallback. With a
// rate the schedule says how many there are, and there is no n.
func Shape(e *engine.Options, given *int, fallback int) (n int) {
	if e.Closed() {
		n = cmp.Or(e.Connections, *given, fallback)
		e.MaxInFlight = n
	}
	*given = cmp.Or(e.Connections, *given)
	e.Connections = 0
	return n
}

// First is Data of the first operation of a round. user is that of Over; nil: a new one, or there is a schedule. Without a
// schedule, the operation begins after wait.
type First func(number uint64, user any) (data any, wait time.Duration)

// pending is an operation of a round in progress, or the end of a user's pause.
type pending struct {
	data any // nil: a pause
	at   time.Duration
	user any // who pauses
}

// NewCourses wraps the schedule base. A round has think times of up to longest.
func NewCourses(base takt.Source, numbers Numbers, users int, longest time.Duration, first First) *Courses {
	return &Courses{base: base, numbers: numbers, users: users, longest: longest, first: first, wake: func() {}, pending: ring.NewHeap(func(a, b pending) bool { return a.at < b.at })}
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
	if !c.have && !c.base.Next(&c.next) { // else it would be known only after the pause of a user
		c.stopped = true
		return false
	}
	for c.have = true; c.have; {
		data, ok := c.follows()
		if !ok {
			c.starved = c.active > 0
			return false
		}
		if data != nil {
			*op, c.have = c.next, false
			op.Data = data
		}
	}
	return true
}

// follows is Data of the next operation of a user; nil: a user has begun a round, and waits before its first operation. It
// reports false if nobody has one now.
func (c *Courses) follows() (data any, ok bool) {
	for c.pending.Len() > 0 && c.pending.Top().data == nil && c.pending.Top().at <= c.now {
		c.resting.Push(c.pending.Pop().user)
		c.active--
	}
	if c.pending.Len() > 0 && c.pending.Top().at <= c.now {
		return c.pending.Pop().data, true
	}
	number := c.numbers.number(c.begun)
	if c.active == c.users || c.numbers.stops(number) {
		return nil, false
	}
	var user any
	if c.made < c.users {
		c.made++
	} else {
		user = c.resting.Pop()
	}
	c.active++
	c.begun++
	data, wait := c.first(number, user)
	if wait > 0 {
		c.pending.Push(pending{data: data, at: c.now + wait})
		return nil, true
	}
	return data, true
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
		op.Due, c.have = c.next.Due, false
		op.Data, _ = c.first(c.numbers.number(c.begun), nil)
		c.begun++
		c.active++
	default:
		c.starved = c.active > 0
		return false
	}
	c.planned, c.last = op.Due, max(c.last, op.Due)
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
	c.pending.Push(pending{data: op.Data, at: op.Due})
	op.Due, op.Data = p.at, p.data
	c.planned = op.Due
}

// Follow says that the operation with this Data follows in a round, at an instant since the start of the run.
func (c *Courses) Follow(data any, at time.Duration) { c.push(pending{data: data, at: at}, 0) }

// Over says that a round of a user is over. Without a schedule, the user begins the next one after the pause.
func (c *Courses) Over(user any, at, pause time.Duration) {
	if c.users > 0 {
		c.push(pending{user: user, at: at + pause}, 0)
		return
	}
	c.push(pending{}, 1)
}

// push adds what is pending, or ends rounds. It wakes the engine only if that is due before what the engine waits for: to
// wake it for each answer was a tenth of the CPU of users who think.
func (c *Courses) push(p pending, over int) {
	c.mu.Lock()
	if c.active -= over; over == 0 {
		c.pending.Push(p)
	}
	wake, sooner := c.wake, c.starved || over == 0 && p.at < c.planned
	c.mu.Unlock()
	if sooner {
		wake()
	}
}

// End implements takt.Source. With a schedule it is known only when the last round is over, since each is finished, until the
// engine cuts it: see Last.
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

// Last implements engine.Reactive.
func (c *Courses) Last() time.Duration {
	if end := c.base.End(); c.users == 0 && end >= 0 {
		return end + c.longest
	}
	return -1
}

// Cut is, after a run, how many rounds of a schedule that came to its end were not over.
func (c *Courses) Cut() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users > 0 || !c.ended {
		return 0
	}
	return c.active
}

// NoteCut warns of them, and says what to do.
func (c *Courses) NoteCut(r *takt.Report, advice string) {
	if n := c.Cut(); n > 0 {
		r.Warn(warn.RoundsCut, "%d rounds were cut, because their polls, retries or late answers went on for longer than --drain after the last think time of the schedule: their further steps are in no count; %s",
			takt.Number("rounds", n), takt.Advice(advice))
	}
}

// Starved implements engine.Feed.
func (c *Courses) Starved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starved
}

// RestsUntil implements engine.Resting: what follows an answer is due or ready at an instant that is known then, and an answer
// wakes the engine.
func (c *Courses) RestsUntil() (at time.Duration, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending.Len() == 0 {
		return 0, false
	}
	return c.pending.Top().at, true
}

// EndedEarly implements engine.Feed.
func (c *Courses) EndedEarly() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.users == 0 && c.numbers.stops(c.numbers.number(c.begun))
}

// Err implements engine.Feed.
func (c *Courses) Err() error { return nil }
