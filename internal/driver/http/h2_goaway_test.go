package http_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"

	"github.com/taktload/takt/internal/test/h2test"
)

// farewell is how a server says that it goes away.
type farewell struct {
	at     int // with so many streams open, on the first connection only
	last   int // the last stream that it will answer is the so-manieth of them; 0: none
	code   http2.ErrCode
	soft   bool // first says that it will go away, and goes when the client has acknowledged a PING
	lies   bool // answers all of them, also those that it has given up
	lose   bool // answers none of them, also not those that it has promised
	secure bool // TLS
	stays  bool // does not close the connection
}

// script answers nothing on the first connection until the streams are open. Then it says
// farewell and answers the promised ones.
func (f farewell) script() h2test.Script {
	var open []*h2test.Request
	gone := false
	leave := func(c *h2test.Conn) {
		gone = true
		last := uint32(0)
		if f.last > 0 {
			last = open[f.last-1].ID
		}
		c.GoAway(last, f.code)
		for _, r := range open {
			if f.lies || r.ID <= last && !f.lose {
				c.Answer(r)
			}
		}
		if !f.stays {
			c.Close()
		}
	}
	return h2test.Script{
		TLS: f.secure,
		Request: func(c *h2test.Conn, r *h2test.Request) {
			switch {
			case c.N > 1:
				c.Answer(r)
			case gone: // was under way
			default:
				if open = append(open, r); len(open) != f.at {
					return
				}
				if !f.soft {
					leave(c)
					return
				}
				c.GoAway(1<<31-1, http2.ErrCodeNo)
				c.Ping()
			}
		},
		Pong: func(c *h2test.Conn) {
			if f.soft && c.N == 1 && !gone {
				leave(c)
			}
		},
	}
}

// answeredOnce checks that no answer is lost and none counts twice.
func answeredOnce(t *testing.T, r *h2Run) {
	if ok, answered := int(r.report.Counts.OK), r.server.Seen().Answered; ok != answered {
		t.Errorf("%d are ok, the server answered %d", ok, answered)
	}
}

