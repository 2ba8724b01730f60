package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

const ms = time.Millisecond

// fake runs b under fake time; its instants must never coincide.
func fake(t *testing.T, ctx context.Context, b Benchmark) *Result {
	t.Helper()
	b.waiter = pace.Timer
	r, err := b.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	checkLaws(t, r)
	r.Report.Warnings = drivertest.Doubts(r.Report)
	return r
}

// checkLaws holds the laws that every result obeys.
func checkLaws(t *testing.T, r *Result) {
	t.Helper()
	c := r.Report.Counts
	if c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
		t.Errorf("counts do not add up: %+v", c)
	}
	if r.TotalRequests+r.Omitted != c.Scheduled || r.Errors != c.Failed {
		t.Errorf("%d requests, %d of them errors, and %d omitted, of %+v", r.TotalRequests, r.Errors, r.Omitted, c)
	}
	var texts uint64
	for _, e := range r.Report.Errors {
		texts += e.Count
	}
	if texts != r.Errors {
		t.Errorf("the texts of %d errors are counted, there were %d", texts, r.Errors)
	}
	if n := r.Report.Latency["response"].Count; n != r.TotalRequests+c.Unfinished {
		t.Errorf("response holds %d, want the total of %d and %d unfinished", n, r.TotalRequests, c.Unfinished)
	}
}

// takes is a handler that takes d, to its end.
func takes(d time.Duration) RequestFunc {
	return func(int) error {
		time.Sleep(d)
		return nil
	}
}

func TestConstantRateIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, n := time.Now(), 0
		r := fake(t, t.Context(), Benchmark{Concurrency: 1, Throughput: 500, Duration: 12 * time.Second, Handler: RequestFunc(func(i int) error {
			if i != n {
				t.Errorf("call %d got the index %d", n, i)
			}
			if at := time.Since(start); at != time.Duration(i)*2*ms {
				t.Errorf("call %d came at %v", i, at)
			}
			n++
			time.Sleep(1300 * time.Microsecond)
			return nil
		})})
		if r.TotalRequests != 6000 || r.Errors != 0 || r.Omitted != 0 || r.TotalDuration != 12*time.Second || r.Throughput != 500 {
			t.Errorf("%+v", r)
		}
		rep := r.Report
		if rep.Kind != "bench" || rep.Verdict != takt.Valid || len(drivertest.Doubts(rep)) > 0 || len(rep.ID) != 26 || rep.Tool.Name != "takt" || rep.ComparabilityKey == "" {
			t.Errorf("%s, %s, %v, id %s, %+v", rep.Kind, rep.Verdict, rep.Warnings, rep.ID, rep.Tool)
		}
		if v := rep.Variables; v["concurrency"] != 1 || v["rate_per_s"] != 500.0 || v["duration_s"] != 12.0 || v["name"] == "" {
			t.Errorf("variables %v", v)
		}
	})
}

// Each worker counts its own calls, from 0.
func TestIndexIsTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[int]int{}
		// Three are under way at any time; each worker has every third.
		fake(t, t.Context(), Benchmark{Concurrency: 3, Throughput: 100, Duration: 3 * time.Second, Handler: RequestFunc(func(i int) error {
			mu.Lock()
			seen[i]++
			mu.Unlock()
			time.Sleep(29900 * time.Microsecond)
			return nil
		})})
		for i := range 100 {
			if seen[i] != 3 {
				t.Errorf("%d workers had an index %d, want 3", seen[i], i)
			}
		}
		if len(seen) != 100 {
			t.Errorf("%d indices, want 100", len(seen))
		}
	})
}

