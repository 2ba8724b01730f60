package merge

import (
	"testing"

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

// What a shard's warning says of its end.
func TestEndedEarly(t *testing.T) {
	for code, want := range map[string]bool{"cancelled": true, "aborted": true, "broke_off": true, "recovered": true, "list_ended": false} {
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
