package verdict

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// At each bound the run is still valid, or is just no longer.

func TestLatenessBounds(t *testing.T) {
	for _, c := range []struct {
		late, punctual       uint64
		bottleneck, doubtful bool
	}{
		{9, 91, false, true},
		{10, 90, true, false},
		{10, 990, false, false}, // 1 %
		{10, 989, true, false},
		{0, 0, false, false},
	} {
		response, lag := hist.New(), hist.New()
		response.RecordN(time.Millisecond, c.late+c.punctual)
		lag.RecordN(2*time.Millisecond, c.late)
		lag.RecordN(0, c.punctual)
		l := latenessOf(Delays{OnTime: response, Lag: lag})
		if l.Late != c.late || l.Bottleneck() != c.bottleneck || l.Doubtful() != c.doubtful {
			t.Errorf("%d late, %d not: %+v, bottleneck %v, doubtful %v", c.late, c.punctual, l, l.Bottleneck(), l.Doubtful())
		}
	}
}

// A few operations that were a little late are an accident of the host, and no warning. Many are
// the generator's lateness, and so is a large part of a short run.
func TestDoubtfulBounds(t *testing.T) {
	for _, c := range []struct {
		response, lag  time.Duration
		late, punctual uint64
		want           bool
	}{
		{100 * time.Microsecond, 300 * time.Microsecond, 9, 191, false}, // of 200
		{100 * time.Microsecond, 300 * time.Microsecond, 10, 190, true},
		{100 * time.Microsecond, 300 * time.Microsecond, 10, 990, false}, // 1 %
		{100 * time.Microsecond, 300 * time.Microsecond, 10, 989, true},
		{100 * time.Microsecond, 300 * time.Microsecond, 2, 38, false}, // 5 % of 40
		{100 * time.Microsecond, 300 * time.Microsecond, 3, 37, true},
		{100 * time.Microsecond, 300 * time.Microsecond, 2, 8, false},
		{100 * time.Microsecond, 300 * time.Microsecond, 3, 7, true},
		{100 * time.Microsecond, 300 * time.Microsecond, 0, 0, false},
		{100 * time.Microsecond, 190 * time.Microsecond, 1000, 0, false}, // below 200 µs
		{20 * time.Millisecond, 990 * time.Microsecond, 1000, 0, false},  // below 5 %
		{20 * time.Millisecond, 1010 * time.Microsecond, 1000, 0, true},
		{20 * time.Millisecond, 3 * time.Millisecond, 1000, 0, false}, // invalid, which says more
		{20 * time.Millisecond, 3 * time.Millisecond, 9, 51, true},    // too few to be invalid
	} {
		response, lag := hist.New(), hist.New()
		response.RecordN(c.response, c.late+c.punctual)
		lag.RecordN(c.lag, c.late)
		lag.RecordN(0, c.punctual)
		if l := latenessOf(Delays{OnTime: response, Lag: lag}); l.Doubtful() != c.want {
			t.Errorf("%d late by %v, %d not: %+v, doubtful %v", c.late, c.lag, c.punctual, l, l.Doubtful())
		}
	}
}

// The bounds are of p99, which one operation of a hundred does not move.
func TestLatenessIsOfP99(t *testing.T) {
	response, lag := hist.New(), hist.New()
	for _, h := range []*hist.Histogram{response, lag} {
		h.RecordN(1000, 99)
		h.Record(time.Second)
	}
	if l := latenessOf(Delays{OnTime: response, Lag: lag}); l.OnTime != 1000 || l.Some != 200*time.Microsecond || l.Bound != time.Millisecond {
		t.Errorf("%+v", l)
	}
}

// From 10 operations on and above 1 %, both.
func TestManyBounds(t *testing.T) {
	for _, c := range []struct {
		n, of uint64
		want  bool
	}{{9, 100, false}, {10, 100, true}, {10, 999, true}, {10, 1000, false}} {
		if got := many(c.n, c.of); got != c.want {
			t.Errorf("%d of %d: %v", c.n, c.of, got)
		}
	}
}

