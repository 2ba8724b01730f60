package http_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

const answered = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// faults are what a server does instead of answering, and the class of that.
var faults = map[string]struct {
	answer func(net.Conn)
	class  string
}{
	"ends without an answer":           {func(net.Conn) {}, "closed"},
	"ends in the head":                 {func(c net.Conn) { io.WriteString(c, answered[:20]) }, "truncated"},
	"ends in the body":                 {func(c net.Conn) { io.WriteString(c, answered[:len(answered)-1]) }, "truncated"},
	"ends in a chunk":                  {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab") }, "truncated"},
	"hangs":                            {func(c net.Conn) { io.Copy(io.Discard, c) }, "timeout"},
	"hangs in the body":                {func(c net.Conn) { io.WriteString(c, answered[:len(answered)-1]); io.Copy(io.Discard, c) }, "timeout"},
	"speaks another protocol":          {func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n"); io.Copy(io.Discard, c) }, "malformed"},
	"speaks another protocol and ends": {func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n") }, "malformed"},
	"bad status line":                  {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 abc\r\n\r\n"); io.Copy(io.Discard, c) }, "malformed"},
	"bad length": {func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n")
		io.Copy(io.Discard, c)
	}, "malformed"},
	"line without a colon": {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"); io.Copy(io.Discard, c) }, "malformed"},
	"bad chunk": {func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		io.Copy(io.Discard, c)
	}, "malformed"},
	"another coding": {func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n")
		io.Copy(io.Discard, c)
	}, "malformed"},
	"switches the protocol": {func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		io.Copy(io.Discard, c)
	}, "malformed"},
	"endless head": {func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for {
			if _, err := io.WriteString(c, "X: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
				return
			}
		}
	}, "too_large"},
	"resets":  {func(c net.Conn) { raw(c).SetLinger(0) }, "reset"},
	"refuses": {nil, "refused"},
}

// faultsOfTLS are those of a server over TLS, whose class must not be that of HTTP.
var faultsOfTLS = map[string]struct {
	answer func(net.Conn)
	class  string
}{
	"ends a body without a length and without close_notify": {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nok") }, "truncated"},
	"ignored records": {func(c net.Conn) { raw(c).Write(ignoredRecords); io.Copy(io.Discard, c) }, "tls"},
	"ignored records in an answer": {func(c net.Conn) {
		io.WriteString(c, answered[:20])
		raw(c).Write(ignoredRecords)
		io.Copy(io.Discard, c)
	}, "tls"},
	"a bad record": {func(c net.Conn) {
		raw(c).Write(append([]byte{23, 3, 3, 0, 32}, make([]byte, 32)...))
		io.Copy(io.Discard, c)
	}, "tls"},
}

// ignoredRecords are more records without content than crypto/tls ignores in a row.
var ignoredRecords = bytes.Repeat([]byte{20, 3, 3, 0, 1, 1}, 20)

func raw(c net.Conn) *net.TCPConn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return c.(*net.TCPConn)
}

// A fault has the same class, and an error that says what happened, whatever the client and
// the way to the server.
func TestSameClasses(t *testing.T) {
	all := maps.Clone(faults)
	maps.Copy(all, faultsOfTLS)
	for name, fault := range all {
		for _, c := range []struct{ client, mode, scheme string }{
			{"own", "loop", "http"}, {"own", "worker", "http"}, {"own", "loop", "https"}, {"own", "worker", "https"}, {"net", "worker", "http"}, {"net", "worker", "https"},
		} {
			if _, secure := faultsOfTLS[name]; secure && c.scheme != "https" {
				continue
			}
			t.Run(name+"/"+c.client+" "+c.mode+" "+c.scheme, func(t *testing.T) {
				t.Parallel()
				addr := faulty(t, c.scheme == "https", fault.answer)
				o := http.New()
				o.Client, o.TLS.Insecure, o.ConnectTimeout = c.client, true, drivertest.Longest
				short := drivertest.Longest
				if fault.class == "timeout" || name == "switches the protocol" {
					short = time.Second
				}
				var r *takt.Report
				drivertest.Slowly(short, func(timeout time.Duration) bool {
					o.Timeout = timeout
					r = drivertest.Make(t, drivertest.Plan(t, "http", o, func(e *engine.Options) {
						e.Engine, e.Requests, e.Rate, e.Drain = c.mode, 3, engine.MustRate("100"), engine.DrainOf(2*drivertest.Longest)
					}, c.scheme+"://"+addr))
					return slices.ContainsFunc(r.Errors, func(e takt.ErrorClass) bool {
						return e.Class == engine.ClassConnectTimeout || e.Class == engine.ClassTimeout && e.Class != fault.class
					})
				})
				if fault.answer == nil { // and the probe's connection was the first operation's
					if r.Counts.Failed != 3 || r.Errors[0].Class != fault.class || r.Errors[0].Count < 2 {
						t.Errorf("%+v", r.Errors)
					}
					return
				}
				if len(r.Errors) != 1 || r.Errors[0].Class != fault.class || r.Errors[0].Count != 3 || r.Errors[0].Sample == "" {
					t.Errorf("%+v, want 3 × %s", r.Errors, fault.class)
				}
			})
		}
	}
}

