package engine_test

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// notes is a journal in memory, as JSON.
type notes struct {
	t       *testing.T
	begin   []byte
	seconds [][]byte
	all     int // the second that has all before it with it; 0: none
}

func (n *notes) Begin(b engine.Beginning) {
	b.Report.SchemaVersion, b.Report.ID = takt.SchemaVersion, "R1"
	n.begin = text(n.t, b)
}

func (n *notes) WantsAll() bool { return n.all > 0 && len(n.seconds) == n.all-1 }

func (n *notes) Second(s engine.Second) { n.seconds = append(n.seconds, text(n.t, s)) }

func text(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// recover is the report of a run that was killed behind that many seconds.
func (n *notes) recover(seconds int) *takt.Report {
	n.t.Helper()
	var b engine.Beginning
	if err := json.Unmarshal(n.begin, &b); err != nil {
		n.t.Fatal(err)
	}
	rep, _, err := engine.Recover(b, n.from(seconds))
	if err == nil {
		err = audit.Check(rep)
	}
	if err != nil {
		n.t.Fatalf("second %d: %v", seconds, err)
	}
	checkLaws(n.t, rep)
	n.follow(b, seconds, rep)
	return rep
}

// follow compares with the report of a reader of the growing journal that has asked before.
func (n *notes) follow(b engine.Beginning, seconds int, want *takt.Report) {
	n.t.Helper()
	f, err := engine.Follow(b)
	if err != nil {
		n.t.Fatal(err)
	}
	asked := false
	for s, err := range n.from(seconds) {
		if err == nil {
			err = f.Add(s)
		}
		if err == nil && !asked {
			asked = true
			_, _, err = f.SoFar()
		}
		if err != nil {
			n.t.Fatal(err)
		}
	}
	got, _, err := f.SoFar()
	if err != nil {
		n.t.Fatal(err)
	}
	same(n.t, got, want)
}

func (n *notes) from(seconds int) iter.Seq2[engine.Second, error] {
	first := 0
	if n.all > 0 && seconds >= n.all {
		first = n.all - 1
	}
	return func(yield func(engine.Second, error) bool) {
		for _, text := range n.seconds[first:seconds] {
			var s engine.Second
			if err := json.Unmarshal(text, &s); !yield(s, err) {
				return
			}
		}
	}
}

// near compares with what a journal knows in steps.
func near(got float64, want time.Duration) bool {
	off := time.Duration(got*1e3) - want
	return off.Abs() <= record.StepLength+want/500 // and the histogram's buckets
}

// Four connections to a server that freezes: at each second the recovered report has what
// had ended by then, and everything else that was due as unfinished, at its age.
func TestRecoverAStall(t *testing.T) {
	const gap, conns, seconds = 2 * ms, 4, 5
	freeze := func(start time.Duration) time.Duration {
		if start >= 2300*ms && start < 3600*ms {
			return 3600*ms - start
		}
		return ms + 300*time.Microsecond
	}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		p := plan(t, options("500/s", seconds*time.Second, conns), func(context.Context, *takt.Op, *takt.Result) {
			time.Sleep(freeze(time.Since(begin)))
		})
		n := &notes{t: t, all: 4}
		p.Journal = n
		whole := run(t, t.Context(), p)
		response, _ := queue(seconds*int(time.Second/gap), gap, conns, freeze)
		for second := 1; second <= seconds; second++ {
			at := time.Duration(second) * time.Second
			var ended, open uint64
			var longest time.Duration
			for i, r := range response {
				due := time.Duration(i) * gap
				switch {
				case due >= at:
				case due+r <= at:
					ended++
					longest = max(longest, r)
				default:
					open++
					longest = max(longest, at-due)
				}
			}
			rep := n.recover(second)
			if c := rep.Counts; c.OK != ended || c.Unfinished != open || c.Dropped+c.Failed > 0 {
				t.Errorf("second %d: %+v, want %d ok and %d unfinished", second, c, ended, open)
			}
			if l := rep.Latency[takt.LatencyResponse]; !near(l.Max, longest) {
				t.Errorf("second %d: response max is %v µs, want %v", second, l.Max, longest)
			}
			if rep.DurationS != float64(second) || *rep.Rate.Intended != 500 {
				t.Errorf("second %d: %v s at %v/s", second, rep.DurationS, *rep.Rate.Intended)
			}
		}
		same(t, n.recover(len(n.seconds)), whole)
	})
}