// A bucket ends below each power of two of microseconds; the last one has no end.
func TestDropsBuckets(t *testing.T) {
	us := time.Microsecond
	for _, c := range []struct {
		late, bound time.Duration
		above       bool
	}{
		{999, 0, false}, {us, 0, true}, // below 1 µs
		{us, 999, true}, {us, us, false}, {2*us - 1, us, false}, {2 * us, us, true},
		{2 * us, 2*us - 1, true}, {2 * us, -us, true},
		{1 << 37 * us, (1<<38 - 1) * us, false}, {1 << 38 * us, (1<<38 - 1) * us, true},
		{1 << 39 * us, (1<<38 - 1) * us, true}, {1 << 39 * us, 1 << 38 * us, false}, // 76 hours and more
	} {
		var d Drops
		d.Add(c.late, 3)
		want := uint64(0)
		if c.above {
			want = 3
		}
		if got := d.Above(c.bound); got != want {
			t.Errorf("%v late: %d above %v, want %d", c.late, got, c.bound, want)
		}
	}
}

// run is judged as a valid one: 1000 operations at 100 of 100/s.
func run(change func(o *Operations, r *takt.Report)) *takt.Report {
	punctual, response, intended := hist.New(), hist.New(), 100.0
	punctual.RecordN(0, 1000)
	response.RecordN(2*time.Millisecond, 1000)
	o := &Operations{Delays: Delays{OnTime: response, Lag: punctual}}
	r := &takt.Report{Counts: takt.Counts{Scheduled: 1000, OK: 1000}, Rate: takt.Rate{Achieved: 100, Intended: &intended}}
	change(o, r)
	o.Judge(r)
	return r
}

// says reports whether a warning of that code has the words.
func says(r *takt.Report, code takt.WarningCode, words string) bool {
	for _, w := range r.Warnings {
		if w.Code == code && strings.Contains(w.Message, words) {
			return true
		}
	}
	return false
}

