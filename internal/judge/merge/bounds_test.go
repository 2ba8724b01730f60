package merge

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

func TestShardNumber(t *testing.T) {
	for s, want := range map[string][2]int{"1/2": {1, 2}, "2/2": {2, 2}, "1/1": {1, 1}, "3/2": {}, "0/2": {}, "-1/2": {}, "x/2": {}, "1/x": {}, "1/99999999999999999999": {}, "1": {}, "": {}} {
		if k, n := shardNumber(s); [2]int{k, n} != want {
			t.Errorf("%q: %d of %d, want %v", s, k, n, want)
		}
	}
}

// Twenty missing shards are named.
func TestMissingBounds(t *testing.T) {
	for n, more := range map[int]int{20: 0, 21: 0, 22: 1, 30: 9} {
		e := missingShards([]shard{{k: n, n: n}})
		if e == nil || len(e.Shards) != min(n-1, 20) || e.More != more {
			t.Errorf("1 of %d: %+v, want %d more", n, e, more)
		}
	}
	if e := missingShards([]shard{{k: 1, n: 2}, {k: 2, n: 2}}); e != nil {
		t.Errorf("none is missing: %v", e)
	}
}

// ends is a run of 100 s whose shards ended after these times.
func ends(intended bool, seconds ...float64) (*takt.Report, []shard) {
	whole, list := &takt.Report{Verdict: takt.Valid, DurationS: 100}, []shard{}
	if rate := 10.0; intended {
		whole.Rate.Intended = &rate
	}
	for i, s := range seconds {
		list = append(list, shard{Report: &takt.Report{DurationS: s, Schedule: takt.Schedule{Shard: string(rune('1'+i)) + "/9"}}})
	}
	return whole, list
}

// A shard that ends 0.1 s before the others is told, and 1 % makes the run invalid.
func TestEndsBounds(t *testing.T) {
	for _, c := range []struct {
		seconds  float64
		intended bool
		warned   bool
		verdict  takt.Verdict
	}{
		{100, true, false, takt.Valid}, {99.95, true, false, takt.Valid}, {99.875, true, true, takt.Valid}, {99, true, true, takt.Valid}, {98.875, true, true, takt.Invalid},
		{50, false, false, takt.Valid}, // a closed loop ends when it ends
	} {
		whole, list := ends(c.intended, 100, c.seconds)
		if judgeEnds(whole, list); whole.Warned("shards_cut") != c.warned || whole.Verdict != c.verdict {
			t.Errorf("%v s of 100: %s, %+v", c.seconds, whole.Verdict, whole.Warnings)
		}
	}
	whole, list := ends(true, 0.2, 0.1, 0.05) // 0.1 s earlier is not too early
	whole.DurationS = 0.2
	if judgeEnds(whole, list); len(whole.Warnings) != 1 || !strings.HasPrefix(whole.Warnings[0].Message, "shard 3/9 was cut short, after 50ms of 200ms:") {
		t.Errorf("%+v", whole.Warnings)
	}
	for _, code := range []string{"cancelled", "aborted", "broke_off", "recovered"} {
		whole, list := ends(false, 100, 99.99)
		list[1].Warn(code, "ended")
		if judgeEnds(whole, list); whole.Verdict != takt.Invalid {
			t.Errorf("%s: %s", code, whole.Verdict)
		}
	}
	if s := inSeconds(1.0005); s != 1001*time.Millisecond {
		t.Errorf("1.0005 s are told as %v", s)
	}
	// More than 0.1 s apart at the start is told, and more than 1 % is invalid.
	for apart, want := range map[time.Duration]takt.Verdict{100 * time.Millisecond: "", 101 * time.Millisecond: takt.Valid, time.Second: takt.Valid, 1001 * time.Millisecond: takt.Invalid} {
		whole, _ := ends(true)
		judgeStarts(whole, apart)
		if whole.Warned("shards_apart") != (want != "") || (whole.Verdict == takt.Invalid) != (want == takt.Invalid) {
			t.Errorf("%v apart: %s, %+v", apart, whole.Verdict, whole.Warnings)
		}
	}
}