// The streams above the last one that a server promises to answer are sent again, on another
// connection. A connection that goes away gets no new streams: the server's watch finds them.
func TestH2GoAway(t *testing.T) {
	quietly(t)
	const calm = http2.ErrCodeEnhanceYourCalm
	for _, c := range []struct {
		name string
		farewell
		want, net h2Want // net/http fails the stream 1 of a connection that goes away with an error
	}{
		{name: "none of 8", farewell: farewell{at: 8}, want: all40},
		{name: "4 of 8", farewell: farewell{at: 8, last: 4}, want: all40},
		{name: "8 of 8", farewell: farewell{at: 8, last: 8}, want: all40},
		{name: "none of 8, and stays", farewell: farewell{at: 8, stays: true}, want: all40},
		{name: "4 of 8, and stays", farewell: farewell{at: 8, last: 4, stays: true}, want: all40},
		{name: "8 of 8, and stays", farewell: farewell{at: 8, last: 8, stays: true}, want: all40},
		{name: "8 of 8 in two steps", farewell: farewell{at: 8, last: 8, soft: true}, want: all40},
		{name: "4 of 8 in two steps", farewell: farewell{at: 8, last: 4, soft: true}, want: all40},
		{name: "none of 8 in two steps, and stays", farewell: farewell{at: 8, soft: true, stays: true}, want: all40},
		{name: "none of 8, calm", farewell: farewell{at: 8, code: calm}, want: all40, net: "39 ok, 1 truncated|malformed"},
		{name: "4 of 8, calm", farewell: farewell{at: 8, last: 4, code: calm}, want: all40},
		{name: "4 of 8, and loses them", farewell: farewell{at: 8, last: 4, lose: true}, want: "36 ok, 4 closed"},
		{name: "4 of 8 over TLS", farewell: farewell{at: 8, last: 4, secure: true}, want: all40},
		{name: "4 of 8, calm, and loses them", farewell: farewell{at: 8, last: 4, lose: true, code: calm}, want: "36 ok, 4 closed"},
		{name: "8 of 8, and loses them", farewell: farewell{at: 8, last: 8, lose: true}, want: "32 ok, 8 closed"},
	} {
		runH2(t, h2Case{name: c.name, script: c.script, want: c.want, net: c.net, check: answeredOnce}, oneConn...)
	}
	for _, c := range []struct {
		name string
		farewell
		net, netMany h2Want
	}{
		{name: "the only one", farewell: farewell{at: 1, last: 1}},
		{name: "not the only one", farewell: farewell{at: 1}},
		{name: "not the only one, calm", farewell: farewell{at: 1, code: calm}, net: "8 ok, 1 truncated|malformed", netMany: "39 ok, 1 truncated|malformed"},
		{name: "the only one in two steps", farewell: farewell{at: 1, last: 1, soft: true}},
		{name: "not the only one in two steps", farewell: farewell{at: 1, soft: true}},
	} {
		runH2(t, h2Case{name: c.name, script: c.script, want: allOK, many: all40, net: c.net, netMany: c.netMany, check: answeredOnce}, h2Alone, h2Loads[1], h2Loads[3])
	}
	for _, c := range []h2Case{
		{name: "before the first request", script: func() h2test.Script {
			return h2test.Script{Greet: func(c *h2test.Conn) {
				if c.Settings(); c.N == 1 {
					c.GoAway(0, http2.ErrCodeNo)
					c.Close()
				}
			}, Request: func(c *h2test.Conn, r *h2test.Request) {
				if c.N > 1 {
					c.Answer(r)
				}
			}}
		}, want: allOK, many: all40, check: answeredOnce, net: "8+ ok, truncated|malformed", netMany: "39+ ok, truncated|malformed"},
		// An operation waits for a stream, and the connection ends instead.
		{name: "no stream any more, then it goes away", want: allOK, many: all40, check: answeredOnce, net: "8+ ok, refused_stream", netMany: "32+ ok, refused_stream",
			script: func() h2test.Script {
				var highest, acks perConn[uint32]
				return h2test.Script{
					Request: func(c *h2test.Conn, r *h2test.Request) {
						if *highest.of(c) == 0 && c.N == 1 {
							settings(c, maxStreams, 0)
						}
						*highest.of(c) = r.ID
						c.Answer(r)
					},
					Ack: func(c *h2test.Conn) {
						if n := acks.of(c); c.N == 1 {
							if *n++; *n == 2 { // of the greeting, of the 0
								c.Ping()
							}
						}
					},
					Pong: func(c *h2test.Conn) {
						c.GoAway(*highest.of(c), http2.ErrCodeNo)
						c.Close()
					},
				}
			}},
		// The decoder of the next connection begins with a table of its own.
		{name: "with an empty table", want: allOK, many: all40, check: answeredOnce, script: func() h2test.Script {
			var answers perConn[int]
			return h2test.Script{Request: func(c *h2test.Conn, r *h2test.Request) {
				n := answers.of(c)
				switch *n++; {
				case *n < 3:
					c.Head(r.ID, false, ":status", "200", "x-long", strings.Repeat("l", 300))
					c.Data(r.ID, true, "ok")
				case *n == 3:
					c.GoAway(r.ID, http2.ErrCodeNo)
					c.Raw(http2.FrameHeaders, headersEnd, r.ID, "\x20\x88") // a table of 0 bytes
					c.Data(r.ID, true, "ok")
					c.Close()
				}
			}}
		}},
		// A server that restarts every connection after two answers.
		{name: "after every second answer", script: func() h2test.Script {
			var answers perConn[int]
			return h2test.Script{Request: func(c *h2test.Conn, r *h2test.Request) {
				n := answers.of(c)
				if *n++; *n > 2 {
					return // was under way
				}
				if *n == 2 {
					c.GoAway(r.ID, http2.ErrCodeNo)
				}
				if c.Answer(r); *n == 2 {
					c.Close()
				}
			}}
		}, want: allOK, many: all40, check: answeredOnce},
		{name: "after every second answer, and stays", script: stays, want: allOK, many: all40, check: answeredOnce},
		{name: "the last one falls", script: func() h2test.Script {
			return h2test.Script{Request: func(c *h2test.Conn, r *h2test.Request) {
				if c.N == 1 && r.ID > 1 {
					return // was under way
				}
				if c.N == 1 {
					c.GoAway(5, http2.ErrCodeNo)
					c.GoAway(3, http2.ErrCodeNo)
					c.GoAway(1, http2.ErrCodeNo)
				}
				c.Answer(r)
			}}
		}, want: allOK, many: all40, check: answeredOnce},
	} {
		runH2(t, c, everywhere()...)
	}
	// The answers on the first connection come too late to count, or at all.
	for _, stays := range []bool{false, true} {
		f := farewell{at: 8, last: 4, lies: true, stays: stays}
		runH2(t, h2Case{name: fmt.Sprintf("4 of 8, and answers all, stays %v", stays), script: f.script, want: all40}, oneConn...)
	}
	// Every connection goes away at once: takt has to give up. net/http does not before the time limit
	// of an operation, and opens 1,700 connections a second until then.
	runH2(t, h2Case{name: "always", script: func() h2test.Script {
		return h2test.Script{
			Greet:   func(c *h2test.Conn) { c.Settings(); c.GoAway(0, http2.ErrCodeNo); c.Close() },
			Request: func(*h2test.Conn, *h2test.Request) {},
		}
	}, want: "9 closed|refused_stream", many: "40 closed|refused_stream", net: leftOut, check: func(t *testing.T, r *h2Run) {
		if n := len(r.server.Conns()); n > 10*int(r.load.requests) {
			t.Errorf("%d connections for %d operations", n, r.load.requests)
		}
	}}, h2Alone, h2Loads[0], h2Loads[3])
}

// stays goes away after every second answer, and leaves it to the client to end the connection. It
// answers on a later one only when that has happened.
func stays() h2test.Script {
	type state struct {
		answers int
		before  *h2test.Conn
	}
	var states perConn[state]
	var mu sync.Mutex
	var last *h2test.Conn // that went away
	return h2test.Script{
		Greet: func(c *h2test.Conn) {
			mu.Lock()
			defer mu.Unlock()
			c.Settings()
			states.of(c).before, last = last, nil
		},
		Request: func(c *h2test.Conn, r *h2test.Request) {
			s := states.of(c)
			if s.answers++; s.answers > 2 {
				return // was under way
			}
			if s.answers == 2 {
				c.GoAway(r.ID, http2.ErrCodeNo)
				mu.Lock()
				last = c
				mu.Unlock()
			}
			c.Go(func() {
				if s.before != nil {
					s.before.Ended()
				}
				c.Answer(r)
			})
		},
	}
}
