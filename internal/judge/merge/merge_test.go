package merge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/judge/merge"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// recordedOp is one of a run, to be recorded as part of the whole and of a shard.
type recordedOp struct {
	event  record.Event
	result *takt.Result
}

// recordedOps are n a second, 20 µs to some ms each; one in 50 fails, is dropped or is
// never ended. Each of a run without a schedule is due when it is taken.
func recordedOps(rnd *rand.Rand, seconds, n int, late time.Duration) []recordedOp {
	var all []recordedOp
	for i := range seconds * n {
		due := time.Duration(i) * time.Second / time.Duration(n)
		lag := time.Duration(rnd.ExpFloat64() * float64(late))
		sent := due + lag
		o := recordedOp{
			event:  record.Event{Due: due, Free: due, Sent: sent, Done: sent + 20*time.Microsecond + time.Duration(rnd.ExpFloat64()*2e6)},
			result: &takt.Result{Status: 200, BytesSent: 100, BytesReceived: int64(rnd.IntN(1000))},
		}
		o.result.Phases[0] = time.Duration(rnd.IntN(3)) * time.Millisecond
		o.result.Timed[0] = time.Duration(1+i%97) * 31 * time.Microsecond
		o.result.Goal = takt.GoalMet + takt.Goal(i%7%3)
		switch rnd.IntN(50) {
		case 0:
			o.event.Outcome, o.event.Done = record.Dropped, o.event.Due // in time
			o.result = nil
		case 1:
			o.event.Outcome = record.UnfinishedQueued
			o.result = nil
		case 2:
			o.result.Status, o.result.Class, o.result.Err = 503, "5xx", errors.New("overloaded")
		case 3:
			o.result.Status, o.result.Class, o.result.Err = 0, "timeout", errors.New("no answer")
		}
		all = append(all, o)
	}
	return all
}

// recordRun is the report of every n-th operation from number k on, as the engine makes it.
func recordRun(list []recordedOp, k, n, seconds int, closed bool) *takt.Report {
	const warmup = 2 * time.Second
	end := time.Duration(seconds) * time.Second
	timed := []takt.Timed{{Name: "ttft", Row: true, Course: true}, {Name: "ttft_sent"}}
	rec := record.New(record.Config{Shards: 1, Phases: []string{"connect"}, Timed: timed, Goal: "ttft<1ms", Warmup: warmup, Window: end})
	var due, warm uint64
	i := k
	for s := range seconds + 1 { // the last one is the drain
		for ; i < len(list) && list[i].event.Due < time.Duration(s+1)*time.Second && list[i].event.Due < end; i += n {
			rec.Sample(0, list[i].event, list[i].result)
			if r := list[i].result; r != nil {
				rec.Latency(0, 1, list[i].event.Due, r.Timed[0])
				rec.Latency(0, 2, list[i].event.Due, r.Timed[0]/2)
			}
			if list[i].event.Due < warmup {
				warm++
			} else {
				due++
			}
		}
		at := min(time.Duration(s+1)*time.Second, end+300*time.Millisecond)
		rec.Swap(record.Tick{At: at, Scheduled: due + warm, InFlightMax: k + 1})
	}
	r := rec.Report(record.End{Scheduled: due, WarmupScheduled: warm, Closed: closed, Stop: end})
	r.ID, r.Kind = fmt.Sprintf("01R%d", k+1), "http"
	r.StartedAt = time.Date(2026, 11, 21, 10, 0, 0, k*1e6, time.UTC)
	r.Schedule = takt.Schedule{Profile: "constant", Arrivals: "uniform", RatePerS: 100, Shard: fmt.Sprintf("%d/%d", k+1, n), RunGroup: "nightly"}
	r.Variables = map[string]any{"rate_per_s": 100.0, "connections": 50, "engine": "loop"}
	r.Generator = takt.Generator{Engine: "loop", Loops: 1, GOMAXPROCS: 2, CPUS: 0.5, MaxRSS: 1 << 20, GCCycles: 3, GCPauseMaxUS: float64(k), Cores: 2, HostClass: "linux/amd64"}
	return r
}

func recordShards(list []recordedOp, n, seconds int, closed bool) []*takt.Report {
	var all []*takt.Report
	for k := range n {
		all = append(all, recordRun(list, k, n, seconds, closed))
	}
	return all
}

