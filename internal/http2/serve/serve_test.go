package serve

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/taktload/takt/internal/http2/wire"
)

// script writes what a client sends.
type script struct {
	bytes.Buffer
	*http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
}

// begun is a script after preface and SETTINGS.
func begun(settings ...http2.Setting) *script {
	s := new(script)
	s.Framer = http2.NewFramer(&s.Buffer, nil)
	s.AllowIllegalWrites = true
	s.enc = hpack.NewEncoder(&s.block)
	s.WriteString(wire.Preface)
	_ = s.WriteSettings(settings...)
	return s
}

// fields encodes a header list, written as NAME VALUE, one a line.
func (s *script) fields(list string) []byte {
	s.block.Reset()
	for line := range strings.Lines(list) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		_ = s.enc.WriteField(hpack.HeaderField{Name: name, Value: value})
	}
	return s.block.Bytes()
}

func (s *script) headers(id uint32, ends bool, list string) {
	_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: s.fields(list), EndStream: ends, EndHeaders: true})
}

const (
	get  = ":method GET\n:scheme http\n:authority x\n:path /\n"
	post = ":method POST\n:scheme http\n:authority x\n:path /\n"
	ok   = "content-length 2\n"
)

// talk gives the client's bytes to a connection in pieces, answers each request, and returns what
// was found, what was sent, and the code of the end.
func talk(c *Conn, in []byte, piece int, a *Answer) (events []Event, out []byte, code wire.Code) {
	var unread []byte
	for len(in) > 0 && code == wire.NoError {
		n := min(max(1, piece), len(in))
		unread = append(unread, in[:n]...)
		in = in[n:]
		var used, had = 0, len(events)
		used, events, code = c.Parse(unread, events)
		unread = unread[used:]
		for _, e := range events[had:] {
			if e.Kind == Arrived && a != nil {
				c.Answer(e.Stream, a)
			}
		}
		for b := c.Out(); len(b) > 0; b = c.Out() {
			out = append(out, b...)
			c.Sent(len(b))
		}
	}
	return events, out, code
}

// said is what the server's frames say, those of the connection's beginning left out.
func said(t *testing.T, out []byte) (list []string) {
	t.Helper()
	f := http2.NewFramer(nil, bytes.NewReader(out))
	f.SetMaxReadFrameSize(1 << 20)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for n := 0; ; n++ {
		frame, err := f.ReadFrame()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("after %v: %v, %v", list, err, f.ErrorDetail())
		}
		if n < 2 {
			continue // SETTINGS and WINDOW_UPDATE
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			list = append(list, describe(frame.StreamID, "HEADERS "+frame.PseudoValue("status"), frame.StreamEnded()))
		case *http2.DataFrame:
			list = append(list, describe(frame.StreamID, "DATA "+itoa(len(frame.Data())), frame.StreamEnded()))
		case *http2.RSTStreamFrame:
			list = append(list, describe(frame.StreamID, frame.ErrCode.String(), false))
		case *http2.GoAwayFrame:
			list = append(list, "GOAWAY "+itoa(int(frame.LastStreamID))+" "+frame.ErrCode.String())
		case *http2.PingFrame:
			list = append(list, "PONG "+string(frame.Data[:]))
		case *http2.WindowUpdateFrame:
			list = append(list, describe(frame.StreamID, "WINDOW +"+itoa(int(frame.Increment)), false))
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				t.Errorf("SETTINGS again: %v", frame)
			}
		}
	}
}

func describe(id uint32, what string, ends bool) string {
	if ends {
		what += " END"
	}
	return itoa(int(id)) + ": " + what
}

var small = NewAnswer("body", Field{":status", "200"}, Field{"content-length", "4"})

