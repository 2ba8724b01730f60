package engine

import (
	"bytes"
	"io"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// lconn is one connection of a loop. Its buffers are rarely used: requests and answers
// normally pass through the buffers of the loop.
type lconn struct {
	fd       int // -1: not connected
	token    int32
	addr     netip.AddrPort // of the connection, or of the last one
	host     *host          // that of addr; nil: there is one address only, or a mux
	dialling bool           // the connection is being made, for dialler
	dialler  *place
	began    time.Duration // start of the present attempt to connect, or of the last one
	codec    takt.Codec    // nil: there is a mux
	parted   Parted        // codec or mux, if it measures parts; nil: it does not
	last     time.Duration // instant at which the last bytes came, for parted
	more     bool          // the last read did not empty the socket, for parted
	unread   []byte        // received bytes that are not parsed
	unsent   []byte        // rest of the request, for which the socket had no room
	waits    bool          // for room in the socket
	tls      *sock.TLS     // nil: plain TCP
	attempt  uint32        // number of the connection over TLS that is being made
	turns    *Turns        // of that one
	deaf     bool          // the other side takes no bytes any more

	own place // the only place, unless there is a mux
	shared
}

// dial starts a connection for the operation of p.
func (l *loop) dial(p *place) {
	if p.home != nil {
		p.conn = p.home.conn
	}
	c := p.conn
	p.state = pdialing
	l.dialing.add(p)
	if c.dialling {
		return // p waits as well
	}
	c.dialling, c.dialler = true, p
	if c.host = l.leastHost((*load).newer, false); c.host != nil {
		c.addr = c.host.addr
	} else {
		c.addr = l.m.nextAddr()
	}
	c.enter()
	c.began = l.now()
	if l.watch(); l.m.net.TLS != nil {
		l.dialSecured(c)
		return
	}
	fd, err := l.sys.Connect(c.addr)
	if err == nil {
		if err = l.sys.Add(fd, c.token, true); err != nil {
			l.sys.Close(fd)
		}
	}
	if err != nil {
		l.fail(c, c.opError("dial", err), true)
		return
	}
	if l.stamps {
		l.stamps = l.sys.Stamp(fd) == nil
	}
	c.fd = fd
	c.reset()
}

// reset makes c ready for a new connection.
func (c *lconn) reset() {
	if c.mux != nil {
		c.mux.Open()
	} else {
		c.codec.Reset()
	}
}

// connected sends the operations that waited for the connection.
func (l *loop) connected(c *lconn) {
	if err := l.sys.Failure(c.fd); err != nil {
		l.fail(c, c.opError("dial", err), true)
		return
	}
	l.measurePath(c)
	took := l.now() - c.began
	wait := took
	if took > connectSome {
		if rtt := l.sys.RTT(c.fd); rtt > 0 {
			wait = min(took, rtt)
		}
	}
	l.dialled(c, l.attempt(c, wait), nil)
	if c.dialler.sent <= c.began { // else it waited for a part of this phase only
		c.dialler.res.Phases[phaseConnect] = took
	}
	if err := l.sys.Watch(c.fd, c.token, false); err != nil {
		l.fail(c, err, true)
		return
	}
	l.begun(c)
}

// dialled notes that the attempt to make c is over, for all operations that waited for it, or for
// only one of them.
func (l *loop) dialled(c *lconn, attempt record.Slot, only *place) {
	now := l.now()
	l.dials.ended(now, attempt, l.full && l.stuck)
	note := func(p *place) { p.res.Phases[phaseDial] = attempt.OwnOf(now - max(p.sent, c.began)) }
	switch {
	case only != nil:
		note(only)
	case c.mux == nil:
		note(&c.own)
	default:
		for _, p := range c.home.places {
			if p.state == pdialing && p.conn == c {
				note(p)
			}
		}
	}
}

// attempt is the attempt to make c, of which takt waited for the other side for this long.
func (l *loop) attempt(c *lconn, wait time.Duration) record.Slot {
	took := l.now() - c.began
	return record.Slot{Service: took, Own: max(0, took-wait)}
}

// dialSoFar is the attempt to make c, which is not over.
func (l *loop) dialSoFar(c *lconn) record.Slot {
	if c.turns == nil {
		return l.attempt(c, forever)
	}
	return l.attempt(c, c.turns.SoFar())
}

// begun sends the operations that waited for c, which is connected.
func (l *loop) begun(c *lconn) {
	c.dialling = false
	if c.mux != nil {
		l.beginAll(c)
		return
	}
	p := &c.own
	l.undial(p)
	p.state = pidle
	p.wrote = l.now()
	in, errno, err := l.peek(c)
	switch { // bytes that are already here are not the answer
	case err != nil:
		l.fail(c, err, false)
	case errno == sock.Again:
		l.send(p)
	case errno != 0:
		l.broken(c, errno)
	case len(in) == 0:
		l.fail(c, errEnded, false)
	default:
		l.unsolicited(c, in)
	}
}

// peek looks for bytes that no request asked for, as Peek of sock.System does.
func (l *loop) peek(c *lconn) (in []byte, errno syscall.Errno, err error) {
	if c.tls != nil {
		return l.peekSecured(c)
	}
	n, errno := l.sys.Peek(c.fd, l.in)
	return l.in[:max(0, n)], errno, nil
}

func (l *loop) measurePath(c *lconn) {
	if l.paths < pathsMeasured {
		l.paths++
		l.m.observed.Path(l.sys.RTT(c.fd))
	}
}

// look reports whether an idle connection is usable. It closes a connection that ended or has
// unread bytes.
func (l *loop) look(c *lconn) bool {
	if c.mux != nil {
		return l.drain(c)
	}
	in, errno, _ := l.peek(c)
	well := errno == sock.Again
	if l.caution.looked(well); well {
		return true
	}
	if len(in) > 0 {
		l.m.observed.Add(in)
	}
	l.drop(c)
	return false
}

// send writes the request to the established connection.
func (l *loop) send(p *place) {
	c := p.conn
	p.state = pbusy
	l.flight.add(p)
	if c.mux != nil {
		l.sendShared(p)
		return
	}
	p.starts()
	request := rendered(c.codec, &p.op)
	shared := request != nil
	if !shared {
		l.out = c.codec.Append(l.out[:0], &p.op)
		request = l.out
	}
	c.unsent = request
	if done, ok := l.flush(c); done || !ok {
		return
	}
	if l.await(c); c.fd >= 0 && !shared {
		c.unsent = bytes.Clone(c.unsent)
	}
}

// await watches for room in the socket.
func (l *loop) await(c *lconn) {
	if l.watch(); c.fd < 0 {
		return // the poller did not take it
	}
	c.waits = true
	l.partial++
	if err := l.sys.Watch(c.fd, c.token, true); err != nil {
		l.fail(c, err, false)
	}
}

// sendRest writes on what the socket had no room for.
func (l *loop) sendRest(c *lconn) {
	if done, ok := l.flush(c); !done || !ok {
		return
	}
	c.waits = false
	l.partial--
	if err := l.sys.Watch(c.fd, c.token, false); err != nil {
		l.fail(c, err, false)
	}
}

// flush writes as much as the socket has room for. done: nothing is left. On failure it fails
// the operation, and ok is false.
func (l *loop) flush(c *lconn) (done, ok bool) {
	for {
		b, err := c.pending()
		if err != nil {
			l.fail(c, err, false)
			return false, false
		}
		if len(b) == 0 {
			c.unsent = nil
			return true, true
		}
		n, errno := l.sys.Send(c.fd, b)
		if errno != 0 && errno != sock.Again {
			l.caution.alarm()
			l.unwritable(c, errno)
			return false, false
		}
		if c.took(n); n < len(b) {
			return false, true
		}
	}
}

// unwritable handles a socket that refused bytes. The target may have answered before it closed.
func (l *loop) unwritable(c *lconn, errno syscall.Errno) {
	c.deaf = true
	if c.mux != nil {
		l.drain(c)
	} else if l.receive(c); c.own.state != pbusy {
		l.drop(c)
	}
	if c.deaf { // nothing that came ended it
		l.fail(c, c.opError("write", os.NewSyscallError("write", errno)), false)
	}
}

// pending is what the socket should take next. Over TLS the request is encrypted in parts.
func (c *lconn) pending() ([]byte, error) {
	if c.tls == nil {
		return c.next(), nil
	}
	if len(c.tls.Out()) == 0 {
		if part := c.next(); len(part) > 0 {
			part = part[:min(len(part), sealAtOnce)]
			c.passed(len(part)) // as with workers: without what TLS adds
			if err := c.tls.Seal(part); err != nil {
				return nil, err
			}
		}
	}
	return c.tls.Out(), nil
}

// next is what is to be sent next, before TLS.
func (c *lconn) next() []byte {
	if c.mux != nil {
		return c.mux.Out()
	}
	return c.unsent
}

// took says that the socket took n bytes of pending.
func (c *lconn) took(n int) {
	if c.tls != nil {
		c.tls.Sent(n)
		return
	}
	c.passed(n)
}

// passed says that n bytes of next are on their way.
func (c *lconn) passed(n int) {
	if c.mux != nil {
		c.mux.Sent(n)
		return
	}
	c.unsent = c.unsent[n:]
	c.own.res.BytesSent += int64(n)
}

// receive reads the bytes that came for c and reports whether any came.
func (l *loop) receive(c *lconn) bool {
	n, at, errno := l.read(c)
	switch {
	case errno == sock.Again:
		return false
	case errno != 0:
		l.broken(c, errno)
		return true
	}
	in, end := l.in[:n], error(nil)
	if n == 0 {
		end = io.EOF
	}
	if c.tls != nil {
		if in, end = l.open(c, in, n == 0); len(in) == 0 && end == nil {
			return true // no whole record, or one of TLS's own
		}
	}
	if c.mux != nil {
		if c.parted != nil {
			l.came(c, n, at)
		}
		l.receiveShared(c, in, end, at)
		return true
	}
	p := &c.own
	if p.res.Phases[phaseFirstByte] == 0 {
		switch {
		case len(in) == 0:
			l.caution.alarm()
		case at < p.wrote-l.wall.Error():
			l.unsolicited(c, in)
			return true
		}
		at = max(at, p.wrote) // the two clocks are exact only to Wall.Error
		if len(in) > 0 {
			p.res.Phases[phaseFirstByte] = max(1, at-p.sent)
		}
	}
	if c.parted != nil {
		l.came(c, n, at)
	}
	l.parse(c, in, end, at)
	return true
}

// broken fails the operations of c, which broke.
func (l *loop) broken(c *lconn, errno syscall.Errno) {
	l.caution.alarm()
	l.fail(c, c.opError("read", os.NewSyscallError("read", errno)), false)
}

// unsolicited fails the operation of c: bytes came before its request was sent.
func (l *loop) unsolicited(c *lconn, in []byte) {
	l.caution.alarm()
	c.own.res.BytesReceived += int64(len(in))
	c.own.res.Body = append(c.own.res.Body, firstBytes(in)...)
	l.fail(c, ErrUnsolicited, false)
}

// read returns the instant at which the bytes came: the kernel's stamp if there is one, else the
// instant after the read, so never one before they came. An instant before wrote is only possible
// for bytes that came before the request.
func (l *loop) read(c *lconn) (n int, at time.Duration, errno syscall.Errno) {
	if !l.stampsAll() {
		if l.now(); !l.stamps || l.gap < c.own.wrote {
			if n, errno = l.sys.Receive(c.fd, l.in); errno == 0 {
				at = l.now()
				l.readAt = at
			}
			return n, at, errno
		}
	}
	n, stamp, errno := l.sys.ReceiveStamped(c.fd, l.in)
	if errno != 0 {
		return n, 0, errno
	}
	now, _ := l.wall.Look() // notices a wall clock that was set since the last answer
	l.readAt = now
	if at = l.wall.At(stamp, now); at < c.own.wrote {
		l.wall.Check()
		at = l.wall.At(stamp, now)
	}
	return n, at, 0
}

// parse reads on in the answer. Bytes after a complete answer belong to no request, so the
// connection is not reused, and neither is one that ended or broke behind it.
func (l *loop) parse(c *lconn, in []byte, end error, at time.Duration) {
	if len(c.unread) > 0 {
		c.unread = append(c.unread, in...)
		in = c.unread
	}
	n, progress, err := parse(c.codec, in, end, &c.own.res)
	c.own.res.BytesReceived += int64(n)
	switch {
	case err != nil:
		l.fail(c, err, false)
	case progress == takt.More && len(in)-n > maxBuffer:
		l.fail(c, errTooLarge, false)
	case progress == takt.More:
		c.unread = append(c.unread[:0], in[n:]...)
	case progress == takt.Last, end != nil, n < len(in), c.waits:
		if progress == takt.Done && n < len(in) {
			l.caution.alarm()
			l.m.observed.Add(in[n:])
		}
		if c.waits || c.deaf {
			l.m.observed.Early()
		}
		l.drop(c)
		l.finish(&c.own, at)
	default:
		c.unread = c.unread[:0]
		l.finish(&c.own, at)
	}
}

// fail ends the operations of c with err and closes it. dialling: there was no connection yet.
func (l *loop) fail(c *lconn, err error, dialling bool) {
	l.drop(c)
	if c.mux != nil {
		l.failAll(c, err, dialling)
		return
	}
	l.failed(&c.own, err, dialling)
}

// failed ends the operation of p with err.
func (l *loop) failed(p *place, err error, dialling bool) {
	Fail(&p.res, err, dialling)
	now := l.now()
	l.stops(p, now)
	l.finish(p, now)
}

// close closes a connection to the target.
func (l *loop) close(fd int) {
	r := &l.m.observed.resent
	if n := r.weight(); n > 0 {
		r.segments.Add(n * l.sys.Resent(fd))
	}
	l.sys.Close(fd)
}

func (l *loop) drop(c *lconn) {
	switch {
	case c.fd >= 0:
		l.farewell(c)
		l.close(c.fd)
		c.fd = -1
	case c.dialling:
		l.m.observed.resent.unseen.Store(true)
	}
	if c.waits {
		c.waits = false
		l.partial--
	}
	c.unread, c.unsent, c.tls, c.dialling, c.deaf, c.more = nil, nil, nil, false, false, false
}
