// Package users sends the operations of many users: each has one connection, and begins an
// operation only when its previous one has ended.
package users

import (
	"context"
	"sync"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/ring"
	"github.com/taktload/takt/pkg/takt"
)

// Options describe the users of a run. Functions may be nil if their comment says what that means.
type Options struct {
	World   engine.World                     // clock and goroutines; nil: of this machine
	Key     func(op *takt.Op) []byte         // name of the user whose operation it is; valid until the next call
	Connect func(seat int) engine.Connection // called once a seat
	Seats   int                              // largest number of connections open at once
	Idle    time.Duration                    // a connection is closed when its user has been idle this long; 0: never

	Enter  func(op *takt.Op) bool                                   // reports whether a user without an operation may begin op; if not, the user waits for Admit; nil: all may
	Spare  func() any                                               // replaces op.Data, which belongs to the crowd until Free; nil: nothing does
	Free   func(data any)                                           // the operation with this Data has ended; nil: not called
	Memory func() any                                               // what a new user remembers; nil: nothing, and a user without a connection is forgotten
	Begin  func(u *User, op *takt.Op, r *takt.Result) bool          // called before an operation: false drops it, a Class in r fails it; nil: all are sent
	End    func(u *User, op *takt.Op, r *takt.Result, at time.Time) // called after an operation that ended at this instant, before it is recorded; nil: not called
	Leaves func(op *takt.Op) bool                                   // reports whether op was its user's last one; nil: users never leave
	Rests  func(u *User, at time.Time)                              // called after End: the user's operation ended at this instant; nil: not called
}

// User is one user. Its operations run one at a time, so only one goroutine uses Memory.
type User struct {
	Key    string
	Memory any // result of Options.Memory

	turn takt.Turn // of the next operation

	waiting ring.Queue[takt.Op] // guarded by Crowd.mu, as all below
	busy    bool                // an operation is in flight, or waits for a seat
	seat    *seat
}

// seat is a connection, with its buffers.
type seat struct {
	index        int
	conn         engine.Connection // nil: not connected yet
	user         *User             // nil: nobody's
	since        time.Time         // start of its user's rest; zero: its user has not used the connection yet
	newer, older *seat             // ring of the seats whose users rest; nil: not in it
}

// Crowd has all users of a run.
type Crowd struct {
	o      Options
	world  engine.World
	sink   takt.Sink
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	live   int           // goroutines
	hands  []*hand       // of them, those that have nothing to do; at most mostHands
	gone   chan struct{} // closed when none is left; nil: nobody waits
	users  map[string]*User
	left   map[string]struct{} // keys of users that were forgotten and may come again; at most mostGone
	seats  []*seat
	empty  []*seat           // seats without a user
	idle   seat              // start of the ring of resting seats: idle.older is the newest, idle.newer the oldest
	queue  ring.Queue[*User] // users that wait for a seat
	barred ring.Queue[*User] // users that Options.Enter has not let in
	closed bool
	seen   Seen
}

// Seen is what a run saw of its users.
type Seen struct {
	Users   uint64 // users; one that was forgotten and came again counts once, of the first mostGone that were forgotten
	Open    int    // largest number of connections at once
	Idled   uint64 // connections that were closed because their users were idle
	Evicted uint64 // connections of idle users that were closed because others needed a connection
	Waited  uint64 // operations that were due before the one before had ended
	Crowded uint64 // operations whose users waited for a connection
	Barred  uint64 // users that waited for Admit
}

// mostGone limits the forgotten users whose keys a crowd remembers, to some 100 MB.
const mostGone = 1 << 20

