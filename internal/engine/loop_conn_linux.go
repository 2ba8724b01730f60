package engine

import (
	"bytes"
	"io"
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
	fd     int // -1: not connected
	token  int32
	state  lstate
	codec  takt.Codec
	op     takt.Op
	free   time.Duration // free instant of op, see record.Event
	sent   time.Duration
	wrote  time.Duration // instant just before the first byte of the request was written
	idle   time.Duration // instant from which the connection is free
	ready  time.Duration // ready instant of op, see record.Event
	slot   record.Slot
	res    takt.Result
	unread []byte // received bytes that are not parsed
	unsent []byte // rest of the request, for which the socket had no room

	patience patience
	pauses   time.Duration // end of the pause

	before, after *lconn // neighbours in a flight, oldest first
}

type lstate uint8

const (
	lidle    lstate = iota
	ldialing        // the operation waits for the connection
	lbusy           // the request is in flight
)

// flight is a list of connections by the instant of sending, which is also the order of their
// timeouts.
type flight struct {
	head, tail *lconn
	n          int
}

// add inserts c by its instant: at the end, unless its connection took long to establish.
func (f *flight) add(c *lconn) {
	at := f.tail
	for at != nil && at.sent > c.sent {
		at = at.before
	}
	c.before = at
	if at == nil {
		c.after, f.head = f.head, c
	} else {
		c.after, at.after = at.after, c
	}
	if c.after == nil {
		f.tail = c
	} else {
		c.after.before = c
	}
	f.n++
}

func (f *flight) remove(c *lconn) {
	if c.before == nil {
		f.head = c.after
	} else {
		c.before.after = c.after
	}
	if c.after == nil {
		f.tail = c.before
	} else {
		c.after.before = c.before
	}
	c.before, c.after = nil, nil
	f.n--
}

// dial starts a connection for the operation of c.
func (l *loop) dial(c *lconn) {
	l.watch()
	fd, err := l.sys.Connect(l.m.addr)
	if err == nil {
		if err = l.sys.Add(fd, c.token, true); err != nil {
			l.sys.Close(fd)
		}
	}
	if err != nil {
		l.fail(c, l.m.opError("dial", err), true)
		return
	}
	if l.stamps {
		l.stamps = l.sys.Stamp(fd) == nil
	}
	c.fd, c.state = fd, ldialing
	c.codec.Reset()
	l.dialing.add(c)
}

// connected sends the operation that waited for the connection.
func (l *loop) connected(c *lconn) {
	l.dialing.remove(c)
	c.state = lidle
	if err := l.sys.Failure(c.fd); err != nil {
		l.fail(c, l.m.opError("dial", err), true)
		return
	}
	l.measurePath(c)
	c.wrote = l.now()
	c.res.Phases[phaseConnect] = c.wrote - c.sent
	if err := l.sys.Watch(c.fd, c.token, false); err != nil {
		l.fail(c, err, true)
		return
	}
	n, errno := l.sys.Peek(c.fd, l.in)
	switch { // bytes that are already here are not the answer
	case errno == sock.Again:
		l.send(c)
	case errno != 0:
		l.broken(c, errno)
	case n == 0:
		l.fail(c, errEnded, false)
	default:
		l.unsolicited(c, l.in[:n])
	}
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
	n, errno := l.sys.Peek(c.fd, l.in)
	well := errno == sock.Again
	if l.caution.looked(well); well {
		return true
	}
	if n > 0 {
		l.m.observed.Add(l.in[:n])
	}
	l.drop(c)
	return false
}

// send writes the request to the established connection.
func (l *loop) send(c *lconn) {
	request := rendered(c.codec, &c.op)
	shared := request != nil
	if !shared {
		l.out = c.codec.Append(l.out[:0], &c.op)
		request = l.out
	}
	c.state = lbusy
	l.flight.add(c)
	n, ok := l.write(c, request)
	if ok && n < len(request) {
		if l.watch(); c.fd < 0 {
			return // the poller did not take it
		}
		c.unsent = request[n:]
		if !shared {
			c.unsent = bytes.Clone(c.unsent)
		}
		l.partial++
		if err := l.sys.Watch(c.fd, c.token, true); err != nil {
			l.fail(c, err, false)
		}
	}
}

