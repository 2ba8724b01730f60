package verdict

import (
	"testing"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// A run that ended in its warm-up is not valid, unlike one of a consumer, a shard without operations
// and a short run.
func TestNothingMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		r        takt.Report
		receives bool
		invalid  bool
	}{
		"in its warm-up":        {takt.Report{WarmupS: 5}, false, true},
		"a shard":               {takt.Report{WarmupS: 5, DurationS: 1}, false, false},
		"a consumer":            {takt.Report{WarmupS: 5}, true, false},
		"without a warm-up":     {takt.Report{}, false, false},
		"one after its warm-up": {takt.Report{WarmupS: 5, DurationS: 1e-9}, false, false},
	} {
		c.r.Rate.Intended = new(float64)
		o := Operations{Delays: Delays{OnTime: hist.New(), Lag: hist.New()}, ReceiveOnly: c.receives}
		o.Judge(&c.r)
		if invalid := c.r.Verdict == takt.Invalid; invalid != c.invalid || c.r.Warned("nothing_measured") != invalid {
			t.Errorf("%s: %s, %+v", name, c.r.Verdict, c.r.Warnings)
		}
	}
	if got, want := Headline([]takt.Warning{{Code: "nothing_measured"}}), "INVALID RUN: nothing was measured."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
