package http_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/h2test"
)

// oneConn are the loads over one connection with 8 streams.
var oneConn = []h2Load{h2Loads[0], h2Loads[2]}

// settings is a SETTINGS frame of one setting.
func settings(c *h2test.Conn, id http2.SettingID, v uint32) {
	c.Settings(http2.Setting{ID: id, Val: v})
}

// with begins every connection with this setting.
func with(id http2.SettingID, v uint32) func(c *h2test.Conn) {
	return func(c *h2test.Conn) { settings(c, id, v) }
}

// body is a request with a body of n bytes.
func body(n int) func(o *http.Options, e *engine.Options) {
	return func(o *http.Options, e *engine.Options) { o.Method, o.Body = "POST", strings.Repeat("b", n) }
}

// only are so many requests.
func only(n uint64) func(o *http.Options, e *engine.Options) {
	return func(o *http.Options, e *engine.Options) { e.Requests = n }
}

// perConn is what a script notes of each connection.
type perConn[T any] struct {
	mu   sync.Mutex
	list map[*h2test.Conn]*T
}

func (p *perConn[T]) of(c *h2test.Conn) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list == nil {
		p.list = map[*h2test.Conn]*T{}
	}
	if p.list[c] == nil {
		p.list[c] = new(T)
	}
	return p.list[c]
}

const (
	maxStreams    = http2.SettingMaxConcurrentStreams
	initialWindow = http2.SettingInitialWindowSize
	frameSize     = http2.SettingMaxFrameSize
	tableSize     = http2.SettingHeaderTableSize
)

// Limits that a server sets. Its own watch finds what a client does against them.
var h2Limits = []h2Case{
	// takt takes a second attempt of net/http on one connection for a refusal.
	{name: "one stream at a time", net: "ok, refused_stream", netMany: "ok, refused_stream", script: func() h2test.Script {
		return h2test.Script{Greet: with(maxStreams, 1)}
	}},
	{name: "no stream, then 10", net: "ok, refused_stream", netMany: "ok, refused_stream", script: func() h2test.Script {
		var acks perConn[int]
		return h2test.Script{Greet: with(maxStreams, 0), Ack: func(c *h2test.Conn) {
			if n := acks.of(c); *n == 0 {
				*n = 1
				settings(c, maxStreams, 10)
			}
		}}
	}},
	{name: "no window, then a byte at a time", change: body(100), script: func() h2test.Script {
		return h2test.Script{Greet: with(initialWindow, 0), Open: func(c *h2test.Conn, r *h2test.Request) { c.Window(r.ID, 1) }}
	}},
	{name: "a window of 10 bytes", change: body(101), script: func() h2test.Script {
		return h2test.Script{Greet: with(initialWindow, 10)}
	}},
	{name: "no window, then SETTINGS lift it", change: body(1000), script: func() h2test.Script {
		return h2test.Script{Greet: with(initialWindow, 0), Open: func(c *h2test.Conn, r *h2test.Request) { settings(c, initialWindow, 1000) }}
	}},
	{name: "the window of the connection runs out", change: body(100_000), script: func() h2test.Script {
		var got perConn[int]
		return h2test.Script{
			Greet: with(initialWindow, 1<<31-1),
			Data: func(c *h2test.Conn, r *h2test.Request, n int) {
				if got := got.of(c); *got < 65535 {
					if *got += n; *got == 65535 {
						c.Window(0, 1<<30)
					}
				}
			},
		}
	}},
	{name: "frames of 16384 bytes", change: body(100_000), script: each(nil)},
	{name: "frames of 16384 bytes over TLS", change: body(100_000), script: overTLS(each(nil))},
	{name: "frames of 2^24-1 bytes", change: body(100_000), script: func() h2test.Script {
		return h2test.Script{Greet: func(c *h2test.Conn) {
			c.Settings(http2.Setting{ID: frameSize, Val: 1<<24 - 1}, http2.Setting{ID: initialWindow, Val: 1 << 30})
			c.Window(0, 1<<30)
		}}
	}},
	{name: "frames become smaller", change: body(100_000), script: func() h2test.Script {
		return h2test.Script{
			Greet: with(frameSize, 1<<20),
			Open: func(c *h2test.Conn, r *h2test.Request) {
				if r.N == 3 {
					settings(c, frameSize, 16384)
				}
			},
		}
	}},
	{name: "no dynamic table", script: func() h2test.Script { return h2test.Script{Greet: with(tableSize, 0)} }},
	{name: "a dynamic table of 2^32-1 bytes", script: func() h2test.Script { return h2test.Script{Greet: with(tableSize, 1<<32-1)} }},
	// Of two updates x/net's decoder takes the second only if the first emptied the table, and its
	// encoder does not care.
	{name: "a dynamic table that changes its size", net: leftOut, netMany: leftOut, script: func() h2test.Script {
		return h2test.Script{Request: func(c *h2test.Conn, r *h2test.Request) {
			settings(c, tableSize, []uint32{0, 4096, 8192}[r.N%3]) // golang.org/x/net decodes two changes in one block only if the first is to 0
			c.Answer(r)
		}}
	}},
	{name: "a header list of 300 bytes", script: func() h2test.Script {
		return h2test.Script{Greet: with(http2.SettingMaxHeaderListSize, 300)}
	}},
	{name: "the answer comes before the body", change: body(1000), script: func() h2test.Script {
		return h2test.Script{Greet: with(initialWindow, 0), Open: func(c *h2test.Conn, r *h2test.Request) {
			if !r.Ended {
				c.Answer(r)
				c.Reset(r.ID, http2.ErrCodeNo)
			}
		}}
	}},
	{name: "the answer comes before the body, which nobody wants", change: body(1000), net: leftOut, // net/http opens the next stream before it ends this one
		script: func() h2test.Script {
			return h2test.Script{
				Greet: func(c *h2test.Conn) {
					c.Settings(http2.Setting{ID: initialWindow, Val: 0}, http2.Setting{ID: maxStreams, Val: 1})
				},
				Open: func(c *h2test.Conn, r *h2test.Request) {
					if !r.Ended {
						c.Answer(r) // and the client has to end the stream: it is the only one
					}
				},
				Request: func(c *h2test.Conn, r *h2test.Request) { c.Complete(r) },
			}
		}},
}

