package engine

import (
	"reflect"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// All rows that are held, waiting or handed over, take 24 MiB at most, and there is
// room for a disk that stands still for half a second at 100k/s.
func TestRoomForRows(t *testing.T) {
	if size := reflect.TypeFor[takt.Sample]().Size(); size != rowBytes {
		t.Errorf("a row has %d bytes, not %d", size, rowBytes)
	}
	wanted := Plan{OnSamples: func([]string, []takt.Sample) {}}
	for shards, want := range map[int]int{2: 27354, 3: 19538, 64: 1060} {
		n := roomFor(wanted, shards)
		if n != want || n*shards < 50_000 || n*(2*shards+1)*rowBytes > 24<<20 {
			t.Errorf("%d shards: room for %d rows each, want %d", shards, n, want)
		}
	}
	if n := roomFor(Plan{}, 3); n != 0 {
		t.Errorf("room for %d rows that nobody wants", n)
	}
}
