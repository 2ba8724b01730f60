package merge

import (
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

func TestShardNumber(t *testing.T) {
	for s, want := range map[string][2]int{"1/2": {1, 2}, "2/2": {2, 2}, "1/1": {1, 1}, "3/2": {}, "0/2": {}, "-1/2": {}, "x/2": {}, "1/x": {}, "1": {}, "": {}} {
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
	for _, code := range []string{"cancelled", "aborted", "broke_off", "recovered"} {
		whole, list := ends(false, 100, 99.99)
		list[1].Warn(code, "ended")
		if judgeEnds(whole, list); whole.Verdict != takt.Invalid {
			t.Errorf("%s: %s", code, whole.Verdict)
		}
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