func TestH2Limits(t *testing.T) {
	quietly(t)
	for _, c := range h2Limits {
		c.want, c.many, c.netFaults = allOK, all40, true
		runH2(t, c, everywhere()...)
	}
	for _, c := range []h2Case{
		{name: "a window below 0", change: body(200), script: negative, want: allOK, netFaults: true},
		{name: "a window that SETTINGS lift and lower", change: body(200), want: allOK, netFaults: true, script: func() h2test.Script {
			return h2test.Script{
				Greet:   with(initialWindow, 0),
				Open:    func(c *h2test.Conn, r *h2test.Request) { settings(c, initialWindow, 200) },
				Request: func(c *h2test.Conn, r *h2test.Request) { settings(c, initialWindow, 0); c.Answer(r) },
			}
		}},
	} {
		runH2(t, c, h2Alone)
	}
	for _, c := range []h2Case{
		{name: "8 streams at once", script: func() h2test.Script { return held(8, func(*h2test.Conn) {}) }, want: all40, check: func(t *testing.T, r *h2Run) {
			if n := r.server.Seen().MaxOpen; n != 8 {
				t.Errorf("%d streams at once", n)
			}
		}},
		// takt knows the limit from the first connection, so no request is refused six times.
		{name: "one stream at a time, and none after it", want: all40, net: "ok, refused_stream|closed", script: func() h2test.Script {
			return h2test.Script{Greet: with(maxStreams, 1), Request: func(c *h2test.Conn, r *h2test.Request) {
				c.GoAway(r.ID, http2.ErrCodeNo)
				c.Answer(r)
				c.Close()
			}}
		}},
		{name: "2 streams at a time once 8 are open", want: all40, net: "ok, refused_stream", script: func() h2test.Script {
			return held(8, func(c *h2test.Conn) { settings(c, maxStreams, 2) })
		}},
		{name: "no stream at a time once 8 are open, then 3", want: all40, net: "ok, refused_stream", script: func() h2test.Script {
			s := held(8, func(c *h2test.Conn) { settings(c, maxStreams, 0) })
			answer, acks := s.Ack, perConn[int]{}
			s.Ack = func(c *h2test.Conn) {
				answer(c)
				if n := acks.of(c); *n < 2 { // of the greeting, of the 0
					if *n++; *n == 2 {
						settings(c, maxStreams, 3)
					}
				}
			}
			return s
		}},
	} {
		runH2(t, c, oneConn...)
	}
}