// A serial handler of 5.3 ms at 1000/s, as wrk3 reported with "omitted 0": what was
// due is done or omitted, and every latency counts from due.
func TestSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const service = 5300 * time.Microsecond
		r := fake(t, t.Context(), Benchmark{Concurrency: 1, Throughput: 1000, Duration: 5 * time.Second, Drain: time.Second, Handler: takes(service)})
		// 5 s and 1 s of drain at 5.3 ms each: the 1132nd ends at 5.9996 s.
		if r.TotalRequests != 1132 || r.Omitted != 3868 || r.TotalDuration != 6*time.Second || r.Throughput != 1132.0/6 {
			t.Errorf("%d requests, %d omitted, %v, %v/s", r.TotalRequests, r.Omitted, r.TotalDuration, r.Throughput)
		}
		want := hist.New()
		for i := range 5000 {
			done := min(time.Duration(i+1)*service, 6*time.Second)
			want.Record(done - time.Duration(i)*ms)
		}
		response := r.Report.Latency["response"]
		response.CI, response.Blocks = nil, nil
		if response != want.Summary() {
			t.Error("response times are not those of the queue")
		}
		if r.Report.Verdict != takt.Valid {
			t.Errorf("it is the handler's fault, but %v", r.Report.Warnings)
		}
	})
}

// Whatever a handler does, nothing is lost.
func TestAccounting(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			b := Benchmark{
				Concurrency: 1 + rnd.IntN(20), Throughput: 1 + 300*rnd.Float64(), Duration: time.Duration(1+rnd.IntN(3000)) * ms,
				Warmup: time.Duration(rnd.IntN(2)) * 333 * ms, Drain: time.Duration(rnd.IntN(500)) * ms,
			}
			slowest, failing := time.Duration(1+rnd.IntN(200))*ms, 1+rnd.IntN(9)
			var calls atomic.Uint64
			b.Handler = RequestFunc(func(i int) error {
				n := int(calls.Add(1))
				time.Sleep(slowest * time.Duration(n%7) / 7)
				if n%failing == 0 {
					return fmt.Errorf("failure %d", n%3)
				}
				return nil
			})
			r := fake(t, t.Context(), b)
			if sent := r.Report.Counts.Sent + r.Report.WarmupCounts.Sent; sent != calls.Load() {
				t.Errorf("%d calls, %d are counted", calls.Load(), sent)
			}
		})
	}
}

func TestErrorsHaveTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fake(t, t.Context(), Benchmark{Concurrency: 1, Throughput: 100, Duration: time.Second, Warmup: 500 * ms, Handler: RequestFunc(func(i int) error {
			time.Sleep(300 * time.Microsecond)
			switch {
			case i < 50: // the warm-up
				return errors.New("not counted")
			case i%10 == 0:
				return errors.New("ten")
			case i%2 == 0:
				return errors.New("even")
			}
			return nil
		})})
		want := []takt.ErrorClass{{Class: "even", Count: 40}, {Class: "ten", Count: 10}}
		if !slices.Equal(r.Report.Errors, want) || r.TotalRequests != 100 || r.Errors != 50 {
			t.Errorf("%d of %d: %+v", r.Errors, r.TotalRequests, r.Report.Errors)
		}
	})
}

func TestTextsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fake(t, t.Context(), Benchmark{Concurrency: 1, Throughput: 1000, Duration: time.Second, Handler: RequestFunc(func(i int) error {
			return fmt.Errorf("request %d", i)
		})})
		if n, first := len(r.Report.Errors), r.Report.Errors[0]; n > 65 || first.Class != "other" || first.Count < 1000-64 {
			t.Errorf("%d texts, first %+v", n, first)
		}
	})
}

func TestMessage(t *testing.T) {
	long := strings.Repeat("ü", 400)
	for in, want := range map[string]string{
		"connection refused":      "connection refused",
		"two\nlines\tand  \r\nso": "two lines and so",
		"\x1b[31mred\x00":         "·[31mred·",
		"not \xff UTF-8":          "not · UTF-8",
		"":                        "an error of type *errors.errorString without a text",
		" \n":                     "an error of type *errors.errorString without a text",
		long:                      strings.Repeat("ü", 148) + "…",
		"read tcp 127.0.0.1:41412->127.0.0.1:80: connection reset by peer": "read tcp 127.0.0.1:*->127.0.0.1:80: connection reset by peer",
		"write tcp [::1]:5->[::1]:80: broken pipe":                         "write tcp [::1]:*->[::1]:80: broken pipe",
		"t: a:1->b:2: x; t: a:3->b:4: x":                                   "t: a:*->b:2: x; t: a:*->b:4: x",
		"a -> b":                                                           "a -> b",
		"12->13":                                                           "12->13",
		"a:->b":                                                            "a:->b",
	} {
		got := message(errors.New(in))
		if got != want || len(got) > maxMessage {
			t.Errorf("%q: %q (%d bytes)\nwant %q", in, got, len(got), want)
		}
	}
}

