package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// numbers is a server that answers each number of 8 bytes with the same number, and can misbehave.
type numbers struct {
	net.Listener
	late  func(n uint64) time.Duration // how late it answers n; negative: it closes the connection
	conns sync.WaitGroup
}

func listen(t *testing.T, late func(n uint64) time.Duration) *numbers {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &numbers{Listener: l, late: late}
	s.conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); s.conns.Wait() })
	return s
}

func (s *numbers) serve(c net.Conn) {
	defer c.Close()
	var b [8]byte
	for {
		if _, err := io.ReadFull(c, b[:]); err != nil {
			return
		}
		wait := s.late(binary.BigEndian.Uint64(b[:]))
		if wait < 0 {
			return
		}
		time.Sleep(wait)
		if _, err := c.Write(b[:]); err != nil {
			return
		}
	}
}

// asker asks such a server, with a timeout, and counts.
type asker struct {
	addr                  string
	timeout               time.Duration
	opened, closed, wrong atomic.Int64
	refuse                func() error // of opening; nil: none
	fails                 func(n uint64) error
}

func (a *asker) open(int) (Func, func() error, error) {
	a.opened.Add(1)
	if a.refuse != nil {
		if err := a.refuse(); err != nil {
			return nil, nil, err
		}
	}
	c, err := net.Dial("tcp", a.addr)
	if err != nil {
		return nil, nil, err
	}
	do := func(_ context.Context, op *takt.Op, r *takt.Result) error {
		var b [8]byte
		_ = c.SetDeadline(time.Now().Add(a.timeout))
		if _, err := c.Write(binary.BigEndian.AppendUint64(nil, op.Seq)); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, b[:]); err != nil {
			return err
		}
		if binary.BigEndian.Uint64(b[:]) != op.Seq {
			a.wrong.Add(1)
		}
		if a.fails != nil {
			return a.fails(op.Seq)
		}
		return nil
	}
	return do, func() error { a.closed.Add(1); return c.Close() }, nil
}

func ask(t *testing.T, a *asker, n uint64) *takt.Report {
	t.Helper()
	s := schedule.Constant(1000, 0)
	s.Limit = n
	r, err := Run(t.Context(), Plan{Driver: Workers(a.open), Schedule: s, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Counts; c.OK+c.Failed != n {
		t.Errorf("of %d operations: %+v", n, c)
	}
	return r
}

func count(r *takt.Report, class string) uint64 {
	for _, e := range r.Errors {
		if e.Class == class {
			return e.Count
		}
	}
	return 0
}

// The answer to an operation that timed out is nobody's.
func TestLateAnswersCountForNoOperation(t *testing.T) {
	s := listen(t, func(n uint64) time.Duration {
		if n == 3 || n == 6 {
			return 700 * ms
		}
		return 0
	})
	a := &asker{addr: s.Addr().String(), timeout: 500 * ms}
	r := ask(t, a, 10)
	timeouts := int64(count(r, Timeout)) // more than two on a busy machine
	if a.wrong.Load() > 0 || timeouts < 2 || r.Counts.OK == 0 {
		t.Errorf("%d operations had the answer of another; %+v %+v", a.wrong.Load(), r.Counts, r.Errors)
	}
	if opened, closed := a.opened.Load(), a.closed.Load(); opened != closed || opened < timeouts || opened > timeouts+1 {
		t.Errorf("%d timeouts: opened %d times, closed %d times", timeouts, opened, closed)
	}
	// The operation that waited for the new connection was due before the timeout of the one before it.
	if max := r.Latency[takt.LatencyResponse].Max; max < 900e3 {
		t.Errorf("the slowest operation took %v µs, less than two timeouts", max)
	}
}

// Operations fail while the worker cannot be opened again, each with the class of the cause, and
// succeed afterwards.
func TestWorkerIsOpenedAgain(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	late := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	for _, c := range []struct {
		err  error
		want string
	}{
		{refused, Refused}, {late, ConnectTimeout}, {errors.New("no room"), Unopened}, {Failed("full", errors.New("no room")), "full"},
		{unnamed{errors.New("no room")}, Unopened}, {Failed(Timeout, late), Timeout},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			s := listen(t, func(n uint64) time.Duration {
				if n == 2 {
					return -1
				}
				return 0
			})
			a := &asker{addr: s.Addr().String(), timeout: time.Minute}
			tries := 0
			a.refuse = func() error {
				if tries++; tries >= 2 && tries <= 4 {
					return c.err
				}
				return nil
			}
			r := ask(t, a, 10)
			if r.Counts.OK != 6 || count(r, Ended)+count(r, Reset) != 1 || count(r, c.want) != 3 || a.opened.Load() != 5 || a.closed.Load() != 2 {
				t.Errorf("%+v %+v; opened %d times, closed %d times", r.Counts, r.Errors, a.opened.Load(), a.closed.Load())
			}
		})
	}
}