// faulty answers each request so. The connection of the probe carries none. Without answer
// it refuses connections, all but the first two.
func faulty(t *testing.T, secure bool, answer func(net.Conn)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := httptest.NewUnstartedServer(nil)
	if secure {
		s.StartTLS()
		t.Cleanup(s.Close)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if answer == nil {
				l.Close()
			}
			go func() {
				defer c.Close()
				if secure {
					c = tls.Server(c, s.TLS)
				}
				if _, err := c.Read(make([]byte, 4096)); err == nil && answer != nil {
					answer(c)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// frame is a frame of HTTP/2: RFC 9113, 4.1.
func frame(kind, flags byte, stream uint32, payload ...byte) []byte {
	b := []byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[5:], stream)
	return append(b, payload...)
}

const (
	frameHeaders   = 1
	frameRST       = 3
	frameSettings  = 4
	frameGoAway    = 7
	flagEndHeaders = 4
	internalError  = 2
	refusedStream  = 7
)

// Streams that end without an answer have a class each: not the one of a time-out, since
// net/http sends a refused one again for half a minute.
func TestStreamClasses(t *testing.T) {
	for name, fault := range map[string]struct {
		answer func(c net.Conn, stream uint32) bool // false: the connection ends
		class  string
	}{
		"refused": {func(c net.Conn, id uint32) bool { c.Write(frame(frameRST, 0, id, 0, 0, 0, refusedStream)); return true }, "refused_stream"},
		"reset":   {func(c net.Conn, id uint32) bool { c.Write(frame(frameRST, 0, id, 0, 0, 0, internalError)); return true }, "reset"},
		"closed":  {func(c net.Conn, id uint32) bool { return false }, "closed"},
		"goaway": {func(c net.Conn, id uint32) bool {
			c.Write(frame(frameGoAway, 0, 0, 0, 0, 0, byte(id), 0, 0, 0, internalError))
			return false
		}, "closed"},
		"switches the protocol": {func(c net.Conn, id uint32) bool {
			c.Write(frame(frameHeaders, flagEndHeaders, id, append([]byte{0x08, 3}, "101"...)...)) // :status, RFC 7541, 6.2.2
			return true
		}, "malformed"},
		"hangs": {func(net.Conn, uint32) bool { return true }, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() { defer c.Close(); serveStreams(c, fault.answer) }()
				}
			}()
			o := http.New()
			o.Client, o.HTTP2, o.Timeout = "net", true, drivertest.Longest
			if fault.class == "timeout" {
				o.Timeout = time.Second
			}
			r := drivertest.Make(t, drivertest.Plan(t, "http", o, func(e *engine.Options) {
				e.Requests, e.Rate, e.Drain = 3, engine.MustRate("50"), engine.DrainOf(time.Minute)
			}, "http://"+l.Addr().String()))
			if len(r.Errors) != 1 || r.Errors[0].Class != fault.class || r.Errors[0].Count != 3 || r.Errors[0].Sample == "" {
				t.Errorf("%+v, want 3 × %s", r.Errors, fault.class)
			}
			if max := r.Latency["response"].Max; fault.class != "timeout" && max > 20e6 { // net/http would try for half a minute
				t.Errorf("one took %v µs", max)
			}
		})
	}
}

func serveStreams(c net.Conn, answer func(c net.Conn, stream uint32) bool) {
	in := bufio.NewReader(c)
	if _, err := in.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		return
	}
	c.Write(frame(frameSettings, 0, 0))
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		if _, err := in.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2])); err != nil {
			return
		}
		if head[3] == frameHeaders && !answer(c, binary.BigEndian.Uint32(head[5:])) {
			raw(c).CloseWrite() // to close it with bytes unread would reset it
			io.Copy(io.Discard, in)
			return
		}
	}
}