func TestClosedLoop(t *testing.T) {
	for _, throughput := range []float64{0, math.Inf(1)} {
		synctest.Test(t, func(t *testing.T) {
			r := fake(t, t.Context(), Benchmark{Concurrency: 2, Throughput: throughput, Duration: time.Second, Handler: takes(10300 * time.Microsecond)})
			// 98 of 10.3 ms begin in a second, the last ends at 1.0094 s.
			if r.TotalRequests != 196 || r.Omitted != 0 || r.TotalDuration != 10094*ms/10 {
				t.Errorf("%d requests, %d omitted, %v", r.TotalRequests, r.Omitted, r.TotalDuration)
			}
			w := r.Report.Warnings
			if len(w) != 1 || w[0].Code != "closed_loop" || !strings.HasSuffix(w[0].Message, "; give a throughput for what users feel") || r.Report.Rate.Intended != nil {
				t.Errorf("warnings %+v", w)
			}
		})
	}
}

func TestStopDrainsAndReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(2550*ms, stop)
		r := fake(t, ctx, Benchmark{Concurrency: 1, Throughput: 10, Duration: time.Minute, Handler: takes(130 * ms)})
		// 26 were due by 2.55 s; one at a time, 130 ms each.
		if r.TotalRequests != 26 || r.Omitted != 0 || r.TotalDuration != 26*130*ms {
			t.Errorf("%d requests, %d omitted, %v", r.TotalRequests, r.Omitted, r.TotalDuration)
		}
	})
}

func TestDrain(t *testing.T) {
	for _, c := range []struct {
		drain    time.Duration
		requests uint64
		took     time.Duration
	}{
		{0, 10, 3300 * ms},       // the default is enough
		{-1, 3, time.Second},     // none
		{700 * ms, 5, 1700 * ms}, // the fifth ends at 1.65 s
		{9 * time.Second, 10, 3300 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := fake(t, t.Context(), Benchmark{Concurrency: 1, Throughput: 10, Duration: time.Second, Drain: c.drain, Handler: takes(330 * ms)})
			if r.TotalRequests != c.requests || r.TotalDuration != c.took {
				t.Errorf("drain %v: %d requests in %v, want %d in %v", c.drain, r.TotalRequests, r.TotalDuration, c.requests, c.took)
			}
		})
	}
}

// A handler that never returns costs a goroutine, not the result.
func TestHandlerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		r := fake(t, t.Context(), Benchmark{Concurrency: 2, Throughput: 10, Duration: time.Second, Drain: time.Second, Handler: RequestFunc(func(i int) error {
			if i == 4 {
				<-release
			}
			return nil
		})})
		if r.Omitted == 0 || r.TotalRequests+r.Omitted != 10 {
			t.Errorf("%d requests, %d omitted", r.TotalRequests, r.Omitted)
		}
	})
}

// The context ends with the drain, neither with the duration nor with the stop.
func TestContextEndsWithTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(550*ms, stop)
		start, ended := time.Now(), make(chan time.Duration, 1)
		r := fake(t, ctx, Benchmark{Concurrency: 1, Throughput: 10, Duration: time.Second, Drain: 700 * ms, Handler: ContextFunc(func(ctx context.Context, i int) error {
			if i == 3 {
				<-ctx.Done()
				ended <- time.Since(start)
				return ctx.Err()
			}
			return nil
		})})
		if at := <-ended; at != 1250*ms {
			t.Errorf("the context ended at %v, want 1.25 s", at)
		}
		if r.TotalRequests != 3 || r.Errors != 0 || r.Omitted != 3 {
			t.Errorf("%d requests, %d errors, %d omitted", r.TotalRequests, r.Errors, r.Omitted)
		}
	})
}

