package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

const ms = time.Millisecond

// options are those of a constant rate, with a drain time of a second. Fake-time
// tests choose instants that never coincide: ties come in either order.
func options(rate string, d time.Duration, conns int) engine.Options {
	o := engine.Defaults()
	o.Rate, o.Duration, o.Connections = engine.MustRate(rate), d, conns
	o.Drain = engine.DrainOf(time.Second)
	return o
}

// plan runs o against workers that do do, under fake time.
func plan(t *testing.T, o engine.Options, do func(ctx context.Context, op *takt.Op, r *takt.Result)) engine.Plan {
	t.Helper()
	src, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	return engine.Plan{
		Options: o, Kind: "test", Source: src, NewWaiter: pace.Timer,
		Driver: &takt.Driver{Worker: func(int) (takt.Worker, error) { return fake{do}, nil }},
	}
}

type fake struct {
	do func(ctx context.Context, op *takt.Op, r *takt.Result)
}

func (f fake) Do(ctx context.Context, op *takt.Op, r *takt.Result) { f.do(ctx, op, r) }
func (f fake) Close() error                                        { return nil }

// service takes d, and is cut short by the end of the drain.
func service(d time.Duration) func(context.Context, *takt.Op, *takt.Result) {
	return func(ctx context.Context, _ *takt.Op, r *takt.Result) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			r.Class, r.Err = "canceled", ctx.Err()
		}
	}
}

func run(t *testing.T, ctx context.Context, p engine.Plan) *takt.Report {
	t.Helper()
	rep, err := engine.Run(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	checkLaws(t, rep)
	return rep
}

// checkLaws holds the laws that every report obeys.
func checkLaws(t *testing.T, rep *takt.Report) {
	t.Helper()
	for name, c := range map[string]takt.Counts{"counts": rep.Counts, "warm-up": rep.WarmupCounts} {
		if c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
			t.Errorf("%s do not add up: %+v", name, c)
		}
	}
	c := rep.Counts
	if l, ok := rep.Latency["response"]; ok && l.Count != c.OK+c.Failed+c.Unfinished {
		t.Errorf("response holds %d, counts are %+v", l.Count, c)
	}
	if l, ok := rep.Latency["service"]; ok && l.Count != c.Sent {
		t.Errorf("service holds %d, %d were sent", l.Count, c.Sent)
	}
	var scheduled uint64
	for _, iv := range rep.Intervals {
		scheduled += iv.Scheduled
	}
	if total := c.Scheduled + rep.WarmupCounts.Scheduled; scheduled != total {
		t.Errorf("intervals hold %d scheduled operations of %d", scheduled, total)
	}
}

// exactly compares all values of a latency with want, in histogram buckets.
func exactly(t *testing.T, rep *takt.Report, name string, want []time.Duration) {
	t.Helper()
	h := hist.New()
	for _, d := range want {
		h.Record(d)
	}
	if got := bare(rep.Latency[name]); got != h.Summary() {
		t.Errorf("%s: got  %+v\nwant %+v", name, short(got), short(h.Summary()))
	}
}

func short(l takt.Latency) takt.Latency {
	l.HDR = ""
	return bare(l)
}

// bare is a latency without its intervals, which only the response time has.
func bare(l takt.Latency) takt.Latency {
	l.CI, l.Blocks = nil, nil
	return l
}

// queue is a FIFO queue in theory: response times of operations due at each gap,
// with that many servers and a service time for an operation that starts at t.
func queue(n int, gap time.Duration, servers int, service func(start time.Duration) time.Duration) (response, served []time.Duration) {
	free := make([]time.Duration, servers)
	for i := range n {
		due := time.Duration(i) * gap
		first := 0
		for s := range free {
			if free[s] < free[first] {
				first = s
			}
		}
		start := max(due, free[first])
		d := service(start)
		free[first] = start + d
		response, served = append(response, start+d-due), append(served, d)
	}
	return response, served
}

func TestConstantRateIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dues []time.Duration
		var mu sync.Mutex
		start := time.Now()
		rep := run(t, t.Context(), plan(t, options("500/s", 12*time.Second, 0), func(_ context.Context, op *takt.Op, _ *takt.Result) {
			mu.Lock()
			dues = append(dues, op.Due)
			if time.Since(start) != op.Due {
				t.Errorf("operation %d was sent at %v, due at %v", op.Seq, time.Since(start), op.Due)
			}
			mu.Unlock()
			time.Sleep(1300 * time.Microsecond)
		}))
		if rep.Counts.OK != 6000 || len(dues) != 6000 {
			t.Errorf("%d operations, want 6000", rep.Counts.OK)
		}
		if rep.Verdict != takt.Valid || len(drivertest.Doubts(rep)) > 0 || rep.Rate.Achieved != 500 || *rep.Rate.Intended != 500 || rep.DurationS != 12 {
			t.Errorf("%s %v %+v %v", rep.Verdict, rep.Warnings, rep.Rate, rep.DurationS)
		}
		if l := rep.Latency["schedule_lag"]; l.Max > 0.001 {
			t.Errorf("lag %v µs without a reason", l.Max)
		}
	})
}

// The stall: the server stands still for 1 s in every 10. Every response time is
// that of the queue in theory, and the percentiles with them.
func TestStallIsTheQueue(t *testing.T) {
	for _, conns := range []int{50, 2000} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			stalled := func(at time.Duration) time.Duration {
				in := at % (10 * time.Second)
				if in >= 8999500*time.Microsecond {
					return 10*time.Second - in + 1100*time.Microsecond
				}
				return 1100 * time.Microsecond
			}
			rep := run(t, t.Context(), plan(t, options("1000/s", 20*time.Second, conns), func(context.Context, *takt.Op, *takt.Result) {
				time.Sleep(stalled(time.Since(start)))
			}))
			response, served := queue(20000, ms, conns, stalled)
			exactly(t, rep, "response", response)
			exactly(t, rep, "service", served)
			if rep.Verdict != takt.Valid {
				t.Errorf("verdict %s: %v", rep.Verdict, rep.Warnings)
			}
			if p99 := rep.Latency["service"].P99; conns == 50 && p99 > 2000 {
				t.Errorf("service p99 %v µs: a bounded pool hides the stall, which is the point", p99)
			}
		})
	}
}

// A serial server of 5 ms at 1000/s: 80 % of the work is left over, and it is the
// target's fault.
func TestOverloadIsTheTargetsFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep := run(t, t.Context(), plan(t, options("1000/s", 5*time.Second, 1), service(5300*time.Microsecond)))
		// 5 s and 1 s of drain at 5.3 ms each: the 1132nd ends at 5.9996 s.
		want := takt.Counts{Scheduled: 5000, Sent: 1133, OK: 1132, Unfinished: 3868}
		if rep.Counts != want {
			t.Errorf("counts %+v, want %+v", rep.Counts, want)
		}
		if rep.Verdict != takt.Valid {
			t.Errorf("verdict %s: %v", rep.Verdict, rep.Warnings)
		}
		// The last to be due waited a second when the drain ended.
		if l := rep.Latency["response"]; l.Count != 5000 || l.Min > 5400 {
			t.Errorf("response %+v", short(l))
		}
		for i, iv := range rep.Intervals {
			if i < 5 && iv.Scheduled != 1000 {
				t.Errorf("second %d has %d operations due, want 1000 although only 200 were taken", i+1, iv.Scheduled)
			}
		}
	})
}

// A backlog that goes on being served after the end: each interval still counts
// what fell due in it.
func TestIntervalsAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("100/s", time.Second, 1)
		o.Drain = engine.DrainOf(time.Minute)
		rep := run(t, t.Context(), plan(t, o, service(33300*time.Microsecond)))
		for i, iv := range rep.Intervals {
			if want := uint64(100); iv.Scheduled != 0 && (i > 0 || iv.Scheduled != want) {
				t.Errorf("interval %d has %d operations due", i, iv.Scheduled)
			}
		}
		if len(rep.Intervals) != 4 || rep.Counts.OK != 100 {
			t.Errorf("%d intervals, %+v", len(rep.Intervals), rep.Counts)
		}
	})
}

func TestDropAtTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("1000/s", 2*time.Second, 0)
		o.MaxInFlight, o.Overflow = 3, "drop"
		rep := run(t, t.Context(), plan(t, o, service(9500*time.Microsecond)))
		// Three of every ten start, at 0, 1 and 2 ms, and end at 9.5, 10.5 and 11.5 ms.
		want := takt.Counts{Scheduled: 2000, Sent: 600, OK: 600, Dropped: 1400}
		if rep.Counts != want {
			t.Errorf("counts %+v, want %+v", rep.Counts, want)
		}
		if l := rep.Latency["response"]; l.Max > 9600 {
			t.Errorf("response max %v µs: nothing ever queues", l.Max)
		}
		if w := drivertest.Doubts(rep); rep.Verdict != takt.Valid || len(w) != 1 || w[0].Code != "dropped" {
			t.Errorf("%s %v", rep.Verdict, rep.Warnings)
		}
	})
}

func TestDrainCutsOffAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep := run(t, t.Context(), plan(t, options("10/s", time.Second, 0), func(ctx context.Context, op *takt.Op, r *takt.Result) {
			if op.Seq >= 7 {
				<-ctx.Done() // never answers
				return
			}
			time.Sleep(3300 * time.Microsecond)
		}))
		want := takt.Counts{Scheduled: 10, Sent: 10, OK: 7, Unfinished: 3}
		if rep.Counts != want {
			t.Errorf("counts %+v, want %+v", rep.Counts, want)
		}
		// The last operation is due at 0.9 s, the source has no more then, and the
		// drain of 1 s ends at 1.9 s: the ages are 1.2, 1.1 and 1.0 s.
		a := []time.Duration{1200 * ms, 1100 * ms, 1000 * ms}
		for range 7 {
			a = append(a, 3300*time.Microsecond)
		}
		exactly(t, rep, "response", a)
	})
}

func TestHandlerThatNeverReturnsDoesNotHoldTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		rep := run(t, t.Context(), plan(t, options("10/s", time.Second, 0), func(_ context.Context, op *takt.Op, _ *takt.Result) {
			if op.Seq == 4 {
				<-release
			}
		}))
		if want := (takt.Counts{Scheduled: 10, Sent: 10, OK: 9, Unfinished: 1}); rep.Counts != want {
			t.Errorf("counts %+v, want %+v", rep.Counts, want)
		}
	})
}

func TestSignalStopsAndDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(2550*ms, stop)
		rep := run(t, ctx, plan(t, options("10/s", time.Minute, 1), service(130*ms)))
		// 26 were due by 2.55 s; one at a time, 130 ms each, the drain ends at 3.55 s.
		want := takt.Counts{Scheduled: 26, Sent: 26, OK: 26}
		if rep.Counts != want {
			t.Errorf("counts %+v, want %+v", rep.Counts, want)
		}
		if rep.DurationS != 2.55 || rep.Verdict != takt.Valid {
			t.Errorf("duration %v, %s %v", rep.DurationS, rep.Verdict, rep.Warnings)
		}
	})
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		abort := make(chan struct{})
		time.AfterFunc(2550*ms, stop)
		time.AfterFunc(2650*ms, func() { close(abort) })
		p := plan(t, options("10/s", time.Minute, 0), service(time.Hour))
		p.Abort = abort
		began := time.Now()
		rep := run(t, ctx, p)
		if took := time.Since(began); took != 2650*ms {
			t.Errorf("it took %v", took)
		}
		if want := (takt.Counts{Scheduled: 26, Sent: 26, Unfinished: 26}); rep.Counts != want {
			t.Errorf("counts %+v, want %+v", rep.Counts, want)
		}
	})
}

func TestRequestsEndTheRun(t *testing.T) {
	for _, rate := range []string{"", "max", "7/s"} {
		synctest.Test(t, func(t *testing.T) {
			o := options(rate, 0, 3)
			o.Requests = 11
			rep := run(t, t.Context(), plan(t, o, service(5300*time.Microsecond)))
			if want := (takt.Counts{Scheduled: 11, Sent: 11, OK: 11}); rep.Counts != want {
				t.Errorf("rate %q: counts %+v, want %+v", rate, rep.Counts, want)
			}
			closed := rep.Rate.Intended == nil
			if closed != (rate != "7/s") {
				t.Errorf("rate %q: intended %v", rate, rep.Rate.Intended)
			}
		})
	}
}

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("max", time.Second, 2)
		o.Warmup = 500 * ms
		rep := run(t, t.Context(), plan(t, o, service(10300*time.Microsecond)))
		// 2 × 1.5 s at 10.3 ms; the 49th of each connection begins at 0.4944 s.
		if want := (takt.Counts{Scheduled: 194, Sent: 194, OK: 194}); rep.Counts != want {
			t.Errorf("counts %+v, want %+v", rep.Counts, want)
		}
		if rep.WarmupCounts.OK != 98 || rep.Warnings[0].Code != "closed_loop" {
			t.Errorf("warm-up %+v, %v", rep.WarmupCounts, rep.Warnings)
		}
		if l := bare(rep.Latency["response"]); l != rep.Latency["service"] {
			t.Errorf("response and service differ in a closed loop: %+v", short(l))
		}
	})
}