// What warns, and what its figures are.
func TestOperationsSay(t *testing.T) {
	for name, c := range map[string]struct {
		change         func(o *Operations, r *takt.Report)
		code           takt.WarningCode
		words          string
		warned, unjust bool // unjust: the run is invalid
	}{
		"one clamped":  {func(o *Operations, _ *takt.Report) { o.Clamped = 1 }, "clamped", "1 latencies were outside 1ns to 1h0m0s", true, false},
		"none clamped": {func(*Operations, *takt.Report) {}, "clamped", "", false, false},
		"one at a limit": {func(_ *Operations, r *takt.Report) {
			r.Errors = []takt.ErrorClass{{Class: ClassPorts, Count: 1}}
		}, "host_limit", "1 operations (0.1 %)", true, false},
		"one dropped": {func(_ *Operations, r *takt.Report) { r.Counts.OK, r.Counts.Dropped = 999, 1 }, "dropped", "1 operations were dropped", true, false},
		"every kind adds": {func(_ *Operations, r *takt.Report) {
			r.Counts = takt.Counts{Scheduled: 1000, OK: 400, Failed: 300, Dropped: 200, Unfinished: 100}
		}, "accounting", "", false, false},
		"the warm-up adds": {func(_ *Operations, r *takt.Report) { r.WarmupCounts = takt.Counts{Scheduled: 2, Failed: 1} }, "accounting", "", true, true},
		"1 % unsent":       {func(o *Operations, _ *takt.Report) { o.Unsent = 10 }, "generator_behind", "", false, false},
		"1.1 % unsent":     {func(o *Operations, _ *takt.Report) { o.Unsent = 11 }, "generator_behind", "11 of 1000 operations were not sent", true, true},
		"late": {func(o *Operations, _ *takt.Report) {
			o.Lag = hist.New()
			o.Lag.RecordN(50*time.Millisecond, 1000)
		}, "generator_bottleneck", "1000 operations (100.0 %) were sent more than 1ms after", true, true},
		"late, and none behind": {func(o *Operations, _ *takt.Report) {
			o.Lag = hist.New()
			o.Lag.RecordN(50*time.Millisecond, 1000)
		}, "generator_backlog", "", false, true},
		"one behind": {func(o *Operations, _ *takt.Report) { o.Behind.Add(time.Second, 1) }, "generator_backlog", "", false, false},
		"nine late, and one behind": {func(o *Operations, r *takt.Report) {
			o.Lag = hist.New()
			o.Lag.RecordN(50*time.Millisecond, 9)
			o.Lag.RecordN(0, 891)
			o.Behind.Add(time.Second, 1)
			r.Counts.Scheduled, r.Counts.OK = 900, 900
		}, "generator_backlog", "it was slow or froze, and 10 of 900 operations were sent more than 1ms late; 1 of them waited", true, true},
		"dropped blindly": {func(o *Operations, r *takt.Report) {
			r.Rate.Achieved, o.Blind, o.Queued, o.All = 50, 1, Held{0, 4}, Held{3, 1}
		}, "generator_held", "for 75 % of the time", true, true},
		"held": {func(o *Operations, r *takt.Report) { r.Rate.Achieved, o.Queued = 50, Held{3, 1} }, "generator_held",
			"50.0 % of the rate were achieved, and while operations waited for a connection the generator held the connections for 75 % of the time", true, true},
		"some at a limit": {func(_ *Operations, r *takt.Report) {
			r.Errors = []takt.ErrorClass{{Class: ClassFiles, Count: 3, Sample: "the limit of 20 files"}}
			r.Counts.Scheduled, r.Counts.OK = 4, 4
		}, "host_limit", "3 operations (75 %) failed at a limit of this host, not at the target: the limit of 20 files", true, false},
	} {
		r := run(c.change)
		if says(r, c.code, c.words) != c.warned || (r.Verdict == takt.Invalid) != c.unjust {
			t.Errorf("%s: %s, %+v", name, r.Verdict, r.Warnings)
		}
	}
}

// judged is what h makes of a run that reached so much of 100/s.
func judged(h Host, achieved float64, scheduled uint64) *takt.Report {
	r := &takt.Report{Verdict: takt.Valid, Rate: takt.Rate{Achieved: achieved}, Counts: takt.Counts{Scheduled: scheduled}}
	if intended := 100.0; !h.Closed {
		r.Rate.Intended = &intended
	}
	h.Judge(r)
	return r
}

