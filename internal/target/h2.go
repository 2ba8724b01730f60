package target

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/taktload/takt/internal/http2/serve"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/internal/sock"
)

const (
	// defaultStreams is nginx's limit, too.
	defaultStreams = 128
	maxStreams     = 1 << 20
	// maxBehind is how much a client may leave unread before the server reads no more of it.
	maxBehind = 256 << 10
	// maxGone is how many requests of a connection may be at the desk that the client has abandoned.
	maxGone = 1 << 16
	// farewell is how long a client may take to read why its connection ends.
	farewell = time.Second
	// Of the buffer for reading, which grows to hold a frame.
	leastIn, mostIn = 8 << 10, 32 << 10
)

// muxed serves HTTP/2 on a connection. Its goroutine reads; answers are written by whoever has
// them, or by a goroutine when the client does not read as fast.
type muxed struct {
	*conn
	mu      sync.Mutex
	http    *serve.Conn
	waiting int  // requests at the desk
	ended   bool // the reader knows that the connection ends
	left    bool // the client, or its connection, is gone
	writing bool // write has the socket

	resume  chan struct{} // write made room; capacity 1
	broken  chan struct{} // closed when nothing can be written any more
	settled chan struct{} // left, and nothing is at the desk any more; capacity 1

	marked bool // in desk.unsent; the dispatcher's
}

// h2Answers are the answers over HTTP/2.
type h2Answers struct{ ok, failed serve.Answer }

func renderH2(status, size int) h2Answers {
	return h2Answers{renderH2Answer(status, filler(size)), renderH2Answer(http.StatusInternalServerError, failure)}
}

func renderH2Answer(status int, body string) serve.Answer {
	fields := []serve.Field{{Name: ":status", Value: strconv.Itoa(status)}}
	if status == http.StatusNoContent || status == http.StatusNotModified {
		return serve.NewAnswer("", fields...)
	}
	return serve.NewAnswer(body, append(fields,
		serve.Field{Name: "content-type", Value: "text/plain"}, serve.Field{Name: "content-length", Value: strconv.Itoa(len(body))})...)
}

func checkStreams(n int, h2 bool) error {
	switch {
	case n < 0 || n > maxStreams:
		return fmt.Errorf("%d streams are not possible; write 1 to %d", n, maxStreams)
	case n != 0 && n != defaultStreams && !h2:
		return errors.New("only HTTP/2 has streams; add --h2")
	}
	return nil
}

func checkRequests(n int, h2 bool) error {
	switch {
	case n < 0:
		return fmt.Errorf("%d requests are not possible; write 1 or more, or 0 for any number", n)
	case n > 0 && !h2:
		return errors.New("only HTTP/2 has GOAWAY; add --h2")
	}
	return nil
}

// speaksH2 reports whether the client speaks HTTP/2: over TLS it said so in the handshake, and else
// it begins with the preface. The error is of a connection that ended before.
func (c *conn) speaksH2() (bool, error) {
	if c.over != nil {
		err := c.over.Handshake()
		return c.over.ConnectionState().NegotiatedProtocol == "h2", err
	}
	const first = "PRI" // no method of HTTP/1.1
	b, err := c.in.Peek(len(first))
	if err == io.EOF {
		err = nil // readRequest finds out what is there
	}
	return string(b) == first, err
}

func newMuxed(c *conn) *muxed {
	m := &muxed{
		conn: c, http: serve.New(cmp.Or(c.desk.streams, defaultStreams), c.desk.requests),
		resume: make(chan struct{}, 1), broken: make(chan struct{}), settled: make(chan struct{}, 1),
	}
	switch {
	case c.desk.sse.on:
		m.http.Keep(maxPrompt)
	case c.desk.calls.on:
		m.http.Follow(followed[:]...)
	}
	return m
}

// serve answers requests until the connection ends.
func (m *muxed) serve() {
	m.locked(m.flush)
	var list []serve.Event
	in := make([]byte, 0, leastIn)
	for {
		n, err := m.in.Read(in[len(in):cap(in)])
		if errors.Is(err, os.ErrDeadlineExceeded) { // see finished
			m.end(wire.NoError)
			break
		}
		if n == 0 && err != nil {
			break
		}
		in = in[:len(in)+n]
		var used int
		var code wire.Code
		m.locked(func() { used, list, code = m.http.Parse(in, list[:0]) })
		in = keep(in, used)
		if !m.handle(list) || code != wire.NoError {
			m.end(code)
			break
		}
		m.locked(m.flush)
		m.catchUp()
	}
	m.leave()
}

// keep removes what was used from the front of in, and makes room for more.
func keep(in []byte, used int) []byte {
	in = in[:copy(in, in[used:])]
	if len(in) == cap(in) {
		in = append(make([]byte, 0, mostIn), in...)
	}
	return in
}

func (m *muxed) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// handle brings the requests to the desk, and reports whether the connection can go on.
func (m *muxed) handle(list []serve.Event) bool {
	for _, e := range list {
		switch e.Kind {
		case serve.Malformed:
			m.desk.malformed()
		case serve.Refused:
			m.desk.refusedStream()
		case serve.Arrived:
			if !m.take(e) {
				return false
			}
		case serve.Opened, serve.Came, serve.Gone:
			if !m.hear(e) {
				return false
			}
		}
	}
	return true
}