// sendRest writes on the rest of a request.
func (l *loop) sendRest(c *lconn) {
	n, ok := l.write(c, c.unsent)
	if !ok {
		return
	}
	if c.unsent = c.unsent[n:]; len(c.unsent) == 0 {
		l.partial--
		if err := l.sys.Watch(c.fd, c.token, false); err != nil {
			l.fail(c, err, false)
		}
	}
}

// write writes as much as the socket has room for. On failure it fails the operation, and ok
// is false.
func (l *loop) write(c *lconn, b []byte) (n int, ok bool) {
	n, errno := l.sys.Send(c.fd, b)
	if errno != 0 && errno != sock.Again {
		l.caution.alarm()
		l.fail(c, l.m.opError("write", os.NewSyscallError("write", errno)), false)
		return 0, false
	}
	c.res.BytesSent += int64(n)
	return n, true
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
	if c.res.Phases[phaseFirstByte] == 0 {
		switch {
		case n == 0:
			l.caution.alarm()
		case at < c.wrote-l.wall.Error():
			l.unsolicited(c, l.in[:n])
			return true
		}
		at = max(at, c.wrote) // the two clocks are exact only to Wall.Error
		if n > 0 {
			c.res.Phases[phaseFirstByte] = max(1, at-c.sent)
		}
	}
	l.parse(c, l.in[:n], n == 0, at)
	return true
}

// broken fails the operation of c, whose connection broke.
func (l *loop) broken(c *lconn, errno syscall.Errno) {
	l.caution.alarm()
	l.fail(c, l.m.opError("read", os.NewSyscallError("read", errno)), false)
}

// unsolicited fails the operation of c: bytes came before its request was sent.
func (l *loop) unsolicited(c *lconn, in []byte) {
	l.caution.alarm()
	c.res.BytesReceived += int64(len(in))
	c.res.Body = append(c.res.Body, firstBytes(in)...)
	l.fail(c, ErrUnsolicited, false)
}

// read returns the instant at which the bytes came: the kernel's stamp if there is one, else
// now. An instant before c.wrote is only possible for bytes that came before the request.
func (l *loop) read(c *lconn) (n int, at time.Duration, errno syscall.Errno) {
	if !l.stamps {
		n, errno = l.sys.Receive(c.fd, l.in)
		if errno == 0 {
			at = l.now()
			l.readAt = at
		}
		return n, at, errno
	}
	n, stamp, errno := l.sys.ReceiveStamped(c.fd, l.in)
	if errno != 0 {
		return n, 0, errno
	}
	now, _ := l.wall.Look() // notices a wall clock that was set since the last answer
	l.readAt = now
	if at = l.wall.At(stamp, now); at < c.wrote {
		l.wall.Check()
		at = l.wall.At(stamp, now)
	}
	return n, at, 0
}

// parse reads on in the answer. Bytes after a complete answer belong to no request, so the
// connection is not reused.
func (l *loop) parse(c *lconn, in []byte, eof bool, at time.Duration) {
	if len(c.unread) > 0 {
		c.unread = append(c.unread, in...)
		in = c.unread
	}
	n, progress := c.codec.Parse(in, eof, &c.res)
	switch {
	case progress == takt.More && eof:
		l.fail(c, io.ErrUnexpectedEOF, false)
	case progress == takt.More && len(in)-n > maxBuffer:
		l.fail(c, errTooLarge, false)
	case progress == takt.More:
		c.unread = append(c.unread[:0], in[n:]...)
	case progress == takt.Last, eof, n < len(in), len(c.unsent) > 0:
		if progress == takt.Done && n < len(in) {
			l.caution.alarm()
			l.m.observed.Add(in[n:])
		}
		l.drop(c)
		l.finish(c, at)
	default:
		c.unread = c.unread[:0]
		l.finish(c, at)
	}
}

// fail ends the operation of c with err and closes its connection.
func (l *loop) fail(c *lconn, err error, dialling bool) {
	l.drop(c)
	Fail(&c.res, err, dialling)
	l.finish(c, l.now())
}

func (l *loop) drop(c *lconn) {
	if c.fd >= 0 {
		l.sys.Close(c.fd)
		c.fd = -1
	}
	if len(c.unsent) > 0 {
		l.partial--
	}
	c.unread, c.unsent = nil, nil
}
