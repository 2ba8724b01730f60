package truth_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/bench"
)

// TestRateOfTheLibrary: 20,000/s asked of pkg/bench with a handler that does nothing
// are done, whatever the concurrency. wrk3 did 2,350/s with a concurrency of 1 and
// 17,250/s with 20.
func TestRateOfTheLibrary(t *testing.T) {
	timing(t)
	for _, concurrency := range []int{1, 20} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			wants(t, 1, 5, func(*sleepers) []string { return benched(t, concurrency) })
		})
	}
}

func benched(t *testing.T, concurrency int) (faults []string) {
	const asked = 20_000
	var done, p50, p99 []float64
	for range rounds {
		r, err := bench.Benchmark{
			Concurrency: concurrency, Throughput: asked, Duration: 2 * time.Second, Tune: true,
			Handler: bench.RequestFunc(func(int) error { return nil }),
		}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.TotalRequests+r.Omitted != 2*asked {
			t.Errorf("%d requests and %d omitted, %d were due", r.TotalRequests, r.Omitted, 2*asked)
		}
		lag := r.Report.Latency["schedule_lag"]
		done, p50, p99 = append(done, r.Throughput), append(p50, lag.P50), append(p99, lag.P99)
	}
	t.Logf("concurrency %d: %.1f/s of %d/s, schedule lag p50/p99 %.0f/%.0f µs (medians of %d)",
		concurrency, median(done), asked, median(p50), median(p99), rounds)
	if share := median(done) / asked; share < 0.999 {
		faults = append(faults, fmt.Sprintf("only %.3f %% of the rate were done", 100*share))
	}
	return faults
}
