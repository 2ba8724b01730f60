package truth_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/clocktest"
	"github.com/taktload/takt/pkg/bench"
)

// TestRateOfTheLibrary: pkg/bench with a handler that does nothing achieves 20,000/s at any
// concurrency. wrk3 achieved 2,350/s with a concurrency of 1 and 17,250/s with 20.
func TestRateOfTheLibrary(t *testing.T) {
	clocktest.Asked(t)
	for _, concurrency := range []int{1, 20} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			clocktest.Wants(t, func(*clocktest.Sleepers) []string { return benched(t, concurrency) })
		})
	}
}

func benched(t *testing.T, concurrency int) (faults []string) {
	const asked = 20_000
	r, err := bench.Benchmark{
		Concurrency: concurrency, Throughput: asked, Duration: 2 * time.Second, Tune: true,
		Handler: bench.RequestFunc(func(int) error { return nil }),
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.TotalRequests+r.Omitted != 2*asked {
		t.Errorf("%d requests and %d omitted, but %d were due", r.TotalRequests, r.Omitted, 2*asked)
	}
	lag := r.Report.Latency["schedule_lag"]
	t.Logf("concurrency %d: %.1f/s of %d/s, schedule lag p50/p99 %.0f/%.0f µs", concurrency, r.Throughput, asked, lag.P50, lag.P99)
	if share := r.Throughput / asked; share < 0.999 {
		faults = append(faults, fmt.Sprintf("only %.3f %% of the rate was achieved", 100*share))
	}
	return faults
}
