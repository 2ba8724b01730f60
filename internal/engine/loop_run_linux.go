package engine

import (
	"os"
	"slices"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

const (
	// gatherCount and gatherTime bound how long a loop that has more to do than
	// connections collects answers before it sends again: servers are 5–9 % cheaper
	// for requests that come together.
	gatherCount = 16
	gatherTime  = 25 * time.Microsecond
	// gatherCountSlow and gatherTimeSlow are those of a closed loop whose target has
	// more than half of the connections, and so is slower than the loop: nothing is due
	// that could be late, and nginx serves 4 % more. A faster target would idle.
	gatherCountSlow = 48
	gatherTimeSlow  = 80 * time.Microsecond
	// blindMost is up to how many operations in flight the oldest is simply read
	// instead of asking the poller which is ready: a 5 % cheaper request.
	blindMost = 256
	// mostDialing bounds the connections that are on their way at once. One costs some
	// 50 µs on both sides: a loop that made one for every operation that is due would
	// be later for the next one, and at 50k/s never stop.
	mostDialing = 64
	// mostDialingClosed is that of a closed loop, which needs all of its connections at
	// once; servers let 4096 wait by default.
	mostDialingClosed = 1024
	// longWait is from when a loop that waits for its next operation is woken by
	// answers too. Below it, it reads them when it wakes to send: the kernel's stamps
	// say when they came.
	longWait = time.Millisecond
	// hiddenMost is how long an operation without an answer may hide those of later ones
	// from an open loop that is not short of connections.
	hiddenMost = time.Millisecond
)

// loop is one thread of the loop mode. Nothing in it is shared but the flow and the
// recorder.
type loop struct {
	m      *loops
	index  int
	max    int // connections
	sys    sock.System
	pace   pacing
	closed bool

	claim   takt.Op // the operation it waits for
	claimed bool
	passed  bool          // it left the next one to others
	dropAt  time.Duration // when the next one is dropped, if no loop has a connection for it then
	crowded bool          // it has no connection for another one; m.crowded counts these loops
	starved bool          // there is nothing to claim yet
	full    bool          // claim is due, or was passed, and no connection is free …
	freed   bool          // … but one was since
	blocked time.Duration // until then operations that were due had to wait for a connection
	looked  bool          // no answer came for those that are due, since the turn began or the pool grew
	hasRoom bool          // at the cut a connection was free

	conns   []*lconn // by token
	idle    []*lconn // last in, first out: a warm connection is a fast one
	pausing []*lconn // of a closed loop, after failures
	spare   []*lconn // without a socket
	flight  flight
	dialing flight
	backlog record.Backlog
	paths   int // connections whose round trip was measured
	partial int // requests for which a socket had no room

	unwatched bool          // the poller knows no socket
	waited    time.Duration // when it last waited for the poller

	in, out []byte
	events  [128]sock.Event
	stamps  bool // the kernel says when bytes came
	wall    sock.Wall
	readAt  time.Duration // when it last read anything
	caution caution
	rested  time.Duration // slept or spun in all

	readied chan struct{} // closed when it can begin
	ended   chan struct{} // closed after the cut
}

func newLoop(m *loops, index, limit int, sys sock.System) *loop {
	return &loop{
		m: m, index: index, max: limit, sys: sys, in: make([]byte, 64<<10), pace: m.opt.pacing(), closed: m.opt.Closed(),
		backlog: record.Backlog{Size: limit},
		readied: make(chan struct{}), ended: make(chan struct{}),
	}
}

func (l *loop) now() time.Duration { return l.sys.Since(l.m.begun) }

// live runs the loop until the cut. What its thread has to find out first takes
// milliseconds, in which no operation may be due yet.
func (l *loop) live() {
	defer close(l.ended)
	l.pace.measure(l.sys, l.m.world.Now())
	close(l.readied)
	l.m.world.First(l.m.started)
	l.stamps = !l.closed // a closed loop reads at once
	l.wall = sock.NewWall(l.sys, l.m.begun)
	for {
		if at := l.m.cutAt.Load(); at >= 0 {
			l.cut(time.Duration(at))
			return
		}
		l.turn()
	}
}

// adopt gives c the probe's connection, if that has not been used: a target that serves one
// connection at a time would keep any other waiting for it.
func (l *loop) adopt(c *lconn) bool {
	if l.m.first.Load() < 0 {
		return false
	}
	first := l.m.first.Swap(-1)
	if first < 0 {
		return false // another loop's
	}
	l.watch()
	c.fd = int(first)
	if l.stamps {
		l.stamps = l.sys.Stamp(c.fd) == nil
	}
	l.measurePath(c)
	c.codec.Reset()
	if l.sys.Add(c.fd, c.token, false) != nil {
		l.drop(c)
		return false
	}
	return l.look(c)
}

// turn sends what is due, reads what came, and rests if there was nothing to do.
func (l *loop) turn() {
	begun := l.now()
	now := l.sendDue(begun)
	busy := l.gather(begun, now)
	now = l.now()
	l.expire(now)
	if len(l.pausing) > 0 {
		l.resume(now)
	}
	if !busy && !(l.full && l.freed) {
		l.rest(now)
	}
	l.unwatch(now)
}

// sendDue sends all that is due while a connection is free, and returns the time.
func (l *loop) sendDue(now time.Duration) time.Duration {
	l.full, l.looked = false, false
	begun, sent := now, 0
	if !l.claimed {
		l.take(now)
	}
	for l.claimed && l.claim.Due <= now { // Asap is below any instant
		var c *lconn
		c, now = l.pick(now)
		if c == nil && l.drops() {
			l.dropClaimed(now)
			continue
		}
		if c == nil {
			l.full, l.freed, l.blocked = true, false, now
			break
		}
		l.begin(c, now)
		if sent++; sent == 1 && l.stamps && l.pace.grid > 0 {
			// The first of several wakes the target, for which the others would queue:
			// they are sent once the answers to the last ones are read.
			l.readEarlier(begun)
		}
		now = l.now()
		if c.fd < 0 { // not even dialled: the others are to have their turn
			l.full = true
			break
		}
	}
	if l.passed {
		l.full, l.freed, l.blocked = true, l.room(), now // a send that failed frees one at once
	}
	l.pace.sent(sent, begun)
	return now
}

// pick is a connection for the next operation, nil if there is none, and the time.
// Before the pool grows, or the operation is dropped, the answers are read that may be
// there and hold a connection: a loop that is late would make ever more connections,
// which take it ever more time. So they are once more after each by which it grows: some
// may have come in the 50 µs that it took. One that is made anew is none: asking each time
// cost a run whose connections close after each answer 6 % of its rate.
func (l *loop) pick(now time.Duration) (*lconn, time.Duration) {
	if l.closed && l.grows() && l.dialing.n < mostDialingClosed {
		return l.unconnected(), now // a closed loop has all its connections at work
	}
	c := l.pickIdle(now)
	if c == nil && l.flight.n > 0 && !l.looked && (l.grows() || l.drops()) {
		l.looked = l.readSome() == 0
		now = l.now()
		c = l.pickIdle(now)
	}
	if c != nil || l.dialing.n >= mostDialing || !l.grows() {
		return c, now
	}
	return l.unconnected(), now
}

// unconnected is a connection to be made; grows says whether there is one.
func (l *loop) unconnected() *lconn {
	if n := len(l.spare); n > 0 {
		c := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return c
	}
	l.looked = false
	return l.grow()
}

// drops reports whether the claimed operation, for which there is no connection, is
// not to wait for one.
func (l *loop) drops() bool {
	return l.m.opt.Overflow == overflowDrop && l.claim.Due != takt.Asap && !l.grows()
}

// pickIdle takes the warmest connection that stands.
func (l *loop) pickIdle(now time.Duration) *lconn {
	for n := len(l.idle); n > 0; n-- {
		c := l.idle[n-1]
		l.idle = l.idle[:n-1]
		if c.fd >= 0 && (!l.caution.wants(now-c.idle, l.claim.Seq) || l.look(c)) {
			return c
		}
		l.spare = append(l.spare, c)
	}
	return nil
}

func (l *loop) grow() *lconn {
	c := &lconn{fd: -1, token: int32(len(l.conns)), codec: l.m.net.Codec(len(l.conns))}
	l.conns = append(l.conns, c)
	return c
}

// room reports whether another connection is free or can be made.
func (l *loop) room() bool { return len(l.idle) > 0 || l.grows() }

// grows reports whether another connection can be made.
func (l *loop) grows() bool { return len(l.spare) > 0 || len(l.conns) < l.max }

// freeSince is from when there was a connection for an operation that is due at that
// instant and gets c, which was just taken. What did not have to wait for one could
// have had it all the time; else it is c, or one that has been free for longer.
func (l *loop) freeSince(c *lconn, due time.Duration) time.Duration {
	switch {
	case due > l.blocked && (l.grows() || c.fd < 0):
		return 0
	case c.fd < 0:
		return max(l.blocked, freest(c, l.spare))
	}
	return freest(c, l.idle)
}

// freest is since when c, or the one of the others that was released first, is free.
func freest(c *lconn, others []*lconn) time.Duration {
	if len(others) > 0 {
		return min(c.idle, others[0].idle)
	}
	return c.idle
}

// begin starts the claimed operation on c at the instant now and claims another.
func (l *loop) begin(c *lconn, now time.Duration) {
	c.op, l.claim = l.claim, c.op
	started, ready := l.m.startClaim(&c.op, now)
	l.take(now)
	if !started {
		l.release(c)
		return
	}
	c.ready, c.free = ready, max(ready, l.freeSince(c, c.op.Due))
	c.sent, c.wrote = now, now
	if c.fd < 0 && !l.adopt(c) {
		l.dial(c)
		return
	}
	l.send(c)
}

// dropClaimed drops the operation for which pick found no connection: it has looked for answers
// on those of this loop.
func (l *loop) dropClaimed(now time.Duration) {
	op := &l.claim
	if started, _ := l.m.startClaim(op, now); started {
		l.m.rec.Sample(l.index, record.Event{Seq: op.Seq, Due: op.Due, Done: now, Outcome: record.Dropped, Looked: len(l.m.all) == 1}, nil)
		l.m.ended()
	}
	l.take(now)
}

// take claims the next operation, unless it leaves that to others.
func (l *loop) take(now time.Duration) {
	l.claimed, l.starved, l.dropAt = false, false, forever
	if l.passed = l.passes(now); !l.passed {
		l.claimed, l.starved = l.m.claim(&l.claim, now)
	}
}

// passes reports whether the next operation is for another loop: for the first that has
// a connection, so that with several loops none waits for one while another is free. One
// that is not to wait is for this loop if it is due and nobody has a connection: to be
// dropped.
func (l *loop) passes(now time.Duration) bool {
	if len(l.m.all) == 1 {
		return false
	}
	l.countRoom()
	switch {
	case !l.crowded:
		return false
	case l.closed || l.m.opt.Overflow != overflowDrop || int(l.m.crowded.Load()) < len(l.m.all):
		return true
	}
	due, have, starved := l.m.peek(now)
	if l.starved = starved; have {
		l.dropAt = due
	}
	return l.dropAt > now
}

// countRoom tells the others whether the loop has a connection for another operation.
func (l *loop) countRoom() {
	crowded := !l.room()
	switch {
	case crowded && !l.crowded:
		l.m.crowded.Add(1)
	case !crowded && l.crowded:
		l.m.crowded.Add(-1)
	}
	l.crowded = crowded
}

// finish records the operation of c, which ended at the instant at.
func (l *loop) finish(c *lconn, at time.Duration) {
	switch c.state {
	case ldialing:
		l.dialing.remove(c)
	case lbusy:
		l.flight.remove(c)
	}
	e := record.Event{Seq: c.op.Seq, Due: c.op.Due, Free: c.free, Sent: c.sent, Done: at, Read: max(at, l.readAt), Ready: c.ready, Before: c.slot}
	if !l.closed {
		l.backlog.Note(&e)
	}
	l.m.rec.Sample(l.index, e, &c.res)
	var pause time.Duration
	if l.closed {
		pause = c.patience.after(&c.res)
	}
	c.res.Reset()
	c.state, c.idle, c.slot = lidle, at, e.After()
	if pause > 0 {
		c.pauses = at + pause
		l.pausing = append(l.pausing, c)
	} else {
		l.release(c)
	}
	l.m.ended()
}

// resume releases the connections that have paused until now.
func (l *loop) resume(now time.Duration) {
	l.pausing = slices.DeleteFunc(l.pausing, func(c *lconn) bool {
		over := c.pauses <= now
		if over {
			c.idle = now
			l.release(c)
		}
		return over
	})
}

func (l *loop) release(c *lconn) {
	l.freed = true
	if c.fd < 0 {
		l.spare = append(l.spare, c)
	} else {
		l.idle = append(l.idle, c)
	}
	l.countRoom()
}

// gather reads answers and reports whether the loop has something to do at once. A
// loop that is short of connections collects some before it goes on. The turn has begun
// at the instant begun.
func (l *loop) gather(begun, now time.Duration) bool {
	if !l.full {
		return l.readEarlier(begun) > 0 && l.claimed && l.claim.Due <= l.now()
	}
	got := l.readSome()
	count, length := gatherCount, gatherTime
	if l.closed && 2*l.flight.n > l.max {
		count, length = gatherCountSlow, gatherTimeSlow
	}
	// Never for more than half of what is out, or the target has nothing to do: over 10
	// connections nginx served 124k/s in place of 101k.
	count = min(count, max(1, l.flight.n/2))
	for until := now + length; got < count && l.flight.n > 0; {
		if got += l.readSome(); l.now() >= until {
			break
		}
	}
	return got > 0
}

// readEarlier reads what came for operations sent before the instant begun, where the
// kernel says when it did: then answers can wait, and to look for those to what was just
// sent, in vain, is 3 % of what a request costs.
func (l *loop) readEarlier(begun time.Duration) int {
	if !l.stamps || !l.blind() || l.flight.n > 0 && begun-l.flight.head.sent > hiddenMost {
		return l.readSome()
	}
	return l.readOldest(begun)
}

// blind reports whether the oldest are read without asking the poller.
func (l *loop) blind() bool { return l.flight.n <= blindMost && l.dialing.n == 0 }

// readSome reads what came and counts the answers.
func (l *loop) readSome() (got int) {
	if !l.blind() {
		return l.serve(0)
	}
	if got = l.readOldest(forever); got == 0 && l.flight.n > 2 && !l.unwatched {
		return l.serve(0) // the oldest may be slow, and others not
	}
	return got
}

// readOldest reads the oldest in flight, of those sent before that instant, until two
// have nothing yet.
func (l *loop) readOldest(before time.Duration) (got int) {
	misses := 0
	for c := l.flight.head; c != nil && c.sent < before && misses < 2; {
		next := c.after
		if l.receive(c) {
			got++
		} else {
			misses++
		}
		c = next
	}
	return got
}

// serve waits up to d for sockets that are ready and serves them.
func (l *loop) serve(d time.Duration) (got int) {
	if l.watch() {
		d = 0
	}
	n := l.sys.Wait(d, l.events[:])
	if d > 0 {
		l.waited = l.now()
	}
	for _, ev := range l.events[:n] {
		if l.ready(l.conns[ev.Token], ev) {
			got++
		}
	}
	return got
}

func (l *loop) ready(c *lconn, ev sock.Event) (received bool) {
	if c.fd < 0 {
		return false // it was closed while the events were served
	}
	if c.state == ldialing {
		if ev.Write {
			l.connected(c)
		}
		return false
	}
	switch { // before the rest is sent, which fails if the target has answered and gone
	case !ev.Read:
	case c.state == lbusy:
		received = l.receive(c)
	default:
		l.look(c)
	}
	if c.fd >= 0 && ev.Write && len(c.unsent) > 0 {
		l.sendRest(c)
	}
	return received
}

// expire fails what has taken too long, unless its answer is there: the loop may have stood
// still meanwhile.
func (l *loop) expire(now time.Duration) {
	for c := l.dialing.head; c != nil && now-c.sent >= connectTimeout(l.m.net); c = l.dialing.head {
		l.fail(c, l.m.opError("dial", os.ErrDeadlineExceeded), true)
	}
	for c := l.flight.head; c != nil && now-c.sent >= l.m.net.Timeout; c = l.flight.head {
		if l.receive(c); l.flight.head == c {
			l.fail(c, l.m.opError("read", os.ErrDeadlineExceeded), false)
		}
	}
}

// cut counts what is open at the instant at as unfinished and closes all sockets.
func (l *loop) cut(at time.Duration) {
	l.hasRoom = l.room()
	if l.claimed {
		free := at
		if l.hasRoom {
			free = 0
		}
		l.m.dropClaim(&l.claim, at, free)
	}
	for _, c := range l.conns {
		if c.state != lidle {
			l.m.rec.Sample(l.index, record.Event{
				Seq: c.op.Seq, Due: c.op.Due, Free: c.free, Sent: c.sent, Done: max(at, c.sent), Ready: c.ready, Before: c.slot, Outcome: record.UnfinishedSent,
			}, nil)
			l.m.ended()
		}
		l.drop(c)
	}
}
