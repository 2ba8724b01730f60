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

// lconn is one connection of a loop. Its buffers are empty but in rare cases: what
// is sent and received stands in those of the loop.
type lconn struct {
	fd     int // -1: to be dialled
	token  int32
	state  lstate
	codec  takt.Codec
	op     takt.Op
	free   time.Duration // as record.Event has it, of op
	sent   time.Duration
	wrote  time.Duration // instant before the first byte of the request was written
	idle   time.Duration // since when it could have been used
	ready  time.Duration // as record.Event has it, of op
	slot   record.Slot
	res    takt.Result
	unread []byte // received and not parsed
	unsent []byte // of the request, for which the socket had no room

	patience patience
	pauses   time.Duration // until then

	before, after *lconn // in the list of those in flight, oldest first
}

type lstate uint8

const (
	lidle    lstate = iota
	ldialing        // the operation waits for the connection
	lbusy           // the request is on its way
)

// flight is a list of connections by the instant at which their operation was sent,
// and so by the instant at which it times out.
type flight struct {
	head, tail *lconn
	n          int
}

// add puts c where its instant belongs: at the end, but for one whose connection
// took a while to come to stand.
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

// dial begins to connect for the operation of c.
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
	switch { // what came already is not the answer
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

// look reports whether an idle connection can be used. One that has come to its end, or
// holds bytes, is closed.
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

// send hands the request over. The connection stands.
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

// sendRest goes on with a request for which there was no room.
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

// write writes what there is room for. If that fails so does the operation, and ok is
// false.
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

// receive reads what there is for c and reports whether there was anything.
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
		at = max(at, c.wrote) // the clocks are no more exact
		if n > 0 {
			c.res.Phases[phaseFirstByte] = max(1, at-c.sent)
		}
	}
	l.parse(c, l.in[:n], n == 0, at)
	return true
}

// broken ends the operation of c, whose connection was broken off.
func (l *loop) broken(c *lconn, errno syscall.Errno) {
	l.caution.alarm()
	l.fail(c, l.m.opError("read", os.NewSyscallError("read", errno)), false)
}

// unsolicited ends the operation of c, to which bytes came before its request was sent.
func (l *loop) unsolicited(c *lconn, in []byte) {
	l.caution.alarm()
	c.res.BytesReceived += int64(len(in))
	c.res.Body = append(c.res.Body, firstBytes(in)...)
	l.fail(c, ErrUnsolicited, false)
}

// read gives the instant at which the bytes came: the kernel's if it stamps them, else
// now. Only bytes that came before the request of c can have one before c.wrote.
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
	now, _ := l.wall.Look() // it may have been set since the last answer
	l.readAt = now
	if at = l.wall.At(stamp, now); at < c.wrote {
		l.wall.Check()
		at = l.wall.At(stamp, now)
	}
	return n, at, 0
}

// parse goes on with the answer. Bytes behind a complete one belong to no request:
// the connection cannot be trusted.
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

// fail ends the operation of c with err, and its connection.
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
