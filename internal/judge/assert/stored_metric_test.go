package assert_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// What JSON cannot hold is no figure.
func TestFiguresAreFinite(t *testing.T) {
	inf := math.Inf(1)
	f := stored.FiguresOf(&takt.Report{
		Counts: takt.Counts{OK: 1}, Rate: takt.Rate{Achieved: inf, Intended: &inf},
		Extra: map[string]any{"pushed": math.NaN(), "accepted": 3.0, "latency": -inf},
	})
	if _, err := json.Marshal(f); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]bool{"rate": false, "intended": false, "pushed": false, "latency": false, "accepted": true, "errors": true, "ok": true} {
		if v, ok := f.Get(name); ok != want {
			t.Errorf("%s is %v, %t", name, v, ok)
		}
	}
}
