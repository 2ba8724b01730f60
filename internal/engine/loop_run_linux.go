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
	// gatherCount and gatherTime limit how long a loop that is short of connections collects
	// answers before it sends again. Servers need 5–9 % less CPU for requests that come
	// together.
	gatherCount = 16
	gatherTime  = 25 * time.Microsecond
	// gatherCountSlow and gatherTimeSlow apply to a closed loop whose target has more than
	// half of the connections, and so is slower than the loop. Nothing is due that could be
	// late, and nginx serves 4 % more. A faster target would idle.
	gatherCountSlow = 48
	gatherTimeSlow  = 80 * time.Microsecond
	// blindMost is the largest number of operations in flight at which the loop reads the
	// oldest without asking the poller, which makes a request 5 % cheaper.
	blindMost = 256
	// mostDialing limits the connections being established. A connection costs some 50 µs on
	// both sides. A loop that opened one for every due operation would be later for the next
	// one, and at 50k/s never stop.
	mostDialing = 64
	// mostDialingClosed is the limit of a closed loop, which needs all its connections at
	// once. Servers let 4096 connections wait by default.
	mostDialingClosed = 1024
	// longWait is the wait from which answers wake a loop that waits for its next operation.
	// In a shorter wait the loop reads answers when it wakes to send: the kernel's stamps say
	// when they came.
	longWait = time.Millisecond
	// hiddenMost is the longest time for which an operation without an answer may hide later
	// answers from an open loop that has free connections.
	hiddenMost = time.Millisecond
)

// loop is one thread of the loop mode. It shares only the flow and the recorder.
type loop struct {
	m      *loops
	index  int
	max    int // largest number of connections
	sys    sock.System
	pace   pacing
	closed bool

	upcoming
	links
	muxes
	reads
	backlog record.Backlog
	caution caution
	answers answerPace
	waited  time.Duration // last instant of a wait in the poller
	rested  time.Duration // total time slept or spun

	readied chan struct{} // closed when the loop is ready to begin
	ended   chan struct{} // closed after the cut
}

// upcoming is the next operation of a loop, and what it waits for.
type upcoming struct {
	claim    takt.Op // next operation of this loop, valid if claimed
	claimed  bool
	passed   bool          // the next operation was left to other loops
	dropAt   time.Duration // instant at which the next operation is dropped if no loop has a connection
	crowded  bool          // no connection for another operation; m.crowded counts these loops
	starved  bool          // the source has no operation yet
	full     bool          // an operation is due and no connection was free
	freed    bool          // a connection became free since full was set
	blocked  time.Duration // instant until which due operations had to wait for a connection
	stuck    bool          // they waited because as many connections as possible were being made
	looked   bool          // no answer was found since the turn began or the pool grew
	freeFrom time.Duration // at the cut: instant from which a connection was free; forever: none was
	unmade   record.Slot   // at the cut: attempts to make a connection, together
}

// links are the connections of a loop.
type links struct {
	conns     []*lconn // by token
	places    []*place
	idle      places   // last in, first out: a warm connection is a fast one; with a mux in turn
	pausing   []*place // of a closed loop, after failures
	spare     places   // places whose connection has no socket; none with a mux
	hosts     []*host  // addresses of the target, with the idle places of each; empty: there is one address, or a mux
	flight    flight
	dialing   flight
	dials     dialTime
	paths     int  // number of connections with a measured round trip
	partial   int  // number of connections that wait for room in the socket
	unwatched bool // all sockets are removed from the poller
}

// reads is what a loop reads, and when it came.
type reads struct {
	in, out []byte
	plain   []byte   // decrypted bytes
	made    handover // connections over TLS
	events  [128]sock.Event
	stamps  bool          // the kernel stamps received bytes
	sparing bool          // a closed loop over plain HTTP/1.1 reads stamps only after a gap: they cost 10 % of its rate
	ticked  time.Duration // last look at the clock
	gap     time.Duration // end of the last gap between two looks at the clock
	wall    sock.Wall
	readAt  time.Duration                         // last instant at which bytes were read
	parts   bool                                  // codecs measure parts
	fresh   bool                                  // with parts: the loop has just served all that came in a short wait
	empty   time.Duration                         // instant at which no socket had bytes but those that were read since
	record  func(phase int, due, d time.Duration) // of parts
}

func newLoop(m *loops, index, limit int, sys sock.System) *loop {
	l := &loop{
		m: m, index: index, max: limit, sys: sys, reads: reads{in: make([]byte, 64<<10)}, pace: m.opt.pacing(), closed: m.opt.Closed(),
		backlog: record.Backlog{Size: limit},
		readied: make(chan struct{}), ended: make(chan struct{}),
	}
	l.record = func(phase int, due, d time.Duration) { m.rec.Latency(index, phase, due, d) }
	return l
}