// New returns a crowd without users.
func New(o Options) *Crowd {
	c := &Crowd{o: o, world: engine.WorldOf(o.World), users: map[string]*User{}, left: map[string]struct{}{}}
	c.idle.newer, c.idle.older = &c.idle, &c.idle
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Client is the asynchronous client of the crowd, for a driver with Queues.
func (c *Crowd) Client(sink takt.Sink) *takt.AsyncClient {
	c.sink = sink
	c.ctx, c.cancel = context.WithCancel(engine.ContextOf(sink))
	return &takt.AsyncClient{Start: c.start, Started: c.started, Close: c.close}
}

// Seen is what the run has seen so far.
func (c *Crowd) Seen() Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// Connection is a connection of nobody's, for requests before and after the run. The caller closes it.
func (c *Crowd) Connection() engine.Connection { return c.o.Connect(c.o.Seats) }

// At is the user of a seat, for the codec of its connection while an operation runs.
func (c *Crowd) At(index int) *User {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seats[index].user
}

// start implements AsyncClient.Start.
func (c *Crowd) start(op *takt.Op) error {
	key := c.o.Key(op)
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.user(key)
	u.waiting.Push(*op)
	if op.Data = nil; c.o.Spare != nil {
		op.Data = c.o.Spare()
	}
	switch {
	case u.busy:
		c.seen.Waited++
	case c.o.Enter != nil && !c.o.Enter(u.waiting.Head()):
		u.busy = true
		c.seen.Barred++
		c.barred.Push(u)
	default:
		c.enter(u)
	}
	return nil
}

// enter lets a user begin its operations, as soon as there is a seat.
func (c *Crowd) enter(u *User) {
	u.busy = true
	if c.sit(u) {
		s := u.seat
		c.begin(func() { c.run(u, s) })
		return
	}
	c.seen.Crowded++
	c.queue.Push(u)
}

// Admit asks Options.Enter again for the users that wait for it, first come, first served.
func (c *Crowd) Admit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && c.barred.Len() > 0 && c.o.Enter((*c.barred.Head()).waiting.Head()) {
		c.enter(c.barred.Pop())
	}
}

// mostHands is how many goroutines wait for work at most. A new one grows its stack three times for a request over TCP, which was
// 6 % of the CPU of users who think.
const mostHands = 64

// hand is a goroutine of the crowd.
type hand struct {
	work func()
	wake chan struct{} // signals that there is work
}

// begin runs f in a goroutine for which close waits. The caller holds the lock.
func (c *Crowd) begin(f func()) {
	if last := len(c.hands) - 1; last >= 0 {
		h := c.hands[last]
		c.hands = c.hands[:last]
		h.work = f
		h.wake <- struct{}{} // never blocks: the channel of a hand that waits is empty
		return
	}
	c.live++
	h := &hand{work: f, wake: make(chan struct{}, 1)}
	c.world.Go(func() {
		for h.work(); c.waits(h) && c.world.Either(h.wake, c.ctx.Done()) == 0; {
			h.work()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.live--; c.live == 0 && c.gone != nil {
			close(c.gone)
			c.gone = nil
		}
	})
}

// waits reports whether h is to wait for work.
func (c *Crowd) waits(h *hand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.hands) == mostHands {
		return false
	}
	h.work = nil
	c.hands = append(c.hands, h)
	return true
}

// user is the user with this key.
func (c *Crowd) user(key []byte) *User {
	u := c.users[string(key)]
	if u == nil {
		u = &User{Key: string(key)}
		if c.o.Memory != nil {
			u.Memory = c.o.Memory()
		}
		c.users[u.Key] = u
		if _, back := c.left[u.Key]; !back {
			c.seen.Users++
		}
	}
	return u
}

// sit gives a user a seat: its own, an empty one, a new one, or that of the user who has rested
// longest. It reports false if all seats are in use.
func (c *Crowd) sit(u *User) bool {
	s := u.seat
	switch {
	case s != nil:
		s.unlink()
		return true
	case len(c.empty) > 0:
		s = c.empty[len(c.empty)-1]
		c.empty = c.empty[:len(c.empty)-1]
	case len(c.seats) < c.o.Seats:
		s = &seat{index: len(c.seats)}
		c.seats = append(c.seats, s)
	case c.idle.newer != &c.idle:
		s = c.idle.newer
		s.unlink()
		c.leave(s, false)
		c.seen.Evicted++
	default:
		return false
	}
	s.user, u.seat = u, s
	c.seen.Open = max(c.seen.Open, len(c.seats)-len(c.empty))
	return true
}

// leave takes a seat from its resting user, who may come back unless it has gone for good. The connection
// must be closed before its next use.
func (c *Crowd) leave(s *seat, gone bool) {
	s.user.seat = nil
	if gone || c.o.Memory == nil {
		delete(c.users, s.user.Key)
	}
	if !gone && c.o.Memory == nil && len(c.left) < mostGone {
		c.left[s.user.Key] = struct{}{}
	}
	s.user, s.since = nil, time.Time{}
}

func (s *seat) unlink() {
	if s.newer != nil {
		s.newer.older, s.older.newer = s.older, s.newer
		s.newer, s.older = nil, nil
	}
}

// rest makes a seat the newest of the resting ones.
func (c *Crowd) rest(s *seat, now time.Time) {
	s.since = now
	s.older, s.newer = c.idle.older, &c.idle
	s.older.newer, c.idle.older = s, s
}