// negative lowers the window of each stream below 0 after 100 of its 200 bytes, lifts it to 1
// byte, and then to the rest.
func negative() h2test.Script {
	type state struct {
		r    *h2test.Request
		acks int
	}
	var states perConn[state]
	return h2test.Script{
		Greet: with(initialWindow, 100),
		Data: func(c *h2test.Conn, r *h2test.Request, n int) {
			c.Window(0, uint32(n))
			switch r.Body {
			case 100:
				s := states.of(c)
				s.r, s.acks = r, 0
				settings(c, initialWindow, 10)
			case 101:
				c.Window(r.ID, 99)
			}
		},
		Ack: func(c *h2test.Conn) {
			s := states.of(c)
			if s.acks++; s.r != nil && s.acks == 1 {
				c.Window(s.r.ID, 91) // 10 - 100 + 91
			}
		},
		Request: func(c *h2test.Conn, r *h2test.Request) {
			states.of(c).r = nil
			settings(c, initialWindow, 100)
			c.Answer(r)
		},
	}
}

// held answers nothing on the first connection until n streams are open, then sends what the client has to acknowledge
// or nothing, and answers after that. Later requests get their answers at once.
func held(n int, then func(c *h2test.Conn)) h2test.Script {
	type state struct {
		waiting []*h2test.Request
		open    bool
	}
	var states perConn[state]
	return h2test.Script{
		Request: func(c *h2test.Conn, r *h2test.Request) {
			s := states.of(c)
			if s.open || c.N > 1 {
				c.Answer(r)
				return
			}
			if s.waiting = append(s.waiting, r); len(s.waiting) == n {
				s.open = true
				then(c)
				c.Settings() // so that there is something to acknowledge
			}
		},
		Ack: func(c *h2test.Conn) {
			s := states.of(c)
			if !s.open {
				return
			}
			for _, r := range s.waiting {
				c.Answer(r)
			}
			s.waiting = nil
		},
	}
}

// refuse refuses every third request, up to most in all: an operation that meets another refusal each
// time it is repeated would fail in the end.
func refuse(most int) func() h2test.Script {
	return each(func(c *h2test.Conn, r *h2test.Request) {
		if r.N%3 == 0 && r.N <= 3*most {
			c.Reset(r.ID, http2.ErrCodeRefusedStream)
		} else {
			c.Answer(r)
		}
	})
}

// hang answers every n-th request only after the client has given up its stream. Its header block
// comes then, too, and changes the table of the client's decoder.
func hang(n int) func() h2test.Script {
	return func() h2test.Script {
		return h2test.Script{
			Request: func(c *h2test.Conn, r *h2test.Request) {
				if r.N%n != 0 {
					c.Head(r.ID, false, ":status", "200", "x-late", "no")
					c.Data(r.ID, true, "ok")
				}
			},
			Reset: func(c *h2test.Conn, r *h2test.Request) {
				c.Head(r.ID, false, ":status", "200", "x-later", "yes")
				c.Data(r.ID, true, "ok")
			},
		}
	}
}

// firstSilent says nothing at all on the first connection, not even SETTINGS.
func firstSilent() h2test.Script {
	return h2test.Script{
		Greet: func(c *h2test.Conn) {
			if c.N > 1 {
				c.Settings()
			}
		},
		Deaf: func(c *h2test.Conn) bool { return c.N == 1 },
	}
}

// deaf reads nothing after the first frame, and lets the client send as much as it can.
func deaf() h2test.Script {
	var frames perConn[int]
	return h2test.Script{
		Greet: func(c *h2test.Conn) { settings(c, initialWindow, 1<<31-1); c.Window(0, 1<<30) },
		Deaf:  func(c *h2test.Conn) bool { n := frames.of(c); *n++; return *n > 1 },
	}
}

// trickle answers a byte every 20 ms, and never to the end.
func trickle(c *h2test.Conn, r *h2test.Request) {
	status(c, r)
	c.Go(func() {
		for c.Wait(r, 20*time.Millisecond) {
			c.Data(r.ID, false, "x")
		}
	})
}