// A server that is away and comes back on the same address.
func TestServerRestarts(t *testing.T) {
	s := listen(t, func(n uint64) time.Duration {
		if n == 5 {
			return -1
		}
		return 0
	})
	a := &asker{addr: s.Addr().String(), timeout: time.Minute}
	away := 0
	a.refuse = func() error {
		if a.opened.Load() == 1 {
			return nil
		}
		if away++; away > 20 {
			return nil
		}
		_, err := net.Dial("tcp", "127.0.0.1:1") // nobody listens there
		return err
	}
	if r := ask(t, a, 100); r.Counts.OK != 79 || count(r, Refused) != 20 {
		t.Errorf("%+v %+v", r.Counts, r.Errors)
	}
}

// After an error that is not of the network the worker goes on, unless it is lost.
func TestWorkerGoesOn(t *testing.T) {
	s := listen(t, func(uint64) time.Duration { return 0 })
	for name, c := range map[string]struct {
		err    error
		opened int64
	}{
		"refused by the server": {Failed("refused", errors.New("-ERR")), 1},
		"an ordinary error":     {errors.New("wrong answer"), 1},
		"lost":                  {Lost(errors.New("connection lost")), 11},
		"lost, with a class":    {Failed("lost", Lost(errors.New("connection lost"))), 11},
	} {
		a := &asker{addr: s.Addr().String(), timeout: time.Minute, fails: func(n uint64) error {
			if n < 10 {
				return c.err
			}
			return nil
		}}
		if r := ask(t, a, 20); a.opened.Load() != c.opened || a.closed.Load() != c.opened || r.Counts.Failed != 10 {
			t.Errorf("%s: opened %d times, closed %d times, want %d; %+v %+v", name, a.opened.Load(), a.closed.Load(), c.opened, r.Counts, r.Errors)
		}
	}
	if Lost(nil) != nil {
		t.Error("no error was lost")
	}
}

// Which errors break a worker?
func TestBreaks(t *testing.T) {
	_, noFile := os.Open("/nonexistent")
	_, ended := context.WithTimeout(t.Context(), -1)
	ended()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("x"), false},
		{Failed("5xx", errors.New("x")), false},
		{Failed(Timeout, errors.New("no answer")), false},
		{noFile, false},
		{io.EOF, true},
		{fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), true},
		{Failed("answer", io.EOF), true},
		{context.Canceled, true},
		{Failed("deadline", context.DeadlineExceeded), true},
		{os.ErrDeadlineExceeded, true},
		{net.ErrClosed, true},
		{syscall.EPIPE, true},
		{os.NewSyscallError("read", syscall.ECONNRESET), true},
		{&net.OpError{Op: "read", Err: syscall.EHOSTUNREACH}, true},
		{&net.DNSError{Name: "x"}, true},
		{errors.Join(errors.New("x"), &net.OpError{Op: "read", Err: syscall.ETIMEDOUT}), true},
		{Lost(errors.New("x")), true},
	} {
		if got := breaks(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

// An author who returns nothing learns it before the start.
func TestWorkerWithoutAFunction(t *testing.T) {
	d := Workers(func(int) (Func, func() error, error) { return nil, nil, nil })
	if _, err := Run(t.Context(), Plan{Driver: d, Schedule: schedule.Constant(10, time.Second)}); err == nil || err.Error() != "cannot make the first worker: the function that load.Workers got returned neither a Func nor an error" {
		t.Error(err)
	}
}
