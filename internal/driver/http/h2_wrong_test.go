package http_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/taktload/takt/internal/test/h2test"
)

// h2Wrong is what a server does in place of an answer, and what RFC 9113 makes of that.
type h2Wrong struct {
	name string
	do   func(c *h2test.Conn, r *h2test.Request)
	// The error: of the stream, of the connection, or, if the client may choose, of either.
	scope h2Scope
	code  http2.ErrCode
	class string // of the failure; "": malformed
	// What net/http's client counts instead alone, where that differs.
	net     h2Want
	netMany h2Want // in loads; "": as net
}

// accepts is when net/http does not mind.
const accepts = allOK

type h2Scope int

const (
	ofStream h2Scope = iota // every other stream goes on
	ofConn                  // the next request needs another connection
	ofEither
	ofNeither // a client may not mind
)

// saysGoAway is whether the client says why it ends a connection, as it SHOULD: RFC 9113, 5.4.1.
const saysGoAway = true

func status(c *h2test.Conn, r *h2test.Request) { c.Head(r.ID, false, ":status", "200") }

// fields is an answer of this header block, and a body.
func fields(list ...string) func(c *h2test.Conn, r *h2test.Request) {
	return func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, list...)
		c.Data(r.ID, false, "ok")
	}
}

// block is an answer whose header block is encoded so.
func block(b string) func(c *h2test.Conn, r *h2test.Request) {
	return func(c *h2test.Conn, r *h2test.Request) { c.Raw(http2.FrameHeaders, headersEnd, r.ID, b) }
}

// raw is a frame on the stream of the request plus ahead, after the header block of the answer.
func rawFrame(kind http2.FrameType, flags http2.Flags, ahead uint32, payload string) func(c *h2test.Conn, r *h2test.Request) {
	return func(c *h2test.Conn, r *h2test.Request) { status(c, r); c.Raw(kind, flags, r.ID+ahead, payload) }
}

// connFrame is a frame on the connection.
func connFrame(kind http2.FrameType, flags http2.Flags, payload string) func(c *h2test.Conn, r *h2test.Request) {
	return func(c *h2test.Conn, r *h2test.Request) { c.Raw(kind, flags, 0, payload) }
}

func setting(id http2.SettingID, v uint32) func(c *h2test.Conn, r *h2test.Request) {
	return func(c *h2test.Conn, r *h2test.Request) { c.Settings(http2.Setting{ID: id, Val: v}) }
}

// tooLarge is a payload larger than the client has allowed.
func tooLarge(c *h2test.Conn) string {
	return strings.Repeat("\x00", int(c.Theirs(http2.SettingMaxFrameSize))+1)
}

const (
	protocolError = http2.ErrCodeProtocol
	flowError     = http2.ErrCodeFlowControl
	sizeError     = http2.ErrCodeFrameSize
	compression   = http2.ErrCodeCompression
	anyCode       = http2.ErrCode(0xffff)
)