func mustMerge(t *testing.T, reports []*takt.Report, o merge.Options) *takt.Report {
	t.Helper()
	whole, err := merge.Reports(reports, o)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// copied are the reports as they are read from files.
func copied(t *testing.T, reports []*takt.Report) (list []*takt.Report) {
	t.Helper()
	b, err := json.Marshal(reports)
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func warningCodes(r *takt.Report) (list []string) {
	for _, w := range r.Warnings {
		if code := string(w.Code); !slices.Contains(list, code) {
			list = append(list, code)
		}
	}
	slices.Sort(list)
	return list
}

// ofShards are the warnings that no single process has.
func ofShards(code string) bool { return strings.HasPrefix(code, "shards_") }

// The law: what is merged of the shards is what one process would have reported of the
// same operations. All percentiles, every second, and the verdict are the same.
func TestMergeIsTheWhole(t *testing.T) {
	for _, c := range []struct {
		n, seconds, rate int
		late             time.Duration // mean schedule lag
		closed           bool
		verdict          takt.Verdict
	}{
		{n: 2, seconds: 4, rate: 100, late: time.Microsecond, verdict: takt.Valid},
		{n: 3, seconds: 4, rate: 400, late: 180 * time.Microsecond, verdict: takt.Valid}, // generator_late
		{n: 5, seconds: 3, rate: 200, late: 3 * time.Millisecond, verdict: takt.Invalid},
		{n: 3, seconds: 3, rate: 200, late: 3 * time.Millisecond, closed: true, verdict: takt.Valid},
		{n: 6, seconds: 3, rate: 6, late: 0, verdict: takt.Valid}, // one operation a second each
	} {
		rnd := rand.New(rand.NewPCG(uint64(c.n), 1))
		list := recordedOps(rnd, c.seconds, c.rate, c.late)
		want := recordRun(list, 0, 1, c.seconds, c.closed)
		parts := recordShards(list, c.n, c.seconds, c.closed)
		rnd.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		got := mustMerge(t, parts, merge.Options{ID: "01W"})

		counts := got.Counts
		if counts.Scheduled != counts.OK+counts.Failed+counts.Dropped+counts.Unfinished || counts.Scheduled == 0 {
			t.Errorf("%d shards: %+v does not add up", c.n, counts)
		}
		if n := got.Latency[takt.LatencyResponse].Count; n != counts.OK+counts.Failed+counts.Unfinished {
			t.Errorf("%d shards: response holds %d of %+v", c.n, n, counts)
		}
		if got.Verdict != c.verdict || want.Verdict != c.verdict || !reflect.DeepEqual(slices.DeleteFunc(warningCodes(got), ofShards), warningCodes(want)) {
			t.Errorf("%d shards: %s %v, the whole is %s %v, want %s", c.n, got.Verdict, got.Warnings, want.Verdict, want.Warnings, c.verdict)
		}
		for i, iv := range got.Intervals {
			if want := c.n * (c.n + 1) / 2; iv.InFlightMax != want {
				t.Errorf("%d shards, interval %d: %d in flight, want the sum %d", c.n, i, iv.InFlightMax, want)
			}
		}
		sameRun(t, got, want)
		if g := got.Goodput; g == nil || g.Good == 0 && c.rate > 6 || g.Undecided == 0 || got.Latency["ttft"].Blocks == nil {
			t.Errorf("%d shards: %+v, %d first tokens", c.n, g, got.Latency["ttft"].Count)
		}
		if last := got.Intervals[len(got.Intervals)-2]; last.Good == nil || len(last.Latency) != 1 || last.Latency["ttft"].P50 == 0 {
			t.Errorf("%d shards: an interval has %v good, %+v", c.n, last.Good, last.Latency)
		}
	}
}

// sameRun compares all that a whole run and its shards have in common.
func sameRun(t *testing.T, got, want *takt.Report) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }
	if !near(got.Rate.Achieved, want.Rate.Achieved) || (got.Rate.Intended == nil) != (want.Rate.Intended == nil) ||
		got.Rate.Intended != nil && !near(*got.Rate.Intended, *want.Rate.Intended) {
		t.Errorf("rates %+v, want %+v", got.Rate, want.Rate)
	}
	if len(got.Intervals) != len(want.Intervals) {
		t.Fatalf("%d intervals, want %d", len(got.Intervals), len(want.Intervals))
	}
	for i, iv := range got.Intervals {
		w := want.Intervals[i]
		w.InFlightMax, w.ScheduleLagP99 = iv.InFlightMax, iv.ScheduleLagP99 // neither is kept in full
		if !reflect.DeepEqual(iv, w) {
			t.Errorf("interval %d is %+v, want %+v", i, iv, w)
		}
	}
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"counts", got.Counts, want.Counts}, {"warm-up", got.WarmupCounts, want.WarmupCounts}, {"bytes", got.Bytes, want.Bytes},
		{"goodput", got.Goodput, want.Goodput},
		{"duration", got.DurationS, want.DurationS}, {"interval", got.IntervalS, want.IntervalS},
		{"status", got.Status, want.Status}, {"errors", got.Errors, want.Errors},
		{"latency", got.Latency, want.Latency}, // encoded histograms are in it
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
}