// same compares the report of a run that was killed when all was over but its report.
func same(t *testing.T, got, want *takt.Report) {
	t.Helper()
	// How long the collector stopped this process is no matter of fake time.
	collected := func(w takt.Warning) bool { return w.Code == "gc" }
	got.Warnings, want.Warnings = slices.DeleteFunc(slices.Clone(got.Warnings), collected), slices.DeleteFunc(slices.Clone(want.Warnings), collected)
	for name, pair := range map[string][2]any{
		"counts": {got.Counts, want.Counts}, "warm-up": {got.WarmupCounts, want.WarmupCounts}, "rate": {got.Rate, want.Rate},
		"latency": {got.Latency, want.Latency}, "intervals": {got.Intervals, want.Intervals}, "status": {got.Status, want.Status},
		"errors": {got.Errors, want.Errors}, "verdict": {got.Verdict, want.Verdict}, "duration": {got.DurationS, want.DurationS},
		"warnings": {got.Warnings, want.Warnings}, "schedule": {got.Schedule, want.Schedule}, "bytes": {got.Bytes, want.Bytes},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: recovered %+v, want %+v", name, pair[0], pair[1])
		}
	}
}

// Every kind of run can be recovered at a second, and behind its end is whole.
func TestRecoverAnyRun(t *testing.T) {
	for name, change := range map[string]func(o *engine.Options){
		"warm-up":     func(o *engine.Options) { o.Warmup = 1500 * ms },
		"closed loop": func(o *engine.Options) { o.Rate, o.Connections = engine.MustRate("max"), 3 },
		"drops":       func(o *engine.Options) { o.Overflow, o.Connections = "drop", 2 },
		"ramp":        func(o *engine.Options) { o.Rate = engine.MustRate("100/s..1k/s") },
		"poisson":     func(o *engine.Options) { o.Arrivals = engine.MustArrivals("poisson") },
		"one shard":   func(o *engine.Options) { o.Shard = engine.MustShard("2/3") },
		"few":         func(o *engine.Options) { o.Rate = engine.MustRate("30/m") },
		"count":       func(o *engine.Options) { o.Duration, o.Requests = 0, 2000 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options("500/s", 3*time.Second, 0)
				change(&o)
				p := plan(t, o, func(_ context.Context, op *takt.Op, r *takt.Result) {
					time.Sleep(time.Duration(3+op.Seq%7)*ms + 7*time.Microsecond)
					if op.Seq%50 == 49 {
						r.Class = "timeout"
					}
					r.Status, r.BytesSent = 200, 9
				})
				n := &notes{t: t}
				p.Journal = n
				whole := run(t, t.Context(), p)
				for _, second := range []int{1, len(n.seconds) - 1} {
					rep := n.recover(second)
					if rep.Counts.Scheduled+rep.WarmupCounts.Scheduled == 0 || rep.Kind != "test" || rep.ID != "R1" {
						t.Errorf("second %d: %+v", second, rep.Counts)
					}
				}
				same(t, n.recover(len(n.seconds)), whole)
			})
		})
	}
}

// A receiver has no operations: what came is what is known.
func TestRecoverAReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := engine.Defaults()
		o.Duration = 3 * time.Second
		src, err := o.Source()
		if err != nil {
			t.Fatal(err)
		}
		n := &notes{t: t}
		whole := run(t, t.Context(), engine.Plan{
			Options: o, Kind: "test", Source: src, Journal: n,
			Driver: &takt.Driver{Receive: func(ctx context.Context, sink takt.Sink) error {
				for ctx.Err() == nil {
					time.Sleep(7 * ms)
					sink.Received([]takt.Result{{BytesReceived: 5}})
				}
				return nil
			}},
		})
		if c := n.recover(2).Counts; c.OK != 285 || c.Scheduled != 285 { // of 2000 ms
			t.Errorf("%+v", c)
		}
		same(t, n.recover(len(n.seconds)), whole)
	})
}

// What is damaged says so.
func TestRecoverRefuses(t *testing.T) {
	bad := func(yield func(engine.Second, error) bool) { yield(engine.Second{}, context.Canceled) }
	if rep, _, err := engine.Recover(engine.Beginning{}, bad); rep != nil || err != context.Canceled {
		t.Errorf("%v, %v", rep, err)
	}
	many := engine.Beginning{Config: record.Config{Phases: slices.Repeat([]string{"x"}, 50)}}
	if rep, _, err := engine.Recover(many, bad); rep != nil || err == nil {
		t.Errorf("%v, %v", rep, err)
	}
}
