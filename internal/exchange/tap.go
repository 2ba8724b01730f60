package exchange

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/pkg/takt"
)

// Tap makes exchanges of the bytes of a run, for Plan.Tap. Seen gets them one at a time.
type Tap struct {
	seen func(*Exchange)

	mu    sync.Mutex
	conns map[any]*conn
}

var _ engine.Tap = (*Tap)(nil)

// NewTap is a tap whose exchanges go to seen.
func NewTap(seen func(*Exchange)) *Tap { return &Tap{seen: seen, conns: map[any]*conn{}} }

// conn is what is known of a connection.
type conn struct {
	begun  time.Time
	begins bool // bytes of an operation were sent since the connection was opened

	// HTTP/1.1
	sent     []byte
	sentSize int
	came     arrivals

	// HTTP/2; nil: HTTP/1.1
	out, in *frames
	stream  uint32 // of the operation
	x       Exchange

	hops []*Exchange // exchanges before the last one of the operation
}

func (t *Tap) at(on any) *conn {
	c := t.conns[on]
	if c == nil {
		c = &conn{begun: time.Now()}
		t.conns[on] = c
	}
	return c
}

// Opens implements engine.Tap.
func (t *Tap) Opens(on any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.at(on)
	c.begins, c.out, c.in = false, nil, nil
}

// Begins implements engine.Tap.
func (t *Tap) Begins(on any, _ *takt.Op) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.at(on)
	c.begun, c.hops = time.Now(), nil
	c.clear()
}

// clear forgets the exchange under way.
func (c *conn) clear() {
	c.sent, c.sentSize, c.came, c.x, c.stream = c.sent[:0], 0, arrivals{}, Exchange{}, 0
}

// Sent implements engine.Tap.
func (t *Tap) Sent(on any, b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.at(on)
	if !c.begins {
		c.begins = true
		if preface, ok := bytes.CutPrefix(b, []byte(wire.Preface)); ok {
			c.out, c.in, b = newFrames(), newFrames(), preface
		}
	}
	if c.out != nil {
		c.out.feed(b, c.sentFrame)
		return
	}
	if c.came.size > 0 && startsRequest(b) { // it follows a redirect
		c.hops = append(c.hops, c.hop())
		c.clear()
	}
	c.sentSize += len(b)
	c.sent = append(c.sent, b[:min(len(b), mostBytes-len(c.sent))]...)
}

func (c *conn) sentFrame(f frame) {
	if f.Kind == wire.Headers {
		c.stream, c.x = f.Stream, Exchange{} // perhaps one that is begun again
	}
	if f.Stream == c.stream {
		c.x.Request.request2(f)
	}
}

// Came implements engine.Tap.
func (t *Tap) Came(on any, b []byte, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.at(on)
	since := max(1, at.Sub(c.begun))
	if c.in == nil {
		c.came.add(b, since)
		return
	}
	c.in.feed(b, func(f frame) {
		if f.Stream == c.stream && f.Stream > 0 {
			c.x.Answer.answer2(f, since)
		}
	})
}

// Ends implements engine.Tap.
func (t *Tap) Ends(on any, r *takt.Result, took time.Duration) {
	t.mu.Lock()
	c := t.at(on)
	x := c.x
	if c.out == nil {
		x.Request = request1(c.sent, c.sentSize)
		x.Answer = answer1(&c.came, c.method())
	} else if x.Answer.decode(); x.Answer.Line == "" {
		x.Answer.add(c.in.in, 0) // perhaps no HTTP/2
	}
	x.Result, x.Took = *r, took
	x.Result.Body = bytes.Clone(r.Body)
	all := append(c.hops, &x)
	c.hops = nil
	c.clear()
	t.mu.Unlock()
	for _, one := range all {
		t.seen(one)
	}
}

// hop is the exchange under way, whose redirect is followed within its operation.
func (c *conn) hop() *Exchange {
	x := &Exchange{Request: request1(c.sent, c.sentSize), Answer: answer1(&c.came, c.method()), Follows: true}
	x.Result.Status = statusOf(x.Answer.Line)
	if n := len(c.came.pieces); n > 0 {
		x.Took = c.came.pieces[n-1].at
	}
	return x
}

// statusOf is the code in a status line; 0: none.
func statusOf(line string) int {
	if _, rest, ok := strings.Cut(line, " "); ok && len(rest) >= 3 {
		code, _ := strconv.Atoi(rest[:3])
		return code
	}
	return 0
}

// startsRequest reports whether b is the beginning of a request of HTTP/1.1.
func startsRequest(b []byte) bool {
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	return bytes.HasSuffix(line, []byte(" HTTP/1.1"))
}

// method is that of the request of HTTP/1.1 under way.
func (c *conn) method() string {
	method, _, _ := bytes.Cut(c.sent, []byte(" "))
	return string(method)
}