// coarser is r as it would be after an hour: with intervals of two seconds.
func coarser(t *testing.T, r *takt.Report) *takt.Report {
	t.Helper()
	c := *r
	c.IntervalS, c.Intervals = 2, nil
	for pair := range slices.Chunk(r.Intervals, 2) {
		a := pair[0]
		for _, b := range pair[1:] {
			response, service := mergeTwo(t, a.HDR, b.HDR), mergeTwo(t, a.ServiceHDR, b.ServiceHDR)
			a = takt.Interval{
				T: b.T, Warmup: a.Warmup && b.Warmup, Scheduled: a.Scheduled + b.Scheduled,
				OK: a.OK + b.OK, Failed: a.Failed + b.Failed, Dropped: a.Dropped + b.Dropped, Bytes: a.Bytes.Plus(b.Bytes), InFlightMax: max(a.InFlightMax, b.InFlightMax),
				ResponseP50: hist.Micros(response.Quantile(0.5)), ResponseP99: hist.Micros(response.Quantile(0.99)), ResponseMax: hist.Micros(response.Max()),
				HDR: response.Encode(), ServiceHDR: service.Encode(), Good: timeline.PlusGood(a.Good, b.Good), Latency: mergeCourses(t, a, b),
			}
		}
		c.Intervals = append(c.Intervals, a)
	}
	return &c
}

func mergeCourses(t *testing.T, a, b takt.Interval) map[string]takt.Course {
	h := mergeTwo(t, a.Latency["ttft"].HDR, b.Latency["ttft"].HDR)
	if h.Count() == 0 {
		return nil
	}
	return map[string]takt.Course{"ttft": {P50: hist.Micros(h.Quantile(0.5)), P99: hist.Micros(h.Quantile(0.99)), Max: hist.Micros(h.Max()), HDR: h.Encode()}}
}

func mergeTwo(t *testing.T, a, b string) *hist.Histogram {
	t.Helper()
	h := hist.New()
	if err := errors.Join(h.MergeEncoded(a), h.MergeEncoded(b)); err != nil {
		t.Fatal(err)
	}
	return h
}

// A shard that went on for long has intervals of two seconds, one that was ended early
// still has its seconds.
func TestMergeAlignsIntervals(t *testing.T) {
	const long, short = 8, 5
	list := recordedOps(rand.New(rand.NewPCG(3, 4)), long, 4, 0)
	parts := []*takt.Report{recordRun(list, 1, 2, short, false), coarser(t, recordRun(list, 0, 2, long, false))}
	kept := slices.DeleteFunc(slices.Clone(list), func(o recordedOp) bool {
		return o.event.Due >= short*time.Second && int(o.event.Due/(250*time.Millisecond))%2 == 1
	})
	want := coarser(t, recordRun(kept, 0, 1, long, false))
	got := mustMerge(t, parts, merge.Options{})
	*want.Rate.Intended = 4 // of the schedule, not of what the shards had time for
	sameRun(t, got, want)
	var peaks []int
	for _, iv := range got.Intervals {
		peaks = append(peaks, iv.InFlightMax)
	}
	if !slices.Equal(peaks, []int{3, 3, 3, 1, 1}) || got.DurationS != long-2 || got.Counts.Scheduled != 2*(long-2)+2*(short-2) {
		t.Errorf("%v s with %d operations, in flight %v", got.DurationS, got.Counts.Scheduled, peaks)
	}
}

