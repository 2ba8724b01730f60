package target

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/taktload/takt/internal/sock"
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
	over    *tls.Conn // nil: plain
	veil    *veil     // below over
	read    net.Conn  // the TCP connection, with the kernel's stamps if there are any
	desk    *desk
	in      *bufio.Reader
	send    *sender
	out     chan struct{} // the request is dealt with; capacity 1, so that the dispatcher never waits
	pending bool          // a request is under way; the fields below are the dispatcher's
	request request
	hung    bool                  // it was half-open: nothing is answered any more
	flow    *flow                 // the stream that is under way, of the connection's goroutine; nil: none
	spout   spout                 // of streams
	muxed   atomic.Pointer[muxed] // nil: HTTP/1.1
}

// newConn makes a connection; over TLS if conf is not nil. Its first read makes the handshake.
func newConn(tcp *net.TCPConn, d *desk, conf *tls.Config) (*conn, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &conn{TCPConn: tcp, desk: d, send: newSender(raw), read: sock.Stamped(tcp), out: make(chan struct{}, 1)}
	if conf != nil {
		c.veil = &veil{TCPConn: tcp, read: c.read}
		c.over = tls.Server(c.veil, conf)
	}
	c.in = bufio.NewReaderSize(c.stream(), maxLine)
	return c, nil
}

// stream is what HTTP is spoken over.
func (c *conn) stream() net.Conn {
	if c.over != nil {
		return c.over
	}
	return c.read
}

// serve answers requests until the connection ends.
func (c *conn) serve() {
	h2, err := false, error(nil)
	if c.desk.speaksH2 {
		h2, err = c.speaksH2()
	}
	switch {
	case err != nil:
		c.refuse(err)
	case h2:
		m := newMuxed(c)
		c.muxed.Store(m)
		m.serve()
	default:
		for c.next() {
		}
		c.settle()
	}
	if c.over != nil {
		_ = c.over.CloseWrite() // says that nothing follows
	}
	_ = c.Close() // whatever it says, the connection is gone
}

// next takes the next request and reports whether another one can follow.
func (c *conn) next() bool {
	q, err := readRequest(c.in)
	if err != nil && c.flow != nil {
		c.flow.gone.Store(true) // as with net/http: who says no more wants no more
	}
	c.settle()
	if c.hung {
		_, _ = io.Copy(io.Discard, c.TCPConn) // until the client or the server gives up
		return false
	}
	if err == nil && c.desk.sse.on {
		return c.ask(q) && !q.close
	}
	if err == nil {
		err = c.body(q)
	}
	if err != nil {
		c.refuse(err)
		return false
	}
	if c.desk.calls.on {
		c.desk.malformed()
		return c.say(q, http.StatusUnsupportedMediaType, apiError(http.StatusUnsupportedMediaType, notCall)) && !q.close
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
	if err := c.proceed(q); err != nil {
		return err
	}
	return q.skipBody(c.in)
}

// proceed tells a client to go on that waits for that.
func (c *conn) proceed(q request) error {
	if !q.expect {
		return nil
	}
	_, err := io.WriteString(c.stream(), continueAnswer)
	return err
}

// admit brings q to the desk and reports whether it was taken.
func (c *conn) admit(q request) bool {
	c.request, c.pending = q, true
	admission, outcome := c.desk.admit(c, 0, sock.Arrived(c.read))
	switch admission {
	case atOnce:
		c.release(outcome, 0)
	case refused:
		c.pending = false
	}
	return c.pending
}

// release implements asker.
func (c *conn) release(o Outcome, _ uint32) {
	switch o {
	case Reset:
		_ = c.SetLinger(0) // makes Close send RST; fails only on a dead connection
		_ = c.Close()
	case HalfOpen:
		c.hung = true
	case Closed:
		_ = c.Close()
	default:
		a := c.desk.answers.of(o, c.request)
		if !c.write(a) {
			return
		}
	}
	c.out <- struct{}{}
}

// drop implements asker.
func (c *conn) drop(uint32) { c.out <- struct{}{} }

// write writes a without waiting for the client, and reports whether all is written. Else a
// goroutine writes the rest.
func (c *conn) write(a answer) (all bool) {
	first := a[:min(len(a), maxRelease)]
	if c.over == nil {
		if sent := c.send.try(first); sent < len(a) {
			go c.finish(a[sent:], nil)
			return false
		}
		return true
	}
	sealed := c.veil.seal(c.over, first)
	if sent := c.send.try(sealed); sent < len(sealed) || len(first) < len(a) {
		go c.finish(sealed[sent:], a[len(first):])
		return false
	}
	return true
}

// finish sends the rest of a long answer, or one to a client that reads slowly: bytes for the
// socket, and those that are still to be encrypted.
func (c *conn) finish(rest, plain []byte) {
	_, err := c.TCPConn.Write(rest)
	if err == nil && len(plain) > 0 {
		_, _ = c.stream().Write(plain) // an error ends the reader too
	}
	c.out <- struct{}{}
}

// refuse answers what is no request; an error of the connection needs no answer.
func (c *conn) refuse(err error) {
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) && plain.Conn != nil {
		_, _ = io.WriteString(c.TCPConn, "HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nThis server speaks https.\n")
		return
	}
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, errTooLarge):
		status = http.StatusRequestHeaderFieldsTooLarge
	case errors.Is(err, errLong):
		status = http.StatusRequestEntityTooLarge
	case !errors.Is(err, errMalformed):
		return
	}
	c.desk.malformed()
	_, _ = fmt.Fprintf(c.stream(), "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", status, http.StatusText(status))
}