// What the server says to a client, right or wrong; in one piece and in bytes.
func TestTalk(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, c := range []struct {
		name string
		send func(s *script)
		want string
	}{
		{"a request", func(s *script) { s.headers(1, true, get) }, "1: HEADERS 200, 1: DATA 4 END"},
		{"HEAD", func(s *script) { s.headers(1, true, ":method HEAD\n:scheme http\n:path /\n") }, "1: HEADERS 200 END"},
		{"a body", func(s *script) {
			s.headers(1, false, post+ok)
			_ = s.WriteData(1, false, []byte("a"))
			_ = s.WriteDataPadded(1, true, []byte("b"), make([]byte, 100))
		}, "1: HEADERS 200, 1: DATA 4 END"},
		{"trailers", func(s *script) {
			s.headers(1, false, post)
			_ = s.WriteData(1, false, []byte("a"))
			s.headers(1, true, "x-sum 1\n")
		}, "1: HEADERS 200, 1: DATA 4 END"},
		{"100-continue", func(s *script) {
			s.headers(1, false, post+"expect 100-continue\n")
			_ = s.WriteData(1, true, []byte("a"))
		}, "1: HEADERS 100, 1: HEADERS 200, 1: DATA 4 END"},
		{"CONTINUATION", func(s *script) {
			block := slices.Clone(s.fields(get + "x " + long))
			_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:5], EndStream: true})
			_ = s.WriteContinuation(1, false, block[5:6])
			_ = s.WriteContinuation(1, true, block[6:])
		}, "1: HEADERS 200, 1: DATA 4 END"},
		{"PING and what is unknown", func(s *script) {
			_ = s.WritePing(false, [8]byte([]byte("12345678")))
			_ = s.WriteRawFrame(0xfe, 0xff, 77, []byte("?"))
			_ = s.WriteSettings(http2.Setting{ID: 0x7777, Val: 1})
		}, "PONG 12345678"},
		{"CONTINUATION, and another request", func(s *script) {
			_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: s.fields(get), EndStream: true})
			_ = s.WriteContinuation(1, true, nil)
			s.headers(3, true, get)
		}, "1: HEADERS 200, 3: HEADERS 200, 1: DATA 4 END, 3: DATA 4 END"},
		{"HEADERS with a priority", func(s *script) {
			_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: s.fields(get), EndStream: true, EndHeaders: true, Priority: http2.PriorityParam{StreamDep: 1}})
		}, "1: HEADERS 200, 1: DATA 4 END"},
		{"PRIORITY, GOAWAY and ACK", func(s *script) {
			_ = s.WritePriority(1, http2.PriorityParam{StreamDep: 3})
			_ = s.WriteGoAway(0, 0, nil)
			_ = s.WriteSettingsAck()
			_ = s.WritePing(true, [8]byte{})
			s.headers(1, true, get)
		}, "1: HEADERS 200, 1: DATA 4 END"},
		{"settings at their limits", func(s *script) {
			for id, values := range map[http2.SettingID][]uint32{
				http2.SettingEnablePush: {0, 1}, http2.SettingMaxFrameSize: {16384, 1<<24 - 1}, http2.SettingInitialWindowSize: {1<<31 - 1, 0, 65535},
			} {
				for _, v := range values {
					_ = s.WriteSettings(http2.Setting{ID: id, Val: v})
				}
			}
			s.headers(1, true, get)
		}, "1: HEADERS 200, 1: DATA 4 END"},
		{"windows at their limits", func(s *script) {
			s.headers(1, false, post)
			_ = s.WriteWindowUpdate(1, 1<<31-1-65535)
			_ = s.WriteWindowUpdate(0, 1<<31-1-65535)
			_ = s.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65535})
			_ = s.WriteData(1, true, nil)
		}, "1: HEADERS 200, 1: DATA 4 END"},
		{"padding and nothing else", func(s *script) {
			s.headers(1, false, post)
			_ = s.WriteDataPadded(1, false, nil, []byte{})
			_ = s.WriteDataPadded(1, true, nil, make([]byte, 7))
			s.headers(3, true, get)
		}, "1: HEADERS 200, 1: DATA 4 END, 3: HEADERS 200, 3: DATA 4 END"},
		{"as much padding as data", func(s *script) {
			s.headers(1, false, post)
			_ = s.WriteDataPadded(1, true, []byte("abc"), make([]byte, 3))
		}, "1: HEADERS 200, 1: DATA 4 END"},
		{"a priority and nothing else", func(s *script) {
			_ = s.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersPriority|http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, 1, make([]byte, 5))
		}, "1: PROTOCOL_ERROR"},
		{"trailers of a stream that is over", func(s *script) { s.headers(1, false, get+"A x\n"); s.headers(1, true, "x y\n") }, "1: PROTOCOL_ERROR"},
		{"lengths", func(s *script) {
			s.headers(1, false, post+"content-length 19\ncontent-length 19\n")
			_ = s.WriteData(1, true, make([]byte, 19))
			s.headers(3, true, get+"content-length 000000000000000000\n[ x\n@ x\n")
		}, "1: HEADERS 200, 1: DATA 4 END, 3: HEADERS 200, 3: DATA 4 END"},
		{"no scheme", func(s *script) { s.headers(1, true, ":method GET\n:path /\n") }, "1: PROTOCOL_ERROR"},
		{"no path", func(s *script) { s.headers(1, true, ":method GET\n:scheme http\n") }, "1: PROTOCOL_ERROR"},
		{"an empty path", func(s *script) { s.headers(1, true, ":method GET\n:scheme http\n:path\n") }, "1: PROTOCOL_ERROR"},
		{"a pseudo-header without a name", func(s *script) { s.headers(1, true, get+": x\n") }, "1: PROTOCOL_ERROR"},
		{"A and Z", func(s *script) { s.headers(1, true, get+"A x\n"); s.headers(3, true, get+"Z x\n") }, "1: PROTOCOL_ERROR, 3: PROTOCOL_ERROR"},
		{"no length", func(s *script) { s.headers(1, true, get+"content-length\n") }, "1: PROTOCOL_ERROR"},
		{"a length of 19 digits", func(s *script) { s.headers(1, true, get+"content-length 0000000000000000000\n") }, "1: PROTOCOL_ERROR"},
		{"a length of :", func(s *script) {
			s.headers(1, false, post+"content-length :\n")
			_ = s.WriteData(1, true, make([]byte, 10))
		}, "1: PROTOCOL_ERROR"},
		{"a field without a name", func(s *script) { s.headers(1, true, get+"\n") }, "1: HEADERS 200, 1: DATA 4 END"},
		{"lengths of 0 and 1", func(s *script) {
			s.headers(1, false, post+"content-length 0\ncontent-length 1\n")
			_ = s.WriteData(1, true, make([]byte, 1))
		}, "1: PROTOCOL_ERROR"},
		{"an old stream with a request that ends", func(s *script) { s.headers(3, true, get); s.headers(1, true, get) },
			"3: HEADERS 200, 3: DATA 4 END"},
		{"a body although the length is 0", func(s *script) {
			s.headers(1, false, post+"content-length 0\n")
			_ = s.WriteData(1, true, []byte("a"))
		}, "1: PROTOCOL_ERROR"},
		{"trailers that do not end", func(s *script) { s.headers(1, false, post); s.headers(1, false, "x y\n") }, "1: PROTOCOL_ERROR"},
		{"trailers with a wrong name", func(s *script) { s.headers(1, false, post); s.headers(1, true, "X y\n") }, "1: PROTOCOL_ERROR"},
		{"a window of all streams over its limit", func(s *script) {
			s.headers(1, false, post)
			_ = s.WriteWindowUpdate(1, 1<<31-1-65535)
			_ = s.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65536})
		}, "GOAWAY 1 FLOW_CONTROL_ERROR"},
		{"one stream too many", func(s *script) {
			for id := uint32(1); id < 9; id += 2 {
				s.headers(id, false, post)
			}
			_ = s.WriteData(7, true, []byte("of the refused stream"))
			_ = s.WriteData(3, true, nil)
		}, "7: REFUSED_STREAM, 3: HEADERS 200, 3: DATA 4 END"},
		{"a stream that the client resets", func(s *script) {
			s.headers(1, false, post)
			_ = s.WriteRSTStream(1, http2.ErrCodeCancel)
			_ = s.WriteData(1, true, nil)
			s.headers(3, true, get)
		}, "3: HEADERS 200, 3: DATA 4 END"},
		{"no method", func(s *script) { s.headers(1, true, ":scheme http\n:path /\n"); s.headers(3, true, get) },
			"1: PROTOCOL_ERROR, 3: HEADERS 200, 3: DATA 4 END"},
		{"a pseudo-header twice", func(s *script) { s.headers(1, true, get+":path /\n") }, "1: PROTOCOL_ERROR"},
		{"a pseudo-header after others", func(s *script) { s.headers(1, true, "a b\n"+get) }, "1: PROTOCOL_ERROR"},
		{"an unknown pseudo-header", func(s *script) { s.headers(1, true, get+":x y\n") }, "1: PROTOCOL_ERROR"},
		{"a name in upper case", func(s *script) { s.headers(1, true, get+"A b\n") }, "1: PROTOCOL_ERROR"},
		{"Connection", func(s *script) { s.headers(1, true, get+"connection close\n") }, "1: PROTOCOL_ERROR"},
		{"TE", func(s *script) { s.headers(1, true, get+"te gzip\n"); s.headers(3, true, get+"te trailers\n") },
			"1: PROTOCOL_ERROR, 3: HEADERS 200, 3: DATA 4 END"},
		{"a body shorter than it says", func(s *script) { s.headers(1, true, post+ok) }, "1: PROTOCOL_ERROR"},
		{"a length that is no number", func(s *script) { s.headers(1, true, get+"content-length 1x\n") }, "1: PROTOCOL_ERROR"},
		{"two lengths", func(s *script) { s.headers(1, true, get+"content-length 0\ncontent-length 1\n") }, "1: PROTOCOL_ERROR"},
		{"trailers with a pseudo-header", func(s *script) { s.headers(1, false, post); s.headers(1, true, ":path /\n") }, "1: PROTOCOL_ERROR"},
		{"WINDOW_UPDATE of 0 on a stream", func(s *script) { s.headers(1, false, post); _ = s.WriteWindowUpdate(1, 0) }, "1: PROTOCOL_ERROR"},
		{"a window over its limit", func(s *script) {
			s.headers(1, false, post)
			_ = s.WriteWindowUpdate(1, 1<<31-1)
		}, "1: FLOW_CONTROL_ERROR"},

		// The end of the connection.
		{"ACK instead of SETTINGS", func(s *script) { s.Truncate(len(wire.Preface)); _ = s.WriteSettingsAck() }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"a short priority", func(s *script) {
			_ = s.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersPriority, 1, make([]byte, 4))
		}, "GOAWAY 0 FRAME_SIZE_ERROR"},
		{"PRIORITY of 4 bytes", func(s *script) { _ = s.WriteRawFrame(http2.FramePriority, 0, 1, make([]byte, 4)) }, "GOAWAY 0 FRAME_SIZE_ERROR"},
		{"PRIORITY of no stream", func(s *script) { _ = s.WriteRawFrame(http2.FramePriority, 0, 0, make([]byte, 5)) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"GOAWAY of 7 bytes", func(s *script) { _ = s.WriteRawFrame(http2.FrameGoAway, 0, 0, make([]byte, 7)) }, "GOAWAY 0 FRAME_SIZE_ERROR"},
		{"GOAWAY on a stream", func(s *script) { _ = s.WriteRawFrame(http2.FrameGoAway, 0, 1, make([]byte, 8)) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"CONTINUATION of another stream", func(s *script) {
			_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			_ = s.WriteContinuation(3, true, nil)
		}, "GOAWAY 0 PROTOCOL_ERROR"},
		{"SETTINGS of 5 bytes", func(s *script) { _ = s.WriteRawFrame(http2.FrameSettings, 0, 0, make([]byte, 5)) }, "GOAWAY 0 FRAME_SIZE_ERROR"},
		{"ACK with settings", func(s *script) {
			_ = s.WriteRawFrame(http2.FrameSettings, http2.FlagSettingsAck, 0, make([]byte, 6))
		}, "GOAWAY 0 FRAME_SIZE_ERROR"},
		{"push of 2", func(s *script) { _ = s.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 2}) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"frames of 16 MiB", func(s *script) { _ = s.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 24}) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"a first window over its limit", func(s *script) {
			_ = s.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31})
		}, "GOAWAY 0 FLOW_CONTROL_ERROR"},
		{"DATA without a byte for its padding", func(s *script) {
			s.headers(1, false, post)
			_ = s.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, nil)
		}, "GOAWAY 1 FRAME_SIZE_ERROR"},
		{"no SETTINGS", func(s *script) { s.Truncate(len(wire.Preface)); s.headers(1, true, get) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"another protocol", func(s *script) { s.Truncate(0); s.WriteString("GET / HTTP/1.1\r\n\r\n") }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"an even stream", func(s *script) { s.headers(2, true, get) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"an old stream", func(s *script) { s.headers(3, true, get); s.headers(1, false, get) },
			"GOAWAY 3 PROTOCOL_ERROR"},
		{"a stream twice", func(s *script) { s.headers(1, true, get+"A x\n"); s.headers(1, false, get) }, "GOAWAY 1 PROTOCOL_ERROR"},
		{"DATA of no stream", func(s *script) { _ = s.WriteData(1, true, nil) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"RST_STREAM of no stream", func(s *script) { _ = s.WriteRSTStream(1, 0) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"WINDOW_UPDATE of no stream", func(s *script) { _ = s.WriteWindowUpdate(1, 1) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"WINDOW_UPDATE of 0", func(s *script) { _ = s.WriteWindowUpdate(0, 0) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"a window of the connection over its limit", func(s *script) { _ = s.WriteWindowUpdate(0, 1<<31-1) }, "GOAWAY 0 FLOW_CONTROL_ERROR"},
		{"CONTINUATION of nothing", func(s *script) { _ = s.WriteContinuation(1, true, nil) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"another frame before CONTINUATION", func(s *script) {
			_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			_ = s.WritePing(false, [8]byte{})
		}, "GOAWAY 0 PROTOCOL_ERROR"},
		{"a header block that never ends", func(s *script) {
			_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			for range 5 {
				_ = s.WriteContinuation(1, false, make([]byte, 16<<10))
			}
		}, "GOAWAY 0 ENHANCE_YOUR_CALM"},
		{"a header list that is too large", func(s *script) {
			block := []byte{}
			for range 2000 {
				block = append(block, 0x80|19) // :method DELETE … any static entry
			}
			_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndHeaders: true})
		}, "GOAWAY 0 ENHANCE_YOUR_CALM"},
		{"a block that cannot be decoded", func(s *script) {
			_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff, 0xff, 0xff}, EndHeaders: true})
		}, "GOAWAY 0 COMPRESSION_ERROR"},
		{"a long frame", func(s *script) { _ = s.WriteRawFrame(0, 0, 1, make([]byte, 16<<10+1)) }, "GOAWAY 0 FRAME_SIZE_ERROR"},
		{"PING of 7 bytes", func(s *script) { _ = s.WriteRawFrame(http2.FramePing, 0, 0, make([]byte, 7)) }, "GOAWAY 0 FRAME_SIZE_ERROR"},
		{"PING on a stream", func(s *script) { _ = s.WriteRawFrame(http2.FramePing, 0, 1, make([]byte, 8)) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"SETTINGS on a stream", func(s *script) { _ = s.WriteRawFrame(http2.FrameSettings, 0, 1, nil) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"a wrong setting", func(s *script) { _ = s.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1}) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"PUSH_PROMISE", func(s *script) { _ = s.WriteRawFrame(http2.FramePushPromise, 0, 1, make([]byte, 4)) }, "GOAWAY 0 PROTOCOL_ERROR"},
		{"padding beyond its frame", func(s *script) {
			s.headers(1, false, post)
			_ = s.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, []byte{9, 0})
		}, "GOAWAY 1 PROTOCOL_ERROR"},
		{"HEADERS without a byte for their padding", func(s *script) { _ = s.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersPadded, 1, nil) }, "GOAWAY 0 FRAME_SIZE_ERROR"},
	} {
		for _, piece := range []int{1, 1 << 20} {
			s := begun()
			c.send(s)
			conn := New(3, 0)
			_, out, code := talk(conn, s.Bytes(), piece, &small)
			if n := conn.Open(); code == wire.NoError && n != 0 && c.name != "one stream too many" {
				t.Errorf("%s: %d streams are open", c.name, n)
			}
			got := slices.DeleteFunc(said(t, out), func(line string) bool { return c.want[0] == 'G' && line[0] != 'G' })
			if text := byStream(got); text != byStream(strings.Split(c.want, ", ")) {
				t.Errorf("%s, in pieces of %d: %s; want %s", c.name, piece, text, c.want)
			}
		}
	}
}