// run sends the operations of u until it has no other.
func (c *Crowd) run(u *User, s *seat) {
	if s.conn == nil {
		s.conn = c.o.Connect(s.index)
	} else if s.since.IsZero() { // another user's connection
		s.conn.Hangup()
	}
	var r takt.Result
	leaves := false
	for {
		op, more := c.next(u, s, leaves)
		if !more || c.ctx.Err() != nil { // the report has counted what is left as unfinished
			return
		}
		c.send(u, s, &op, &r)
		leaves = c.o.Leaves != nil && c.o.Leaves(&op)
		if c.o.Free != nil {
			c.o.Free(op.Data)
		}
	}
}

// send performs an operation, unless Options.Begin drops it.
func (c *Crowd) send(u *User, s *seat, op *takt.Op, r *takt.Result) {
	r.Reset()
	if c.o.Begin != nil && !c.o.Begin(u, op, r) {
		c.sink.Drop(op.Token)
		return
	}
	u.turn.Place = s.index + 1
	c.sink.Began(op.Token, u.turn)
	sent := c.world.Now()
	if r.Class == "" {
		s.conn.Do(c.ctx, op, r)
	}
	if c.ctx.Err() != nil { // the report has counted it as unfinished
		return
	}
	read := c.world.Now()
	u.turn = takt.Turn{Free: read, Read: read}
	if r.Arrived.After(sent) && r.Arrived.Before(read) {
		u.turn.Free = r.Arrived
	}
	u.turn.Service = u.turn.Free.Sub(sent)
	if c.o.End != nil {
		c.o.End(u, op, r, u.turn.Free)
	}
	if c.o.Rests != nil {
		c.o.Rests(u, u.turn.Free)
	}
	c.sink.Done(op.Token, r)
}

// next is the next operation of u. If there is none, u rests: its seat goes to a user that waits
// for one, or to the resting seats; or nobody has it, if u leaves.
func (c *Crowd) next(u *User, s *seat, leaves bool) (op takt.Op, more bool) {
	now := c.world.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if u.waiting.Len() > 0 {
		return u.waiting.Pop(), true
	}
	u.busy = false
	switch {
	case c.queue.Len() > 0 && !c.closed:
	case leaves:
		c.leave(s, true)
		c.vacate(s)
		return op, false
	default:
		c.rest(s, now)
		return op, false
	}
	c.leave(s, leaves)
	c.pass(s, takt.Turn{Free: now, Read: now, Service: u.turn.Service})
	return op, false
}

// pass gives a seat without a user to the first one that waits for a seat, and says how long this user has waited.
func (c *Crowd) pass(s *seat, waited takt.Turn) {
	other := c.queue.Pop()
	s.user, other.seat = other, s
	other.turn = waited
	c.begin(func() { c.run(other, s) })
}

// started begins to look for users that are idle.
func (c *Crowd) started(time.Time) {
	if c.o.Idle <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(func() {
		often := max(time.Millisecond, min(c.o.Idle/2, time.Second))
		for c.world.Either(c.world.After(often), c.ctx.Done()) == 0 {
			for c.sweep(c.world.Now()) {
			}
		}
	})
}

// sweep closes the connection of a user that has been idle for long, and reports whether there was
// such a user.
func (c *Crowd) sweep(now time.Time) bool {
	c.mu.Lock()
	s := c.idle.newer
	if s == &c.idle || now.Sub(s.since) < c.o.Idle {
		c.mu.Unlock()
		return false
	}
	s.unlink()
	c.leave(s, false)
	c.seen.Idled++
	c.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.vacate(s)
	return true
}

// vacate closes the connection of a seat without a user. It releases the lock meanwhile, because
// closing TLS may have to wait. A user may have begun to wait for a seat by then.
func (c *Crowd) vacate(s *seat) {
	c.mu.Unlock()
	s.conn.Hangup()
	now := c.world.Now()
	c.mu.Lock()
	if c.queue.Len() > 0 && !c.closed {
		c.pass(s, takt.Turn{Free: now, Read: now})
		return
	}
	c.empty = append(c.empty, s)
}

// close ends all operations and closes all connections.
func (c *Crowd) close() error {
	c.mu.Lock()
	left, gone := c.live, make(chan struct{})
	c.closed, c.gone = true, gone
	c.mu.Unlock()
	c.cancel()
	if left > 0 {
		c.world.First(gone)
	}
	for _, s := range c.seats {
		if s.conn != nil {
			_ = s.conn.Close() // the run is over
		}
	}
	if len(c.seats) == 0 {
		_ = c.o.Connect(0).Close() // that of the probe, which no user had
	}
	return nil
}