// Frames that are wrong: RFC 9113, 4 to 6.
var h2WrongFrames = []h2Wrong{
	// 6.1 and 6.2
	{name: "DATA on the connection", do: connFrame(http2.FrameData, 0, "x"), scope: ofConn, code: protocolError},
	{name: "DATA on an idle stream", do: rawFrame(http2.FrameData, 0, 2, "x"), scope: ofConn, code: protocolError},
	{name: "DATA on an even stream", do: rawFrame(http2.FrameData, 0, 1, "x"), scope: ofConn, code: protocolError, net: accepts},
	{name: "DATA padded beyond its end", do: rawFrame(http2.FrameData, http2.FlagDataPadded, 0, "\x03ab"), scope: ofConn, code: protocolError},
	{name: "DATA padded without a length", do: rawFrame(http2.FrameData, http2.FlagDataPadded, 0, ""), scope: ofConn, code: anyCode, net: "6 ok, 3 truncated"},
	{name: "DATA before HEADERS", do: func(c *h2test.Conn, r *h2test.Request) { c.Data(r.ID, false, "x") }, code: protocolError},
	{name: "HEADERS on the connection", do: func(c *h2test.Conn, r *h2test.Request) { c.Head(0, false, ":status", "200") }, scope: ofConn, code: protocolError},
	{name: "HEADERS on an idle stream", do: func(c *h2test.Conn, r *h2test.Request) { c.Head(r.ID+2, false, ":status", "200") }, scope: ofConn, code: protocolError, net: accepts},
	{name: "HEADERS on an even stream", do: func(c *h2test.Conn, r *h2test.Request) { c.Head(2, false, ":status", "200") }, scope: ofConn, code: protocolError, net: accepts},
	{name: "HEADERS padded beyond their end", do: func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(http2.FrameHeaders, headersEnd|http2.FlagHeadersPadded, r.ID, "\x09\x88")
	}, scope: ofConn, code: protocolError},
	{name: "HEADERS with half a priority", do: func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(http2.FrameHeaders, headersEnd|http2.FlagHeadersPriority, r.ID, "\x00\x00")
	}, scope: ofConn, code: anyCode, net: "6 ok, 3 closed"},
	{name: "CONTINUATION without HEADERS", do: rawFrame(http2.FrameContinuation, headersEnd, 0, "\x88"), scope: ofConn, code: protocolError},
	{name: "CONTINUATION of another stream", do: func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(http2.FrameHeaders, 0, r.ID, "\x88")
		c.Raw(http2.FrameContinuation, headersEnd, r.ID+2, "")
	}, scope: ofConn, code: protocolError},
	{name: "DATA within a header block", do: within(http2.FrameData, 0), scope: ofConn, code: protocolError},
	{name: "HEADERS within a header block", do: within(http2.FrameHeaders, headersEnd), scope: ofConn, code: protocolError},
	{name: "an unknown frame within a header block", do: within(0x42, 0), scope: ofConn, code: protocolError},
	{name: "PING within a header block", do: func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(http2.FrameHeaders, 0, r.ID, "\x88")
		c.Ping()
	}, scope: ofConn, code: protocolError},
	// 6.3 and 6.4
	{name: "PRIORITY of 4 bytes", do: rawFrame(http2.FramePriority, 0, 0, "\x00\x00\x00\x00"), scope: ofEither, code: sizeError},
	{name: "PRIORITY on the connection", do: connFrame(http2.FramePriority, 0, "\x00\x00\x00\x00\x00"), scope: ofConn, code: protocolError},
	{name: "RST_STREAM of 3 bytes", do: rawFrame(http2.FrameRSTStream, 0, 0, "\x00\x00\x00"), scope: ofConn, code: sizeError},
	{name: "RST_STREAM on the connection", do: connFrame(http2.FrameRSTStream, 0, "\x00\x00\x00\x00"), scope: ofConn, code: protocolError},
	{name: "RST_STREAM on an idle stream", do: rawFrame(http2.FrameRSTStream, 0, 2, "\x00\x00\x00\x00"), scope: ofConn, code: protocolError, net: accepts},
	// 6.5
	{name: "SETTINGS of 5 bytes", do: connFrame(http2.FrameSettings, 0, "\x00\x01\x00\x00\x00"), scope: ofConn, code: sizeError},
	{name: "SETTINGS on a stream", do: rawFrame(http2.FrameSettings, 0, 0, ""), scope: ofConn, code: protocolError},
	{name: "SETTINGS ACK with a payload", do: connFrame(http2.FrameSettings, http2.FlagSettingsAck, "\x00\x01\x00\x00\x00\x00"), scope: ofConn, code: sizeError},
	{name: "ENABLE_PUSH 1", do: setting(http2.SettingEnablePush, 1), scope: ofConn, code: protocolError, net: accepts},
	{name: "ENABLE_PUSH 2", do: setting(http2.SettingEnablePush, 2), scope: ofConn, code: protocolError},
	{name: "INITIAL_WINDOW_SIZE 2^31", do: setting(http2.SettingInitialWindowSize, 1<<31), scope: ofConn, code: flowError},
	{name: "MAX_FRAME_SIZE 1", do: setting(http2.SettingMaxFrameSize, 1), scope: ofConn, code: protocolError},
	{name: "MAX_FRAME_SIZE 2^24", do: setting(http2.SettingMaxFrameSize, 1<<24), scope: ofConn, code: protocolError},
	// 6.6 to 6.8
	{name: "PUSH_PROMISE", do: rawFrame(http2.FramePushPromise, http2.FlagPushPromiseEndHeaders, 0, "\x00\x00\x00\x02\x82\x84\x86"), scope: ofConn, code: protocolError},
	{name: "PING of 7 bytes", do: connFrame(http2.FramePing, 0, "1234567"), scope: ofConn, code: sizeError},
	{name: "PING on a stream", do: rawFrame(http2.FramePing, 0, 0, "12345678"), scope: ofConn, code: protocolError},
	{name: "GOAWAY of 7 bytes", do: connFrame(http2.FrameGoAway, 0, "\x00\x00\x00\x00\x00\x00\x00"), scope: ofConn, code: sizeError},
	{name: "GOAWAY on a stream", do: rawFrame(http2.FrameGoAway, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x00"), scope: ofConn, code: protocolError},
	// 6.9
	{name: "WINDOW_UPDATE of 3 bytes", do: connFrame(http2.FrameWindowUpdate, 0, "\x00\x00\x01"), scope: ofConn, code: sizeError},
	{name: "WINDOW_UPDATE 0 of the connection", do: connFrame(http2.FrameWindowUpdate, 0, "\x00\x00\x00\x00"), scope: ofConn, code: protocolError},
	{name: "WINDOW_UPDATE 0 of a stream", do: rawFrame(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"), code: protocolError},
	{name: "WINDOW_UPDATE of an idle stream", do: rawFrame(http2.FrameWindowUpdate, 0, 2, "\x00\x00\x00\x01"), scope: ofConn, code: protocolError, net: accepts},
	{name: "WINDOW_UPDATE beyond 2^31-1 of the connection", do: connFrame(http2.FrameWindowUpdate, 0, "\x7f\xff\xff\xff"), scope: ofConn, code: flowError},
	// A client may have forgotten the window of a stream on which it has sent everything.
	{name: "WINDOW_UPDATE beyond 2^31-1 of a stream", do: rawFrame(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff"), scope: ofNeither, net: leftOut},
	{name: "INITIAL_WINDOW_SIZE lifts a stream beyond 2^31-1", do: func(c *h2test.Conn, r *h2test.Request) {
		c.Window(r.ID, 1<<31-1-65535)
		c.Settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65536})
	}, scope: ofNeither, net: leftOut},
	// 4.2
	{name: "DATA larger than a frame may be", do: func(c *h2test.Conn, r *h2test.Request) { status(c, r); c.Data(r.ID, false, tooLarge(c)) }, scope: ofEither, code: sizeError, net: "6 ok, 3 protocol"},
	{name: "HEADERS larger than a frame may be", do: func(c *h2test.Conn, r *h2test.Request) { c.Raw(http2.FrameHeaders, headersEnd, r.ID, tooLarge(c)) }, scope: ofConn, code: sizeError, net: "6 ok, 3 protocol"},
	{name: "an unknown frame larger than a frame may be", do: func(c *h2test.Conn, r *h2test.Request) { c.Raw(0x42, 0, 0, tooLarge(c)) }, scope: ofConn, code: sizeError, net: "6 ok, 3 protocol"},
	// 4.3 and RFC 7541
	{name: "a header block with index 0", do: block("\x80"), scope: ofConn, code: compression},
	{name: "a header block with an index beyond the table", do: block("\xff\xff\x03"), scope: ofConn, code: compression},
	{name: "a header block that ends within a field", do: block("\x88\x40\x05ab"), scope: ofConn, code: compression},
	{name: "a header block with an endless number", do: block("\x88\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), scope: ofConn, code: compression},
	{name: "a header block with a wrong Huffman code", do: block("\x88\x00\x01a\x84\xff\xff\xff\xff"), scope: ofConn, code: compression},
	{name: "a header block with a table larger than allowed", do: block("\x3f\xe1\xff\xff\x7f\x88"), scope: ofConn, code: compression},
	{name: "a header block with a late size of the table", do: block("\x88\x20"), scope: ofConn, code: compression},
}

// within is a frame between the parts of a header block.
func within(kind http2.FrameType, flags http2.Flags) func(c *h2test.Conn, r *h2test.Request) {
	return func(c *h2test.Conn, r *h2test.Request) {
		c.Raw(http2.FrameHeaders, 0, r.ID, "\x88")
		c.Raw(kind, flags, r.ID, "")
	}
}

// Answers that are malformed: RFC 9113, 8. All are errors of their stream.
var h2WrongAnswers = []h2Wrong{
	{name: "no status", do: fields("server", "x"), code: protocolError},
	{name: "no fields", do: fields(), code: protocolError},
	{name: "status twice", do: fields(":status", "200", ":status", "200"), code: protocolError},
	{name: "status abc", do: fields(":status", "abc"), code: protocolError},
	{name: "status 20", do: fields(":status", "20"), code: protocolError, net: accepts},
	{name: "status 2000", do: fields(":status", "2000"), code: protocolError, net: accepts},
	{name: "status -20", do: fields(":status", "-20"), code: protocolError, net: accepts},
	{name: "status after a field", do: fields("server", "x", ":status", "200"), code: protocolError},
	{name: "an unknown pseudo-field", do: fields(":status", "200", ":what", "x"), code: protocolError},
	{name: "the pseudo-field of a request", do: fields(":status", "200", ":path", "/"), code: protocolError},
	{name: "an uppercase name", do: fields(":status", "200", "Server", "x"), code: protocolError},
	{name: "an empty name", do: fields(":status", "200", "", "x"), code: protocolError},
	{name: "a name with a space", do: fields(":status", "200", "a b", "x"), code: protocolError},
	{name: "a value with a line break", do: fields(":status", "200", "server", "x\r\ny: z"), code: protocolError},
	{name: "a value with NUL", do: fields(":status", "200", "server", "x\x00"), code: protocolError},
	{name: "connection", do: fields(":status", "200", "connection", "close"), code: protocolError, net: accepts},
	{name: "transfer-encoding", do: fields(":status", "200", "transfer-encoding", "chunked"), code: protocolError, net: accepts},
	{name: "status 101", do: fields(":status", "101"), code: protocolError},
	{name: "100 with END_STREAM", do: func(c *h2test.Conn, r *h2test.Request) { c.Head(r.ID, true, ":status", "100") }, code: anyCode},
	{name: "trailers without END_STREAM", do: func(c *h2test.Conn, r *h2test.Request) {
		status(c, r)
		c.Head(r.ID, false, "sum", "1")
	}, code: protocolError, netMany: "ok, malformed"}, // it ends the connection
	{name: "trailers with a status", do: func(c *h2test.Conn, r *h2test.Request) {
		status(c, r)
		c.Head(r.ID, true, ":status", "200")
	}, code: anyCode, netMany: "ok, malformed"},
	{name: "DATA between 100 and 200", do: func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "100")
		c.Data(r.ID, false, "x")
	}, code: protocolError},
	{name: "content-length is more than the body", do: func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200", "content-length", "3")
		c.Data(r.ID, true, "ok")
	}, code: anyCode, class: "malformed|truncated"},
	{name: "content-length is less than the body", do: func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200", "content-length", "1")
		c.Data(r.ID, false, "ok")
	}, code: protocolError},
	{name: "content-length without a body", do: func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, true, ":status", "200", "content-length", "1")
	}, code: anyCode, class: "malformed|truncated"},
	{name: "content-length is not a number", do: fields(":status", "200", "content-length", "x"), code: protocolError, net: accepts},
	{name: "content-length of 2^63-1", do: func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200", "content-length", "9223372036854775807")
		c.Data(r.ID, true, "ok")
	}, code: anyCode, class: "malformed|truncated|too_large"},
	{name: "content-length of 10^30", do: fields(":status", "200", "content-length", "1000000000000000000000000000000"), code: anyCode, class: "malformed|too_large", net: accepts},
	{name: "two different content-lengths", do: fields(":status", "200", "content-length", "2", "content-length", "3"), code: protocolError, net: accepts},
	{name: "204 with a body", do: fields(":status", "204"), scope: ofNeither},
	{name: "a header list over the limit", do: func(c *h2test.Conn, r *h2test.Request) { headList(c, r, 80) }, scope: ofEither, code: anyCode, class: "too_large", net: "6 ok, 3 malformed"},
	{name: "a header list over the limit, in few bytes", do: func(c *h2test.Conn, r *h2test.Request) {
		// one field of 1 kB in the table, and 80 times one byte
		c.Raw(http2.FrameHeaders, headersEnd, r.ID, "\x88\x40\x01a\x7f\xe9\x06"+strings.Repeat("x", 1000)+strings.Repeat("\xbe", 80))
	}, scope: ofEither, code: anyCode, class: "too_large"},
	// Streams that the server resets.
	{name: "RST_STREAM CANCEL", do: func(c *h2test.Conn, r *h2test.Request) { c.Reset(r.ID, http2.ErrCodeCancel) }, code: anyCode, class: "reset"},
	{name: "RST_STREAM INTERNAL_ERROR", do: func(c *h2test.Conn, r *h2test.Request) { c.Reset(r.ID, http2.ErrCodeInternal) }, code: anyCode, class: "reset"},
	{name: "RST_STREAM NO_ERROR", do: func(c *h2test.Conn, r *h2test.Request) { c.Reset(r.ID, http2.ErrCodeNo) }, code: anyCode, class: "reset"},
	{name: "RST_STREAM with an unknown code", do: func(c *h2test.Conn, r *h2test.Request) { c.Reset(r.ID, 0x4242) }, code: anyCode, class: "reset"},
	{name: "RST_STREAM within the answer", do: func(c *h2test.Conn, r *h2test.Request) {
		status(c, r)
		c.Data(r.ID, false, "o")
		c.Reset(r.ID, http2.ErrCodeInternal)
	}, code: anyCode, class: "reset"},
	{name: "RST_STREAM ENHANCE_YOUR_CALM", do: func(c *h2test.Conn, r *h2test.Request) { c.Reset(r.ID, http2.ErrCodeEnhanceYourCalm) }, code: anyCode, class: "reset"},
}