// byStream sorts by stream, since streams may interleave.
func byStream(list []string) string {
	slices.SortStableFunc(list, func(a, b string) int {
		return cmp.Compare(a[:strings.Index(a+":", ":")], b[:strings.Index(b+":", ":")])
	})
	return strings.Join(list, ", ")
}

// The events say what came; a refused stream and a wrong request are not requests.
func TestEvents(t *testing.T) {
	s := begun()
	s.headers(1, true, ":method HEAD\n:scheme http\n:path /\n")
	s.headers(3, true, ":scheme http\n:path /\n")
	s.headers(5, true, get)
	s.headers(7, true, get)
	s.headers(9, true, post+ok)
	c := New(2, 0)
	events, _, code := talk(c, s.Bytes(), 1<<20, nil)
	want := []Event{{1, Arrived, true, nil}, {3, Malformed, false, nil}, {5, Arrived, false, nil}, {7, Refused, false, nil}, {9, Refused, false, nil}}
	if !slices.Equal(events, want) || code != wire.NoError || c.Open() != 2 {
		t.Errorf("%v, %v, %d are open", events, code, c.Open())
	}
	c.Reset(5, wire.InternalError)
	s.Reset()
	s.headers(11, true, post+ok)
	if _, events, _ = c.Parse(s.Bytes(), nil); !slices.Equal(events, []Event{{11, Malformed, false, nil}}) {
		t.Errorf("%v of a request without its body", events)
	}
	c.Sent(len(c.Out()))
	c.Reset(1, wire.InternalError)
	if c.Answer(1, &small); c.Open() != 0 || strings.Join(said(t, append(skipped(), c.Out()...)), ", ") != "1: INTERNAL_ERROR" {
		t.Errorf("%q after a reset", c.Out())
	}
}