// Without a benchmark a ContextHandler is a RequestHandler like any other.
func TestContextFuncAlone(t *testing.T) {
	var h RequestHandler = ContextFunc(func(ctx context.Context, i int) error { return errors.Join(ctx.Err(), fmt.Errorf("%d", i)) })
	if err := h.ExecuteRequest(7); err == nil || err.Error() != "7" {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	good := Benchmark{Handler: takes(0), Concurrency: 1, Throughput: 1, Duration: 1}
	for _, c := range []struct {
		change func(b *Benchmark)
		want   string
	}{
		{func(*Benchmark) {}, ""},
		{func(b *Benchmark) { b.Throughput = 0 }, ""},
		{func(b *Benchmark) { b.Throughput = math.Inf(1) }, ""},
		{func(b *Benchmark) { b.Handler = nil }, "there is no handler; set Benchmark.Handler"},
		{func(b *Benchmark) { b.Concurrency = -2 }, "concurrency is -2; give at least 1"},
		{func(b *Benchmark) { b.Concurrency = 1_000_001 }, "concurrency is 1000001; give at most 1000000"},
		{func(b *Benchmark) { b.Throughput = -1 }, "throughput is -1; give requests per second above 0, or 0 for as fast as possible"},
		{func(b *Benchmark) { b.Throughput = math.Inf(-1) }, "throughput is -Inf; give requests per second above 0, or 0 for as fast as possible"},
		{func(b *Benchmark) { b.Throughput = math.NaN() }, "throughput is NaN; give requests per second above 0, or 0 for as fast as possible"},
		{func(b *Benchmark) { b.Throughput = 2e9 }, "throughput is 2e+09; give at most 1e+09 a second, one a nanosecond"},
		{func(b *Benchmark) { b.Throughput = 1e-10 }, "throughput is 1e-10, less than one request in 32 years; give more, or 0 for as fast as possible"},
		{func(b *Benchmark) { b.Duration = 0 }, "duration is 0s; give a time above 0"},
		{func(b *Benchmark) { b.Warmup = -time.Second }, "warm-up is -1s; give a time above 0, or 0 for none"},
		{func(b *Benchmark) { b.Warmup, b.Duration = 1, math.MaxInt64-1 }, "warm-up and duration together reach 292 years; shorten them"},
		{func(b *Benchmark) { b.Concurrency, b.Duration = 0, -1 }, "concurrency is 0; give at least 1\nduration is -1ns; give a time above 0"},
	} {
		b := good
		c.change(&b)
		err := b.Validate()
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if _, errRun := b.Run(t.Context()); err != nil && fmt.Sprint(errRun) != c.want {
			t.Errorf("Run: %v", errRun)
		}
	}
}

// Run leaves the process as it is; with Tune it raises GOMAXPROCS by one meanwhile.
func TestProcessStaysAsItIs(t *testing.T) {
	type state struct{ procs, gc int }
	now := func() state {
		gc := debug.SetGCPercent(100)
		debug.SetGCPercent(gc)
		return state{runtime.GOMAXPROCS(0), gc}
	}
	before := now()
	for _, tune := range []bool{false, true} {
		during := make(chan state, 1)
		_, err := Benchmark{Concurrency: 1, Throughput: 1, Duration: time.Millisecond, Tune: tune, Handler: RequestFunc(func(int) error {
			during <- now()
			return nil
		})}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := before
		if tune {
			want.procs++
		}
		if got := <-during; got != want {
			t.Errorf("tune %v: %+v during the run, want %+v", tune, got, want)
		}
		if after := now(); after != before {
			t.Errorf("tune %v: %+v after the run, it was %+v", tune, after, before)
		}
	}
}

// On one core of GOMAXPROCS time is kept with less precision, and that is said.
func TestOneCore(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for tune, want := range map[bool]bool{false: true, true: false} {
		r, err := Benchmark{Concurrency: 1, Throughput: 100, Duration: 50 * ms, Tune: tune, Handler: takes(0)}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkLaws(t, r)
		said := r.Report.Warned("one_core")
		if said != want {
			t.Errorf("tune %v: %+v", tune, r.Report.Warnings)
		}
	}
}