// headList answers with a header list of so many kB.
func headList(c *h2test.Conn, r *h2test.Request, kB int) {
	field := "\x00\x01a\x7f\xe9\x06" + strings.Repeat("x", 1000) // not indexed; 1000 bytes
	c.Raw(http2.FrameHeaders, 0, r.ID, "\x88")
	for range kB / 10 {
		c.Raw(http2.FrameContinuation, 0, r.ID, strings.Repeat(field, 10))
	}
	c.Raw(http2.FrameContinuation, http2.FlagContinuationEndHeaders, r.ID, "")
	c.Data(r.ID, true, "ok")
}

// Every third request is answered wrong, in loads every fourth. It fails. A connection with an
// error of its own is not used again, another one is; errors of streams cost nothing else.
func TestH2Wrong(t *testing.T) {
	quietly(t)
	for _, w := range slices.Concat(h2WrongFrames, h2WrongAnswers) {
		loads := []h2Load{h2Alone, h2Loads[0], h2Loads[3]}
		if w.scope == ofStream {
			loads = everywhere()
		}
		for _, client := range h2Clients() {
			for _, load := range thin(client, loads) {
				w.in(client, load).start(t, client, load)
			}
		}
	}
}

// in is the case of w for one run.
func (w *h2Wrong) in(client h2Client, load h2Load) h2Case {
	c := h2Case{name: w.name, net: w.net, netMany: w.netMany, check: w.check}
	more := strings.NewReplacer("6 ok", "30 ok", "9 ok", "40 ok", "3 ", "10 ")
	switch w.scope {
	case ofStream:
		c.want = h2Want("6 ok, 3 " + w.failure())
		c.many, c.netMany = h2Want(more.Replace(string(c.want))), cmp.Or(w.netMany, h2Want(more.Replace(string(w.net))))
	case ofNeither:
		c.want, c.many = h2Want("9 ok|"+w.failure()), h2Want("40 ok|"+w.failure())
	default: // how many streams a connection has when it ends is chance
		c.want, c.many, c.netMany = h2Want("6 ok, 3 "+w.failure()), anything, anything
	}
	n := 4
	if load.alone() {
		n = 3
	}
	// Alone the stream stays open after the error, unless the client may not mind: then it is
	// complete, so that nothing has to time out. In loads all are.
	completely := !load.alone() || client.net() || w.scope == ofNeither
	c.script = each(func(c *h2test.Conn, r *h2test.Request) {
		if r.N%n != 0 {
			c.Answer(r)
			return
		}
		w.do(c, r)
		if completely {
			c.Complete(r)
		}
	})
	return c
}