// Streams that follow others are separate.
func TestReuse(t *testing.T) {
	c, s := New(3, 0), begun()
	for id := uint32(1); id < 6; id += 2 {
		s.headers(id, true, get)
	}
	_, _, _ = talk(c, s.Bytes(), 1<<20, &small)
	s.Reset()
	s.headers(7, false, post+ok)
	s.headers(9, false, post+"content-length 1\n")
	_ = s.WriteData(9, true, []byte("a"))
	_ = s.WriteData(7, true, []byte("ab"))
	_, out, code := talk(c, s.Bytes(), 1<<20, &small)
	if got := byStream(said(t, append(skipped(), out...))); got != "7: HEADERS 200, 7: DATA 4 END, 9: HEADERS 200, 9: DATA 4 END" || code != wire.NoError {
		t.Error(got, code)
	}
}

// What is sent goes, and what waits remains, however it is sent.
func TestOut(t *testing.T) {
	a := NewAnswer(strings.Repeat("x", 100_000), Field{":status", "200"})
	s := begun(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
	_ = s.WriteWindowUpdate(0, 1<<30)
	s.headers(1, true, get)
	s.headers(3, true, get)
	var whole []byte
	for _, step := range []int{1 << 30, 1, 1000, wire.OutFull, wire.OutFull + 1} {
		c := New(3, 0)
		_, list, _ := c.Parse(s.Bytes(), nil)
		for _, e := range list {
			c.Answer(e.Stream, &a)
		}
		var out []byte
		for b := c.Out(); len(b) > 0; b = c.Out() {
			n := min(step, len(b))
			out = append(out, b[:n]...)
			if c.Sent(n); c.Waiting() != len(b)-n || len(c.out) > 3*wire.OutFull {
				t.Fatalf("in steps of %d: %d bytes wait of %d, in %d", step, c.Waiting(), len(b)-n, len(c.out))
			}
		}
		if whole == nil {
			whole = out
		}
		if len(out) < 200_000 || !bytes.Equal(out, whole) {
			t.Errorf("in steps of %d: %d bytes, %d at once", step, len(out), len(whole))
		}
	}
}

// skipped are two frames for said to leave out.
func skipped() []byte { return bytes.Clone(New(1, 0).Out()) }

// Answers keep to the windows of the client, interleave, and go on when a window opens.
func TestWindows(t *testing.T) {
	a := NewAnswer(strings.Repeat("x", 50_000), Field{":status", "200"})
	s := begun(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	s.headers(1, true, get)
	s.headers(3, true, get)
	c := New(10, 0)
	_, out, _ := talk(c, s.Bytes(), 1<<20, &a)
	step := func(want string, send func()) {
		t.Helper()
		s.Reset()
		send()
		_, more, code := talk(c, s.Bytes(), 1<<20, &a)
		if got := strings.Join(said(t, append(skipped(), more...)), ", "); got != want || code != wire.NoError {
			t.Errorf("%s, %v; want %s", got, code, want)
		}
	}
	if got := strings.Join(said(t, out), ", "); got != "1: HEADERS 200, 3: HEADERS 200, 1: DATA 10, 3: DATA 10" {
		t.Error(got)
	}
	step("1: DATA 5", func() { _ = s.WriteWindowUpdate(1, 5) })
	step("", func() { _ = s.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}) })
	step("", func() { _ = s.WriteWindowUpdate(1, 10) })
	step("1: DATA 1", func() { _ = s.WriteWindowUpdate(1, 1) })
	step("1: DATA 16384, 3: DATA 16384, 1: DATA 16384, 3: DATA 16357", func() { // the connection's window is full
		_ = s.WriteWindowUpdate(1, 100_000)
		_ = s.WriteWindowUpdate(3, 100_000)
	})
	step("1: DATA 1", func() { _ = s.WriteWindowUpdate(0, 1) })
	if c.Open() != 2 {
		t.Errorf("%d are open", c.Open())
	}
	step("3: DATA 16384, 1: DATA 16384, 3: DATA 865 END, 1: DATA 831 END", func() { _ = s.WriteWindowUpdate(0, 1<<20) })
	if c.Open() != 0 {
		t.Errorf("%d are open", c.Open())
	}
}