func TestMergeDescribesTheWhole(t *testing.T) {
	list := recordedOps(rand.New(rand.NewPCG(5, 6)), 4, 100, 0)
	parts := recordShards(list, 3, 4, false)
	parts[0].Labels = map[string]string{"branch": "main"}
	parts[1].Labels = map[string]string{"branch": "main", "rack": "b"}
	parts[1].Variables["connections"] = 70.0 // as it is read from a file
	parts[2].StartedAt = parts[0].StartedAt.Add(-3 * time.Millisecond)
	parts[2].Generator.HostClass = "linux/arm64"
	for i, p := range parts {
		p.Tool = takt.Tool{Name: "takt", Version: []string{"0.1.0", "0.2.0", "0.1.0"}[i]}
		p.Extra = map[string]any{"transfer_from": "due", "lost": 2.0, "mode": fmt.Sprint(i)}
		p.Counts.Dropped, p.Warnings = 2, []takt.Warning{{Code: "dropped", Message: "2 were dropped"}, {Code: "closed_loop", Message: "closed"}, {Code: "gc", Message: "in 3 cycles"}}
	}
	parts[1].Warnings = append(parts[1].Warnings, takt.Warning{Code: "steal", Message: "2.1 % of it"}, takt.Warning{Code: "steal", Message: "2.1 % of it"})
	parts[2].Warnings = append(parts[2].Warnings, takt.Warning{Code: "redirects", Message: "3xx"})
	parts[0].Warnings = append(parts[0].Warnings, takt.Warning{Code: "redirects", Message: "3xx"})
	before, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	got := mustMerge(t, parts, merge.Options{ID: "01W"})
	if after, _ := json.Marshal(parts); string(after) != string(before) {
		t.Error("the shards were changed")
	}
	if backwards := mustMerge(t, []*takt.Report{parts[2], parts[1], parts[0]}, merge.Options{ID: "01W"}); !reflect.DeepEqual(got, backwards) {
		t.Error("the order of the reports matters")
	}
	plan := parts[0].Schedule
	plan.Shard = "1/1"
	part := func(k int, start, host, mode string) any {
		return map[string]any{
			"shard": fmt.Sprintf("%d/3", k), "id": fmt.Sprintf("01R%d", k), "started_at": "2026-11-21T" + start, "host_class": host,
			"achieved_per_s": parts[k-1].Rate.Achieved, "verdict": "valid", "cpu_percent": 12.5,
			"schedule_lag_p99_us": 0.001, "response_p99_us": []float64{12000, 5923, 10140}[k-1], "extra": map[string]any{"lost": 2.0, "mode": mode},
		}
	}
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"id", got.ID, "01W"},
		{"kind", got.Kind, "http"},
		{"schema", got.SchemaVersion, takt.SchemaVersion},
		{"start", got.StartedAt, parts[2].StartedAt},
		{"warm-up", got.WarmupS, 2.0},
		{"schedule", got.Schedule, plan},
		{"labels", got.Labels, map[string]string{"branch": "main", "rack": "b"}},
		{"variables", got.Variables, map[string]any{"rate_per_s": 100.0, "connections": 170.0, "engine": "loop"}},
		{"generator", got.Generator, takt.Generator{
			Engine: "loop", Loops: 3, GOMAXPROCS: 6, CPUS: 1.5, MaxRSS: 3 << 20, GCCycles: 9, GCPauseMaxUS: 2, Cores: 6,
			HostClass: "2 × linux/amd64 + 1 × linux/arm64",
		}},
		{"warnings", got.Warnings, []takt.Warning{
			{Code: "shards_differ", Message: "the shards are of several versions, which may count in different ways: takt 0.1.0 (1/3, 3/3), takt 0.2.0 (2/3)"},
			{Code: "shards_differ", Message: "the whole has labels that only some of the shards have: branch (1/3, 2/3), rack (2/3)"},
			{Code: "dropped", Message: "6 operations were dropped at the in-flight bound and are in no percentile: the tail is truncated", Fields: []takt.Field{{Name: "dropped", Value: 6, Unit: takt.UnitCount}}},
			{Code: "closed_loop", Message: "closed"},
			{Code: "gc", Message: "each of the shards 1/3, 2/3, 3/3: in 3 cycles"},
			{Code: "redirects", Message: "each of the shards 1/3, 3/3: 3xx"},
			{Code: "steal", Message: "shard 2/3: 2.1 % of it"},
		}},
		{"extra", got.Extra, map[string]any{"transfer_from": "due", "shards": 3, "parts": []any{
			part(1, "10:00:00Z", "linux/amd64", "0"), part(2, "10:00:00.001Z", "linux/amd64", "1"), part(3, "09:59:59.997Z", "linux/arm64", "2"),
		}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
}

// What was intended is the schedule, not what a shard had time for: four shards of 100/s
// each, of which one ends at half time, achieve 87.5 % of 400/s.
func TestMergeIntendsTheSchedule(t *testing.T) {
	var list []recordedOp
	for i := range 400 * 12 {
		due := time.Duration(i) * time.Second / 400
		list = append(list, recordedOp{record.Event{Due: due, Free: due, Sent: due, Done: due + time.Millisecond}, &takt.Result{}})
	}
	parts := recordShards(list, 4, 12, false)
	parts[2] = recordRun(list, 2, 4, 7, false)
	parts[2].Warnings = append(parts[2].Warnings, takt.Warning{Code: "cancelled", Message: "ended"})
	got := mustMerge(t, parts, merge.Options{})
	if *got.Rate.Intended != 400 || got.Rate.Achieved != 350 || got.Verdict != takt.Invalid || got.Counts.Scheduled != 3500 {
		t.Errorf("%v of %v/s, %s, %+v", got.Rate.Achieved, *got.Rate.Intended, got.Verdict, got.Counts)
	}
	got = mustMerge(t, parts[1:3], merge.Options{AllowMissing: true})
	if *got.Rate.Intended != 400 || got.Rate.Achieved != 150 || got.Verdict != takt.Invalid {
		t.Errorf("%v of %v/s, %s", got.Rate.Achieved, *got.Rate.Intended, got.Verdict)
	}
	if err := audit.Check(got); err != nil {
		t.Error(err)
	}
}

// In a closed loop one that was cut short is told by its warning only.
func TestMergeOfACutClosedLoop(t *testing.T) {
	list := recordedOps(rand.New(rand.NewPCG(7, 8)), 6, 100, 0)
	parts := []*takt.Report{recordRun(list, 0, 2, 6, true), recordRun(list, 1, 2, 4, true)}
	parts[1].Warnings = append(parts[1].Warnings, takt.Warning{Code: "cancelled", Message: "ended"})
	got := mustMerge(t, parts, merge.Options{})
	if got.Verdict != takt.Invalid || !got.Warned("shards_cut") {
		t.Errorf("%s %v", got.Verdict, got.Warnings)
	}
}

// In a closed loop each shard has a number of operations, and an end, of its own.
func TestMergeClosedLoop(t *testing.T) {
	list := recordedOps(rand.New(rand.NewPCG(7, 8)), 6, 100, 0)
	parts := []*takt.Report{recordRun(list, 0, 2, 6, true), recordRun(list, 1, 2, 4, true)}
	for _, p := range parts {
		p.Schedule = takt.Schedule{Profile: "closed", Shard: p.Schedule.Shard, RunGroup: "nightly"}
		p.Variables["requests"] = 200
	}
	got := mustMerge(t, parts, merge.Options{})
	ended := float64(got.Counts.OK + got.Counts.Failed)
	if got.DurationS != parts[0].DurationS || math.Abs(got.Rate.Achieved-ended/got.DurationS) > 1e-9 || got.Rate.Intended != nil {
		t.Errorf("%v operations in %v s at %+v", ended, got.DurationS, got.Rate)
	}
	if got.Variables["requests"] != 400.0 {
		t.Errorf("requests is %v, want 400", got.Variables["requests"])
	}
}

// Shards that were ended in their warm-up measured nothing, and are no closed loop.
func TestMergeOfNothing(t *testing.T) {
	got := mustMerge(t, recordShards(nil, 2, 0, false), merge.Options{})
	if got.Warnings == nil || got.Rate.Intended == nil || *got.Rate.Intended != 0 || got.Rate.Achieved != 0 || got.Counts != (takt.Counts{}) || !got.Warned("nothing_measured") {
		t.Errorf("%+v, %+v, %s", got.Rate, got.Counts, got.Verdict)
	}
}

func TestMergeMissing(t *testing.T) {
	list := recordedOps(rand.New(rand.NewPCG(9, 10)), 3, 300, 0)
	parts := recordShards(list, 5, 3, false)
	for _, c := range []struct {
		have []int
		want string
		is   string
	}{
		{[]int{0, 1, 2, 3}, "5/5", "shard 5/5 is missing"},
		{[]int{2}, "1/5 2/5 4/5 5/5", "shards 1/5, 2/5, 4/5, 5/5 are missing"},
		{[]int{1, 3}, "1/5 3/5 5/5", "shards 1/5, 3/5, 5/5 are missing"},
	} {
		var some []*takt.Report
		var scheduled uint64
		for _, i := range c.have {
			some, scheduled = append(some, parts[i]), scheduled+parts[i].Counts.Scheduled
		}
		_, err := merge.Reports(some, merge.Options{})
		var missing *merge.MissingShardsError
		if !errors.As(err, &missing) || strings.Join(missing.Shards, " ") != c.want || missing.More != 0 ||
			err.Error() != c.is+"; give all reports of the run, or --allow-missing to merge those that are there" {
			t.Errorf("%v, want %s", err, c.want)
		}
		got := mustMerge(t, some, merge.Options{AllowMissing: true})
		want := fmt.Sprintf("%s: these are the figures of %d of 5 parts of the load, and are not compared with others", c.is, len(c.have))
		if len(got.Warnings) == 0 || bare(got.Warnings[0]) != bare(takt.Warning{Code: warn.ShardsMissing, Message: want}) || got.Counts.Scheduled != scheduled {
			t.Errorf("%+v with %+v, want %s", got.Warnings, got.Counts, want)
		}
		if unfit := stored.RunOf(got).Unfit; unfit != "the run is invalid: the shards did not put the whole load on the target at once; "+want {
			t.Errorf("unfit: %q, want %q", unfit, want)
		}
		if got.Verdict != takt.Invalid || *got.Rate.Intended != 300 {
			t.Errorf("%s, %v/s intended; want an invalid part of 300/s", got.Verdict, *got.Rate.Intended)
		}
	}
	if unfit := stored.RunOf(mustMerge(t, parts, merge.Options{})).Unfit; unfit != "" {
		t.Errorf("all shards are there, but %s", unfit)
	}
	parts[0].Schedule.Shard = "7/1000000000"
	_, err := merge.Reports(parts[:1], merge.Options{})
	if want := "shards 1/1000000000, 2/1000000000, "; !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), " 21/1000000000 and 999999979 more are missing;") {
		t.Errorf("%v", err)
	}
}

