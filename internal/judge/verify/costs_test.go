package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
)

// costly are pairs whose latencies scatter by 20 % and whose costs by 1 %; head's CPU time is more by a factor.
func costly(rng *rand.Rand, n int, factor float64) (base, head []stored.Run) {
	run := func(id string, factor float64) stored.Run {
		near := func(v, spread float64) float64 { return v * math.Exp(spread*rng.NormFloat64()) }
		return stored.Run{ID: id, Kind: "http", Settings: stored.NewSettings(nil, ""), Figures: stored.Figures{
			Names:  []string{"p50", "p99", "errors", "rate", stored.MetricServerCPU, stored.MetricAllocs, "answer_bytes"},
			Values: []float64{near(1000, 0.2), near(9000, 0.2), 0, near(500, 0.2), near(100, 0.01) * factor, near(40, 0.01), 512},
		}}
	}
	for i := range n {
		base, head = append(base, run(fmt.Sprint("b", i), 1)), append(head, run(fmt.Sprint("h", i), factor))
	}
	return base, head
}

// Costs decide where latency cannot: 4 % of CPU time are within the tolerance and yet proven, and nothing is said of
// what does not differ. Without a difference, at most 5 of 100 judgements say one.
func TestCosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		factor float64
		proven func(n int) bool // of 200 judgements with a change
	}{{1.04, func(n int) bool { return n >= 195 }}, {1, func(n int) bool { return n <= 10 }}} {
		proven := 0
		for range 200 {
			base, head := costly(rng, 16, test.factor)
			j, err := Verify(base, head, true, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			c := j.Comparisons[0]
			if len(c.Findings) != 4 || len(c.Costs) != 2 || j.Verdict == Regressed {
				t.Fatalf("%d findings, %d costs (the equal bytes are none), %s", len(c.Findings), len(c.Costs), j.Verdict)
			}
			if test.factor > 1 {
				c.Changes = slices.DeleteFunc(c.Changes, func(f Change) bool { return f.Metric != stored.MetricServerCPU || !(*f.Low > 0) })
			}
			proven += min(1, len(c.Changes))
		}
		if !test.proven(proven) {
			t.Errorf("a factor of %v: %d of 200 judgements say that something changed", test.factor, proven)
		}
	}
}

// A cost that the user gates decides, and is no cost beside the verdict any more.
func TestGatedCost(t *testing.T) {
	base, head := costly(rand.New(rand.NewPCG(3, 4)), 16, 1.2)
	o := DefaultOptions()
	o.Metrics = []string{stored.MetricServerCPU}
	j, err := Verify(base, head, true, o)
	if err != nil || j.Verdict != Regressed || slices.ContainsFunc(j.Comparisons[0].Costs, func(f Finding) bool { return f.Metric == stored.MetricServerCPU }) {
		t.Errorf("%s, %v, %+v", j.Verdict, err, j.Comparisons)
	}
}
