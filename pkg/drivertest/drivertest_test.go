package drivertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	Check(t, Expect{Open: good, Bytes: true, Classes: []string{"refused_by_server", load.Timeout, "cancelled"}})
}

// heard collects failures.
type heard struct{ list []string }

func (h *heard) Helper() {}
func (h *heard) Errorf(format string, args ...any) {
	h.list = append(h.list, fmt.Sprintf(format, args...))
}

// Each fault of a driver is found, and the failure says what to do.
func TestFaults(t *testing.T) {
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
			var h heard
			check(&h, Expect{Bytes: true, Classes: []string{"refused"}}, c.target, c.driver())
			if !strings.Contains(strings.Join(h.list, "\n"), c.want) {
				t.Errorf("want %s\ngot %.2000s", c.want, strings.Join(h.list, "\n"))
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
