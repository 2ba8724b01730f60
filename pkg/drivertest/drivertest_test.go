package drivertest

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

// serve is an echo server that behaves like target.
func serve(t *testing.T, target Target) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if target == Down {
		l.Close()
		return l.Addr().String()
	}
	var conns sync.WaitGroup
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(func() { end(); l.Close(); conns.Wait() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { c.Close() })()
				b := make([]byte, 1)
				for {
					if _, err := c.Read(b); err != nil {
						return
					}
					if target == Hanging {
						continue
					}
					if target == Failing {
						b[0] = '!'
					}
					if _, err := c.Write(b); err != nil {
						return
					}
				}
			})
		}
	}()
	return l.Addr().String()
}

// good is a driver without a fault.
func good(t *testing.T, target Target) *takt.Driver {
	addr := serve(t, target)
	return load.Workers(func(int) (load.Func, func() error, error) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, nil, err
		}
		b := make([]byte, 1)
		do := func(ctx context.Context, _ *takt.Op, r *takt.Result) error {
			stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
			defer stop()
			if _, err := c.Write([]byte{'a'}); err != nil {
				return err
			}
			if _, err := io.ReadFull(c, b); err != nil {
				return err
			}
			r.BytesSent, r.BytesReceived = 1, 1
			if b[0] == '!' {
				return load.Failed("refused_by_server", errors.New("the server refused"))
			}
			return nil
		}
		return do, c.Close, nil
	})
}

func TestGoodDriver(t *testing.T) {
	Check(t, Expect{Bytes: true, Classes: []string{"refused_by_server", load.Timeout, "cancelled"}, Open: func(t *testing.T, target Target) *takt.Driver {
		if target > Down {
			return nil
		}
		return good(t, target)
	}})
}

// conn is a worker that asks the echo server, and keeps its connection whatever happens.
type conn struct {
	net.Conn
	timeout time.Duration
	leave   bool // it does not close its connection
}

func (c *conn) ask(ctx context.Context, r *takt.Result) error {
	_ = c.SetDeadline(time.Now().Add(c.timeout))
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	b := []byte{'a'}
	if _, err := c.Write(b); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	r.BytesSent, r.BytesReceived = 1, 1
	return nil
}

func (c *conn) Do(ctx context.Context, _ *takt.Op, r *takt.Result) {
	r.Err = c.ask(ctx, r)
	r.Class = load.ClassOf(r.Err)
}

func (c *conn) Close() error {
	if c.leave {
		return nil
	}
	return c.Conn.Close()
}

const shortTime = 300 * time.Millisecond

// dial returns a driver with its own code for connections.
func dial(addr string) *takt.Driver {
	return &takt.Driver{Worker: func(int) (takt.Worker, error) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, err
		}
		return &conn{c, shortTime, false}, nil
	}}
}

// The relay makes all servers of one that is good. One that restarts resets connections, and refuses none.
func TestGoodDriverWithARelay(t *testing.T) {
	classes := []string{load.Reset, load.Ended, load.Timeout, "cancelled"}
	Check(t, Expect{Bytes: true, Classes: classes, Server: serve(t, Good), Timeout: shortTime, At: func(t *testing.T, addr string) *takt.Driver {
		return load.Workers(func(int) (load.Func, func() error, error) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				return nil, nil, err
			}
			k := &conn{c, shortTime, false}
			return func(ctx context.Context, _ *takt.Op, r *takt.Result) error { return k.ask(ctx, r) }, k.Close, nil
		})
	}})
}

// faults checks a driver that has one fault.
func faults(t *testing.T, target Target, driver func(addr string) *takt.Driver, want string) {
	t.Helper()
	e := Expect{Server: serve(t, Good), Timeout: shortTime}
	h, _ := attempt(func(h failer, clock *pulse) {
		if target == Good {
			check(h, clock, e, target, driver(e.Server), nil)
		} else {
			r := relayTo(t, e.Server, target, e.lateness())
			check(h, clock, e, target, driver(r.addr()), r)
		}
	})
	if len(h.all()) != 1 || !strings.Contains(h.all()[0], want) {
		t.Errorf("want %s\ngot %.2000s", want, strings.Join(h.all(), "\n"))
	}
}