// Each report that does not belong to the others is named, with what is wrong.
func TestMergeRefuses(t *testing.T) {
	list := recordedOps(rand.New(rand.NewPCG(11, 12)), 3, 100, 0)
	all := recordShards(list, 3, 3, false)
	empty := hist.New().Summary()
	for _, c := range []struct {
		change func(parts []*takt.Report)
		want   []string
	}{
		{func(p []*takt.Report) { p[1].Schedule.Shard = "1/1" }, []string{"01R2 is not a shard, but the report of a whole run; give the reports of runs with --shard k/n"}},
		{func(p []*takt.Report) { p[1].Schedule.Shard = "" }, []string{"01R2 is not a shard, but the report of a whole run; give the reports of runs with --shard k/n"}},
		{func(p []*takt.Report) { p[1].Schedule.Shard = "2/4" }, []string{"shard 2/4 (01R2) does not belong to shard 1/3 (01R1): it differs in number of shards (4, not 3)"}},
		{func(p []*takt.Report) { p[1].Schedule.Shard = "1/3" }, []string{"01R1 and 01R2 are both shard 1/3; give each shard once"}},
		{func(p []*takt.Report) { p[1].Schedule.RunGroup = "other" }, []string{`shard 2/3 (01R2) does not belong to shard 1/3 (01R1): it differs in run_group ("other", not "nightly")`}},
		{func(p []*takt.Report) {
			p[0].Schedule.RunGroup, p[1].Schedule.RunGroup, p[2].Schedule.RunGroup = "", "", ""
		}, []string{
			"shard 1/3 (01R1) has no run_group, so nothing says which shards belong to it; run all of them with the same --run-group or --start-at",
			"shard 2/3 (01R2) has no run_group, so nothing says which shards belong to it; run all of them with the same --run-group or --start-at",
			"shard 3/3 (01R3) has no run_group, so nothing says which shards belong to it; run all of them with the same --run-group or --start-at",
		}},
		{func(p []*takt.Report) { p[2].Kind, p[2].SchemaVersion = "kafka", 2 }, []string{`shard 3/3 (01R3) does not belong to shard 1/3 (01R1): it differs in kind ("kafka", not "http"), schema_version (2, not 1)`}},
		{func(p []*takt.Report) { p[2].WarmupS = 5 }, []string{"shard 3/3 (01R3) does not belong to shard 1/3 (01R1): it differs in warmup_s (5, not 2)"}},
		{func(p []*takt.Report) { p[1].Schedule.Seed = 7 }, []string{
			`shard 2/3 (01R2) does not belong to shard 1/3 (01R1): it differs in schedule.seed (7, not 0)`}},
		{func(p []*takt.Report) { p[1].Variables["rate_per_s"] = 50; p[2].Variables["path"] = "/x" }, []string{
			"shard 2/3 (01R2) does not belong to shard 1/3 (01R1): it differs in variable rate_per_s (50, not 100)",
			`shard 3/3 (01R3) does not belong to shard 1/3 (01R1): it differs in variable path ("/x", not none)`,
		}},
		{func(p []*takt.Report) { p[1].Variables["body_sha256"] = "1234" }, []string{"shard 2/3 (01R2) does not belong to shard 1/3 (01R1): it differs in variable body_sha256"}},
		{func(p []*takt.Report) { delete(p[1].Variables, "connections") }, []string{"shard 2/3 (01R2) does not belong to shard 1/3 (01R1): it differs in variable connections (none, not a bound of its own)"}},
		{func(p []*takt.Report) { p[1].Labels["branch"] = "a"; p[2].Labels["branch"] = "b" }, []string{`label branch is "a" in shard 2/3 (01R2) but "b" in shard 3/3 (01R3); all shards of a run must have the same value`}},
		{func(p []*takt.Report) { p[1].Latency = map[string]takt.Latency{} }, []string{"shard 2/3 (01R2) has no histogram of response time; use the report that takt wrote, because imported reports cannot be merged"}},
		{func(p []*takt.Report) {
			l := p[1].Latency["send_delay"]
			l.HDR = ""
			p[1].Latency["send_delay"] = l
			p[2].Latency["connect"] = takt.Latency{Count: 3, HDR: "nonsense"}
		}, []string{
			fmt.Sprintf("shard 2/3 (01R2): send delay time: the histogram contains 0 of %d values; use the report that takt wrote", all[1].Latency["send_delay"].Count),
			"shard 3/3 (01R3): connect time: cannot decode the histogram: it has 6 bytes, less than its header; is it V2 compressed base64?",
		}},
		{func(p []*takt.Report) { p[1].Latency["tls"] = empty }, nil},
		{func(p []*takt.Report) { p[1].IntervalS = 0.75 }, []string{"shard 2/3 (01R2) has intervals of 0.75 s, and takt writes 1 s, 2 s, 4 s and so on; use the report that takt wrote"}},
		{func(p []*takt.Report) { p[0].Schedule.RunGroup, p[0].WarmupS = "other", 5 }, []string{`shard 1/3 (01R1) does not belong to shard 2/3 (01R2): it differs in run_group ("other", not "nightly"), warmup_s (5, not 2)`}},
		{func(p []*takt.Report) { p[1].Intervals[1].HDR = "nonsense" }, []string{"shard 2/3 (01R2): the interval that ends at 2 s: cannot decode the histogram: it has 6 bytes, less than its header; is it V2 compressed base64?"}},
	} {
		parts := copied(t, all)
		c.change(parts)
		_, err := merge.Reports(parts, merge.Options{})
		var bad *merge.UnmergeableError
		if c.want == nil && err == nil {
			continue
		}
		if !errors.As(err, &bad) || !slices.Equal(bad.Faults, c.want) {
			t.Errorf("%v\nwant %s", err, strings.Join(c.want, "\n     "))
		}
	}
	_, err := merge.Reports(nil, merge.Options{})
	if want := "the reports cannot be merged: there are no reports; give those of all shards"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestMergeVerdict(t *testing.T) {
	// cut ends the window of shard i at that second, for a reason that its warning has.
	cut := func(i int, at float64, why takt.WarningCode) func([]*takt.Report) {
		return func(p []*takt.Report) {
			p[i].Rate.Achieved *= (at - p[i].WarmupS) / p[i].DurationS
			p[i].DurationS = at - p[i].WarmupS
			if why != "" {
				p[i].Warnings = append([]takt.Warning{{Code: why, Message: "ended"}}, p[i].Warnings...)
			}
		}
	}
	quiet := recordShards(recordedOps(rand.New(rand.NewPCG(13, 14)), 4, 200, 0), 2, 4, false)
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		change  func(parts []*takt.Report)
		verdict takt.Verdict
		code    string // of the first warning that is not of the load
		message string
	}{
		{"nothing", func([]*takt.Report) {}, takt.Valid, "", ""},
		{"one is invalid", func(p []*takt.Report) {
			p[1].Verdict = takt.Invalid
			p[1].Warnings = []takt.Warning{{Code: "generator_behind", Message: "it fell behind"}}
		}, takt.Invalid, "generator_behind", "shard 2/2: it fell behind"},
		{"started as one", func(p []*takt.Report) { p[1].StartedAt = p[0].StartedAt.Add(100 * ms) }, takt.Valid, "", ""},
		{"started 1 % apart", func(p []*takt.Report) {
			p[0].DurationS, p[1].DurationS = 100, 100
			p[1].StartedAt = p[0].StartedAt.Add(-time.Second)
		}, takt.Valid, "shards_apart", "the shards started up to 1s apart, so for that long the target did not bear the whole load; give all the same --start-at, on hosts whose clocks agree"},
		{"started more apart", func(p []*takt.Report) { p[1].StartedAt = p[0].StartedAt.Add(101 * ms) },
			takt.Invalid, "shards_apart", "the shards started up to 101ms apart, so for that long the target did not bear the whole load; give all the same --start-at, on hosts whose clocks agree"},
		{"one was cut short", cut(1, 3.3, "cancelled"), takt.Invalid, "shards_cut", "shard 2/2 was cut short, after 1.3s of 2s: from then on the target did not bear the whole load; run all shards again"},
		{"one ended early without a word", cut(0, 3.85, ""), takt.Invalid, "shards_cut", "shard 1/2 was cut short, after 1.85s of 2s: from then on the target did not bear the whole load; run all shards again"},
		{"one was cut short at the last moment", cut(1, 3.99, "aborted"), takt.Invalid, "shards_cut", "shard 2/2 was cut short, after 1.99s of 2s: from then on the target did not bear the whole load; run all shards again"},
		{"a few failed at a limit in each", func(p []*takt.Report) {
			for _, r := range p {
				r.Errors = []takt.ErrorClass{{Class: "no_ports", Count: 9, Sample: "no ports"}}
				r.Warnings = []takt.Warning{{Code: "host_limit", Message: "9 operations failed"}}
			}
		}, takt.Invalid, "host_limit", "18 operations (4.5 %) failed at limits of the generators' hosts, not at the target: no ports"},
		{"all were at once", func(p []*takt.Report) { cut(0, 3.5, "cancelled")(p); cut(1, 3.51, "cancelled")(p) }, takt.Valid, "cancelled", "ended"},
		{"all were, not at once", func(p []*takt.Report) { cut(0, 3, "cancelled")(p); cut(1, 3.9, "cancelled")(p) },
			takt.Invalid, "shards_cut", "shards 1/2, 2/2 were cut short, after 1s of 1.9s: from then on the target did not bear the whole load; run all shards again"},
	} {
		parts := copied(t, quiet)
		c.change(parts)
		got := mustMerge(t, parts, merge.Options{})
		first := ""
		for _, w := range got.Warnings {
			if w.Code != warn.Dropped && w.Code != warn.ShardsLimited && first == "" {
				first = bare(w)
			}
		}
		if got.Verdict != c.verdict || first != "" && first != c.code+": "+c.message || (first == "") != (c.code == "") {
			t.Errorf("%s: %s %s, want %s %s %s", c.name, got.Verdict, first, c.verdict, c.code, c.message)
		}
	}
}

