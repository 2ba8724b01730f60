package engine_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

const timedOut = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// eachWire runs the test in each mode, and in worker mode over TLS also, against a server
// that answers each connection so.
func eachWire(t *testing.T, answer func(net.Conn), test func(t *testing.T, mode string, l *takt.Loop)) {
	eachMode(t, func(t *testing.T, mode string) { test(t, mode, httpLoop(t, listen(t, answer))) })
	t.Run("worker over TLS", func(t *testing.T) {
		s := httptest.NewTLSServer(nil) // its certificate
		defer s.Close()
		l := httpLoop(t, listen(t, func(c net.Conn) {
			secured := tls.Server(c, s.TLS)
			answer(secured)
			secured.Close()
		}))
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		l.TLS = &tls.Config{RootCAs: roots, ServerName: "example.com"}
		test(t, "worker", l)
	})
}

// A server that serves one connection after the other answers the first operation: on the
// connection of the probe, which would keep any other waiting.
func TestOneConnectionAtATime(t *testing.T) {
	for _, requests := range []uint64{1, 2} {
		var serving sync.Mutex
		answer := func(c net.Conn) {
			serving.Lock()
			defer serving.Unlock()
			if request(c) {
				io.WriteString(c, ok)
				c.Close()
			}
		}
		eachWire(t, answer, func(t *testing.T, mode string, l *takt.Loop) {
			l.ConnectTimeout, l.Timeout = 20*time.Second, 20*time.Second
			for _, rate := range []string{"", "50"} {
				r := load(t, mode, l, func(o *engine.Options) { o.Rate, o.Requests = engine.MustRate(rate), requests })
				if r.Counts.OK != requests {
					t.Errorf("%d at rate %q: %+v; %+v", requests, rate, r.Counts, r.Errors)
				}
			}
		})
	}
}

func warned(r *takt.Report, code takt.WarningCode) string {
	for _, w := range r.Warnings {
		if w.Code == code {
			return w.Message
		}
	}
	return ""
}

// unread reports whether a request waits in the socket of a server.
func unread(c net.Conn) (waits bool) {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // a closed connection has no request
		n, _ := sock.Peek(int(fd), make([]byte, 1))
		waits = n > 0
	})
	return waits
}

// atLast makes runs until one is good. A server cannot know that no request comes while it speaks or
// closes: a machine may take its core away just then.
func atLast(t *testing.T, run func() (bad string)) {
	t.Helper()
	bad := ""
	for range 5 {
		if bad = run(); bad == "" {
			return
		}
	}
	t.Error(bad)
}

// A server that closes each connection after its answer, and does not say so, fails nothing:
// the end is in the socket before the next request is written. Of the first connection it
// comes while operations wait for it.
func TestSilentClose(t *testing.T) {
	answer := func(c net.Conn) {
		for request(c) {
			if io.WriteString(c, ok); !unread(c) {
				return
			}
		}
	}
	eachWire(t, answer, func(t *testing.T, mode string, l *takt.Loop) {
		atLast(t, func() string {
			r := load(t, mode, l, func(o *engine.Options) { o.Rate, o.Requests, o.Connections = engine.MustRate("500"), 250, 20 })
			if r.Counts.OK < 240 {
				return fmt.Sprintf("%+v; %+v", r.Counts, r.Errors)
			}
			return ""
		})
	})
}

// What a server sends to an idle connection is the answer to nothing.
func TestSpeaksWhenIdle(t *testing.T) {
	answer := func(c net.Conn) {
		for request(c) {
			io.WriteString(c, ok)
			if time.Sleep(time.Millisecond); !unread(c) {
				io.WriteString(c, timedOut)
			}
		}
	}
	eachWire(t, answer, func(t *testing.T, mode string, l *takt.Loop) {
		atLast(t, func() string {
			r := load(t, mode, l, func(o *engine.Options) { o.Rate, o.Requests, o.Connections = engine.MustRate("20"), 10, 1 })
			if r.Counts.OK == 10 && len(r.Status) == 1 && strings.Contains(warned(r, "unsolicited"), "408 Request Timeout") {
				return ""
			}
			return fmt.Sprintf("%+v, %v; %+v; %+v", r.Counts, r.Status, r.Errors, r.Warnings)
		})
	})
}