// -n counts measured operations, whatever the warm-up did.
func TestClosedLoopWithWarmupAndCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("", 0, 3)
		o.Warmup, o.Requests = 100*ms, 50
		rep := run(t, t.Context(), plan(t, o, service(10300*time.Microsecond)))
		if rep.Counts.OK != 50 || rep.WarmupCounts.OK != 30 {
			t.Errorf("%+v, warm-up %+v", rep.Counts, rep.WarmupCounts)
		}
	})
}

// The generator's own lateness makes a run invalid: here it naps between the due
// instant and the sending.
func TestLateGeneratorIsInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, options("100/s", 2*time.Second, 0), service(ms))
		p.NewWaiter = func(start time.Time) pace.Waiter { return sleepy{pace.Timer(start)} }
		rep := run(t, t.Context(), p)
		if rep.Verdict != takt.Invalid {
			t.Errorf("verdict %s: %+v", rep.Verdict, short(rep.Latency["schedule_lag"]))
		}
	})
}

type sleepy struct{ pace.Waiter }

func (s sleepy) Until(due time.Duration, stop <-chan struct{}) {
	s.Waiter.Until(due+3300*time.Microsecond, stop)
}

// A generator that stood still for 20 ms at 5000/s has 100 operations to catch up with. Its
// workers are done sooner than new ones are made, which would make it later still.
func TestPoolAfterAStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, options("5k/s", 200*ms, 0), service(7300*time.Nanosecond))
		p.NewWaiter = func(start time.Time) pace.Waiter { return &napping{Waiter: pace.Timer(start)} }
		var made atomic.Int32
		worker := p.Driver.Worker
		p.Driver.Worker = func(i int) (takt.Worker, error) {
			made.Add(1)
			return worker(i)
		}
		rep := run(t, t.Context(), p)
		if late := rep.Latency["schedule_lag"].Max; late < 19e3 || made.Load() > 30 {
			t.Errorf("%d workers were made, the latest operation was %.0f µs late", made.Load(), late)
		}
	})
}

// napping returns once 20 ms late.
type napping struct {
	pace.Waiter
	napped bool
}

func (n *napping) Until(due time.Duration, stop <-chan struct{}) {
	if due > 100*ms && !n.napped {
		n.napped = true
		due += 20 * ms
	}
	n.Waiter.Until(due, stop)
}

func TestErrors(t *testing.T) {
	cause := errors.New("no route")
	t.Run("probe", func(t *testing.T) {
		p := plan(t, options("1/s", time.Second, 0), service(0))
		p.Driver.Probe = func(context.Context) error { return cause }
		if _, err := engine.Run(t.Context(), p); !errors.Is(err, cause) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("first worker", func(t *testing.T) {
		p := plan(t, options("1/s", time.Second, 0), service(0))
		p.Driver.Worker = func(int) (takt.Worker, error) { return nil, cause }
		if _, err := engine.Run(t.Context(), p); !errors.Is(err, cause) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("later workers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := plan(t, options("100/s", time.Second, 0), service(50*ms))
			worker := p.Driver.Worker
			p.Driver.Worker = func(i int) (takt.Worker, error) {
				if i > 0 {
					return nil, cause
				}
				return worker(i)
			}
			rep := run(t, t.Context(), p)
			if rep.Counts.Failed == 0 || rep.Errors[0].Class != "worker" || rep.Errors[0].Sample != "no route" {
				t.Errorf("%+v %+v", rep.Counts, rep.Errors)
			}
		})
	})
	t.Run("nothing", func(t *testing.T) {
		p := plan(t, options("1/s", time.Second, 0), service(0))
		p.Driver = &takt.Driver{}
		if _, err := engine.Run(t.Context(), p); !errors.Is(err, engine.ErrNothingToDo) {
			t.Errorf("error %v", err)
		}
	})
}

// A source may bring data with its operations and reuse what it put there.
func TestSourceWithPayload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, options("100/s", time.Second, 7), nil)
		var mu sync.Mutex
		seen := map[uint64]bool{}
		p.Driver.Worker = func(int) (takt.Worker, error) {
			return fake{func(_ context.Context, op *takt.Op, _ *takt.Result) {
				before := *op.Data.(*uint64)
				time.Sleep(33 * ms)
				mu.Lock()
				defer mu.Unlock()
				if after := *op.Data.(*uint64); before != op.Seq || after != op.Seq {
					t.Errorf("operation %d held %d and then %d", op.Seq, before, after)
				}
				seen[op.Seq] = true
			}}, nil
		}
		p.Source = &numbered{Source: p.Source}
		rep := run(t, t.Context(), p)
		if len(seen) != 100 || rep.Counts.OK != 100 {
			t.Errorf("%d operations, counts %+v", len(seen), rep.Counts)
		}
	})
}

