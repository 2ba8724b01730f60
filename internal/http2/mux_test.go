package http2

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/pkg/takt"
)

// client runs a Mux over a connection, as the engine does.
type client struct {
	t    *testing.T
	m    *Mux
	c    net.Conn
	in   []byte
	list []takt.MuxEvent
}

// step sends what is to be sent, and reads once.
func (k *client) step() (alive bool) {
	k.t.Helper()
	k.flush()
	b := make([]byte, 32<<10)
	_ = k.c.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, err := k.c.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		k.t.Fatal(err)
	}
	k.in = append(k.in, b[:n]...)
	used, list, alive := k.m.Parse(k.in, err != nil, k.list[:0])
	k.in, k.list = k.in[used:], list
	return alive
}

func (k *client) flush() {
	for out := k.m.Out(); len(out) > 0; out = k.m.Out() {
		n, err := k.c.Write(out)
		if err != nil {
			k.t.Fatal(err)
		}
		k.m.Sent(n)
	}
}

// serve is a connection to Go's own HTTP/2 server.
func serve(t *testing.T, requests Requests, opt http1.Options, h http.HandlerFunc) *client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		_ = l.Close() // not earlier: a connection that nobody has accepted goes with its listener
		if err == nil {
			(&xhttp2.Server{MaxConcurrentStreams: 50}).ServeConn(c, &xhttp2.ServeConnOpts{Handler: h})
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &client{t: t, m: New(requests, opt, 100), c: c}
}

func rendered(method, path string, body []byte, header ...http1.Field) *Rendered {
	return Render(&http1.Request{Method: method, Target: path, Host: "sim", Header: header, Body: body}, "http")
}

// Requests of every kind, many at once, get their own answers from another implementation.
func TestExchanges(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789"), 20_000)
	for name, c := range map[string]struct {
		request *Rendered
		handler http.HandlerFunc
		status  int
		atLeast int64 // bytes received
		class   string
		body    string
	}{
		"a GET":       {rendered("GET", "/a?b=c", nil), echo, 200, 10, "", ""},
		"a large GET": {rendered("GET", "/", nil), func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(big) }, 200, int64(len(big)), "", ""},
		"a POST":      {rendered("POST", "/", big, http1.Field{Name: "Content-Type", Value: "text/plain"}), echo, 200, 10, "", ""},
		"an empty POST": {rendered("POST", "/", nil), func(w http.ResponseWriter, q *http.Request) {
			if q.ContentLength != 0 {
				w.WriteHeader(411)
			}
		}, 200, 10, "", ""},
		"a HEAD":      {rendered("HEAD", "/", nil), func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "12345") }, 200, 10, "", ""},
		"no content":  {rendered("GET", "/", nil), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 204, 10, "", ""},
		"early hints": {rendered("GET", "/", nil), func(w http.ResponseWriter, q *http.Request) { w.WriteHeader(103); echo(w, q) }, 200, 20, "", ""},
		"trailers": {rendered("GET", "/", nil), func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Trailer", "X")
			echo(w, q)
			w.Header().Set("X", "y")
		}, 200, 20, "", ""},
		"not found": {rendered("GET", "/", nil), func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "nothing here", 404) }, 404, 10, "4xx", "nothing here\n"},
		"many headers": {rendered("GET", "/", nil), func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("v", 300))
			}
		}, 200, 20_000, "", ""},
		"long request headers": {rendered("GET", "/", nil, http1.Field{Name: "X-Long", Value: strings.Repeat("{", 40_000)}), func(w http.ResponseWriter, q *http.Request) {
			if len(q.Header.Get("X-Long")) != 40_000 {
				w.WriteHeader(400)
			}
		}, 200, 10, "", ""},
		"aborted": {rendered("GET", "/", nil), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, 0, ClassReset, ""},
	} {
		t.Run(name, func(t *testing.T) {
			fail := func(status int) string {
				if status >= 400 {
					return "4xx"
				}
				return ""
			}
			k := serve(t, c.request, http1.Options{Fail: fail}, c.handler)
			const all = 200
			results := make([]takt.Result, 40)
			for begun, ended := 0, 0; ended < all; {
				for tag := range results {
					if begun < all && results[tag].Arrived.IsZero() && begun-ended < k.m.Limit() {
						results[tag] = takt.Result{Arrived: time.Unix(1, 0)} // in use
						k.m.Begin(&takt.Op{}, tag, &results[tag])
						begun++
					}
				}
				if !k.step() {
					t.Fatalf("the connection ended after %d answers: %v", ended, results[0].Err)
				}
				for _, e := range k.list {
					r := &results[e.Tag]
					if e.Kind != takt.MuxEnd {
						continue
					}
					ended++
					if r.Status != c.status || r.Class != c.class || r.BytesReceived < c.atLeast || string(r.Body) != c.body || r.BytesSent < int64(len(c.request.request.Body)) {
						t.Fatalf("answer %d: %+v", ended, r)
					}
					r.Arrived = time.Time{}
				}
			}
			if n := k.m.open; n != 0 {
				t.Errorf("%d streams are open", n)
			}
		})
	}
}