// A client may send on: the server gives windows back, of the connection and of a long body.
func TestRefill(t *testing.T) {
	c, s := New(2, 0), begun()
	s.headers(1, false, post)
	_, _, _ = c.Parse(s.Bytes(), nil)
	s.Reset()
	_ = s.WriteData(1, false, make([]byte, 16<<10))
	var out []byte
	for range 3 * refillFrom / (16 << 10) {
		if _, _, code := c.Parse(s.Bytes(), nil); code != wire.NoError {
			t.Fatal(code)
		}
		out = append(out, c.Out()...)
		c.Sent(len(c.Out()))
	}
	const more = "WINDOW +536887296" // one frame above the half
	if got := strings.Join(said(t, out), ", "); got != "0: "+more+", 1: "+more+", 0: "+more+", 1: "+more {
		t.Error(got)
	}
}

// No answer is added while much waits to be sent, however many bodies there are.
func TestOutIsBounded(t *testing.T) {
	a := NewAnswer(strings.Repeat("x", 1<<20), Field{":status", "200"})
	s := begun(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
	_ = s.WriteWindowUpdate(0, 1<<30)
	const streams = 100
	for id := uint32(1); id < 2*streams; id += 2 {
		s.headers(id, true, get)
	}
	c := New(streams, 0)
	_, list, _ := c.Parse(s.Bytes(), nil)
	for _, e := range list {
		c.Answer(e.Stream, &a)
	}
	total := 0
	for b := c.Out(); len(b) > 0; b = c.Out() {
		if total += len(b); len(b) > wire.OutFull+(32<<10) {
			t.Fatalf("%d bytes at once", len(b))
		}
		c.Sent(min(len(b), 10_000))
		total -= len(b) - min(len(b), 10_000)
	}
	if want := streams << 20; total < want || total > want+want/100 || c.Open() != 0 {
		t.Errorf("%d bytes of %d", total, want)
	}
}

// After GOAWAY the streams that came go on, and others are ignored.
func TestClose(t *testing.T) {
	c, s := New(3, 0), begun()
	s.headers(1, false, post)
	_, _, _ = talk(c, s.Bytes(), 1<<20, &small)
	s.Reset()
	c.Close(wire.NoError)
	c.Close(wire.NoError)
	s.headers(3, false, post)
	_ = s.WriteData(3, true, []byte("ignored"))
	_ = s.WriteData(1, true, []byte("b"))
	_, out, code := talk(c, s.Bytes(), 1<<20, &small)
	if got := strings.Join(said(t, append(skipped(), out...)), ", "); got != "GOAWAY 1 NO_ERROR, 1: HEADERS 200, 1: DATA 4 END" || code != wire.NoError {
		t.Error(got, code)
	}
}

// What a client sends after the end of its request costs the stream.
func TestAfterTheEnd(t *testing.T) {
	c, s := New(3, 0), begun()
	s.headers(1, true, get)
	s.headers(3, true, get)
	s.headers(1, true, "x trailers\n")
	_ = s.WriteData(3, true, nil)
	_, out, code := talk(c, s.Bytes(), 1<<20, nil)
	if got := strings.Join(said(t, out), ", "); got != "1: STREAM_CLOSED, 3: STREAM_CLOSED" || code != wire.NoError || c.Open() != 0 {
		t.Error(got, code, c.Open())
	}
}

// A client may use its windows up to the last byte, and not beyond.
func TestOverrun(t *testing.T) {
	for _, conn := range []bool{true, false} {
		c, s := New(3, 0), begun()
		s.headers(1, false, post)
		_, _, _ = talk(c, s.Bytes(), 1<<20, nil)
		want, end := "1: FLOW_CONTROL_ERROR", wire.NoError
		c.streams[1].credit = refillFrom + 1
		if conn {
			c.credit = refillFrom + 1
			want, end = "GOAWAY 1 FLOW_CONTROL_ERROR", wire.FlowControlError
		}
		s.Reset()
		_ = s.WriteData(1, false, []byte("a")) // is at the half, where the server does not refill yet
		if _, out, code := talk(c, s.Bytes(), 1<<20, nil); len(out) > 0 || code != wire.NoError {
			t.Errorf("%q, %v", out, code)
		}
		if c.streams[1].credit = 1; conn {
			c.credit = 1
		}
		c.reading.Of.Flags, c.reading.Of.Stream = 0, 1
		if c.accept(wire.Header{Length: 1, Stream: 1}); c.Open() != 1 {
			t.Error("the last byte was refused")
		}
		c.credit -= 1
		s.Reset()
		_ = s.WriteData(1, false, []byte("ab"))
		if !conn {
			c.credit = ourWindow
		}
		if _, out, code := talk(c, s.Bytes(), 1<<20, nil); strings.Join(said(t, append(skipped(), out...)), ", ") != want || code != end {
			t.Errorf("%q, %v; want %s", out, code, want)
		}
	}
}

// A larger first window and larger frames apply to answers that wait.
func TestSettings(t *testing.T) {
	a := NewAnswer(strings.Repeat("x", 20_000), Field{":status", "200"})
	c, s := New(3, 0), begun(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	s.headers(1, true, get)
	_, out, _ := talk(c, s.Bytes(), 1<<20, &a)
	if n := bytes.Count(out, wire.AppendHeader(nil, 0, wire.Settings, wire.FlagAck, 0)); n != 1 || c.More() || c.Waiting() != 0 {
		t.Errorf("%d acknowledgments, %v, %d bytes wait", n, c.More(), c.Waiting())
	}
	s.Reset()
	_ = s.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 30_000}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	_, _, _ = c.Parse(s.Bytes(), nil)
	if !c.More() || c.Waiting() != wire.HeaderLength {
		t.Errorf("%v, %d bytes wait", c.More(), c.Waiting())
	}
	c.window = 0
	if c.More() {
		t.Error("more, though the window of the connection is closed")
	}
	s.headers(3, true, get)
	_, _, _ = talk(c, s.Bytes()[s.Len()-s.block.Len()-wire.HeaderLength:], 1<<20, &a)
	s.Reset()
	_ = s.WriteRSTStream(3, http2.ErrCodeCancel)
	_, _, _ = talk(c, s.Bytes(), 1<<20, nil)
	c.window = 1 << 20
	if got := strings.Join(said(t, append(skipped(), c.Out()...)), ", "); got != "1: DATA 20000 END" {
		t.Error(got)
	}
}

// The first block of a connection says that no table is used, and only the first.
func TestTable(t *testing.T) {
	c, s := New(3, 0), begun()
	s.headers(1, true, ":method HEAD\n:scheme http\n:path /\n")
	s.headers(3, true, ":method HEAD\n:scheme http\n:path /\n")
	_, out, _ := talk(c, s.Bytes(), 1<<20, &small)
	first := wire.AppendHeader(nil, len(small.block)+1, wire.Headers, wire.FlagEndHeaders|wire.FlagEndStream, 1)
	first = append(append(first, 0x20), small.block...)
	second := append(wire.AppendHeader(nil, len(small.block), wire.Headers, wire.FlagEndHeaders|wire.FlagEndStream, 3), small.block...)
	if !bytes.HasSuffix(out, append(first, second...)) {
		t.Errorf("%x", out)
	}
	if c.Over() {
		t.Error("over")
	}
	if begin := wire.AppendNumber(nil, wire.Window, 0, ourWindow-65535); !bytes.HasSuffix(New(3, 0).Out(), begin) {
		t.Errorf("%x at the beginning, want %x", New(3, 0).Out(), begin)
	}
	if c.Close(wire.NoError); c.Over() {
		t.Error("over, though GOAWAY waits")
	}
	if c.Sent(len(c.Out())); !c.Over() {
		t.Error("not over")
	}
}

// After so many requests the server says GOAWAY. The streams after it are not accepted.
func TestLastRequest(t *testing.T) {
	c, s := New(3, 2), begun()
	for id := uint32(1); id < 8; id += 2 {
		s.headers(id, true, get)
	}
	s.headers(7, true, "x trailers\n")
	events, out, code := talk(c, s.Bytes(), 1<<20, &small)
	want := []Event{{Stream: 1}, {Stream: 3}, {Stream: 5, Kind: Refused}, {Stream: 7, Kind: Refused}}
	if got := strings.Join(said(t, out), ", "); got != "GOAWAY 3 NO_ERROR, 1: HEADERS 200, 3: HEADERS 200, 1: DATA 4 END, 3: DATA 4 END" ||
		!slices.Equal(events, want) || code != wire.NoError || !c.Over() {
		t.Error(got, events, code, c.Over())
	}
}

// A request and its answer allocate nothing.
func TestAllocations(t *testing.T) {
	c, s := New(3, 0), begun()
	list := make([]Event, 0, 10)
	_, _, _ = c.Parse(s.Bytes(), list)
	c.Sent(len(c.Out()))
	id := uint32(1)
	one := func() {
		s.Reset()
		s.headers(id, true, get)
		_, list, _ := c.Parse(s.Bytes(), list)
		c.Answer(list[0].Stream, &small)
		c.Sent(len(c.Out()))
		id += 2
	}
	one()
	if n := testing.AllocsPerRun(100, one); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Whatever a client sends, in whatever pieces: no panic, the pieces do not matter, a stream arrives
// once, and little memory is used.
func FuzzParse(f *testing.F) {
	s := begun(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	s.headers(1, true, get)
	s.headers(3, false, post+ok)
	_ = s.WriteDataPadded(3, true, []byte("ab"), []byte{0})
	_ = s.WriteWindowUpdate(1, 100)
	_ = s.WritePing(false, [8]byte{})
	_ = s.WriteRSTStream(1, 8)
	f.Add(s.Bytes(), 7)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		if len(in) > 1<<16 {
			return
		}
		whole := New(3, 0)
		want, sent, code := talk(whole, bytes.Clone(in), len(in), nil)
		c := New(3, 0)
		got, pieces, again := talk(c, bytes.Clone(in), piece%100, nil)
		if code != again || !slices.Equal(got, want) || !bytes.Equal(sent, pieces) {
			t.Fatalf("%v %v in one piece, %v %v in several\n%q\n%q", want, code, got, again, sent, pieces)
		}
		arrived := map[uint32]bool{}
		for _, e := range got {
			if e.Kind == Arrived && arrived[e.Stream] {
				t.Fatalf("stream %d twice", e.Stream)
			}
			arrived[e.Stream] = e.Kind == Arrived
		}
		if c.Open() > 3 || len(sent) > 2*len(in)+200 {
			t.Fatalf("%d streams, %d bytes for %d", c.Open(), len(sent), len(in))
		}
	})
}

func itoa(n int) string { return strconv.Itoa(n) }

// An answer in pieces: each is sent as far as the window allows, and the last one ends the stream. What is appended to a
// stream that is over is left out.
func TestAppend(t *testing.T) {
	s := begun()
	s.headers(1, false, strings.Replace(post, ":path /", ":path /v1", 1)+"content-length 5\n")
	_ = s.WriteData(1, true, []byte("hello"))
	s.headers(3, true, get)
	c := New(8, 0)
	c.Keep(3)
	if _, events, code := c.Parse(s.Bytes(), nil); len(events) != 2 || code != wire.NoError {
		t.Fatal(events, code)
	}
	if path, body, long := c.Kept(1); path != "/v1" || string(body) != "hel" || !long {
		t.Errorf("path %q, body %q, long %v", path, body, long)
	}
	if _, body, long := c.Kept(3); len(body) > 0 || long {
		t.Errorf("body %q, long %v of a request without one", body, long)
	}
	c.Sent(len(c.Out()))
	head := NewAnswer("", Field{":status", "200"})
	if !c.Begin(1, &head) || !c.Append(1, []byte("ab"), false) || !c.Append(1, []byte("c"), false) {
		t.Fatal("the stream is over")
	}
	out := c.Out()
	if want := "abc"; !bytes.HasSuffix(out, []byte(want)) || out[len(out)-len(want)-wire.HeaderLength+4] != 0 {
		t.Errorf("sent %q; want DATA of abc without an end", out)
	}
	c.Sent(len(out))
	if c.Unsent(1) != 0 || c.Open() != 2 {
		t.Errorf("%d bytes are left, %d streams are open", c.Unsent(1), c.Open())
	}
	c.streams[1].window = 1
	c.Append(1, []byte("de"), true)
	c.Sent(len(c.Out()))
	if c.Unsent(1) != 1 || c.Append(1, []byte("f"), true) {
		t.Errorf("%d bytes are left; want 1, and none after the last", c.Unsent(1))
	}
	s.Reset()
	_ = s.WriteWindowUpdate(1, 5)
	if _, _, code := c.Parse(s.Bytes(), nil); code != wire.NoError {
		t.Fatal(code)
	}
	out = c.Out()
	if !bytes.HasSuffix(out, []byte("e")) || out[len(out)-1-wire.HeaderLength+4] != byte(wire.FlagEndStream) || c.Open() != 1 {
		t.Errorf("sent %q, %d streams are open; want DATA of e with the end", out, c.Open())
	}
	if c.Begin(1, &head) || c.Append(1, []byte("x"), true) {
		t.Error("a stream that is over goes on")
	}
}

// With Follow a request is reported as it comes, may be answered before its end, and an answer ends with trailers, after
// its body. A client that has not said all hears that nobody reads on.
func TestFollow(t *testing.T) {
	c, s := New(8, 0), begun()
	c.Follow(":path", "content-type", "x-absent")
	s.headers(1, false, post+"content-type application/grpc\n")
	_ = s.WriteData(1, false, []byte("ab"))
	_ = s.WriteData(1, false, []byte("c"))
	s.headers(3, false, post)
	_ = s.WriteRSTStream(3, http2.ErrCodeCancel)
	_, events, code := c.Parse(s.Bytes(), nil)
	if want := []Event{{1, Opened, false, nil}, {1, Came, false, nil}, {3, Opened, false, nil}, {3, Gone, false, nil}}; !slices.Equal(events, want) || code != wire.NoError {
		t.Fatalf("%v, %v; want %v", events, code, want)
	}
	if f := c.Fields(1); !slices.Equal(f, []string{"/", "application/grpc", ""}) || c.Fields(3) != nil {
		t.Errorf("fields %q and %q", f, c.Fields(3))
	}
	for _, want := range []string{"abc", ""} {
		if _, body, long := c.Kept(1); string(body) != want || long {
			t.Errorf("body %q, long %v; want %q", body, long, want)
		}
	}
	if !c.Mark(1, "mine") || c.Mark(3, "") || c.Marked(1) != "mine" {
		t.Errorf("marked %v", c.Marked(1))
	}
	head, end := NewAnswer("", Field{":status", "200"}), NewAnswer("", Field{"grpc-status", "0"})
	if c.End(1, &end) || !c.Begin(1, &head) || !c.Append(1, []byte("xyz"), false) || !c.End(1, &end) || c.End(1, &end) {
		t.Fatal("the answer does not begin and end once")
	}
	got, want := strings.Join(said(t, c.Out()), ", "), "1: HEADERS 200, 1: DATA 3, 1: HEADERS  END, 1: NO_ERROR"
	if c.Sent(len(c.Out())); c.Open() != 0 || !strings.HasSuffix(got, want) {
		t.Fatalf("%q, %d streams are open; want %q at the end", got, c.Open(), want)
	}
	s.Reset()
	_ = s.WriteData(1, true, []byte("late"))
	s.headers(5, true, get)
	s.headers(7, false, post)
	if _, events, code = c.Parse(s.Bytes(), nil); len(events) != 3 || code != wire.NoError {
		t.Fatalf("%v, %v after an early answer", events, code)
	}
	c.Begin(5, &head)
	c.streams[5].window = 2
	c.Append(5, []byte("xyz"), false)
	c.End(5, &end)
	if got := strings.Join(said(t, append(skipped(), c.Out()...)), ", "); c.Open() != 2 {
		t.Fatalf("%q: trailers before the body is sent", got)
	}
	c.Sent(len(c.Out()))
	c.Mark(7, "seven")
	s.Reset()
	_ = s.WriteWindowUpdate(5, 1)
	_ = s.WriteRSTStream(7, http2.ErrCodeCancel)
	_, events, _ = c.Parse(s.Bytes(), nil)
	if out := c.Out(); c.Open() != 0 || !bytes.Contains(out, []byte("z")) || !slices.Equal(events, []Event{{7, Gone, false, "seven"}}) {
		t.Errorf("%q, %v, %d are open", out, events, c.Open())
	}
}
