package fleet

import (
	"math"
	"testing"
	"time"

	"github.com/taktload/takt/internal/live"
)

// What a member says of its run may not overflow the sums of the whole.
func TestPossible(t *testing.T) {
	for name, c := range map[string]struct {
		head live.Head
		fine bool
	}{
		"a run":            {live.Head{End: time.Hour, Warmup: time.Minute, Room: 100_000}, true},
		"without an end":   {live.Head{End: -1}, true},
		"the longest":      {live.Head{End: longestRun}, true},
		"an endless end":   {live.Head{End: math.MaxInt64}, false},
		"a warm-up":        {live.Head{Warmup: math.MaxInt64}, false},
		"negative warm-up": {live.Head{Warmup: -1}, false},
		"negative room":    {live.Head{Room: -1}, false},
		"too much room":    {live.Head{Room: math.MaxInt64}, false},
	} {
		if err := possible(&c.head); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}
