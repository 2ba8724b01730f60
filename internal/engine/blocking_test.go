package engine_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/takt"
)

// serve runs a target until the test ends and returns its address.
func serve(t testing.TB, o target.Options) (addr string, s *target.Server) {
	t.Helper()
	s = targettest.Serve(t, o)
	return s.URL()[len("http://"):], s
}

// httpLoop describes GET / at addr.
func httpLoop(t testing.TB, addr string) *takt.Loop {
	t.Helper()
	q := http1.Request{Method: "GET", Target: "/", Host: addr}
	rendered, err := q.Render()
	if err != nil {
		t.Fatal(err)
	}
	return &takt.Loop{
		Network: "tcp", Addr: addr, ConnectTimeout: time.Minute, Timeout: time.Minute,
		Codec: func(int) takt.Codec { return http1.NewCodec(rendered, http1.Options{}) },
	}
}

func newConn(t testing.TB, l *takt.Loop) takt.Worker {
	t.Helper()
	_, worker := engine.Blocking(l)
	w, err := worker(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// A connection that rests has no buffers: there may be 10,000.
func TestRestingConnectionHasNoBuffers(t *testing.T) {
	addr, _ := serve(t, target.Options{})
	w := newConn(t, httpLoop(t, addr))
	for range 3 {
		var r takt.Result
		w.Do(t.Context(), &takt.Op{}, &r)
		if r.Class != "" || r.Status != 200 || engine.HasBuffers(w) {
			t.Errorf("%+v, buffers %v", r, engine.HasBuffers(w))
		}
	}
}

// The whole path of a request, from the engine's worker to the socket and back,
// allocates nothing once it is connected.
func TestBlockingDoesNotAllocate(t *testing.T) {
	addr, _ := serve(t, target.Options{})
	w := newConn(t, httpLoop(t, addr))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var op takt.Op
	var r takt.Result
	do := func() {
		r.Reset()
		w.Do(ctx, &op, &r)
		if r.Class != "" {
			t.Fatal(r.Class, r.Err)
		}
	}
	do()
	// The target answers in this process without allocating either (its own test
	// says so); a stray allocation of the runtime may still be seen.
	if n := testing.AllocsPerRun(2000, do); n >= 1 {
		t.Errorf("%v allocations per request", n)
	}
}

// listen answers each connection with what answer does.
func listen(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				answer(c)
			}()
		}
	}()
	return l.Addr().String()
}

func request(c net.Conn) bool {
	_, err := c.Read(make([]byte, 4096))
	return err == nil
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// fault is what a server does instead of answering, and the classes that it may give.
type fault struct {
	name   string
	answer func(net.Conn)
	class  string
}

func faults() []fault {
	return []fault{
		{"closes at once", func(net.Conn) {}, "closed|reset"},
		{"closes without an answer", func(c net.Conn) { request(c) }, "closed"},
		{"breaks off", func(c net.Conn) { request(c); io.WriteString(c, ok[:len(ok)-1]) }, "truncated"},
		{"resets", func(c net.Conn) { request(c); c.(*net.TCPConn).SetLinger(0) }, "reset"},
		{"hangs", func(c net.Conn) { request(c); io.Copy(io.Discard, c) }, "timeout"},
		{"garbage", func(c net.Conn) { request(c); io.WriteString(c, "SSH-2.0-OpenSSH\r\n") }, "malformed"},
	}
}

func TestBlockingFaults(t *testing.T) {
	for _, c := range faults() {
		t.Run(c.name, func(t *testing.T) {
			l := httpLoop(t, listen(t, c.answer))
			if c.class == "timeout" {
				l.Timeout = 200 * time.Millisecond
			}
			var r takt.Result
			newConn(t, l).Do(context.Background(), &takt.Op{}, &r)
			if r.Class == "" || r.Err == nil {
				t.Fatalf("class %q, error %v", r.Class, r.Err)
			}
			if c.class == "closed|reset" && (r.Class == "closed" || r.Class == "reset") {
				return
			}
			if r.Class != c.class {
				t.Errorf("class %q (%v), want %q", r.Class, r.Err, c.class)
			}
		})
	}
}

func TestBlockingRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var r takt.Result
	newConn(t, httpLoop(t, l.Addr().String())).Do(context.Background(), &takt.Op{}, &r)
	if r.Class != engine.ClassRefused {
		t.Errorf("class %q, %v", r.Class, r.Err)
	}
}

// A server that closed an idle connection is dialled again, within the operation
// that finds out; a connection with bytes that nobody asked for is not trusted.
func TestBlockingRedials(t *testing.T) {
	for name, extra := range map[string]string{"closed when idle": "", "leftover": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int32
			w := newConn(t, httpLoop(t, listen(t, func(c net.Conn) {
				conns.Add(1)
				request(c)
				io.WriteString(c, ok+extra)
				if extra != "" {
					io.Copy(io.Discard, c)
				}
			})))
			for range 2 {
				var r takt.Result
				w.Do(context.Background(), &takt.Op{}, &r)
				if r.Class != "" || r.Status != 200 || r.Phases[1] == 0 {
					t.Fatalf("%+v", r)
				}
				time.Sleep(20 * time.Millisecond) // until the end has come
			}
			if n := conns.Load(); n != 2 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// The end of the drain wakes a worker that waits for an answer.
func TestBlockingIsInterrupted(t *testing.T) {
	l := httpLoop(t, listen(t, func(c net.Conn) { request(c); io.Copy(io.Discard, c) }))
	l.Timeout = time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	done := make(chan takt.Result, 1)
	w := newConn(t, l)
	go func() {
		var r takt.Result
		w.Do(ctx, &takt.Op{}, &r)
		done <- r
	}()
	select {
	case r := <-done:
		if r.Class == "" {
			t.Errorf("%+v", r)
		}
	case <-time.After(time.Minute):
		t.Fatal("still waiting")
	}
}

func TestProbesConnectionIsThePoolsFirst(t *testing.T) {
	addr, s := serve(t, target.Options{})
	probe, worker := engine.Blocking(httpLoop(t, addr))
	if err := probe(context.Background()); err != nil {
		t.Fatal(err)
	}
	w, _ := worker(0)
	defer w.Close()
	var r takt.Result
	w.Do(context.Background(), &takt.Op{}, &r)
	if r.Class != "" || r.Phases[1] != 0 {
		t.Errorf("it dialled again: %+v", r)
	}
	if n := s.Truth().Counts.Requests; n != 1 {
		t.Errorf("%d requests; a probe connects only", n)
	}
	down := httpLoop(t, "127.0.0.1:1")
	probe, _ = engine.Blocking(down)
	if err := probe(context.Background()); err == nil {
		t.Error("a probe of nothing succeeded")
	} else if op := (*net.OpError)(nil); !errors.As(err, &op) {
		t.Errorf("error %v", err)
	}
}