// Streams that a server refuses or does not answer.
func TestH2Streams(t *testing.T) {
	quietly(t)
	for _, c := range []h2Case{
		// net/http would send a refused request again, too, up to seven times with pauses that
		// double from 1 s. takt stops it at the first repetition.
		{name: "REFUSED_STREAM once", script: refuse(5), want: allOK, many: all40, net: "6 ok, 3 refused_stream", netMany: "35 ok, 5 refused_stream"},
		{name: "REFUSED_STREAM of a body", script: refuse(5), change: body(1000), want: allOK, many: all40, net: "6 ok, 3 refused_stream", netMany: "35 ok, 5 refused_stream"},
		{name: "REFUSED_STREAM always", script: each(func(c *h2test.Conn, r *h2test.Request) { c.Reset(r.ID, http2.ErrCodeRefusedStream) }), want: "9 refused_stream", many: "40 refused_stream", check: func(t *testing.T, r *h2Run) {
			if n := r.server.Requests(); n > 10*int(r.load.requests) {
				t.Errorf("%d requests at the server for %d operations", n, r.load.requests)
			}
		}},
		{name: "a stream without an answer", script: hang(4), want: "7 ok, 2 timeout", many: "30 ok, 10 timeout", check: func(t *testing.T, r *h2Run) {
			conns, lost := len(r.server.Conns()), int(r.report.Counts.Failed)
			open := r.load.conns * r.load.streams // at the end the client may just close, and a user does
			if n := r.server.Seen().Resets[http2.ErrCodeCancel]; conns > r.load.conns+lost || n > lost || n < lost-open && r.client.engine != ofUsers {
				t.Errorf("%d connections, %d CANCEL: want %d CANCEL", conns, n, lost)
			}
		}},
		{name: "a stream without an answer over TLS", script: overTLS(hang(4)), want: "7 ok, 2 timeout", many: "30 ok, 10 timeout"},
		// A client may ignore what comes after the end of a stream, or end the connection: RFC 9113, 5.1.
		{name: "DATA after END_STREAM", script: each(func(c *h2test.Conn, r *h2test.Request) { c.Answer(r); c.Data(r.ID, false, "x") }), want: "1+ ok, malformed"},
		{name: "HEADERS after END_STREAM", script: each(func(c *h2test.Conn, r *h2test.Request) { c.Answer(r); c.Head(r.ID, true, "x", "y") }), want: "1+ ok, malformed"},
		{name: "HEADERS after RST_STREAM", script: each(func(c *h2test.Conn, r *h2test.Request) {
			c.Reset(r.ID, http2.ErrCodeCancel)
			c.Head(r.ID, true, ":status", "200")
		}), want: "9 reset|malformed", many: "40 reset|malformed", net: anything, netMany: anything}, // the later one wins, by chance
	} {
		runH2(t, c, everywhere()...)
	}
	// One answer without end costs the others nothing.
	runH2(t, h2Case{name: "one answer without end", want: "39 ok, 1 timeout", script: each(func(c *h2test.Conn, r *h2test.Request) {
		if r.N == 10 {
			c.Large(r, 1<<40)
		} else {
			c.Answer(r)
		}
	}), change: func(o *http.Options, e *engine.Options) { o.Timeout = time.Second }}, oneConn...)
	runH2(t, h2Case{name: "HEAD with a body", want: "9 ok|malformed", many: "40 ok|malformed",
		change: func(o *http.Options, e *engine.Options) { o.Method = "HEAD" },
		script: each(func(c *h2test.Conn, r *h2test.Request) { status(c, r); c.Data(r.ID, true, "ok") })}, everywhere()...)
	runH2(t, h2Case{name: "no stream is ever allowed, in loads", script: func() h2test.Script { return h2test.Script{Greet: with(maxStreams, 0)} },
		want: "ok, timeout"}, h2Loads...)
	runH2(t, h2Case{name: "open at the end", script: each(func(*h2test.Conn, *h2test.Request) {}), want: "40 unfinished",
		change: func(o *http.Options, e *engine.Options) { e.Drain = engine.DrainOf(100 * time.Millisecond) }}, h2Loads[2:]...)
	for _, c := range []h2Case{
		// A client that hears nothing at all should not stay with the connection.
		{name: "a silent connection", script: firstSilent, change: only(3), want: "2 ok, 1 timeout", net: "ok, 1+ timeout"},
		{name: "no answers at all", script: each(func(*h2test.Conn, *h2test.Request) {}), change: only(2), want: "2 timeout"},
		{name: "answers without end", script: each(func(c *h2test.Conn, r *h2test.Request) { c.Large(r, 1<<40) }), change: only(2), want: "2 timeout"},
		{name: "answers of a byte at times", script: each(trickle), change: only(2), want: "2 timeout"},
		{name: "a server that stops reading", script: deaf, change: func(o *http.Options, e *engine.Options) { body(8<<20)(o, e); e.Requests = 2 }, want: "2 timeout"},
		{name: "no stream is ever allowed", script: func() h2test.Script { return h2test.Script{Greet: with(maxStreams, 0)} }, change: only(3), want: "ok, 1+ timeout", net: "3 ok"}, // net/http sends the first stream of each connection before it knows
		{name: "no window ever", change: func(o *http.Options, e *engine.Options) { body(1000)(o, e); e.Requests = 3 }, script: func() h2test.Script {
			return h2test.Script{Greet: with(initialWindow, 0)}
		}, want: "ok, 1+ timeout"},
	} {
		runH2(t, c, h2Alone)
	}
}