// gapLeast is how long the thread must have been away, stopped or waiting, for the stamps to be
// worth their cost to a closed loop.
const gapLeast = time.Millisecond

// now is the time since the start, and notes a gap since the last look at the clock.
func (l *loop) now() time.Duration {
	now := l.sys.Since(l.m.begun)
	if now-l.ticked > gapLeast {
		l.gap = now
	}
	l.ticked = now
	return now
}

// stampsAll reports whether the kernel's stamp of each read is used, so that answers can wait to be read.
func (l *loop) stampsAll() bool { return l.stamps && !l.sparing }

// live runs the loop until the cut. measure takes milliseconds, so it runs before any
// operation is due.
func (l *loop) live() {
	defer close(l.ended)
	l.pace.measure(l.sys, l.m.world.Now())
	close(l.readied)
	l.m.world.First(l.m.started)
	l.stamps, l.sparing = true, l.closed && l.m.net.TLS == nil && l.m.net.Mux == nil
	l.wall = sock.NewWall(l.sys, l.m.begun)
	for {
		if at := l.m.cutAt.Load(); at >= 0 {
			l.readLast()
			l.cut(time.Duration(at))
			return
		}
		l.turn()
	}
}

// adopt gives c the probe's connection unless it was used. A target that serves one
// connection at a time would keep any other connection waiting for the probe's.
func (l *loop) adopt(c *lconn) bool {
	s := l.m.takeFirst()
	if s == nil {
		return false
	}
	l.attach(c, s)
	c.host = l.hostOf(c.addr)
	if l.sys.Add(c.fd, c.token, false) != nil {
		l.drop(c)
		return false
	}
	return l.look(c) && !c.retired
}

// turn sends due operations, reads answers, and rests if there was nothing to do.
func (l *loop) turn() {
	if l.made.ready.Load() {
		l.takeSecured()
	}
	begun := l.now()
	now := l.sendDue(begun)
	busy := l.gather(begun, now)
	now = l.now()
	l.expire(now)
	if len(l.restart) > 0 { // their connection broke
		l.beginAgain()
		l.flushShared()
	}
	if len(l.pausing) > 0 {
		l.resume(now)
	}
	if !busy && !(l.full && l.freed) {
		l.rest(now)
	}
	l.unwatch(now)
}

// sendDue sends due operations while a connection is free, and returns the time.
func (l *loop) sendDue(now time.Duration) time.Duration {
	l.full, l.looked = false, false
	begun, sent := now, 0
	if !l.claimed {
		l.take(now)
	}
	for l.claimed && l.claim.Due <= now { // Asap is below any instant
		var p *place
		p, now = l.pick(now)
		if p == nil && l.drops() {
			l.dropClaimed(now)
			continue
		}
		if p == nil {
			if l.stuck = l.grows(); l.claim.Due > l.blocked {
				l.dials.since = now
			}
			l.full, l.freed, l.blocked = true, false, now
			break
		}
		l.begin(p, now)
		if sent++; sent == 1 && l.stampsAll() && l.pace.grid > 0 {
			// The first of several requests wakes the target, and the others would queue for
			// it. So send them after reading the answers to the last batch.
			l.readEarlier(begun)
		}
		now = l.now()
		if p.state == pidle { // the dial failed at once: let other work have its turn
			l.full = true
			break
		}
	}
	if l.passed {
		l.full, l.freed, l.blocked, l.stuck = true, l.room(), now, false // a failed send frees a connection at once
	}
	l.flushShared()
	l.pace.sent(sent, begun)
	return now
}

// pick returns a place for the next operation, or nil, and the time. Before the pool
// grows, or the operation is dropped, pick reads answers, which may free a place.
// Otherwise a late loop would open more and more connections and be later still. pick reads
// again after each growth of the pool, which takes 50 µs. Reconnecting a spare connection is
// no growth: reading each time cost 6 % of the rate when connections close after each answer.
func (l *loop) pick(now time.Duration) (*place, time.Duration) {
	if l.lacks() && l.dialing.n < mostDialingClosed {
		if p := l.unconnected(); p != nil {
			return p, now
		}
	}
	p := l.pickIdle(now)
	if p == nil && l.flight.n > 0 && !l.looked && (l.grows() || l.drops()) {
		l.looked = l.readSome() == 0
		now = l.now()
		p = l.pickIdle(now)
	}
	if p == nil && l.dialing.n < mostDialing {
		p = l.unconnected()
	}
	if p == nil && len(l.hosts) > 0 {
		p = l.pickSpread(now, true)
	}
	return p, now
}