// A driver that keeps its connection after an error.
func TestConnectionIsKept(t *testing.T) {
	t.Parallel()
	for target, want := range map[Target]string{Late: "close the connection after an error", Restarting: "open the connection again after an error"} {
		t.Run(target.String(), func(t *testing.T) {
			t.Parallel()
			faults(t, target, func(addr string) *takt.Driver { return dial(addr) }, want)
		})
	}
}

// A driver that does not close its connections. No other test has connections meanwhile.
func TestConnectionsAreLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the connections of a process")
	}
	const want = " are open 3s after the run; close them"
	t.Run("no done", func(t *testing.T) {
		faults(t, Good, func(addr string) *takt.Driver {
			return load.Workers(func(int) (load.Func, func() error, error) {
				c, err := net.Dial("tcp", addr)
				k := &conn{c, longest, true}
				return func(ctx context.Context, _ *takt.Op, r *takt.Result) error { return k.ask(ctx, r) }, nil, err
			})
		}, want)
	})
	t.Run("dials in its first operation", func(t *testing.T) {
		faults(t, Good, func(addr string) *takt.Driver {
			return &takt.Driver{Worker: func(int) (takt.Worker, error) { return &lazy{addr: addr}, nil }}
		}, want)
	})
	t.Run("behind a relay", func(t *testing.T) {
		faults(t, Hanging, func(addr string) *takt.Driver {
			return &takt.Driver{Worker: func(int) (takt.Worker, error) {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					return nil, err
				}
				k := &conn{c, longest, true}
				return k, k.ask(t.Context(), &takt.Result{}) // the relay has dialed before it answers
			}}
		}, want)
	})
}

// lazy dials in its first operation, and does not close its connection.
type lazy struct {
	conn
	addr string
}

func (l *lazy) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	if l.Conn == nil {
		c, err := net.Dial("tcp", l.addr)
		if err != nil {
			r.Class, r.Err = load.ClassOf(err), err
			return
		}
		l.conn = conn{c, longest, true}
	}
	l.conn.Do(ctx, op, r)
}

// What a check says about time is true.
func TestTimesOfFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		target Target
		do     load.Func
		want   string
	}{
		"does not return": {Hanging, func(context.Context, *takt.Op, *takt.Result) error { <-t.Context().Done(); return nil }, "were closed within 3s of the end"},
		"fails at once":   {Good, func(context.Context, *takt.Op, *takt.Result) error { return errors.New("nothing") }, "of 20 workers 0 succeeded (1000 error: nothing)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := attempt(func(h failer, clock *pulse) {
				if c.target == Hanging {
					check(h, clock, Expect{}, c.target, load.Handler(c.do), nil)
				} else {
					concurrent(h, load.Handler(c.do))
				}
			})
			if !strings.Contains(strings.Join(h.all(), "\n"), c.want) {
				t.Errorf("want %s\ngot %.2000s", c.want, strings.Join(h.all(), "\n"))
			}
		})
	}
}

// all are the faults on a quiet machine.
func (f *findings) all() []string {
	list, _ := f.of(0, 0)
	return list
}

// Operations that fail on a busy machine are not a fault of the driver. What no machine excuses is.
func TestBusyMachine(t *testing.T) {
	f := findings{sure: []string{"twice"}, doubts: []string{"late"}}
	if faults, busy := f.of(time.Second, time.Second/2); !busy || len(faults) != 1 {
		t.Errorf("busy: %v, %q", busy, faults)
	}
	if faults, busy := f.of(time.Second/2, time.Second/2); busy || len(faults) != 2 {
		t.Errorf("quiet: %v, %q", busy, faults)
	}
	checks, skipped := 0, false
	t.Run("never quiet", func(t *testing.T) {
		t.Cleanup(func() { skipped = t.Skipped() })
		judged(t, -time.Hour, func(f failer, _ *pulse) { checks++; f.Doubtf("it failed") })
	})
	if checks != attempts || !skipped {
		t.Errorf("%d checks, skipped: %v", checks, skipped)
	}
	checks = 0
	judged(t, -time.Hour, func(failer, *pulse) { checks++ })
	if checks != 1 {
		t.Errorf("%d checks without a doubt", checks)
	}
}

// A driver that has recovered stays so, whatever becomes of operations at the end of the run.
func TestRecovered(t *testing.T) {
	ended := 0
	r := recovery{over: func() bool { return true }, end: func() { ended++ }}
	r.note(nil, append(make([]takt.Sample, recovered), takt.Sample{Class: load.Timeout}))
	r.note(nil, []takt.Sample{{Class: "cancelled"}})
	var h findings
	if r.judge(&h, &takt.Report{}); len(h.all()) > 0 || ended == 0 {
		t.Errorf("ended %d times: %q", ended, h.all())
	}
}

