package engine

import (
	"cmp"
	"time"

	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

const (
	// againMost is how often an operation is begun again that the target did not take.
	againMost = 5
	// drainMost is how often an idle connection is read at once.
	drainMost = 16
)

// muxed is the part of a conn with a mux, which has one operation at a time here.
type muxed struct {
	mux  takt.Mux // nil: there is a codec
	list []takt.MuxEvent
}

// share performs op. An operation that the target did not take is begun again, on another connection if this one takes no
// other operation.
func (c *conn) share(op *takt.Op, start time.Time, r *takt.Result) error {
	for again := 0; ; again++ {
		taken, err := c.shareOnce(op, start, r)
		if err != nil {
			return err
		}
		if c.mux.Limit() < 0 {
			c.drop()
		}
		if taken || again == againMost {
			blameHost(r)
			return nil
		}
		c.observed.again.Add(1)
		r.Class, r.Err = "", nil
		if c.net != nil {
			continue
		}
		c.leave()
		if err := c.ready(c.ctx, start, op.Seq, r); err != nil {
			Fail(r, err, true)
			return nil
		}
	}
}

// shareOnce sends op and reads until it is over, or until it is known that the target did not take it.
func (c *conn) shareOnce(op *takt.Op, start time.Time, r *takt.Result) (taken bool, err error) {
	defer c.count(r)
	for c.mux.Limit() == 0 { // the target may allow an operation later
		if err := c.sendFrames(); err != nil {
			return true, err
		}
		if _, err := c.readFrames(); err != nil {
			return true, err
		}
	}
	if c.mux.Limit() < 0 {
		Fail(r, errEnded, false)
		return false, nil
	}
	if c.wrote = c.world.Now(); r.Phases[phaseClient] == 0 {
		c.noteClient(start, r)
	}
	c.mux.Begin(op, 0, r)
	c.starts(op, start, r)
	for failure := error(nil); ; {
		if failure == nil {
			failure = c.sendFrames()
		}
		alive, err := c.readFrames()
		if !alive {
			c.all.caution.alarm()
		}
		if err != nil {
			return true, cmp.Or(failure, err)
		}
		if over, taken, err := c.heard(start, r); over || err != nil {
			if failure == nil {
				_ = c.sendFrames() // such as an acknowledgment, or why the connection ends; the next write shows a failure
			}
			return taken, err
		}
	}
}

// heard handles what readFrames found out about the operation.
func (c *conn) heard(start time.Time, r *takt.Result) (over, taken bool, err error) {
	for _, e := range c.list {
		if e.Kind == takt.MuxAgain {
			return true, false, nil
		}
		if r.Phases[phaseFirstByte] == 0 && r.BytesReceived > 0 {
			at, off := c.arrived()
			if at.Before(c.wrote.Add(-off)) {
				return true, true, ErrUnsolicited
			}
			r.Phases[phaseFirstByte] = max(1, at.Sub(start))
		}
		if e.Kind == takt.MuxEnd {
			at, _ := c.arrived()
			overdue(c.loop, at.Sub(start), r)
			r.Arrived = sock.Arrived(c.net)
			return true, true, nil
		}
	}
	return false, false, nil
}

// sendFrames writes what the mux has to send.
func (c *conn) sendFrames() error {
	for out := c.mux.Out(); len(out) > 0; out = c.mux.Out() {
		n, err := c.send(out)
		c.noteSent(out[:n])
		if c.mux.Sent(n); err != nil {
			return err
		}
	}
	return nil
}

// send writes some of the bytes, over TLS at most sealAtOnce.
func (c *conn) send(b []byte) (int, error) {
	if c.tls == nil {
		return c.net.Write(b)
	}
	b = b[:min(len(b), sealAtOnce)]
	if err := c.tls.Seal(b); err != nil {
		return 0, err
	}
	return len(b), c.flush()
}

// readFrames reads once. c.list is what happened. alive: the connection goes on.
func (c *conn) readFrames() (alive bool, err error) {
	c.list = c.list[:0]
	got, end := c.read()
	c.noteCame(got)
	eof := isEnd(end)
	if end != nil && !eof {
		return false, end
	}
	c.came()
	n, list, alive := c.mux.Parse(c.in[c.lo:c.hi], eof, c.list)
	c.list = list
	c.lo += n
	return alive, nil
}

// drain reads what came on an idle connection, or on a new one, and answers it. The error says that the connection is of
// no use.
func (c *conn) drain() error {
	for range drainMost {
		if _, err := c.looker.look(); err == nil {
			break
		} else if err != ErrUnsolicited {
			return err
		}
		alive, err := c.readFrames()
		if err == nil && alive {
			err = c.sendFrames()
		}
		if err != nil || !alive {
			return cmp.Or(err, errEnded)
		}
	}
	if c.mux.Limit() < 0 {
		return errEnded
	}
	return nil
}

// farewell says that nothing follows, unless a part of a request is still to be sent.
func (c *conn) farewell(l link) {
	if c.mux == nil || c.mux.Limit() < 0 || len(c.mux.Out()) > 0 || l.net.SetWriteDeadline(c.world.Now().Add(farewellMost)) != nil {
		return
	}
	c.mux.Close()
	out := c.mux.Out()
	if l.tls == nil {
		_, _ = l.net.Write(out) // the connection is closed next
	} else if l.tls.Seal(out) == nil {
		n, _ := l.net.Write(l.tls.Out())
		l.tls.Sent(n)
	}
}
