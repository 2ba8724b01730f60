package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

const (
	// blindMostShared is the largest number of connections that are read without asking the
	// poller.
	blindMostShared = 2
	// outEnough is the number of operations that are begun before they are sent together.
	outEnough = 64
	// silentMost is how long a connection may bring nothing before operations that time out end its
	// use.
	silentMost = 250 * time.Millisecond
)

// muxes is the part of a loop whose connections carry several operations at once.
type muxes struct {
	most    int // number of sites; 0: there is no mux
	sites   []*site
	retired []*lconn // without a socket, to be used again
	dirty   []*lconn // with something to send
	unsent  int      // operations begun since the last flush
	list    []takt.MuxEvent
	restart []*place // of state pqueued, for beginAgain
}

// site is where one connection follows another. Its places are free for operations on the present
// one; those in flight stay with the connection on which they began.
type site struct {
	conn   *lconn
	places []*place // by tag
	parked []*place // free, but the target allows fewer operations at once
	queue  []*place // of state pqueued
	limit  int      // of the connection, when places were parked last
}

// shared is what a connection with a mux has besides.
type shared struct {
	mux     takt.Mux // nil: one operation at a time
	home    *site
	busy    int           // operations in flight
	since   time.Duration // sending of the first of them
	heard   time.Duration // last arrival of bytes
	retired bool          // another connection has taken its place
	pooled  bool          // in loop.retired
	dirty   bool          // in loop.dirty
}

// growShared makes another place, on the sites in turn.
func (l *loop) growShared() *place {
	n := len(l.places) % l.most
	if n == len(l.sites) {
		s := new(site)
		s.conn = l.newShared(s)
		l.sites = append(l.sites, s)
	}
	s := l.sites[n]
	p := &place{conn: s.conn, home: s, tag: len(s.places)}
	s.places = append(s.places, p)
	return p
}

// newShared makes a connection for s, which is not connected.
func (l *loop) newShared(s *site) *lconn {
	if n := len(l.retired); n > 0 {
		c := l.retired[n-1]
		l.retired = l.retired[:n-1]
		c.home, c.retired, c.pooled = s, false, false
		return c
	}
	c := &lconn{fd: -1, token: int32(len(l.conns))}
	c.mux, c.home = l.m.net.Mux(len(l.conns)), s
	l.measuresParts(c, c.mux)
	l.conns = append(l.conns, c)
	return c
}

// pickShared returns the place that is free for the longest time and whose connection has room, so
// connections take turns.
func (l *loop) pickShared(now time.Duration) *place {
	for l.idle.len() > 0 {
		p := l.idle.first()
		s := p.home
		if c := s.conn; c.fd >= 0 && c.busy == 0 && l.caution.wants(now-max(c.heard, p.idle), l.claim.Seq) {
			l.caution.looked(l.look(c))
		}
		if p.conn = s.conn; l.fits(s) {
			return p
		}
		s.park(p)
	}
	return nil
}

// room reports whether a place is to be given an operation. At least one may wait for a target that
// allows none: it will time out.
func (s *site) room() bool {
	c := s.conn
	return c.fd < 0 || c.dialling || c.busy+len(s.queue) < max(1, c.mux.Limit())
}

// fits reports whether to give a place of s an operation. It does not wait for a connection that is
// being made while there is another one.
func (l *loop) fits(s *site) bool {
	return s.room() && !(s.conn.dialling && slices.ContainsFunc(l.sites, func(other *site) bool { return other.conn.fd >= 0 && !other.conn.dialling }))
}

// open reports whether the connection, which is there, may carry another operation.
func (c *lconn) open() bool { return c.busy < c.mux.Limit() }

func (s *site) park(p *place) {
	s.limit = max(0, s.conn.mux.Limit())
	s.parked = append(s.parked, p)
}

// unpark releases parked places if the target allows more operations now.
func (l *loop) unpark(s *site) {
	limit := s.conn.mux.Limit()
	l.releaseParked(s, limit-s.limit)
	s.limit = max(s.limit, limit)
}

// releaseParked releases at most n parked places of s.
func (l *loop) releaseParked(s *site, n int) {
	if n = min(n, len(s.parked)); n <= 0 {
		return
	}
	now := l.now() // once: there may be 10 000 places
	for _, p := range s.parked[len(s.parked)-n:] {
		p.idle = now
		l.release(p)
	}
	s.parked = s.parked[:len(s.parked)-n]
}

// sendShared begins the operation of p, which flushShared sends together with others.
func (l *loop) sendShared(p *place) {
	c := p.conn
	if !c.open() {
		p.state = pqueued
		p.home.queue = append(p.home.queue, p)
		return
	}
	if c.busy++; c.busy == 1 {
		c.since = p.sent
	}
	p.starts()
	c.mux.Begin(&p.op, p.tag, &p.res)
	l.soil(c)
	if c.mux.Limit() < 0 {
		l.retire(c)
	}
	if l.unsent++; l.unsent >= outEnough {
		l.flushShared()
	}
}