// The failures at a limit of all hosts together are judged unless a shard was, and said it.
func TestLimitsOfAll(t *testing.T) {
	said := []takt.Warning{{Code: "host_limit"}}
	for _, c := range []struct {
		failed  uint64
		verdict takt.Verdict
		said    []takt.Warning
		warned  bool
		want    takt.Verdict
	}{
		{9, takt.Valid, nil, false, takt.Valid}, {10, takt.Valid, nil, true, takt.Invalid}, {10, takt.Valid, said, true, takt.Invalid},
		{10, takt.Invalid, said, false, takt.Invalid}, {10, takt.Invalid, nil, true, takt.Invalid},
	} {
		whole := &takt.Report{Verdict: c.verdict, Errors: []takt.ErrorClass{{Class: "no_ports", Count: c.failed}}, Counts: takt.Counts{Scheduled: 100}}
		if judgeLimits(whole, c.said); whole.Warned("host_limit") != c.warned || whole.Verdict != c.want {
			t.Errorf("%+v: %s, %+v", c, whole.Verdict, whole.Warnings)
		}
	}
	whole := &takt.Report{Errors: []takt.ErrorClass{{Class: "no_ports", Count: 99, Sample: "none left"}}, Counts: takt.Counts{Scheduled: 100}}
	const want = "99 operations (99 %) failed at limits of the generators' hosts, not at the target: none left"
	if judgeLimits(whole, nil); whole.Warnings[0].Message != want {
		t.Errorf("%s, want %s", whole.Warnings[0].Message, want)
	}
}

// The lag of all is judged if there are both histograms, and told once.
func TestLagOfAll(t *testing.T) {
	fast, late := hist.New(), hist.New()
	fast.RecordN(time.Millisecond, 1000)
	late.RecordN(0, 980)
	late.RecordN(300*time.Microsecond, 20)
	for name, c := range map[string]struct {
		response, lag *hist.Histogram
		said          string
		want          bool
	}{
		"late":        {fast, late, "gc", true},
		"said":        {fast, late, "generator_late", false},
		"no lag":      {fast, nil, "", false},
		"no response": {nil, late, "", false},
		"neither":     {nil, nil, "", false},
	} {
		whole := &takt.Report{Verdict: takt.Valid}
		judgeLag(whole, []takt.Warning{{Code: c.said}}, c.response, c.lag)
		if whole.Warned("generator_late") != c.want || len(whole.Warnings) > 1 {
			t.Errorf("%s: %+v", name, whole.Warnings)
		}
	}
}

// Only a label that some shards lack is told.
func TestLabelsOfSome(t *testing.T) {
	list := []shard{
		{Report: &takt.Report{Schedule: takt.Schedule{Shard: "1/2"}, Labels: map[string]string{"branch": "main", "rack": "b"}}},
		{Report: &takt.Report{Schedule: takt.Schedule{Shard: "2/2"}, Labels: map[string]string{"branch": "main"}}},
	}
	for lacking, want := range map[string][]takt.Warning{
		"rack": {{Code: "shards_differ", Message: "the whole has labels that only some of the shards have: rack (1/2)"}},
		"none": nil,
	} {
		if lacking == "none" {
			list[1].Labels["rack"] = "b"
		} else {
			delete(list[1].Labels, "rack")
		}
		whole := &takt.Report{}
		if warnDifferent(whole, list); !slices.Equal(whole.Warnings, want) {
			t.Errorf("%s: %+v, want %+v", lacking, whole.Warnings, want)
		}
	}
}