// bare is a warning without its fields and advice.
func bare(w takt.Warning) string { return string(w.Code) + ": " + w.Message }

// Nine late operations of 100 are too few to judge a shard by. In three shards they
// are 27 of 300.
func TestMergeJudgesLagOfAll(t *testing.T) {
	var list []recordedOp
	for i := range 300 {
		o := recordedOp{event: record.Event{Due: 2*time.Second + time.Duration(i)*time.Millisecond}, result: &takt.Result{}}
		o.event.Free, o.event.Sent = o.event.Due, o.event.Due
		if i < 27 {
			o.event.Sent += 5 * time.Millisecond
		}
		o.event.Done = o.event.Sent + time.Millisecond
		list = append(list, o)
	}
	parts := recordShards(list, 3, 3, false)
	for _, p := range parts {
		if p.Verdict != takt.Valid {
			t.Fatalf("shard %s: %s %v", p.Schedule.Shard, p.Verdict, p.Warnings)
		}
	}
	got := mustMerge(t, parts, merge.Options{})
	want := "generator_bottleneck: the generators together were the bottleneck: 27 operations (9.0 %) were sent more than 1ms after they could have been; lower the rate, free the CPUs, or spread the run over more shards"
	if got.Verdict != takt.Invalid || !slices.ContainsFunc(got.Warnings, func(w takt.Warning) bool { return bare(w) == want }) {
		t.Errorf("%s %+v, want %+v", got.Verdict, got.Warnings, want)
	}
	if whole := recordRun(list, 0, 1, 3, false); whole.Verdict != takt.Invalid {
		t.Errorf("one process is %s", whole.Verdict)
	}
}

