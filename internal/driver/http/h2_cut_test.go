package http_test

import (
	"cmp"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/taktload/takt/internal/test/h2test"
)

// cut ends the n-th connection after n-1 bytes, up to 100: SETTINGS, their acknowledgment, the
// header block and the body of an answer, and parts of the next one.
func cut(end func(c *h2test.Conn) func()) func() h2test.Script {
	return func() h2test.Script {
		return h2test.Script{Greet: func(c *h2test.Conn) {
			if c.N <= 100 {
				c.CutAfter(c.N-1, end(c))
			}
			c.Settings()
		}}
	}
}

func finish(c *h2test.Conn) func() { return c.Finish }

func abort(c *h2test.Conn) func() { return c.Abort }

func hangUp(c *h2test.Conn) func() { return c.HangUp }

// A connection may end at every byte. An operation is ok only with its complete answer.
func TestH2Cut(t *testing.T) {
	quietly(t)
	ended := func(c *h2test.Conn, r *h2test.Request) { c.Answer(r); c.Close() }
	for _, c := range []h2Case{
		{name: "finish", script: cut(finish), want: "ok, closed|truncated", check: answeredOnce},
		{name: "finish over TLS", script: overTLS(cut(finish)), want: "ok, closed|truncated", check: answeredOnce},
		{name: "end without an alert of TLS", script: overTLS(cut(hangUp)), want: "ok, closed|truncated", check: answeredOnce},
		{name: "reset", script: cut(abort), want: "ok, closed|truncated|reset"},
		{name: "reset over TLS", script: overTLS(cut(abort)), want: "ok, closed|truncated|reset"},
		{name: "after each answer", script: each(ended), want: "ok, closed|truncated", check: answeredOnce},
	} {
		// net/http has one more error, by chance: "client conn could not be established".
		c.change, c.net = only(160), c.want+"|malformed"
		// Not closed loops, which pause after failures.
		runH2(t, c, h2Load{conns: 1, streams: 1, rate: "4000"})
		if !c.script().TLS { // 160 handshakes
			runH2(t, c, h2Loads[2:]...)
		}
	}
}

// wrongStart is a server that begins every connection with these bytes and ends it.
func wrongStart(text string) func() h2test.Script {
	return func() h2test.Script {
		return h2test.Script{Greet: func(c *h2test.Conn) { c.Bytes([]byte(text)); c.Close() }, Request: func(*h2test.Conn, *h2test.Request) {}}
	}
}

// Servers that do not speak HTTP/2, or not from the beginning.
func TestH2Peers(t *testing.T) {
	quietly(t)
	for _, c := range []h2Case{
		{name: "HTTP1", script: wrongStart("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"), want: "9 protocol"},
		{name: "HTTP1 in few bytes", script: wrongStart("HTTP/1.0 400\r\n\r\n"), want: "9 protocol"},
		{name: "SSH", script: wrongStart("SSH-2.0-OpenSSH_9.9\r\n"), want: "9 malformed|protocol"},
		{name: "nothing", script: wrongStart(""), want: "9 closed", net: "9 closed|truncated"},
		{name: "no SETTINGS at first", script: func() h2test.Script { return h2test.Script{Greet: func(c *h2test.Conn) { c.Ping(); c.Settings() }} }, want: "9 malformed|protocol"},
		{name: "an acknowledgment of SETTINGS at first", script: func() h2test.Script {
			return h2test.Script{Greet: func(c *h2test.Conn) { c.Raw(http2.FrameSettings, http2.FlagSettingsAck, 0, ""); c.Settings() }}
		}, want: "9 malformed|protocol"},
		{name: "TLS with HTTP1", script: func() h2test.Script { return h2test.Script{TLS: true, Protos: []string{"http/1.1"}} }, want: "error does not speak HTTP/2"},
		{name: "TLS without ALPN", script: func() h2test.Script { return h2test.Script{TLS: true, Protos: []string{}} }, want: "error does not speak HTTP/2",
			net: anything, netFaults: true}, // net/http sends HTTP/1.1 then, and an answer has the class protocol
	} {
		if !strings.HasPrefix(string(c.want), "error") {
			c.many, c.netMany = anything, anything
			// What net/http says by chance instead of the reason is "client conn could not be established".
			c.net = cmp.Or(c.net, c.want) + "|malformed|closed"
		}
		runH2(t, c, h2Alone, h2Loads[3])
	}
}
