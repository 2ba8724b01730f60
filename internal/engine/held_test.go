package engine_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// answers is a worker's answer after the wire's time, which it has only read later.
func answers(wire, later time.Duration) func(context.Context, *takt.Op, *takt.Result) {
	return func(_ context.Context, _ *takt.Op, r *takt.Result) {
		time.Sleep(wire)
		r.Arrived = time.Now()
		time.Sleep(later)
	}
}

// lateClient is an asynchronous client that reads answers later than they come.
type lateClient struct {
	sink   takt.Sink
	answer func(context.Context, *takt.Op, *takt.Result)
	open   sync.WaitGroup
}

func lateDriver(answer func(context.Context, *takt.Op, *takt.Result)) *takt.Driver {
	return &takt.Driver{Async: func(_ int, s takt.Sink) (*takt.AsyncClient, error) {
		c := &lateClient{sink: s, answer: answer}
		return &takt.AsyncClient{Start: c.start, Close: func() error { c.open.Wait(); return nil }}, nil
	}}
}

func (c *lateClient) start(op *takt.Op) error {
	token := op.Token
	c.open.Go(func() {
		var r takt.Result
		c.answer(context.Background(), nil, &r)
		c.sink.Done(token, &r)
	})
	return nil
}

// What an answer waits for the generator to read it is not the target's time: not in
// service time, and not in the wait for a connection. If the rate is not achieved for
// that, the run is invalid; if the target is as slow, it is valid.
func TestHeldByTheGenerator(t *testing.T) {
	for name, c := range map[string]struct {
		wire, later time.Duration
		invalid     bool
		queues      bool // it shows only where operations wait
	}{
		"the generator reads late":   {1100 * time.Microsecond, 4 * ms, true, false},
		"the target is slow":         {5100 * time.Microsecond, 0, false, false},
		"the target alone would do":  {1900 * time.Microsecond, 500 * time.Microsecond, true, true},
		"both, the target as little": {5100 * time.Microsecond, 500 * time.Microsecond, false, false},
	} {
		for mode, driver := range map[string]*takt.Driver{
			"worker": {Worker: func(int) (takt.Worker, error) { return fake{answers(c.wire, c.later)}, nil }},
			"async":  lateDriver(answers(c.wire, c.later)),
		} {
			for _, overflow := range []string{"queue", "drop"} {
				if overflow == "drop" && c.queues {
					continue
				}
				t.Run(name+" "+mode+" "+overflow, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						o := options("997/s", time.Second, 2)
						o.MaxInFlight, o.Overflow = 2, overflow
						p := plan(t, o, nil)
						p.Driver = driver
						rep := run(t, t.Context(), p)
						held := slices.ContainsFunc(rep.Warnings, func(w takt.Warning) bool { return w.Code == "generator_held" })
						if held != c.invalid || (rep.Verdict == takt.Invalid) != c.invalid {
							t.Errorf("%s, %v", rep.Verdict, rep.Warnings)
						}
						if got, want := rep.Latency["service"].P50, float64(c.wire.Microseconds()); got < 0.99*want || got > 1.01*want {
							t.Errorf("service p50 %v µs, on the wire it was %v", got, want)
						}
					})
				})
			}
		}
	}
}

// A target that stood still is why operations could not be sent, also where the generator is
// a little late with each answer: the few that stood still held the connections of all others.
func TestHeldByAFrozenTarget(t *testing.T) {
	for _, mode := range []string{"worker", "async"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				answer := func(ctx context.Context, op *takt.Op, r *takt.Result) {
					wire := ms
					if at := time.Since(begin); at > 850*ms && at < 1050*ms {
						wire = 1050*ms - at
					}
					answers(wire, ms/4)(ctx, op, r)
				}
				o := options("997/s", time.Second, 2)
				o.MaxInFlight = 2
				p := plan(t, o, answer)
				if mode == "async" {
					p.Driver = lateDriver(answer)
				}
				if rep := run(t, t.Context(), p); rep.Verdict != takt.Valid || rep.Rate.Achieved > 0.9*997 {
					t.Errorf("%s, %.0f/s of 997/s, %v", rep.Verdict, rep.Rate.Achieved, rep.Warnings)
				}
			})
		})
	}
}

// An arrival that cannot be, before the operation was sent or after it ended, is not
// believed.
func TestArrivalThatCannotBe(t *testing.T) {
	for name, shift := range map[string]time.Duration{"before it was sent": -time.Hour, "after it ended": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := plan(t, options("97/s", time.Second, 2), func(_ context.Context, _ *takt.Op, r *takt.Result) {
					time.Sleep(2300 * time.Microsecond)
					r.Arrived = time.Now().Add(shift)
				})
				rep := run(t, t.Context(), p)
				want := make([]time.Duration, 97)
				for i := range want {
					want[i] = 2300 * time.Microsecond
				}
				exactly(t, rep, "service", want)
				if !slices.ContainsFunc(rep.Warnings, func(w takt.Warning) bool { return w.Code == "arrived" }) {
					t.Errorf("warnings %v", rep.Warnings)
				}
			})
		})
	}
}
