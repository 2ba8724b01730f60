package http_test

import (
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/h2test"
)

// each answers every request so.
func each(answer func(c *h2test.Conn, r *h2test.Request)) func() h2test.Script {
	return func() h2test.Script { return h2test.Script{Request: answer} }
}

// greet begins every connection so, after the SETTINGS of the server.
func greet(more func(c *h2test.Conn)) func() h2test.Script {
	return func() h2test.Script {
		return h2test.Script{Greet: func(c *h2test.Conn) { c.Settings(); more(c) }}
	}
}

// before does something before each answer.
func before(what func(c *h2test.Conn, r *h2test.Request)) func() h2test.Script {
	return each(func(c *h2test.Conn, r *h2test.Request) { what(c, r); c.Answer(r) })
}

// padded is a payload with its padding: RFC 9113, 6.1.
func padded(payload string, n byte) string {
	return string([]byte{n}) + payload + strings.Repeat("\x00", int(n))
}

// prioritized is a header block with a priority before it: RFC 9113, 6.2.
func prioritized(block string) string { return "\x80\x00\x00\x00\x10" + block }

const (
	headersEnd  = http2.FlagHeadersEndHeaders
	headersLast = http2.FlagHeadersEndHeaders | http2.FlagHeadersEndStream
	dataLast    = http2.FlagDataEndStream
)

// Answers that are unusual, and right.
var h2Right = []h2Case{
	{name: "plain", script: each(nil)},
	{name: "TLS", script: overTLS(each(nil))},
	{name: "no body", script: each(func(c *h2test.Conn, r *h2test.Request) { c.Head(r.ID, true, ":status", "200") })},
	{name: "204", script: each(func(c *h2test.Conn, r *h2test.Request) { c.Head(r.ID, true, ":status", "204") })},
	{name: "304 with the length of the whole", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, true, ":status", "304", "content-length", "100")
	}), net: "9 truncated", netMany: "40 truncated"}, // net/http misses the body
	{name: "END_STREAM in an empty DATA", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200")
		c.Data(r.ID, false, "ok")
		c.Data(r.ID, true, "")
	})},
	{name: "100", script: before(func(c *h2test.Conn, r *h2test.Request) { c.Head(r.ID, false, ":status", "100") })},
	{name: "103 twice", script: before(func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "103", "link", "</a>")
		c.Head(r.ID, false, ":status", "103", "link", "</b>")
	})},
	{name: "trailers", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200", "trailer", "sum")
		c.Data(r.ID, false, "ok")
		c.Head(r.ID, true, "sum", "1")
	})},
	{name: "trailers without a body", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200")
		c.Head(r.ID, true, "sum", "1")
	})},
	{name: "padded DATA", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200", "content-length", "2")
		c.Raw(http2.FrameData, http2.FlagDataPadded, r.ID, padded("o", 255))
		c.Raw(http2.FrameData, http2.FlagDataPadded, r.ID, padded("", 0))
		c.Data(r.ID, true, "k")
	})},
	{name: "padded HEADERS with a priority", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(http2.FrameHeaders, headersEnd|http2.FlagHeadersPadded|http2.FlagHeadersPriority, r.ID,
			padded(prioritized(c.Block(":status", "200")), 7))
		c.Data(r.ID, true, "ok")
	})},
	{name: "a header block byte by byte", script: each(func(c *h2test.Conn, r *h2test.Request) {
		block := c.Block(":status", "200", "server", "h2test")
		c.Raw(http2.FrameHeaders, 0, r.ID, block[:1])
		for i := 1; i < len(block); i++ {
			c.Raw(http2.FrameContinuation, 0, r.ID, block[i:i+1])
		}
		c.Raw(http2.FrameContinuation, http2.FlagContinuationEndHeaders, r.ID, "")
		c.Data(r.ID, true, "ok")
	})},
	{name: "frames of unknown types", script: before(func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(0x42, 0xff, 0, "what")
		c.Raw(0x43, 0xff, r.ID, "ever")
		c.Raw(0x44, 0xff, r.ID+100, "")
	})},
	{name: "unknown flags", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(http2.FrameHeaders, 0xd2|headersEnd, r.ID, c.Block(":status", "200"))
		c.Raw(http2.FrameData, 0xf6, r.ID, "")
		c.Data(r.ID, true, "ok")
	})},
	{name: "the reserved bit of stream ids", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID|1<<31, false, ":status", "200")
		c.Data(r.ID, true, "ok")
	})},
	{name: "PRIORITY", script: before(func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(http2.FramePriority, 0, r.ID, "\x00\x00\x00\x00\x10")
		c.Raw(http2.FramePriority, 0, r.ID+100, "\x00\x00\x00\x00\x10")
	})},
	{name: "PING", script: before(func(c *h2test.Conn, r *h2test.Request) { c.Ping() }), check: func(t *testing.T, r *h2Run) {
		// a connection may end before the last acknowledgments are out
		if n := r.server.Seen().PingAcks; n < int(r.load.requests)-r.load.conns*r.load.streams {
			t.Errorf("%d acknowledgments", n)
		}
	}},
	{name: "SETTINGS before each answer", script: before(func(c *h2test.Conn, r *h2test.Request) {
		c.Settings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20}, http2.Setting{ID: 0x77, Val: 1})
	}), check: func(t *testing.T, r *h2Run) {
		if n := r.server.Seen().SettingsAcks; n < int(r.load.requests)-r.load.conns*r.load.streams {
			t.Errorf("%d acknowledgments", n)
		}
	}},
	{name: "a setting twice", script: func() h2test.Script {
		return h2test.Script{Greet: func(c *h2test.Conn) {
			id := http2.SettingMaxConcurrentStreams
			c.Settings(http2.Setting{ID: id, Val: 0}, http2.Setting{ID: id, Val: 100})
		}}
	}},
	{name: "the table of the encoder changes its size", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(http2.FrameHeaders, headersEnd, r.ID, "\x20\x3f\xe1\x1f"+"\x88") // 0, then 4096; :status 200
		c.Data(r.ID, true, "ok")
	})},
	{name: "fields that the client has never seen", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200", "x-number", strings.Repeat("n", r.N), "set-cookie", "a=b", "set-cookie", "c=d")
		c.Data(r.ID, true, "ok")
	})},
	{name: "WINDOW_UPDATE of an ended stream", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Answer(r)
		c.Window(r.ID, 1)
	})},
	{name: "RST_STREAM of an ended stream", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Answer(r)
		c.Reset(r.ID, http2.ErrCodeNo)
	})},
	{name: "1 MB", script: each(func(c *h2test.Conn, r *h2test.Request) { c.Large(r, 1e6) })},
	{name: "1 MB over TLS", script: overTLS(each(func(c *h2test.Conn, r *h2test.Request) { c.Large(r, 1e6) }))},
	{name: "1 byte in each DATA", script: each(func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200", "content-length", "100")
		for range 99 {
			c.Data(r.ID, false, "x")
		}
		c.Data(r.ID, true, "x")
	})},
	{name: "HEAD", script: each(nil), change: func(o *http.Options, e *engine.Options) { o.Method = "HEAD" }},
	{name: "a window of the connection that is almost full", script: greet(func(c *h2test.Conn) { c.Window(0, 1<<31-1-65535) })},
}

func TestH2Right(t *testing.T) {
	quietly(t)
	for _, c := range h2Right {
		c.want, c.many = "9 ok", "40 ok"
		runH2(t, c, everywhere()...)
	}
}