// At each bound a host is not yet too busy.
func TestHostBounds(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		h         Host
		achieved  float64
		scheduled uint64
		words     string // "": no warning
	}{
		"a loop at the bound":         {Host{Worked: 0.9, Loops: 2}, 100, 5, ""},
		"a loop above it":             {Host{Worked: 0.97, Loops: 2}, 100, 1, "a loop worked 97 % of the time: the rate may be its limit, not the target's; use more of them (--loops, 2 now)"},
		"a loop without operations":   {Host{Worked: 0.97, Loops: 2}, 100, 0, ""},
		"a closed loop at the bound":  {Host{CPU: 0.9, Closed: true}, 90, 5, ""},
		"a closed loop above it":      {Host{CPU: 0.97, Closed: true}, 90, 5, "the generator used 97 % of all cores"},
		"99 % of the rate":            {Host{CPU: 1}, 99, 5, ""},
		"90 % of all cores":           {Host{CPU: 0.9, Idle: 0.1}, 50, 5, ""},
		"more of them":                {Host{CPU: 0.92, Idle: 0.55}, 50, 5, "it used 92 % of all cores, 55 % were idle, and 50.0 % of the rate were achieved"},
		"a third":                     {Host{CPU: 0.33, Idle: 0}, 50, 5, ""},
		"more than a third":           {Host{CPU: 0.34, Idle: 0.04}, 50, 5, "it used 34 % of all cores, 4 % were idle"},
		"5 % idle":                    {Host{CPU: 0.5, Idle: 0.05}, 50, 5, ""},
		"a tenth throttled":           {Host{Throttled: s, Wall: 10 * s}, 50, 5, ""},
		"more than a tenth":           {Host{Throttled: 1001 * time.Millisecond, Wall: 10 * s}, 50, 5, "held it back for 1s, and 50.0 % of the rate"},
		"waited half of the time":     {Host{Waited: 5 * s, Ran: s, Wall: 10 * s}, 50, 5, ""},
		"waited more":                 {Host{Waited: 6 * s, Ran: s, Wall: 10 * s}, 50, 5, "waited for a core for 6s in all, and ran for 1s, and 50.0 %"},
		"waited no longer than ran":   {Host{Waited: 6 * s, Ran: 6 * s, Wall: 10 * s}, 50, 5, ""},
		"waited much, ran for longer": {Host{Waited: 6 * s, Ran: 8 * s, Wall: 10 * s}, 50, 5, ""},
		"waited little, ran for less": {Host{Waited: 2 * s, Ran: s, Wall: 10 * s}, 50, 5, ""},
	} {
		r := judged(c.h, c.achieved, c.scheduled)
		if (len(r.Warnings) > 0) != (c.words != "") || c.words != "" && !says(r, "generator_saturated", c.words) {
			t.Errorf("%s: %+v, want %q", name, r.Warnings, c.words)
		}
	}
}

// Shares of next to nothing are shares.
func TestSharesOfLittle(t *testing.T) {
	if s := (Held{0.5, 0.25}).Share(); s != 2.0/3 {
		t.Errorf("the generator's share is %v, want 2/3", s)
	}
	if s := (Held{}).Share(); s != 0 {
		t.Errorf("the share of nothing is %v", s)
	}
	l := limitsOf([]takt.ErrorClass{{Class: ClassFiles, Count: 1}}, 1)
	if l.Share != 1 {
		t.Errorf("1 of 1 is a share of %v", l.Share)
	}
	lag := hist.New()
	lag.Record(time.Second)
	if l := latenessOf(Delays{OnTime: hist.New(), Lag: lag}); l.Share != 1 {
		t.Errorf("1 of 1 late is a share of %v", l.Share)
	}
}

// The reason is the generator's as soon as one warning says so, whatever the shards did.
func TestReason(t *testing.T) {
	const generator, shards = "the generator, not the target, shaped these figures", "the shards did not put the whole load on the target at once"
	for want, codes := range map[string][]takt.WarningCode{
		generator: {"shards_missing", "generator_late", "host_limit"},
		shards:    {"clamped", "shards_apart", "closed_loop"},
	} {
		var warnings []takt.Warning
		for _, code := range codes {
			warnings = append(warnings, takt.Warning{Code: code})
		}
		if got := Reason(warnings); got != want {
			t.Errorf("%v: %s", codes, got)
		}
		if got := Headline(warnings); got != "INVALID RUN: "+want+"." {
			t.Errorf("%v: %s", codes, got)
		}
		if got := Sentence(warnings); got != "T"+want[1:]+"." {
			t.Errorf("%v: %s", codes, got)
		}
	}
	if got := Reason(nil); got != generator {
		t.Errorf("without warnings: %s", got)
	}
}

// A duet forgives late operations, and nothing else.
func TestByLateness(t *testing.T) {
	for codes, want := range map[string]bool{
		"": false, "gc": false, "generator_backlog": true, "generator_bottleneck": true, "generator_bottleneck gc": true, "generator_bottleneck generator_backlog": true,
		"generator_bottleneck accounting": false, "generator_bottleneck generator_behind": false, "generator_bottleneck generator_held": false,
		"generator_bottleneck generator_saturated": false, "generator_bottleneck host_limit": false, "host_limit": false,
	} {
		r := &takt.Report{Verdict: takt.Invalid}
		for _, code := range strings.Fields(codes) {
			r.Warn(takt.WarningCode(code), "%s", code)
		}
		if got := ByLateness(r); got != want {
			t.Errorf("%q: %v", codes, got)
		}
		if r.Verdict = takt.Valid; ByLateness(r) {
			t.Errorf("%q of a valid run: true", codes)
		}
	}
}

