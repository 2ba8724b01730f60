package produce

import (
	"slices"
	"testing"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/pkg/takt"
)

func TestGained(t *testing.T) {
	before := &logEnds{at: map[int32]int64{0: 10, 1: 5}}
	for _, c := range []struct {
		name            string
		written         []uint64
		now             map[int32]int64
		gained, missing uint64
	}{
		{"all there", []uint64{3, 2}, map[int32]int64{0: 13, 1: 7}, 5, 0},
		{"some missing", []uint64{3, 2}, map[int32]int64{0: 11, 1: 7}, 3, 2},
		{"others write", []uint64{3, 2}, map[int32]int64{0: 20, 1: 5}, 10, 2},
		{"a partition that came later", []uint64{3, 2, 4}, map[int32]int64{0: 13, 1: 7, 2: 4}, 9, 0},
		{"a topic that was made anew", []uint64{3, 2}, map[int32]int64{0: 2, 1: 0}, 0, 5},
	} {
		if gained, missing := before.gained(c.written, c.now); gained != c.gained || missing != c.missing {
			t.Errorf("%s: %d gained and %d missing, want %d and %d", c.name, gained, missing, c.gained, c.missing)
		}
	}
}

// Records that turn out to have failed leave the accounting as it was; those of the
// warm-up come last.
func TestFailOK(t *testing.T) {
	rep := &takt.Report{
		Counts: takt.Counts{Scheduled: 10, OK: 7, Failed: 2, Unfinished: 1}, WarmupCounts: takt.Counts{Scheduled: 4, OK: 4},
		Errors: []takt.ErrorClass{{Class: "timeout", Count: 2}},
	}
	failOK(rep, 9, "why")
	if want := (takt.Counts{Scheduled: 10, Failed: 9, Unfinished: 1}); rep.Counts != want {
		t.Errorf("counts %+v, want %+v", rep.Counts, want)
	}
	if want := (takt.Counts{Scheduled: 4, OK: 2, Failed: 2}); rep.WarmupCounts != want {
		t.Errorf("warm-up %+v, want %+v", rep.WarmupCounts, want)
	}
	if want := []takt.ErrorClass{{Class: cluster.ClassNotStored, Count: 7, Sample: "why"}, {Class: "timeout", Count: 2}}; !slices.Equal(rep.Errors, want) {
		t.Errorf("errors %+v, want %+v", rep.Errors, want)
	}
}