// lacks reports whether the pool is to grow also while places are free: a closed loop keeps all
// connections busy, and operations are spread over all that a mux may have.
func (l *loop) lacks() bool { return l.closed || len(l.sites) < l.most }

// unconnected returns a place whose connection is to be dialled, or a new one with room on its
// connection; nil if the pool cannot grow.
func (l *loop) unconnected() *place {
	if l.spare.len() > 0 {
		return l.spare.last()
	}
	for l.grows() {
		l.looked = false
		p := l.grow()
		if p.home == nil || l.fits(p.home) {
			return p
		}
		p.home.park(p)
	}
	return nil
}

// drops reports whether the claimed operation must be dropped because it has no place.
func (l *loop) drops() bool {
	return l.m.opt.Overflow == overflowDrop && l.claim.Due != takt.Asap && !l.grows()
}

// pickIdle returns the place that was used last and whose connection is still open, of the address that
// is to get the operation if there are several.
func (l *loop) pickIdle(now time.Duration) *place {
	switch {
	case l.most > 0:
		return l.pickShared(now)
	case len(l.hosts) > 0:
		return l.pickSpread(now, false)
	}
	return l.warm(&l.idle, now)
}

func (l *loop) grow() *place {
	p := l.newPlace()
	l.places = append(l.places, p)
	return p
}

func (l *loop) newPlace() *place {
	if l.most > 0 {
		return l.growShared()
	}
	c := &lconn{fd: -1, token: int32(len(l.conns)), codec: l.m.net.Codec(len(l.conns))}
	l.measuresParts(c, c.codec)
	c.own.conn = c
	l.conns = append(l.conns, c)
	return &c.own
}

// room reports whether a place is free or can be made.
func (l *loop) room() bool { return l.idle.len() > 0 || l.grows() || len(l.hosts) > 0 && l.idles() > 0 }

// grows reports whether another connection can be opened, or carry another operation.
func (l *loop) grows() bool { return l.spare.len() > 0 || len(l.places) < l.max }

// freeSince is the instant from which a place was free for an operation with this due
// instant, which now gets p. An operation that did not wait always had a place: 0.
// Otherwise it is p, or another place that is free for longer.
func (l *loop) freeSince(p *place, due time.Duration) time.Duration {
	switch c := p.conn; {
	case due > l.blocked && (l.grows() || c.fd < 0):
		return 0
	case c.fd < 0:
		return max(l.blocked, min(p.idle, l.spare.since()))
	}
	return min(p.idle, l.idleSince())
}

// begin starts the claimed operation on p at the instant now and claims another.
func (l *loop) begin(p *place, now time.Duration) {
	p.op, l.claim = l.claim, p.op
	started, ready := l.m.startClaim(&p.op, now, true)
	l.take(now)
	if !started {
		l.release(p)
		return
	}
	p.again, p.ready, p.free = 0, ready, max(ready, l.freeSince(p, p.op.Due))
	if p.stuck = l.stuck && p.free > p.op.Due; p.stuck {
		p.slot = l.dials.wait(max(p.op.Due, p.ready), p.free)
	}
	p.sent, p.wrote, p.behind = now, now, 0
	if !l.closed {
		e := record.Event{Due: p.op.Due, Free: p.free, Sent: now, Ready: ready, Before: p.slot}
		l.backlog.Note(&e)
		p.behind = e.Behind
	}
	if c := p.conn; !c.dialling && (c.fd >= 0 || l.adopt(c)) {
		c.enter()
		l.send(p)
		return
	}
	l.dial(p)
}

// dropClaimed drops the operation for which pick found no connection, after pick looked for
// answers on this loop's connections.
func (l *loop) dropClaimed(now time.Duration) {
	op := &l.claim
	if started, _ := l.m.startClaim(op, now, false); started {
		l.m.rec.Sample(l.index, record.Event{Seq: op.Seq, Due: op.Due, Done: now, Outcome: record.Dropped, Looked: len(l.m.all) == 1}, nil)
		l.m.ended()
	}
	l.take(now)
}

// take claims the next operation, unless another loop is to have it.
func (l *loop) take(now time.Duration) {
	l.claimed, l.starved, l.dropAt = false, false, forever
	if l.passed = l.passes(now); !l.passed {
		l.claimed, l.starved = l.m.claim(&l.claim, now)
	}
}

// passes reports whether to leave the next operation to the first loop that has a connection,
// so that no loop waits while another has a free one. With --overflow drop, a due operation
// is for this loop, to be dropped, if no loop has a connection.
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

