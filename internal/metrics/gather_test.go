package metrics

import (
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Each batch has a millisecond of its own, also if the last interval of the run is shorter than one:
// Prometheus refuses a second value for one instant.
func TestInstantsDiffer(t *testing.T) {
	g := newGatherer(&Pump{begun: time.Unix(1_800_000_000, 999_700_000)})
	list := []*Batch{g.batch(&second{Interval: takt.Interval{T: 1}}), g.batch(&second{Interval: takt.Interval{T: 2}}), g.batch(&second{Interval: takt.Interval{T: 2.0001}}), g.batch(&second{Interval: takt.Interval{T: 2.0002}}), g.last(&takt.Report{})}
	if to := list[1].To; !to.Equal(g.begun.Add(2 * time.Second)) {
		t.Errorf("the second second ends at %v", to)
	}
	for i, b := range list[1:] {
		if before := list[i].Instant(); b.Instant().UnixMilli() <= before.UnixMilli() || b.Instant().Sub(before) > time.Second {
			t.Errorf("batch %d is of %v, the one before of %v", i+1, b.Instant(), before)
		}
	}
}
