package merge

import (
	"math"
	"slices"
	"strings"
	"testing"

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

// Twenty faults are told.
func TestToldFaults(t *testing.T) {
	for n, want := range map[int]string{1: "", 20: "", 21: "\nand 1 more faults", 99: "\nand 79 more faults"} {
		e := &UnmergeableError{slices.Repeat([]string{"x"}, n)}
		if got := e.Error(); got != "the reports cannot be merged: "+strings.Repeat("x\n", min(n, 20)-1)+"x"+want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// What a shard's warning says of its end.
func TestEndedEarly(t *testing.T) {
	for code, want := range map[takt.WarningCode]bool{"cancelled": true, "aborted": true, "broke_off": true, "recovered": true, "list_ended": false} {
		s := shard{Report: &takt.Report{}}
		if s.Warn(code, "ended"); s.endedEarly() != want {
			t.Errorf("%s: %v", code, !want)
		}
	}
}

// Only a label that some shards lack is told.
func TestLabelsOfSome(t *testing.T) {
	list := []shard{
		{Report: &takt.Report{Schedule: takt.Schedule{Shard: "1/2"}, Labels: map[string]string{"branch": "main", "rack": "b"}}},
		{Report: &takt.Report{Schedule: takt.Schedule{Shard: "2/2"}, Labels: map[string]string{"branch": "main"}}},
	}
	if got, want := differences(list), "the whole has labels that only some of the shards have: rack (1/2)"; len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %s", got, want)
	}
	list[1].Labels["rack"] = "b"
	if got := differences(list); got != nil {
		t.Errorf("%q", got)
	}
}

// Intervals of takt last 1 s, or that often doubled.
func TestDoubled(t *testing.T) {
	for _, c := range []struct {
		part, whole float64
		times       int
	}{{1, 1, 0}, {1, 4, 2}, {2, 4, 1}, {1, 1 << 14, 14}} {
		if times := doubled(c.part, c.whole); times != c.times {
			t.Errorf("%v into %v: %d", c.part, c.whole, times)
		}
	}
	for length, want := range map[float64]bool{1: true, 2: true, 1 << 14: true, 1 << 15: false, 3: false, 0.5: false, 0.75: false, 0: false, -1: false, -2: false, math.Inf(1): false, math.NaN(): false} {
		if got := doubles(length); got != want {
			t.Errorf("%v s: %v", length, got)
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
		var list []shard
		for _, r := range c.list {
			k, n := shardNumber(r.Schedule.Shard)
			list = append(list, shard{Report: r, k: k, n: n})
		}
		slices.SortStableFunc(list, byNumber)
		if got := faultsOf(list); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// An interval of the whole begins after the end of the one before it, and has the worst lag and the
// sum of the highest of each shard in flight, also if intervals become longer later.
func TestIntervalsOfAll(t *testing.T) {
	g := newGrid(2)
	for _, list := range [][]takt.Interval{
		{{T: 0, ScheduleLagP99: 2}, {T: 2, ScheduleLagP99: 5, InFlightMax: 4}, {T: 2.5, ScheduleLagP99: 3, InFlightMax: 1}, {T: 4, InFlightMax: 3}, {T: 6, InFlightMax: 2}},
		{{T: 2, ScheduleLagP99: 4, InFlightMax: 7}, {T: 4, ScheduleLagP99: 9}, {T: 8, InFlightMax: 8}},
	} {
		if err := g.add(new(hist.Decoder), list); err != nil {
			t.Fatal(err)
		}
	}
	type figures struct {
		t, lag   float64
		inFlight int
	}
	f := Fold{grids: map[float64]*grid{2: g}}
	for span, want := range map[float64][]figures{
		2:  {{2, 5, 11}, {4, 9, 3}, {6, 0, 2}, {8, 0, 8}},
		4:  {{4, 9, 4 + 7}, {8, 0, 2 + 8}},
		8:  {{8, 9, 4 + 8}},
		16: {{8, 9, 4 + 8}},
	} {
		list, err := f.intervals(span)
		if err != nil {
			t.Fatal(err)
		}
		var got []figures
		for _, iv := range list {
			got = append(got, figures{iv.T, iv.ScheduleLagP99, iv.InFlightMax})
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %v s: %v, want %v", span, got, want)
		}
	}
}

// A shard without intervals fits into all, and a whole without intervals has an empty list of them.
func TestIntervalsOfNone(t *testing.T) {
	of := func(span float64, intervals int) shard {
		return shard{Report: &takt.Report{ID: "a", IntervalS: span, Schedule: takt.Schedule{RunGroup: "g"}}, intervals: intervals}
	}
	for intervals := range 2 {
		if faults := of(0.75, intervals).faults(); len(faults) != intervals {
			t.Errorf("%q", faults)
		}
	}
	if span := longest([]shard{of(1, 0), of(1.5, 0)}); span != 1 {
		t.Errorf("intervals of %v s", span)
	}
	if list, err := new(Fold).intervals(1); list == nil || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}
