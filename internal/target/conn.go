package target

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// maxRelease is how much of an answer the dispatcher writes itself: copying
// 64 KiB takes it about 10 µs, in which nothing else is released.
const maxRelease = 64 << 10

// conn serves one connection, one request after the other. Its goroutine reads;
// the dispatcher writes the answers itself and wakes nobody, which saves a
// goroutine switch (15 to 40 µs of lateness) a request. Pipelined requests
// arrive when the answer before them is out.
type conn struct {
	*net.TCPConn
	desk    *desk
	in      *bufio.Reader
	send    *sender
	out     chan struct{} // the request is dealt with; capacity 1, so that the dispatcher never waits
	pending bool          // a request is under way; the fields below are the dispatcher's
	request request
	hung    bool // it was half-open: nothing is answered any more
}

func newConn(tcp *net.TCPConn, d *desk) (*conn, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(tcp, maxLine)
	return &conn{TCPConn: tcp, desk: d, in: in, send: newSender(raw), out: make(chan struct{}, 1)}, nil
}

// serve answers requests until the connection ends.
func (c *conn) serve() {
	for c.next() {
	}
	c.settle()
	_ = c.Close() // whatever it says, the connection is gone
}

// next takes the next request and reports whether another one can follow.
func (c *conn) next() bool {
	q, err := readRequest(c.in)
	c.settle()
	if c.hung {
		_, _ = io.Copy(io.Discard, c.TCPConn) // until the client or the server gives up
		return false
	}
	if err == nil {
		err = c.body(q)
	}
	if err != nil {
		c.refuse(err)
		return false
	}
	return c.admit(q) && !q.close
}

// settle waits until the request before is dealt with.
func (c *conn) settle() {
	if c.pending {
		<-c.out
		c.pending = false
	}
}

// body reads what follows the head of q.
func (c *conn) body(q request) error {
	if q.expect {
		if _, err := io.WriteString(c.TCPConn, continueAnswer); err != nil {
			return err
		}
	}
	return q.skipBody(c.in)
}

// admit brings q to the desk and reports whether it was taken.
func (c *conn) admit(q request) bool {
	c.request, c.pending = q, true
	admission, outcome := c.desk.admit(c)
	switch admission {
	case atOnce:
		c.release(outcome)
	case refused:
		c.pending = false
	}
	return c.pending
}

// release ends the request that is under way. It does not block.
func (c *conn) release(o Outcome) {
	switch o {
	case Reset:
		_ = c.SetLinger(0) // makes Close send RST; fails only on a dead connection
		_ = c.Close()
	case HalfOpen:
		c.hung = true
	default:
		a := c.desk.answers.of(o, c.request)
		if sent := c.send.try(a[:min(len(a), maxRelease)]); sent < len(a) {
			go c.finish(a[sent:])
			return
		}
	}
	c.out <- struct{}{}
}

// finish sends the rest of a long answer, or one to a client that reads slowly.
func (c *conn) finish(rest answer) {
	_, _ = c.Write(rest) // an error ends the reader too
	c.out <- struct{}{}
}

// refuse answers what is no request; an error of the connection needs no answer.
func (c *conn) refuse(err error) {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, errTooLarge):
		status = http.StatusRequestHeaderFieldsTooLarge
	case !errors.Is(err, errMalformed):
		return
	}
	c.desk.malformed()
	_, _ = fmt.Fprintf(c.TCPConn, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", status, http.StatusText(status))
}
