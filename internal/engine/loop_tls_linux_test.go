package engine_test

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

// secure is a server like listen's, over TLS.
func secure(t *testing.T, change func(*tls.Config), answer func(net.Conn)) *takt.Loop {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS() // for its certificate
	conf := s.TLS.Clone()
	s.Close()
	conf.NextProtos = nil
	if change != nil {
		change(conf)
	}
	l := httpLoop(t, listen(t, func(c net.Conn) { over := tls.Server(&corked{Conn: c}, conf); answer(over); over.Close() }))
	l.TLS = &tls.Config{InsecureSkipVerify: true}
	l.Timeout, l.ConnectTimeout = time.Minute, time.Minute
	return l
}

// corked is a connection that can keep what is written, to send it at once.
type corked struct {
	net.Conn
	cork bool
	kept []byte
}

// Write implements net.Conn.
func (c *corked) Write(b []byte) (int, error) {
	if c.cork {
		c.kept = append(c.kept, b...)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// together sends at once what write writes to c, a connection of secure.
func together(c net.Conn, write func()) {
	below := under(c)
	below.cork = true
	write()
	below.cork = false
	below.SetWriteDeadline(time.Time{}) // CloseWrite lets writes fail
	below.Conn.Write(below.kept)
	below.kept = nil
}

// under is the TCP connection below c, a connection of secure.
func under(c net.Conn) *corked { return c.(*tls.Conn).NetConn().(*corked) }

var (
	// badRecord is a record that nobody can open.
	badRecord = append([]byte{23, 3, 3, 0, 32}, make([]byte, 32)...)
	// ignoredRecords are more records without content than crypto/tls ignores in a row.
	ignoredRecords = bytes.Repeat([]byte{20, 3, 3, 0, 1, 1}, 20)
)

// What a server says behind its answer, in a record of its own, is not the answer to the next request,
// and neither this request nor the next one fails for it: TLS may have received both records at once. The
// same where nobody looks at a connection before its next request.
func TestModesTLSSpeaksBehindAnAnswer(t *testing.T) {
	for name, more := range map[string]func(c *tls.Conn){
		"408":             func(c *tls.Conn) { io.WriteString(c, timedOut) },
		"the end":         func(c *tls.Conn) { c.CloseWrite() },
		"a bad record":    func(c *tls.Conn) { under(c).Write(badRecord) },
		"ignored records": func(c *tls.Conn) { under(c).Write(ignoredRecords) },
	} {
		for _, trusted := range []bool{false, true} {
			eachMode(t, func(t *testing.T, mode string) {
				if trusted {
					defer engine.Trust()()
				}
				l := secure(t, nil, func(c net.Conn) {
					for request(c) {
						together(c, func() { io.WriteString(c, ok); more(c.(*tls.Conn)) })
					}
				})
				r := load(t, mode, l, func(o *engine.Options) { o.Requests, o.Connections = 30, 1 })
				if r.Counts.OK != 30 || r.Status["200"] != 30 {
					t.Errorf("%s, trusted %v: %+v, %v; %+v", name, trusted, r.Counts, r.Status, r.Errors)
				}
				if said := warned(r, "unsolicited"); strings.Contains(said, "408 Request Timeout") != (name == "408") {
					t.Errorf("%s, trusted %v: the report says %q", name, trusted, said)
				}
			})
		}
	}
}

func answering(c net.Conn) {
	for request(c) {
		if _, err := io.WriteString(c, ok); err != nil {
			return
		}
	}
}

// Both modes count the same over TLS, with and without a rate, and whatever version.
func TestModesTLS(t *testing.T) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		eachMode(t, func(t *testing.T, mode string) {
			l := secure(t, func(c *tls.Config) { c.MaxVersion = version }, answering)
			for _, rate := range []string{"", "2k"} {
				r := load(t, mode, l, func(o *engine.Options) {
					o.Requests, o.Connections = 500, 10
					if rate != "" {
						o.Rate = engine.MustRate(rate)
					}
				})
				if r.Counts.OK != 500 || r.Bytes.Received != 500*int64(len(ok)) {
					t.Errorf("%s: %+v, %+v, %d bytes", name, r.Counts, r.Errors, r.Bytes.Received)
				}
				// The probe's connection is used, so nine or fewer were made in the run.
				if n := r.Latency["tls"].Count; n > 9 || n != r.Latency["connect"].Count {
					t.Errorf("%s: %d handshakes, %d connects", name, n, r.Latency["connect"].Count)
				}
			}
		})
	}
}