type numbered struct{ takt.Source }

func (n *numbered) Next(op *takt.Op) bool {
	if !n.Source.Next(op) {
		return false
	}
	p, ok := op.Data.(*uint64)
	if !ok {
		p = new(uint64)
		op.Data = p
	}
	*p = op.Seq
	return true
}

// Whoever is slow with a second delays the seconds after it, but no operation, and not the end of the
// schedule by a signal. No second is lost.
func TestSlowSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(1505*time.Millisecond, cancel)
		p := plan(t, options("100/s", time.Minute, 0), service(5300*time.Microsecond))
		var seconds []takt.Interval
		p.OnSecond = func(iv takt.Interval, _ []takt.ErrorClass) {
			seconds = append(seconds, iv)
			time.Sleep(10 * time.Second)
		}
		rep := run(t, ctx, p)
		if rep.Counts.Scheduled != 151 || rep.Counts.OK != 151 || rep.Latency[takt.LatencyScheduleLag].Max > 0.001 || rep.Verdict != takt.Valid {
			t.Errorf("%+v, lag %+v, %s", rep.Counts, rep.Latency[takt.LatencyScheduleLag], rep.Verdict)
		}
		sum := uint64(0)
		for _, iv := range seconds {
			sum += iv.Scheduled
		}
		if sum != 151 {
			t.Errorf("the seconds have %d operations of 151", sum)
		}
	})
}

func TestIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("100/s", 3*time.Second, 0)
		o.Warmup = time.Second
		p := plan(t, o, service(5300*time.Microsecond))
		var live []takt.Interval
		p.OnSecond = func(iv takt.Interval, _ []takt.ErrorClass) { live = append(live, iv) }
		rep := run(t, t.Context(), p)
		if len(live) != 4 || len(rep.Intervals) != 4 {
			t.Fatalf("%d live, %d in the report", len(live), len(rep.Intervals))
		}
		for i, iv := range live {
			if iv.Scheduled != 100 || iv.Warmup != (i == 0) {
				t.Errorf("interval %d: %+v", i, iv)
			}
		}
		if rep.Counts.OK != 300 || rep.WarmupCounts.OK != 100 {
			t.Errorf("%+v, warm-up %+v", rep.Counts, rep.WarmupCounts)
		}
	})
}

// A driver that hangs when it is closed costs no report.
func TestDriverThatNeverCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, options("100/s", time.Second, 1), service(ms))
		let := make(chan struct{})
		p.Driver.Close = func() error { <-let; return nil }
		start := time.Now()
		if r := run(t, context.Background(), p); r.Counts.OK != 100 {
			t.Errorf("%+v", r.Counts)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("it took %v", took)
		}
		close(let)
	})
}

// A run whose Enough is satisfied ends after that second, complete: what is open drains, and nothing more is due.
func TestEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, options("100/s", 20*time.Second, 10), service(3300*time.Microsecond))
		asked := 0
		p.Enough = func(ended uint64, sample func() *proof.Sample) bool {
			asked++
			low, high, ok := sample().Interval(0.5, proof.Level)
			if s := uint64(asked); ended != 100*s || !ok || low != high {
				t.Errorf("second %d: %d operations, %v to %v, %v", s, ended, low, high, ok)
			}
			return asked == 3
		}
		rep := run(t, t.Context(), p)
		if c := rep.Counts; asked != 3 || c.OK != c.Scheduled || c.Scheduled < 300 || c.Scheduled > 301 || rep.DurationS < 3 || rep.DurationS > 3.1 || rep.Verdict != takt.Valid {
			t.Errorf("asked %d times, %+v in %v s, %s %v", asked, c, rep.DurationS, rep.Verdict, rep.Warnings)
		}
	})
}