// finish records the operation of p, which ended at the instant at.
func (l *loop) finish(p *place, at time.Duration) {
	switch p.state {
	case pdialing:
		l.undial(p)
	case pbusy, pqueued:
		l.flight.remove(p)
	}
	l.answers.n++
	p.conn.leave()
	e := record.Event{Seq: p.op.Seq, Due: p.op.Due, Free: p.free, Sent: p.sent, Done: at, Read: max(at, l.readAt), Ready: p.ready, Before: p.slot, Dialling: p.stuck}
	e.Behind = p.behind
	l.m.rec.Sample(l.index, e, &p.res)
	var pause time.Duration
	if l.closed {
		pause = p.patience.after(&p.res)
	}
	p.state, p.idle, p.slot = pidle, at, e.After(l.m.rec.Own(&p.res))
	p.res.Reset()
	if pause > 0 {
		p.pauses = at + pause
		l.pausing = append(l.pausing, p)
	} else {
		l.release(p)
	}
	l.m.ended()
}

// resume releases the places whose pause is over.
func (l *loop) resume(now time.Duration) {
	l.pausing = slices.DeleteFunc(l.pausing, func(p *place) bool {
		over := p.pauses <= now
		if over {
			p.idle = now
			l.release(p)
		}
		return over
	})
}

func (l *loop) release(p *place) {
	l.free(p.idle)
	if p.conn.fd < 0 && p.home == nil {
		l.spare.add(p)
	} else {
		l.addIdle(p)
	}
	l.countRoom()
}

// free notes that an operation could have begun from the instant at on. Those that became due
// before waited until then, although the loop may have noticed no earlier.
func (l *loop) free(at time.Duration) {
	if l.full && !l.freed {
		l.blocked = max(l.blocked, at)
	}
	l.freed = true
}

// undial ends the wait of p for its connection. Another one may be made instead.
func (l *loop) undial(p *place) {
	l.dialing.remove(p)
	if l.stuck {
		l.free(l.now())
	}
}

// gather reads answers and reports whether the loop has more to do at once. A loop that is
// short of connections collects several answers first. begun is the start of the turn.
func (l *loop) gather(begun, now time.Duration) bool {
	if l.fresh && !l.full {
		l.fresh = false
		return false // another look, for each part, would find nothing
	}
	if !l.full {
		return l.readEarlier(begun) > 0 && l.claimed && l.claim.Due <= l.now()
	}
	if d := l.nap(now); d > 0 {
		l.sys.Sleep(d)
		l.rested += l.now() - now
		return l.readSome() > 0
	}
	got := l.readSome()
	count, length := gatherCount, gatherTime
	if l.closed && 2*l.flight.n > l.max {
		count, length = gatherCountSlow, gatherTimeSlow
	}
	if l.answers.look(now); l.closed && l.answers.apart > length {
		return got > 0 // of a target that slow, spinning would hardly gather two answers
	}
	// Wait for at most half of the operations in flight, or the target idles: with 10
	// connections nginx served 124k/s with this limit, 101k/s without.
	count = min(count, max(1, l.flight.n/2))
	for until := now + length; got < count && l.flight.n > 0; {
		if got += l.readSome(); l.now() >= until {
			break
		}
	}
	return got > 0
}

// readEarlier reads answers to operations sent before the instant begun, if the kernel stamps
// answers. Stamped answers can wait, and looking for answers to requests just sent costs 3 %
// of a request.
func (l *loop) readEarlier(begun time.Duration) int {
	if !l.stampsAll() || !l.blind() || l.flight.n > 0 && begun-l.flight.head.sent > hiddenMost {
		return l.readSome()
	}
	return l.readOldest(begun)
}

// blind reports whether to read the oldest without asking the poller.
func (l *loop) blind() bool {
	if l.parts {
		return false // answers last, so the oldest has seldom bytes
	}
	if l.most > 0 {
		return len(l.conns) <= blindMostShared && l.dialing.n == 0
	}
	return l.flight.n <= blindMost && l.dialing.n == 0
}

// readSome reads answers and returns their number.
func (l *loop) readSome() (got int) {
	if !l.blind() {
		return l.serve(0)
	}
	if got = l.readOldest(forever); got == 0 && l.flight.n > 2 && !l.unwatched {
		return l.serve(0) // the oldest may be slow, and others fast
	}
	return got
}

// readOldest reads from the oldest operations in flight, sent before the given instant, until
// two have no bytes.
func (l *loop) readOldest(before time.Duration) (got int) {
	if l.most > 0 {
		return l.readShared(before)
	}
	misses := 0
	for p := l.flight.head; p != nil && p.sent < before && misses < 2; {
		next := p.after
		if l.receive(p.conn) {
			got++
		} else {
			misses++
		}
		p = next
	}
	return got
}

