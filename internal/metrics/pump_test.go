package metrics

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/permanent"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// receiver is an exporter for tests.
type receiver struct {
	export func(ctx context.Context, b *Batch) error // nil: accept
	got    []*Batch
	closed int
}

func (r *receiver) Export(ctx context.Context, b *Batch) error {
	if r.export != nil {
		if err := r.export(ctx, b); err != nil {
			return err
		}
	}
	r.got = append(r.got, b)
	return nil
}

func (r *receiver) Close(context.Context) error {
	r.closed++
	return nil
}

// interval is the n-th second of a run: n operations of n milliseconds, one of which failed.
func interval(n int) takt.Interval {
	h := hist.New()
	h.RecordN(time.Duration(n)*time.Millisecond, uint64(n))
	return takt.Interval{
		T: float64(n), Scheduled: uint64(n), OK: uint64(n - 1), Failed: 1, Errors: map[string]uint64{"5xx": 1},
		InFlightMax: n, ScheduleLagP99: 50, HDR: h.Encode(), ServiceHDR: h.Encode(),
	}
}

func report() *takt.Report {
	return &takt.Report{Verdict: takt.Valid, Counts: takt.Counts{Unfinished: 2}, Bytes: takt.Bytes{Sent: 7}, Generator: takt.Generator{CPUS: 0.5}}
}

// stage is a Pump with its receivers, named a, b and so on, and what it says.
type stage struct {
	*Pump
	mu    sync.Mutex
	told  []string
	waits []string
}

func begin(to ...*receiver) *stage {
	s := &stage{}
	var opened []Opened
	for i, r := range to {
		opened = append(opened, Opened{string(rune('a' + i)), r})
	}
	s.Pump = Start(Run{ID: "run"}, opened, func() time.Duration { return time.Since(time.Unix(0, 0)) }, func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, text)
	})
	s.Begin(time.Now())
	return s
}

// seconds passes on seconds; no call may wait.
func (s *stage) seconds(t *testing.T, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		time.Sleep(time.Second)
		at := time.Now()
		s.Interval(interval(n), nil)
		if time.Since(at) != 0 {
			t.Fatalf("second %d: Interval waited %v", n, time.Since(at))
		}
	}
}

// end ends the run, and returns what became of the batches, and how long that took.
func (s *stage) end(hurry <-chan struct{}) ([]takt.Export, time.Duration) {
	at := time.Now()
	list := s.End(report(), hurry, func(to []string) { s.waits = append(s.waits, to...) })
	return list, time.Since(at)
}

// Every exporter gets each second once and in its order, with the totals so far, and the end of the run.
func TestPump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &receiver{}, &receiver{}
		start := time.Now()
		s := begin(a, b)
		s.seconds(t, 1, 5)
		list, took := s.end(nil)
		if took != 0 || len(s.waits)+len(s.told) > 0 || !slices.Equal(list, []takt.Export{{To: "a", Sent: 6}, {To: "b", Sent: 6}}) {
			t.Fatalf("%v after %v, %v, %v", list, took, s.waits, s.told)
		}
		s.Interval(interval(6), nil) // too late
		for _, r := range []*receiver{a, b} {
			if r.closed != 1 || len(r.got) != 6 {
				t.Fatalf("%d batches, closed %d times", len(r.got), r.closed)
			}
			sum := uint64(0)
			for i, batch := range r.got[:5] {
				n := uint64(i + 1)
				sum += n
				f := batch.Total
				switch {
				case batch.Last.Scheduled != n, batch.Last.Response.Count() != n, batch.InFlight != int(n), batch.ScheduleLagP99 != 50*time.Microsecond,
					f.Scheduled != sum, f.OK != sum-n, f.Failed != n, f.Errors["5xx"] != n, f.Response.Count() != sum, f.Service.Count() != sum,
					!batch.From.Equal(start.Add(time.Duration(i) * time.Second)), !batch.To.Equal(start.Add(time.Duration(n) * time.Second)),
					*batch.CPU != time.Duration(n)*time.Second, batch.Over, batch.Run.ID != "run":
					t.Errorf("second %d is %+v", n, batch)
				}
			}
			last := r.got[5]
			if !last.Over || last.Verdict != takt.Valid || last.Total.Unfinished != 2 || last.Total.Scheduled != 15 || last.Total.Bytes.Sent != 7 || *last.CPU != time.Second/2 {
				t.Errorf("the end is %+v", last)
			}
		}
	})
}