// A second is late by the rule of a whole run: its bound does not grow with its own lag.
func TestLateSecond(t *testing.T) {
	for _, c := range []struct {
		response, lag float64 // µs
		late, some    bool
	}{
		{0, 0, false, false},
		{0, 1000, false, true},
		{0, 1001, true, true},
		{2000, 200, false, false},
		{2000, 201, false, true},
		{101e3, 9e3, false, true},
		{101e3, 10e3, true, true}, // 10.99 % of the other 91 ms, and 9.9 % of all
		{1e3, 2e3, true, true},
	} {
		iv := &takt.Interval{ResponseP99: c.response, ScheduleLagP99: c.lag}
		if late, some := LateSecond(iv), SecondOf(c.response, c.lag).SomeLate(); late != c.late || some != c.some {
			t.Errorf("lag %v of %v µs: late %v, a little late %v", c.lag, c.response, late, some)
		}
	}
}

// The bounds of a report follow from the time without its generator's part, if the report has it.
func TestBoundOf(t *testing.T) {
	for name, c := range map[string]struct {
		latency map[string]takt.Latency
		want    time.Duration
	}{
		"new":           {map[string]takt.Latency{"response": {P99: 1e6}, "on_time": {P99: 5e5}}, 50 * time.Millisecond},
		"old":           {map[string]takt.Latency{"response": {P99: 1e6}}, 100 * time.Millisecond},
		"old, one way":  {map[string]takt.Latency{"send": {P99: 2e6}}, 200 * time.Millisecond},
		"only received": {map[string]takt.Latency{}, time.Millisecond},
	} {
		if got := BoundOf(&takt.Report{Latency: c.latency}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A handshake is late by what it took longer than three of the quickest one.
func TestLateHandshakes(t *testing.T) {
	onTime, lag, dial := hist.New(), hist.New(), hist.New()
	lag.RecordN(0, 1000)
	dial.RecordN(5*time.Millisecond, 989)
	dial.RecordN(35*time.Millisecond, 11)
	for _, c := range []struct {
		onTime time.Duration
		n      uint64
	}{{time.Second, 0}, {250 * time.Millisecond, 0}, {190 * time.Millisecond, 11}, {time.Millisecond, 11}} {
		onTime.Reset()
		onTime.RecordN(c.onTime, 1000)
		if l := latenessOf(Delays{OnTime: onTime, Lag: lag, Dial: dial}); l.Late != c.n || l.Bottleneck() != (c.n > 0) {
			t.Errorf("on time %v: %d late beyond %v, want %d", c.onTime, l.Late, l.Bound, c.n)
		}
	}
	lag.Reset()
	lag.RecordN(time.Second, 10)
	if l := latenessOf(Delays{OnTime: onTime, Lag: lag, Dial: dial}); l.Late != 10 {
		t.Errorf("%d of 10 operations are late", l.Late)
	}
}

// Shards are ranked by the part of the rate that is missing, not by the part that was achieved.
func TestMissedRate(t *testing.T) {
	intended := 100.0
	r := &takt.Report{Rate: takt.Rate{Achieved: 40, Intended: &intended}}
	(&Operations{Evidence: Evidence{Queued: Held{1, 2}}}).held(r)
	w := r.Warnings[0]
	if w.Code != "generator_held" || w.Fields[0] != (takt.Field{Name: "missed", Value: 60, Unit: takt.UnitPercent}) || !strings.Contains(w.Message, "40.0 % of the rate") {
		t.Errorf("%+v", w)
	}
}