// soil notes that c has something to send.
func (l *loop) soil(c *lconn) {
	if !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
}

// flushShared sends what was begun.
func (l *loop) flushShared() {
	l.unsent = 0
	for i := 0; i < len(l.dirty); i++ { // a failure may add others
		c := l.dirty[i]
		c.dirty = false
		l.flushOne(c)
	}
	l.dirty = l.dirty[:0]
}

func (l *loop) flushOne(c *lconn) {
	if c.fd < 0 || c.dialling || c.waits || c.deaf {
		return // whatever changes that, flushes
	}
	if done, ok := l.flush(c); ok && !done {
		l.await(c)
	}
}

// beginAll sends the operations that waited for c, the oldest first: a target that takes only a few
// on each connection would leave the same ones every time.
func (l *loop) beginAll(c *lconn) {
	c.heard = l.now()
	l.releaseParked(c.home, len(c.home.parked))
	waiting := slices.DeleteFunc(slices.Clone(c.home.places), func(p *place) bool { return p.state != pdialing || p.conn != c })
	slices.SortStableFunc(waiting, func(a, b *place) int { return cmp.Compare(a.sent, b.sent) })
	for _, p := range waiting {
		l.undial(p)
		if p.wrote = l.now(); !c.retired && c.open() {
			l.send(p)
		} else {
			l.queue(p)
			l.restart = append(l.restart, p)
		}
	}
	l.beginAgain()
	l.flushShared()
}

// queue lets the operation of p wait until it can begin again.
func (l *loop) queue(p *place) {
	p.state = pqueued
	l.flight.add(p)
}

// retire makes room for another connection in place of c, which takes no other operation.
func (l *loop) retire(c *lconn) {
	s := c.home
	if c.retired {
		return
	}
	c.retired = true
	s.conn, s.limit = l.newShared(s), 0
	l.releaseParked(s, len(s.parked))
	l.requeue(s)
}

// requeue begins the queued operations of s on another connection.
func (l *loop) requeue(s *site) {
	l.restart = append(l.restart, s.queue...)
	s.queue = s.queue[:0]
}

// receiveShared reads on in the answers of c, of which nothing follows in if end says why. The frames of
// HTTP/2 have lengths, so only a failure of TLS is more than an end.
func (l *loop) receiveShared(c *lconn, in []byte, end error, at time.Duration) {
	ended := isEnd(end)
	l.parseShared(c, in, ended, at)
	if end != nil && !ended && c.fd >= 0 {
		l.fail(c, end, false)
		l.beginAgain()
		l.flushShared()
	}
}

// parseShared reads on in the answers of c.
func (l *loop) parseShared(c *lconn, in []byte, eof bool, at time.Duration) {
	c.heard = at
	if len(c.unread) > 0 {
		c.unread = append(c.unread, in...)
		in = c.unread
	}
	n, list, alive := c.mux.Parse(in, eof, l.list[:0])
	l.list = list
	c.unread = append(c.unread[:0], in[n:]...)
	if !alive || c.mux.Limit() < 0 {
		l.retire(c)
	}
	early, had := false, l.answers.n
	for _, e := range list {
		early = l.happened(c, e, at) || early
	}
	if l.answers.n == had {
		l.answers.n++ // a part of a large answer: more comes as soon as another answer would
	}
	switch {
	case !alive:
		l.caution.alarm()
		l.scrap(c)
	case early:
		l.fail(c, ErrUnsolicited, false)
	default:
		l.settle(c)
	}
	l.beginAgain()
	l.flushShared()
}

// happened handles an event. early: the answer came before the request was written.
func (l *loop) happened(c *lconn, e takt.MuxEvent, at time.Duration) (early bool) {
	p := c.home.places[e.Tag]
	if e.Kind == takt.MuxAgain {
		l.giveBack(p, at)
		return false
	}
	if p.res.Phases[phaseFirstByte] == 0 && p.res.BytesReceived > 0 {
		if early = at < p.wrote-l.wall.Error(); early {
			Fail(&p.res, ErrUnsolicited, false)
		}
		p.res.Phases[phaseFirstByte] = max(1, max(at, p.wrote)-p.sent)
	}
	if e.Kind == takt.MuxEnd {
		c.busy--
		overdue(l.m.net, max(at, p.wrote)-p.sent, &p.res)
		l.finish(p, max(at, p.wrote))
	}
	return early
}