// Large requests and answers pass through sockets without room for them, in any records.
func TestModesTLSLarge(t *testing.T) {
	const size = 3 << 20
	long := strings.Repeat("x", 300_000)
	l := secure(t, nil, func(c net.Conn) {
		for {
			if _, err := io.CopyN(io.Discard, c, size); err != nil {
				return
			}
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(long))
			io.WriteString(c, long)
		}
	})
	q := http1.Request{Method: "POST", Target: "/", Host: l.Addr}
	head, err := q.Render()
	if err != nil {
		t.Fatal(err)
	}
	without, _, _ := head.Append(nil, new(takt.Op))
	q.Body = make([]byte, size-len(without)-6) // the length is 7 digits instead of 1
	rendered, err := q.Render()
	if err != nil {
		t.Fatal(err)
	}
	if all, _, _ := rendered.Append(nil, new(takt.Op)); len(all) != size {
		t.Fatalf("a request of %d bytes, want %d", len(all), size)
	}
	l.Codec = func(int) takt.Codec { return http1.NewCodec(rendered, http1.Options{}) }
	eachMode(t, func(t *testing.T, mode string) {
		r := load(t, mode, l, func(o *engine.Options) { o.Requests, o.Connections = 6, 2 })
		if r.Counts.OK != 6 || r.Bytes.Sent != 6*size || r.Bytes.Received < 6*int64(len(long)) {
			t.Errorf("%+v, %+v, %+v", r.Counts, r.Bytes, r.Errors)
		}
	})
}

// A connection that the server closes after each answer is made again, and its handshake is in
// the report.
func TestModesTLSCloses(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		var made atomic.Int64
		l := secure(t, nil, func(c net.Conn) {
			if request(c) {
				made.Add(1)
				io.WriteString(c, strings.Replace(ok, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
			}
		})
		r := load(t, mode, l, func(o *engine.Options) { o.Requests, o.Connections = 30, 3 })
		if r.Counts.OK != 30 || made.Load() != 30 || r.Latency["tls"].Count != 29 {
			t.Errorf("%+v, %+v, %d connections, %d handshakes", r.Counts, r.Errors, made.Load(), r.Latency["tls"].Count)
		}
	})
}

// fails reports whether operations failed with the class.
func fails(r *takt.Report, class string) bool {
	return slices.ContainsFunc(r.Errors, func(e takt.ErrorClass) bool { return e.Class == class })
}