// Missing shards are the subject of a sentence.
func TestMissingSubject(t *testing.T) {
	for want, e := range map[string]MissingShardsError{
		"shard 1/3 is":              {Shards: []string{"1/3"}},
		"shards 1/3, 2/3 are":       {Shards: []string{"1/3", "2/3"}},
		"shards 1/9 and 1 more are": {Shards: []string{"1/9"}, More: 1},
	} {
		if got := e.subject(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Shards are alike by both numbers. One operation needs a histogram, which may be that of send time.
func TestFaultsOfShards(t *testing.T) {
	one := func(id, number string, sent, response, send uint64) *takt.Report {
		return &takt.Report{
			ID: id, Schedule: takt.Schedule{Shard: number, RunGroup: "g"}, Counts: takt.Counts{Sent: sent},
			Latency: map[string]takt.Latency{takt.LatencyResponse: {Count: response}, takt.LatencySend: {Count: send}},
		}
	}
	const lacks = " has no histogram of response time; use the report that takt wrote, because imported reports cannot be merged"
	const differs = " does not belong to shard 1/3 (a): it differs in number of shards (4, not 3)"
	for _, c := range []struct {
		list []*takt.Report
		want []string
	}{
		{[]*takt.Report{one("a", "1/3", 1, 0, 1), one("b", "2/3", 2, 1, 1), one("c", "3/3", 0, 0, 0)}, nil},
		{[]*takt.Report{one("a", "1/3", 1, 0, 0)}, []string{"shard 1/3 (a)" + lacks}},
		{[]*takt.Report{one("a", "1/3", 0, 0, 0), one("b", "1/3", 0, 0, 0), one("c", "2/4", 0, 0, 0)}, []string{"a and b are both shard 1/3; give each shard once", "shard 2/4 (c)" + differs}},
		{[]*takt.Report{one("a", "1/3", 0, 0, 0), one("b", "1/4", 0, 0, 0), one("c", "2/3", 0, 0, 0)}, []string{"shard 1/4 (b)" + differs}},
	} {
		var bad *UnmergeableError
		if _, err := shardsOf(c.list); errors.As(err, &bad) != (c.want != nil) || bad != nil && !slices.Equal(bad.Faults, c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// An interval of the whole begins after the end of the one before it, and has the worst lag and the
// sum of the highest of each shard in flight.
func TestIntervalsOfAll(t *testing.T) {
	slots := map[int]*slot{}
	addIntervals(slots, []takt.Interval{{T: 0, ScheduleLagP99: 2}, {T: 2, ScheduleLagP99: 5, InFlightMax: 4}, {T: 2.5, ScheduleLagP99: 3, InFlightMax: 1}, {T: 4, InFlightMax: 3}}, 2)
	addIntervals(slots, []takt.Interval{{T: 2, ScheduleLagP99: 4, InFlightMax: 7}, {T: 4, ScheduleLagP99: 9}}, 2)
	type figures struct {
		t, lag   float64
		inFlight int
	}
	got := map[int]figures{}
	for i, s := range slots {
		got[i] = figures{s.T, s.ScheduleLagP99, s.InFlightMax}
	}
	if want := map[int]figures{0: {2, 5, 11}, 1: {4, 9, 3}}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A shard without intervals fits into all, and a whole without intervals has an empty list of them.
func TestIntervalsOfNone(t *testing.T) {
	of := func(span float64, list ...takt.Interval) shard {
		return shard{Report: &takt.Report{ID: "a", IntervalS: span, Intervals: list}}
	}
	var m merged
	if faults := m.mergeIntervals([]shard{of(1), of(0.75)}); faults != nil || m.intervals == nil || m.span != 1 {
		t.Errorf("%q, %v of %v s", faults, m.intervals, m.span)
	}
	if faults := m.mergeIntervals([]shard{of(1), of(0.75, takt.Interval{T: 0.75})}); len(faults) != 1 {
		t.Errorf("%q", faults)
	}
}

// Intervals fit when the longest is so many times as long as each.
func TestDivides(t *testing.T) {
	for _, c := range []struct {
		part, whole float64
		want        bool
	}{{1, 1, true}, {1, 4, true}, {2, 4, true}, {3, 4, false}, {4, 2, false}, {0, 4, false}, {-1, 4, false}, {0.5, 1, true}} {
		if got := divides(c.part, c.whole); got != c.want {
			t.Errorf("%v into %v: %v", c.part, c.whole, got)
		}
	}
}