// Each fault of a driver is found, and the failure says what to do.
func TestFaults(t *testing.T) {
	t.Parallel()
	do := func(f load.Func) *takt.Driver { return load.Handler(f) }
	nothing := errors.New("nothing")
	for name, c := range map[string]struct {
		target Target
		driver func() *takt.Driver
		want   string
	}{
		"does not open": {Good, func() *takt.Driver {
			return load.Workers(func(int) (load.Func, func() error, error) { return nil, nil, nothing })
		}, "the run could not start: cannot make the first worker: nothing"},
		"fails":          {Good, func() *takt.Driver { return do(func(context.Context, *takt.Op, *takt.Result) error { return nothing }) }, "of 100 operations only 0 succeeded (100 error: nothing)"},
		"no bytes":       {Good, func() *takt.Driver { return do(func(context.Context, *takt.Op, *takt.Result) error { return nil }) }, "set Result.BytesSent"},
		"sees no status": {Failing, func() *takt.Driver { return do(func(context.Context, *takt.Op, *takt.Result) error { return nil }) }, "check the answer's status"},
		"waits for none": {Hanging, func() *takt.Driver { return do(func(context.Context, *takt.Op, *takt.Result) error { return nil }) }, "report ok only after the answer"},
		"needs nobody":   {Down, func() *takt.Driver { return do(func(context.Context, *takt.Op, *takt.Result) error { return nil }) }, "although nobody listens"},
		"an error is ok": {Failing, func() *takt.Driver {
			return do(func(_ context.Context, _ *takt.Op, r *takt.Result) error { r.Err = nothing; return nil })
		}, "set the class, for example to load.ClassOf(err)"},
		"another class": {Failing, func() *takt.Driver { return do(func(context.Context, *takt.Op, *takt.Result) error { return nothing }) }, `the class "error" (nothing) is not among Expect.Classes`},
		"class sentences": {Failing, func() *takt.Driver {
			return &takt.Driver{Worker: func(int) (takt.Worker, error) { return sentence{}, nil }}
		}, "is not a short word"},
		"leaks": {Good, func() *takt.Driver {
			return load.Workers(func(int) (load.Func, func() error, error) {
				for range 100 { // some goroutines of earlier tests may end meanwhile
					go func() { <-t.Context().Done() }()
				}
				return func(_ context.Context, _ *takt.Op, r *takt.Result) error {
					r.BytesSent, r.BytesReceived = 1, 1
					return nil
				}, nil, nil
			})
		}, "end what the driver started in Worker.Close"},
		"ignores its context": {Hanging, func() *takt.Driver {
			return do(func(context.Context, *takt.Op, *takt.Result) error { <-t.Context().Done(); return nil })
		}, "an operation does not return after its context has ended"},
		"reports twice": {Good, func() *takt.Driver { return twice(true) }, "call Sink.Done once for each token"},
		"another token": {Good, func() *takt.Driver { return twice(false) }, "keep op.Token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := attempt(func(h failer, clock *pulse) {
				check(h, clock, Expect{Bytes: true, Classes: []string{"refused"}}, c.target, c.driver(), nil)
			})
			if !strings.Contains(strings.Join(h.all(), "\n"), c.want) {
				t.Errorf("want %s\ngot %.2000s", c.want, strings.Join(h.all(), "\n"))
			}
		})
	}
}

type sentence struct{}

func (sentence) Do(_ context.Context, _ *takt.Op, r *takt.Result) { r.Class = "the server said no" }
func (sentence) Close() error                                     { return nil }

// twice ends each operation twice, or with a token that is nobody's.
func twice(known bool) *takt.Driver {
	return &takt.Driver{Async: func(_ int, sink takt.Sink) (*takt.AsyncClient, error) {
		return &takt.AsyncClient{Start: func(op *takt.Op) error {
			token, other := op.Token, op.Token
			if !known {
				other += 1 << 40
			}
			r := takt.Result{BytesSent: 1, BytesReceived: 1}
			time.AfterFunc(time.Millisecond, func() {
				sink.Done(token, &r)
				sink.Done(other, &r)
			})
			return nil
		}}, nil
	}}
}