// What a server sends before the request is no answer to it, and fails it. A greeting that comes
// when the request has been written cannot be told from an answer, and on a busy machine without
// TLS most come so late: there internal/sim decides, which has every instant.
func TestSpeaksFirst(t *testing.T) {
	answer := func(c net.Conn) {
		io.WriteString(c, timedOut)
		io.Copy(io.Discard, c)
	}
	eachWire(t, answer, func(t *testing.T, mode string, l *takt.Loop) {
		if l.TLS != nil {
			l.TLS.MaxVersion = tls.VersionTLS12 // the server has the last word of its handshake
		}
		runs := 1
		if l.TLS != nil {
			runs = 10
		}
		for range runs {
			r := load(t, mode, l, func(o *engine.Options) { o.Rate, o.Requests, o.Connections = engine.MustRate("100"), 20, 1 })
			for _, e := range r.Errors {
				if e.Class != engine.ClassUnsolicited {
					continue
				}
				if !strings.Contains(e.Body, "408 Request Timeout") {
					t.Errorf("%+v", e)
				}
				return
			}
		}
		if l.TLS != nil {
			t.Errorf("all greetings of %d runs were taken for answers", runs)
		}
	})
}

// Bytes that came before the request was written are told by the kernel's stamp also where
// nobody looked: a connection that was used just before.
func TestSpeaksUnseen(t *testing.T) {
	defer engine.Trust()()
	answer := func(c net.Conn) {
		for i := 0; request(c); i++ {
			if io.WriteString(c, ok); i == 4 {
				io.WriteString(c, ok)
			}
		}
	}
	eachWire(t, answer, func(t *testing.T, mode string, l *takt.Loop) {
		r := load(t, mode, l, func(o *engine.Options) { o.Rate, o.Requests, o.Connections = engine.MustRate("100"), 63, 1 })
		var unsolicited uint64
		for _, e := range r.Errors {
			if e.Class == engine.ClassUnsolicited {
				unsolicited = e.Count
			}
		}
		// Both answers may be read at once, and the second is then seen at the end of the first.
		if unsolicited == 0 && warned(r, "unsolicited") == "" || r.Counts.OK+unsolicited != 63 {
			t.Errorf("%+v, %v; %+v, %+v", r.Counts, r.Status, r.Errors, r.Warnings)
		}
	})
}

// A wall clock that is set during the run, by which the kernel stamps answers, fails no
// operation and spoils no duration; the report says it.
func TestClockStep(t *testing.T) {
	for name, step := range map[string]time.Duration{"back": -time.Second, "a little back": -5 * time.Millisecond, "forth": time.Hour} {
		t.Run(name, func(t *testing.T) {
			var requests, at atomic.Int64 // the clock is set at the 30th request
			answer := func(c net.Conn) {
				for request(c) {
					if requests.Add(1) == 30 {
						at.Store(time.Now().UnixNano())
					}
					time.Sleep(3 * time.Millisecond)
					io.WriteString(c, ok)
				}
			}
			eachWire(t, answer, func(t *testing.T, mode string, l *takt.Loop) {
				requests.Store(0)
				at.Store(math.MaxInt64)
				defer sock.Pretend(func(ns int64) int64 {
					if ns >= at.Load() {
						ns += int64(step)
					}
					return ns
				})()
				r, rows := loadRows(t, mode, l, func(o *engine.Options) { o.Rate, o.Requests, o.Connections = engine.MustRate("200"), 60, 4 })
				if r.Counts.OK != 60 || warned(r, "clock_step") == "" {
					t.Errorf("%+v; %+v, %+v", r.Counts, r.Errors, r.Warnings)
				}
				for _, row := range rows {
					if service := row.Done - row.Sent; service < 3*time.Millisecond-sock.Doubt {
						t.Errorf("operation %d took %v", row.Seq, service)
					}
				}
			})
		})
	}
}