// giveBack notes that the operation of p has to begin again, unless it did too often.
func (l *loop) giveBack(p *place, at time.Duration) {
	p.conn.busy--
	if p.again++; p.again > againMost {
		p.again = 0
		blameHost(&p.res)
		l.finish(p, max(at, p.wrote))
		return
	}
	l.m.again.Add(1)
	l.flight.remove(p)
	p.res.Class, p.res.Err = "", nil
	l.queue(p)
	l.restart = append(l.restart, p)
}

// beginAgain begins the operations of restart, as far as there is room for them.
func (l *loop) beginAgain() {
	for i := 0; i < len(l.restart); i++ { // a failure may add others
		p := l.restart[i]
		if p.state != pqueued {
			continue // its time ended
		}
		s := p.home
		p.conn = s.conn
		if c := p.conn; c.fd < 0 || c.dialling {
			l.flight.remove(p)
			l.dial(p)
		} else if c.open() {
			l.resend(p)
		} else {
			s.queue = append(s.queue, p)
		}
	}
	l.restart = l.restart[:0]
}

// resend sends the operation of p, which was queued.
func (l *loop) resend(p *place) {
	l.flight.remove(p)
	p.wrote = l.now()
	l.send(p)
}

// settle does what became possible on c after an answer.
func (l *loop) settle(c *lconn) {
	if c.retired && c.busy == 0 {
		l.scrap(c)
		return
	}
	l.soil(c) // the mux may have answers of its own
	if c.retired {
		return
	}
	s := c.home
	for len(s.queue) > 0 && c.open() {
		p := s.queue[0]
		s.queue = s.queue[:copy(s.queue, s.queue[1:])]
		p.conn = c
		l.resend(p)
	}
	if len(s.parked) > 0 {
		l.unpark(s)
	}
}

// scrap closes c, and keeps it for another connection if it is retired.
func (l *loop) scrap(c *lconn) {
	l.drop(c)
	l.pool(c)
}

func (l *loop) pool(c *lconn) {
	c.busy = 0
	if c.retired && !c.pooled {
		c.pooled = true
		l.retired = append(l.retired, c)
	}
}

// failAll fails the operations on c, which is closed.
func (l *loop) failAll(c *lconn, err error, dialling bool) {
	if dialling {
		l.releaseParked(c.home, len(c.home.parked))
		l.requeue(c.home)
	} else {
		l.retire(c)
	}
	for _, p := range c.home.places {
		if p.conn == c && (p.state == pbusy || p.state == pdialing) {
			l.failed(p, err, dialling)
		}
	}
	l.pool(c)
}

// expiredShared fails the operation of p alone.
func (l *loop) expiredShared(p *place, err error) {
	c, s := p.conn, p.home
	switch p.state {
	case pdialing:
		l.failed(p, err, true)
		if c.dialler == p {
			l.dialAgain(c)
		}
	case pqueued:
		if i := slices.Index(s.queue, p); i >= 0 {
			s.queue = slices.Delete(s.queue, i, i+1)
		}
		if l.failed(p, err, false); c.busy == 0 {
			l.retire(c) // it carries nothing
			l.settle(c)
			l.beginAgain()
		}
	default:
		c.mux.Cancel(p.tag)
		c.busy--
		if l.failed(p, err, false); c.heard < p.sent && l.now()-c.heard >= silentMost {
			l.retire(c) // nobody may be there any more
		}
		l.settle(c)
		l.beginAgain()
		l.flushShared()
	}
}

// dialAgain gives up the attempt to make c, and makes another for the operations that still wait.
// The attempt goes on if it is not old: its operation may have waited elsewhere before.
func (l *loop) dialAgain(c *lconn) {
	if l.now()-c.began < connectTimeout(l.m.net) {
		for _, p := range c.home.places {
			if p.state == pdialing && p.conn == c {
				c.dialler = p
				return
			}
		}
	}
	l.drop(c)
	for _, p := range c.home.places {
		if p.state == pdialing && p.conn == c {
			l.dialing.remove(p)
			l.queue(p)
			l.restart = append(l.restart, p)
		}
	}
	l.beginAgain()
}

// readShared reads from the connections with operations that were sent before the given instant,
// and returns how many ended, or brought a part of an answer.
func (l *loop) readShared(before time.Duration) int {
	had := l.answers.n
	for _, c := range l.conns {
		if c.busy > 0 && c.since < before && c.fd >= 0 && !c.dialling {
			l.receive(c)
		}
	}
	return int(l.answers.n - had)
}

// drain reads what came on a connection, and reports whether it is still usable.
func (l *loop) drain(c *lconn) bool {
	for n := 0; n < drainMost && c.fd >= 0 && !c.dialling && l.receive(c); n++ {
		continue
	}
	return c.fd >= 0
}