// take brings the request on a stream to the desk.
func (m *muxed) take(e serve.Event) bool {
	if m.desk.calls.on {
		return m.hear(e)
	}
	if !m.room() {
		return false
	}
	if m.desk.sse.on {
		return m.ask(e)
	}
	admission, outcome := m.desk.admit(m, e.Stream, sock.Arrived(m.read))
	switch admission {
	case atOnce:
		m.answer(outcome, e.Stream)
	case refused:
		m.drop(e.Stream)
		return false
	}
	return true
}

// room counts a request that comes to the desk, and reports whether the connection may have one more.
func (m *muxed) room() bool {
	m.mu.Lock()
	m.waiting++
	gone := m.waiting - m.http.Open()
	m.mu.Unlock()
	if gone > maxGone {
		m.done(func() { m.http.Close(wire.EnhanceYourCalm) })
		return false
	}
	return true
}

// answer ends a request.
func (m *muxed) answer(o Outcome, stream uint32) {
	m.done(func() {
		switch o {
		case Reset:
			m.http.Reset(stream, wire.InternalError)
		case HalfOpen:
		case Error:
			m.http.Answer(stream, &m.desk.h2.failed)
		default:
			m.http.Answer(stream, &m.desk.h2.ok)
		}
	})
}

// done ends a request that was at the desk.
func (m *muxed) done(how func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting--
	if m.left {
		if m.waiting == 0 {
			m.settled <- struct{}{}
		}
		return
	}
	how()
}

// release implements asker. The dispatcher flushes later, so that answers go together.
func (m *muxed) release(o Outcome, stream uint32) {
	m.answer(o, stream)
	m.mark()
}

// mark has the dispatcher flush later.
func (m *muxed) mark() {
	if !m.marked {
		m.marked = true
		m.desk.unsent = append(m.desk.unsent, m)
	}
}

// drop implements asker.
func (m *muxed) drop(uint32) { m.done(func() {}) }

// flush writes what is there, without waiting for the client. A goroutine writes the rest.
func (m *muxed) flush() {
	if m.writing || m.left {
		return
	}
	if b := m.next(); len(b) > 0 {
		sent := m.send.try(b)
		if rest := b[sent:]; len(rest) > 0 || m.http.More() {
			m.writing = true
			go m.write(slices.Clone(rest))
			return
		}
	}
	m.finished()
}

// finished wakes the reader, which ends the connection, after the last answer.
func (m *muxed) finished() {
	if m.http.Over() && !m.ended {
		_ = m.SetReadDeadline(time.Unix(1, 0))
	}
}

// next is what comes next on the socket. The bytes change with the next call.
func (m *muxed) next() []byte {
	b := m.http.Out()
	m.http.Sent(len(b))
	if m.over != nil && len(b) > 0 {
		b = m.veil.seal(m.over, b)
	}
	return b
}

// write writes rest, and what comes meanwhile. If the client is gone, it leaves writing set:
// nothing is written any more.
func (m *muxed) write(rest []byte) {
	for more := true; more; {
		if _, err := m.TCPConn.Write(rest); err != nil {
			_ = m.Close() // so that the reader ends too
			close(m.broken)
			return
		}
		m.mu.Lock()
		rest = append(rest[:0], m.next()...)
		more = len(rest) > 0 && !m.left
		m.writing = more
		if !more && !m.left {
			m.finished()
		}
		m.mu.Unlock()
		select {
		case m.resume <- struct{}{}:
		default:
		}
	}
}

// catchUp waits while the client leaves too much unread, so that what it makes the server say
// needs no memory.
func (m *muxed) catchUp() {
	for {
		m.mu.Lock()
		behind := m.writing && m.http.Waiting() > maxBehind
		m.mu.Unlock()
		if !behind {
			return
		}
		select {
		case <-m.resume:
		case <-m.broken:
			return
		}
	}
}

// end says why the connection ends, to a client that may still be sending.
func (m *muxed) end(code wire.Code) {
	if code != wire.NoError {
		m.desk.malformed()
	}
	m.locked(func() {
		m.ended = true
		m.flush()
	})
	_ = m.SetDeadline(time.Now().Add(farewell))
	if m.over == nil {
		_ = m.CloseWrite()
	} else {
		_ = m.over.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, m.TCPConn)
}

// leave waits for what is at the desk.
func (m *muxed) leave() {
	m.mu.Lock()
	m.left = true
	wait := m.waiting > 0
	m.mu.Unlock()
	m.desk.abandon(m)
	if wait {
		<-m.settled
	}
}

// bye says that the server ends.
func (m *muxed) bye() {
	m.locked(func() {
		m.http.Close(wire.NoError)
		m.flush()
	})
}

// protocols are those that the server offers over TLS.
func protocols(h2 bool) []string {
	if h2 {
		return []string{"h2", "http/1.1"}
	}
	return []string{"http/1.1"}
}