func echo(w http.ResponseWriter, q *http.Request) {
	b, _ := io.ReadAll(q.Body)
	if n := q.Header.Get("Content-Length"); n != "" && n != strconv.Itoa(len(b)) {
		w.WriteHeader(500)
	}
	fmt.Fprintf(w, "%s %s %x", q.Method, q.URL, sha256.Sum256(b))
}

var anyOp = new(takt.Op)

// exchange is a request and its answer, each time with the same bytes.
func exchange(m *Mux, r *takt.Result, answer func(id uint32) []byte, list []takt.MuxEvent) []takt.MuxEvent {
	r.Reset()
	id := m.next
	m.Begin(anyOp, 0, r)
	m.Sent(len(m.Out()))
	_, list, _ = m.Parse(answer(id), false, list[:0])
	return list
}

// answers makes the frames of an answer with 100 bytes.
func answers() func(id uint32) []byte {
	block := append([]byte{0x88, 0x0f, 0x0d, 0x03}, "100\x0f\x10\x0atext/plain"...) // :status, content-length, content-type
	b, body := make([]byte, 0, 200), bytes.Repeat([]byte{'x'}, 100)
	return func(id uint32) []byte {
		b = append(wire.AppendHeader(b[:0], len(block), wire.Headers, wire.FlagEndHeaders, id), block...)
		return append(wire.AppendHeader(b, len(body), wire.Data, wire.FlagEndStream, id), body...)
	}
}

func BenchmarkExchange(b *testing.B) {
	m := New(rendered("GET", "/", nil, http1.Field{Name: "User-Agent", Value: "takt"}), http1.Options{}, 100)
	_, _, _ = m.Parse(wire.AppendHeader(nil, 0, wire.Settings, 0, 0), false, nil)
	answer := answers()
	var r takt.Result
	var list []takt.MuxEvent
	b.ReportAllocs()
	for b.Loop() {
		if list = exchange(m, &r, answer, list); len(list) != 2 || r.Status != 200 || r.Class != "" {
			b.Fatal(list, r)
		}
	}
}

// A request and its answer leave no garbage.
func TestNoAllocation(t *testing.T) {
	m := New(rendered("POST", "/", []byte("body"), http1.Field{Name: "User-Agent", Value: "takt"}), http1.Options{}, 100)
	_, _, _ = m.Parse(wire.AppendHeader(nil, 0, wire.Settings, 0, 0), false, nil)
	var r takt.Result
	var list []takt.MuxEvent
	answer := answers()
	n := testing.AllocsPerRun(100_000, func() {
		if list = exchange(m, &r, answer, list); len(list) != 2 || r.Status != 200 {
			t.Fatalf("%+v", r)
		}
		m.window = wire.FirstWindow // as if the server had taken the bodies
	})
	if n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}