// serve waits up to d for ready sockets and serves them.
func (l *loop) serve(d time.Duration) (got int) {
	if l.watch() {
		d = 0
	}
	asked := l.ticked
	n := l.sys.Wait(d, l.events[:])
	if d > 0 {
		l.waited = l.now()
	}
	for _, ev := range l.events[:n] {
		if l.ready(l.conns[ev.Token], ev) {
			got++
		}
	}
	if n < len(l.events) {
		l.empty = asked
	}
	l.fresh = l.parts && d > 0 && n < len(l.events) && l.waited-asked < partsBeat/2
	return got
}

func (l *loop) ready(c *lconn, ev sock.Event) (received bool) {
	if c.fd < 0 {
		return false // closed while the events were served
	}
	if c.dialling {
		if ev.Write {
			l.connected(c)
		}
		return false
	}
	switch { // read before sending the rest: sending fails if the target answered and closed
	case !ev.Read:
	case c.mux != nil, c.own.state == pbusy:
		received = l.receive(c)
	default:
		l.look(c)
	}
	if c.fd >= 0 && ev.Write && c.waits {
		l.sendRest(c)
	}
	return received
}

// readLast reads the answers that are here at the cut: the loop itself may have frozen before.
func (l *loop) readLast() {
	for _, c := range l.conns {
		if c.fd >= 0 && !c.dialling && (c.mux != nil || c.own.state == pbusy) {
			l.receive(c)
		}
	}
}

// expire fails operations that timed out, unless their answer is here: the loop itself may
// have frozen meanwhile.
func (l *loop) expire(now time.Duration) {
	for p := l.dialing.head; p != nil && now-p.sent >= connectTimeout(l.m.net); p = l.dialing.head {
		doing := "dial"
		if l.m.net.TLS != nil {
			doing = "dial or TLS handshake"
		}
		l.expired(p, doing)
	}
	for p := l.flight.head; p != nil && now-p.sent >= l.m.net.Timeout; p = l.flight.head {
		if p.state == pbusy {
			l.receive(p.conn)
		}
		if l.flight.head == p {
			l.expired(p, "read")
		}
	}
}

// expired fails the operation of p, whose time is over.
func (l *loop) expired(p *place, doing string) {
	c := p.conn
	if p.state == pdialing {
		l.dialled(c, l.dialSoFar(c), p)
	}
	err := c.opError(doing, os.ErrDeadlineExceeded)
	if l.m.net.Overdue != nil && p.state != pdialing {
		err = l.m.net.Overdue
	}
	if p.home != nil {
		l.expiredShared(p, err)
		return
	}
	l.fail(c, err, p.state == pdialing)
}

// roomSince is the instant from which a place is free; forever: none is. A place may
// become free just before the cut, such as by a timeout as long as the drain: then nothing but the
// target held up the operations that were due before. A place whose connection cannot be made is
// not free.
func (l *loop) roomSince() time.Duration {
	switch {
	case l.stuck:
		return forever
	case len(l.places) < l.max:
		return 0
	}
	return min(l.idleSince(), l.spare.since())
}

// cutDials divides the waits for connections that are not made at the cut, and returns their sum.
func (l *loop) cutDials() (sum record.Slot) {
	l.stuck = l.stuck && l.full
	for _, c := range l.conns {
		if c.dialling && l.dialing.n > 0 {
			attempt := l.dialSoFar(c)
			l.dialled(c, attempt, nil)
			sum = sum.Plus(attempt)
		}
	}
	return sum
}

// cut counts operations in flight at the instant at as unfinished and closes all sockets.
func (l *loop) cut(at time.Duration) {
	for _, s := range l.made.take(true) {
		l.discard(s)
	}
	l.unmade = l.cutDials()
	l.freeFrom = l.roomSince()
	if l.claimed {
		rest := unsent(at, min(at, l.freeFrom))
		rest.Dialling, rest.Before = l.stuck, l.unmade
		l.m.dropClaim(&l.claim, rest)
	}
	for _, p := range l.places {
		if p.state != pidle {
			l.stops(p, at)
			l.m.rec.Sample(l.index, record.Event{
				Seq: p.op.Seq, Due: p.op.Due, Free: p.free, Sent: p.sent, Done: max(at, p.sent), Ready: p.ready, Before: p.slot, Dialling: p.stuck, Outcome: record.UnfinishedSent,
			}, &p.res)
			l.m.ended()
		}
	}
	for _, c := range l.conns {
		l.drop(c)
	}
}