func (w *h2Wrong) failure() string {
	if w.class != "" {
		return w.class
	}
	return "malformed"
}

func (w *h2Wrong) check(t *testing.T, r *h2Run) {
	if r.client.net() || !r.load.alone() {
		return
	}
	conns, seen := len(r.server.Conns()), r.server.Seen()
	const told = 2 // after the third error the run is over, and the client may just close
	switch w.scope {
	case ofStream:
		if conns != 1 {
			t.Errorf("%d connections: an error of a stream ended them", conns)
		}
		if w.code != anyCode && seen.Resets[w.code] < told {
			t.Errorf("RST_STREAM %v: want %d %v", seen.Resets, told, w.code)
		}
	case ofConn:
		if conns != 3 {
			t.Errorf("%d connections: want 3, each up to its error", conns)
		}
		if saysGoAway && w.code != anyCode && seen.GoAways[w.code] < told {
			t.Errorf("GOAWAY %v: want %d %v", seen.GoAways, told, w.code)
		}
	}
}

// The error of DATA in an answer that has none names it: it is no wrong length.
func TestH2DataWithoutABody(t *testing.T) {
	quietly(t)
	for _, status := range []string{"204", "304"} {
		runH2(t, h2Case{name: status, script: each(fields(":status", status)), want: anything, check: func(t *testing.T, r *h2Run) {
			if errs := r.report.Errors; !r.client.net() && (len(errs) != 1 || errs[0].Class != "malformed" || !strings.Contains(errs[0].Sample, "DATA of an answer that has none")) {
				t.Errorf("%+v", errs)
			}
		}}, h2Alone)
	}
}