// Two slow answers excuse a lag of 450 µs in one shard, for they are its p99. They are
// not that of both.
func TestMergeWarnsOfLagOfAll(t *testing.T) {
	var list []recordedOp
	for i := range 200 {
		due, lag, service := 2*time.Second+time.Duration(i)*time.Millisecond, time.Duration(0), 100*time.Microsecond
		if i%2 == 0 {
			lag = 450 * time.Microsecond
		}
		if i == 0 || i == 100 {
			service = 10 * time.Millisecond
		}
		list = append(list, recordedOp{record.Event{Due: due, Free: due, Sent: due + lag, Done: due + lag + service}, &takt.Result{}})
	}
	parts := recordShards(list, 2, 3, false)
	if n := len(parts[0].Warnings) + len(parts[1].Warnings); n > 0 {
		t.Fatalf("%d warnings of shards", n)
	}
	got := mustMerge(t, parts, merge.Options{})
	want := "generator_late: the generators were late: 100 of 200 operations (50.0 %) were sent more than 200µs after they could have been, beside a response p99 of 100µs without the generator's part; latencies include that delay"
	if got.Verdict != takt.Valid || len(got.Warnings) != 1 || bare(got.Warnings[0]) != want {
		t.Errorf("%s %+v, want %+v", got.Verdict, got.Warnings, want)
	}
}

