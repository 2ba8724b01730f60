package target

import (
	"math"
	"net/http"

	"github.com/taktload/takt/internal/sock"
)

// nullConn is a connection. All answers are the same, so those that are not out yet
// are a number, and a client that never reads takes no memory.
type nullConn struct {
	open    bool
	last    bool   // the connection ends with the answer to the request under way
	ended   bool   // nothing is read any more; what is owed is still sent
	skip    int64  // bytes of a body to come
	owed    int64  // bytes of answers to send …
	refusal []byte // … and what comes after them
	head    []byte // the beginning of a head whose rest is to come
	watched watched
}

// watched is what the poller looks for.
type watched struct{ read, write bool }

// ready serves a connection that has something to read, or room.
func (n *null) ready(fd int, ev sock.Event) {
	c := &n.conns[fd]
	if !c.open {
		return // closed while the events were served
	}
	if ev.Read && !c.ended {
		n.receive(fd, c)
	}
	if c.open && (ev.Write || !c.watched.write) {
		n.send(fd, c)
	}
	if c.open {
		n.settle(fd, c)
	}
}

// receive reads once: who sends a lot must not keep the others waiting.
func (n *null) receive(fd int, c *nullConn) {
	got, errno := sock.Receive(fd, n.in[:])
	switch {
	case errno == sock.Again:
	case errno != 0:
		n.close(fd)
	case got == 0:
		c.ended = true
	default:
		n.take(c, n.in[:got])
	}
}

// take finds the ends of requests.
func (n *null) take(c *nullConn, in []byte) {
	if len(c.head) > 0 {
		c.head = append(c.head, in...)
		in = c.head
	}
	for len(in) > 0 && !c.ended {
		if c.skip == 0 {
			used := n.begin(c, in)
			if used == 0 {
				break
			}
			in = in[used:]
		}
		step := min(c.skip, int64(len(in)))
		in = in[step:]
		if c.skip -= step; c.skip == 0 {
			n.owe(c)
		}
	}
	c.head = append(c.head[:0], in...)
}

// begin reads a head and returns its length, 0: it is not complete.
func (n *null) begin(c *nullConn, in []byte) (used int) {
	q, used, err := nullHead(in)
	status := nullStatus(q, err)
	if used > maxHead || used == 0 && len(in) > maxHead {
		used, status = len(in), http.StatusRequestHeaderFieldsTooLarge
	}
	switch {
	case used == 0:
	case status != 0:
		n.refuse(c, status)
	default:
		c.last, c.skip = q.close, q.length
	}
	return used
}

// refuse says why and reads the rest without looking at it: bytes that are not read
// when a connection is closed make the answer vanish.
func (n *null) refuse(c *nullConn, status int) {
	n.malformed.Add(1)
	c.refusal, c.skip = nullRefusal(status), math.MaxInt64
}

// owe takes note of a request that is complete.
func (n *null) owe(c *nullConn) {
	n.served++
	c.owed += int64(n.answer)
	c.ended = c.last
}

// send sends once what is owed, as far as there is room.
func (n *null) send(fd int, c *nullConn) {
	out := c.refusal
	if c.owed > 0 {
		out = n.rest(c.owed)
	}
	if len(out) == 0 {
		return
	}
	sent, errno := sock.Send(fd, out)
	switch {
	case errno == sock.Again:
	case errno != 0:
		n.close(fd)
	case c.owed > 0:
		c.owed -= int64(sent)
	default:
		c.refusal = c.refusal[sent:]
	}
}

// rest is what a connection that is owed so much gets next.
func (n *null) rest(owed int64) []byte {
	open := owed % int64(n.answer) // of an answer that was begun
	begin := (int64(n.answer) - open) % int64(n.answer)
	return n.batch[begin:min(int64(len(n.batch)), begin+owed)]
}

// settle closes a connection that is done, and watches for what the others need.
func (n *null) settle(fd int, c *nullConn) {
	want := watched{read: !c.ended, write: c.owed > 0 || len(c.refusal) > 0}
	var err error
	switch {
	case want == watched{}:
		n.close(fd)
	case want == c.watched:
	case want.read:
		err = n.poll.Watch(fd, int32(fd), want.write)
	default:
		err = n.poll.Mute(fd, int32(fd), want.write)
	}
	if c.watched = want; err != nil {
		n.close(fd)
	}
}