// A receiver that fails for a while gets everything, and the others notice nothing.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(20 * time.Second)
		a, b := &receiver{}, &receiver{}
		a.export = func(context.Context, *Batch) error {
			if time.Now().Before(back) {
				return errors.New("refused")
			}
			return nil
		}
		s := begin(a, b)
		s.seconds(t, 1, 30)
		synctest.Wait()
		if len(b.got) != 30 {
			t.Errorf("the other receiver has %d batches of 30", len(b.got))
		}
		list, took := s.end(nil)
		if took != 0 || !slices.Equal(list, []takt.Export{{To: "a", Sent: 31, Error: "refused"}, {To: "b", Sent: 31}}) {
			t.Errorf("%v after %v", list, took)
		}
		if !slices.Equal(s.told, []string{"a: refused"}) {
			t.Errorf("told %q", s.told)
		}
		for i, batch := range a.got {
			if i < 30 && batch.Last.Scheduled != uint64(i+1) {
				t.Fatalf("batch %d is second %d", i, batch.Last.Scheduled)
			}
		}
	})
}

// A receiver that is away for longer than a minute costs the oldest seconds, and the end waits for it as
// long as it may.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &receiver{export: func(context.Context, *Batch) error { return errors.New("refused") }}
		s := begin(a)
		s.seconds(t, 1, 200)
		synctest.Wait()
		if n := len(s.lines[0].queue); n > queueRoom {
			t.Errorf("%d batches wait", n)
		}
		list, took := s.end(nil)
		if took != LastWait || !slices.Equal(list, []takt.Export{{To: "a", Lost: 201, Error: "refused"}}) || !slices.Equal(s.waits, []string{"a"}) {
			t.Errorf("%v after %v, waits for %v", list, took, s.waits)
		}
	})
}

// After more than a minute the receiver gets what is left, in order, with totals that miss nothing.
func TestBackAfterLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(100 * time.Second)
		a := &receiver{export: func(context.Context, *Batch) error {
			if time.Now().Before(back) {
				return errors.New("refused")
			}
			return nil
		}}
		s := begin(a)
		s.seconds(t, 1, 110)
		list, _ := s.end(nil)
		if e := list[0]; e.Sent+e.Lost != 111 || e.Lost < 30 || e.Lost > 50 || e.Sent != uint64(len(a.got)) {
			t.Errorf("%+v, %d batches", e, len(a.got))
		}
		if last := a.got[len(a.got)-1]; !last.Over || last.Total.Scheduled != 110*111/2 {
			t.Errorf("the end has %+v", last.Total)
		}
		if !slices.IsSortedFunc(a.got, func(x, y *Batch) int { return x.To.Compare(y.To) }) {
			t.Error("the batches are not in order")
		}
	})
}

// A receiver that comes back while the end waits for it gets everything.
func TestBackAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(22 * time.Second)
		a := &receiver{export: func(context.Context, *Batch) error {
			if time.Now().Before(back) {
				return errors.New("refused")
			}
			return nil
		}}
		s := begin(a)
		s.seconds(t, 1, 20)
		list, took := s.end(nil)
		if took < 2*time.Second || took > 2*time.Second+lastRest || list[0].Sent != 21 || list[0].Lost != 0 {
			t.Errorf("%v after %v", list, took)
		}
	})
}