// Coarser intervals have the operations of the finer ones, and can be true.
func TestCoarser(t *testing.T) {
	r := recordRun(recordedOps(rand.New(rand.NewPCG(1, 2)), 7, 200, time.Millisecond), 1, 1, 7, false)
	list, err := merge.Coarser(r.Intervals, 4)
	if err != nil {
		t.Fatal(err)
	}
	before := len(r.Intervals)
	r.Intervals, r.IntervalS = list, 4
	if err := audit.Check(r); err != nil || len(list) != (before+3)/4 || list[0].T != 4 {
		t.Errorf("%d intervals became %d, the first ends at %v s: %v", before, len(list), list[0].T, err)
	}
	r.Intervals[1].HDR = "AAAA"
	if _, err := merge.Coarser(r.Intervals, 8); err == nil {
		t.Error("a damaged histogram is merged")
	}
}

// Segments of own connections are known of the whole if all shards know them.
func TestMergeRetransmits(t *testing.T) {
	parts := recordShards(recordedOps(rand.New(rand.NewPCG(13, 14)), 4, 200, 0), 2, 4, false)
	one, two := uint64(1), uint64(2)
	parts[0].Generator.OwnRetransmits, parts[1].Generator.OwnRetransmits = &one, &two
	if n := mustMerge(t, parts, merge.Options{}).Generator.OwnRetransmits; n == nil || *n != 3 {
		t.Errorf("of both %v", n)
	}
	parts[1].Generator.OwnRetransmits = nil
	if n := mustMerge(t, parts, merge.Options{}).Generator.OwnRetransmits; n != nil {
		t.Errorf("of one %d", *n)
	}
}

// The whole has the latency without takt's own lateness only if all shards have it.
func TestMergeOfAnOlderShard(t *testing.T) {
	parts := recordShards(recordedOps(rand.New(rand.NewPCG(13, 14)), 4, 200, 0), 2, 4, false)
	all := mustMerge(t, copied(t, parts), merge.Options{}).Latency
	if got, want := all[takt.LatencyOnTime].Count, all[takt.LatencyResponse].Count; got != want || want == 0 {
		t.Errorf("%d operations without lateness, want %d", got, want)
	}
	delete(parts[0].Latency, takt.LatencyOnTime)
	if l, there := mustMerge(t, copied(t, parts), merge.Options{}).Latency[takt.LatencyOnTime]; there {
		t.Errorf("of one shard: %+v", l)
	}
}
