package produce

import (
	"strings"
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

// Brokers also close connections without traffic: if they stored all records, they refused none.
func TestClosedConnectionsWithoutRefusal(t *testing.T) {
	for gained, want := range map[uint64]string{2: "stored all records", 1: "refuse records without acknowledgement"} {
		a := account{manner: manner{oneWay: true}, traffic: &cluster.Traffic{}, stored: stored{written: 2, gained: gained}}
		a.traffic.Closed.Add(1)
		rep := &takt.Report{Extra: map[string]any{}}
		a.describeOneWay(rep, a.ledger(rep))
		if len(rep.Warnings) != 1 || !strings.Contains(rep.Warnings[0].Message, want) {
			t.Errorf("%d gained: %+v", gained, rep.Warnings)
		}
	}
}

// A topic with more partitions may have more writers.
func TestWritersOfTopics(t *testing.T) {
	r := &Runs{list: []*Run{{workers: make([]*worker, 2), manner: manner{writers: 15}}, {workers: make([]*worker, 2), manner: manner{writers: 5}}}}
	if n := r.writers(); n != 40 {
		t.Errorf("%d writers, want 40", n)
	}
}