// Faults of a server over TLS have the same classes in both modes.
func TestModesTLSFaults(t *testing.T) {
	below := func(c net.Conn) *net.TCPConn { return under(c).Conn.(*net.TCPConn) }
	const endless = "HTTP/1.1 200 OK\r\n\r\nok"
	for _, c := range []fault{
		{"closes at once", func(c net.Conn) { c.(*tls.Conn).Handshake() }, "closed|reset"},
		{"closes without an answer", func(c net.Conn) { request(c) }, "closed"},
		{"breaks off", func(c net.Conn) { request(c); io.WriteString(c, ok[:len(ok)-1]) }, "truncated"},
		{"breaks off without a word", func(c net.Conn) { request(c); io.WriteString(c, ok[:len(ok)-1]); below(c).Close() }, "truncated|reset"},
		{"cut without a length", func(c net.Conn) { request(c); io.WriteString(c, endless); below(c).Close() }, "truncated|reset"},
		{"cut in a record", func(c net.Conn) {
			request(c)
			io.WriteString(c, ok[:9])
			below(c).Write(badRecord[:9])
			below(c).CloseWrite()
		}, "truncated"},
		{"ignored records", func(c net.Conn) { request(c); below(c).Write(ignoredRecords); io.Copy(io.Discard, c) }, "tls"},
		{"ignored records in an answer", func(c net.Conn) {
			request(c)
			io.WriteString(c, ok[:9])
			below(c).Write(ignoredRecords)
			io.Copy(io.Discard, c)
		}, "tls"},
		{"resets", func(c net.Conn) { request(c); below(c).SetLinger(0); below(c).Close() }, "reset"},
		{"hangs", func(c net.Conn) { request(c); io.Copy(io.Discard, c) }, "timeout"},
		{"garbage", func(c net.Conn) { request(c); io.WriteString(c, "SSH-2.0-OpenSSH\r\n") }, "malformed"},
		{"ends TLS", func(c net.Conn) { request(c); below(c).Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, "tls|network"},
	} {
		eachMode(t, func(t *testing.T, mode string) {
			l := secure(t, nil, c.answer)
			if c.class == "timeout" {
				l.Timeout = time.Second
			}
			var r *takt.Report
			drivertest.Slowly(l.Timeout, func(timeout time.Duration) bool {
				l.Timeout = timeout
				r = load(t, mode, l, func(o *engine.Options) { o.Rate, o.Requests = engine.MustRate("500"), 20 })
				return c.class == "timeout" && fails(r, engine.ClassConnectTimeout)
			})
			if r.Counts.Failed != 20 {
				t.Errorf("%s: %+v", c.name, r.Counts)
			}
			for _, e := range r.Errors {
				if !strings.Contains("|"+c.class+"|", "|"+e.Class+"|") || e.Sample == "" {
					t.Errorf("%s: class %q (%s), want %s", c.name, e.Class, e.Sample, c.class)
				}
			}
		})
	}
}

// After the first connection the server stops to make handshakes: operations end with the
// connect timeout, and the run does too.
func TestModesTLSStopsShaking(t *testing.T) {
	for name, c := range map[string]struct {
		instead func(net.Conn)
		timeout time.Duration
		class   string
	}{
		"silence": {func(c net.Conn) { io.Copy(io.Discard, c) }, 300 * time.Millisecond, engine.ClassConnectTimeout},
		"plain":   {func(c net.Conn) { request(c); io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }, 0, "tls"},
		"the end": {func(c net.Conn) { request(c) }, 0, "tls"},
	} {
		eachMode(t, func(t *testing.T, mode string) {
			var conns atomic.Int64
			s := httptest.NewUnstartedServer(nil)
			s.StartTLS()
			conf := s.TLS.Clone()
			s.Close()
			l := httpLoop(t, listen(t, func(n net.Conn) {
				if conns.Add(1) > 1 {
					c.instead(n)
					return
				}
				time.Sleep(c.timeout) // only an operation has this limit, and not the connection before the run
				over := tls.Server(n, conf)
				request(over)
				over.Close()
			}))
			l.TLS, l.ConnectTimeout, l.Timeout = &tls.Config{InsecureSkipVerify: true}, time.Minute, cmp.Or(c.timeout, time.Minute)
			r := load(t, mode, l, func(o *engine.Options) { o.Rate, o.Requests = engine.MustRate("500"), 20 })
			if r.Counts.Failed != 20 || r.Errors[0].Class != c.class {
				t.Errorf("%s: %+v, %+v", name, r.Counts, r.Errors)
			}
		})
	}
}

// An answer without a length is whole when TLS says that nothing follows.
func TestModesTLSEndsWithoutALength(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		l := secure(t, nil, func(c net.Conn) {
			if request(c) {
				io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nok")
				c.(*tls.Conn).CloseWrite()
				io.Copy(io.Discard, under(c))
			}
		})
		if r := load(t, mode, l, func(o *engine.Options) { o.Requests, o.Connections = 20, 2 }); r.Counts.OK != 20 {
			t.Errorf("%+v, %+v", r.Counts, r.Errors)
		}
	})
}