// A refused batch is lost at once, and the next ones arrive.
func TestRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &receiver{export: func(_ context.Context, b *Batch) error {
			switch b.Last.Scheduled {
			case 1:
				return x509.HostnameError{Certificate: &x509.Certificate{}, Host: "receiver"}
			case 2:
				return fmt.Errorf("wrapped: %w", permanent.Mark(errors.New("400")))
			}
			return nil
		}}
		s := begin(a)
		s.seconds(t, 1, 3)
		list, took := s.end(nil)
		if took != 0 || !slices.Equal(list, []takt.Export{{To: "a", Sent: 2, Lost: 2, Error: "wrapped: 400"}}) {
			t.Errorf("%v after %v", list, took)
		}
	})
}

// A receiver that asks for a pause gets one, up to a limit.
func TestLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries []time.Duration
		begun := time.Now()
		a := &receiver{}
		a.export = func(context.Context, *Batch) error {
			tries = append(tries, time.Since(begun))
			switch len(tries) {
			case 1:
				return Later(errors.New("429"), 7*time.Second)
			case 2:
				return Later(errors.New("429"), time.Hour)
			}
			return nil
		}
		s := begin(a)
		s.seconds(t, 1, 50)
		s.end(nil)
		if !slices.Equal(tries[:3], []time.Duration{1 * time.Second, 8 * time.Second, 38 * time.Second}) {
			t.Errorf("tries at %v", tries[:3])
		}
	})
}

// A receiver that hangs costs its own seconds. One whose exporter ignores the time limit costs a goroutine.
func TestHang(t *testing.T) {
	for _, test := range []struct {
		name   string
		hang   func(ctx context.Context, free <-chan struct{})
		hurry  bool
		longer time.Duration // that the end waits after LastWait
		closed int
	}{
		{"until its time is over", func(ctx context.Context, _ <-chan struct{}) { <-ctx.Done() }, false, 0, 1},
		{"for ever", func(_ context.Context, free <-chan struct{}) { <-free }, false, closeTime, 0},
		{"and the user is in a hurry", func(ctx context.Context, _ <-chan struct{}) { <-ctx.Done() }, true, hurryTime - LastWait, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free := make(chan struct{})
				a, b := &receiver{}, &receiver{}
				a.export = func(ctx context.Context, _ *Batch) error {
					test.hang(ctx, free)
					return context.DeadlineExceeded
				}
				s := begin(a, b)
				s.seconds(t, 1, 10)
				var hurry chan struct{}
				if test.hurry {
					hurry = make(chan struct{})
					close(hurry)
				}
				list, took := s.end(hurry)
				if took != LastWait+test.longer || list[0].Sent != 0 || list[0].Lost != 11 || list[1].Sent != 11 || a.closed != test.closed {
					t.Errorf("%v after %v, closed %d times", list, took, a.closed)
				}
				close(free)
			})
		})
	}
}

// An exporter that panics does not end the run.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &receiver{export: func(_ context.Context, b *Batch) error {
			if b.Last.Scheduled == 1 {
				panic("oh")
			}
			return nil
		}}
		s := begin(a)
		s.seconds(t, 1, 2)
		list, _ := s.end(nil)
		if e := list[0]; e.Sent != 2 || e.Lost != 1 || !strings.Contains(e.Error, "please report it: oh") {
			t.Errorf("%+v", e)
		}
	})
}

// Without exporters there is no Pump; a run that was not made has no batches.
func TestNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := Start(Run{}, nil, nil, nil)
		none.Begin(time.Now())
		none.Interval(interval(1), nil)
		none.Close()
		if list := none.End(report(), nil, nil); none != nil || list != nil {
			t.Errorf("%v, %v", none, list)
		}
		a := &receiver{}
		p := Start(Run{}, []Opened{{"a", a}}, nil, nil)
		p.Interval(interval(1), nil)
		p.Close()
		p.Close()
		if list := p.End(report(), nil, nil); len(a.got) != 0 || a.closed != 1 || list != nil {
			t.Errorf("%d batches, closed %d times, %v", len(a.got), a.closed, list)
		}
	})
}
