package h2test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// client is a connection that sends whatever a test wants.
type client struct {
	t   *testing.T
	raw net.Conn
	*http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
}

func dial(t *testing.T, s *Server) *client {
	raw, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	raw.SetDeadline(time.Now().Add(10 * time.Second))
	c := &client{t: t, raw: raw, Framer: http2.NewFramer(raw, raw)}
	c.enc = hpack.NewEncoder(&c.block)
	c.AllowIllegalWrites = true
	io.WriteString(raw, http2.ClientPreface)
	return c
}

func (c *client) fields(list ...string) []byte {
	c.block.Reset()
	for i := 0; i < len(list); i += 2 {
		c.enc.WriteField(hpack.HeaderField{Name: list[i], Value: list[i+1]})
	}
	return bytes.Clone(c.block.Bytes())
}

func (c *client) request(id uint32, end bool, more ...string) {
	c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, EndStream: end,
		BlockFragment: c.fields(append([]string{":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/"}, more...)...)})
}

// settle reads until the server has ended the connection, and ends it.
func (c *client) settle() {
	io.Copy(io.Discard, c.raw)
	c.raw.Close()
}

// The server finds what a client does against RFC 9113.
func TestFaults(t *testing.T) {
	for _, f := range []struct {
		name   string
		script Script
		do     func(c *client)
		fault  string
	}{
		{"SETTINGS are not first", Script{}, func(c *client) { c.WritePing(false, [8]byte{}) }, "the first frame"},
		{"even stream", Script{}, func(c *client) { c.WriteSettings(); c.request(2, true) }, "was opened after"},
		{"falling streams", Script{}, func(c *client) { c.WriteSettings(); c.request(3, true); c.request(1, true) }, "was opened after"},
		{"no path", Script{}, func(c *client) {
			c.WriteSettings()
			c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: c.fields(":method", "GET", ":scheme", "http", ":authority", "a")})
		}, "pseudo-fields"},
		{"uppercase", Script{}, func(c *client) { c.WriteSettings(); c.request(1, true, "A", "b") }, `the field "A"`},
		{"connection", Script{}, func(c *client) { c.WriteSettings(); c.request(1, true, "connection", "close") }, `the field "connection"`},
		{"late pseudo-field", Script{}, func(c *client) { c.WriteSettings(); c.request(1, true, "a", "b", ":path", "/") }, "twice, or after"},
		{"content-length", Script{}, func(c *client) {
			c.WriteSettings()
			c.request(1, false, "content-length", "2")
			c.WriteData(1, true, []byte("x"))
		}, "the body has 1 bytes"},
		{"block does not decode", Script{}, func(c *client) {
			c.WriteSettings()
			c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: []byte{0x80}})
		}, "the header block"},
		{"DATA on an idle stream", Script{}, func(c *client) { c.WriteSettings(); c.WriteData(1, true, nil) }, "has not opened"},
		{"DATA after the end", Script{}, func(c *client) { c.WriteSettings(); c.request(1, true); c.WriteData(1, true, nil) }, "has ended"},
		{"RST_STREAM on an idle stream", Script{}, func(c *client) { c.WriteSettings(); c.WriteRSTStream(1, 8) }, "is idle"},
		{"WINDOW_UPDATE of an idle stream", Script{}, func(c *client) { c.WriteSettings(); c.WriteWindowUpdate(1, 8) }, "is idle"},
		{"WINDOW_UPDATE 0", Script{}, func(c *client) { c.WriteSettings(); c.WriteWindowUpdate(0, 0) }, "PROTOCOL_ERROR"},
		{"WINDOW_UPDATE overflow", Script{}, func(c *client) { c.WriteSettings(); c.WriteWindowUpdate(0, 1<<31-1) }, "window"},
		{"SETTINGS ACK too many", Script{}, func(c *client) { c.WriteSettings(); c.WriteSettingsAck(); c.WriteSettingsAck() }, "no SETTINGS"},
		{"PING ACK too many", Script{}, func(c *client) { c.WriteSettings(); c.WritePing(true, [8]byte{}) }, "no PING"},
		{"illegal setting", Script{}, func(c *client) { c.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1}) }, "PROTOCOL_ERROR"},
		{"frame too large", Script{}, func(c *client) { c.WriteSettings(); c.request(1, false); c.WriteData(1, false, make([]byte, 16385)) }, "too large"},
		{"window of the stream", Script{Greet: func(c *Conn) { c.Settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 9}) }},
			func(c *client) {
				c.WriteSettings()
				c.WriteSettingsAck()
				c.request(1, false)
				c.WriteData(1, true, make([]byte, 10))
			}, "beyond the window of stream"},
		{"window of the connection", Script{Greet: func(c *Conn) { c.Settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}) }, Data: func(*Conn, *Request, int) {}},
			func(c *client) {
				c.WriteSettings()
				c.request(1, false)
				for range 5 {
					c.WriteData(1, false, make([]byte, 16000))
				}
			}, "beyond the window of the connection"},
		{"streams at once", Script{Greet: func(c *Conn) { c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}) }},
			func(c *client) { c.WriteSettings(); c.WriteSettingsAck(); c.request(1, false); c.request(3, false) }, "2 streams are open"},
		{"smaller table", Script{Greet: func(c *Conn) { c.Settings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}) }},
			func(c *client) { c.WriteSettings(); c.WriteSettingsAck(); c.request(1, true) }, "smaller size"},
		{"stream after GOAWAY", Script{Greet: func(c *Conn) { c.Settings(); c.GoAway(0, 0); c.Ping() }},
			func(c *client) { c.WriteSettings(); c.WritePing(true, [8]byte([]byte("takttakt"))); c.request(1, true) }, "after GOAWAY"},
		{"no preface", Script{}, func(c *client) {}, "preface"},
	} {
		t.Run(f.name, func(t *testing.T) {
			s := Start(t, f.script)
			c := dial(t, s)
			if f.name == "no preface" {
				c.raw.Close()
				raw, err := net.Dial("tcp", s.Addr)
				if err != nil {
					t.Fatal(err)
				}
				c.raw = raw
				io.WriteString(raw, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
				raw.(*net.TCPConn).CloseWrite()
			}
			f.do(c)
			c.settle()
			if !s.Settle(time.Minute) {
				t.Fatal("the connection has not ended")
			}
			if got := s.Faults(); !slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, f.fault) }) {
				t.Errorf("faults %q, want one of %q", got, f.fault)
			}
		})
	}
}

// Another client gets its answers, and has no fault.
func TestAnswers(t *testing.T) {
	s := Start(t, Script{Request: func(c *Conn, r *Request) {
		if r.Path == "/large" {
			c.Large(r, 1e6)
			return
		}
		c.Answer(r)
	}})
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	for path, size := range map[string]int{"large": 1e6, "": 2} {
		resp, err := (&http.Client{Transport: tr}).Post(s.URL()+path, "text/plain", strings.NewReader(strings.Repeat("x", 200_000)))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); len(body) != size || err != nil {
			t.Errorf("/%s: %d bytes, %v", path, len(body), err)
		}
		resp.Body.Close()
	}
	tr.CloseIdleConnections()
	settled := s.Settle(time.Minute) // a client may have its answer before the server counted it
	if seen := s.Seen(); !settled || len(s.Faults()) > 0 || seen.Streams != 2 || seen.Answered != 2 || seen.Body != 400_000 {
		t.Errorf("%+v, faults %q", seen, s.Faults())
	}
}
