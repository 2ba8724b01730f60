package calibratecmd

import (
	"context"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/hist"
)

const sleepRate = 1000 // a second

// SleepNoise is how late the pacer's sleeps end, 1000 a second.
type SleepNoise struct {
	WakeUps uint64  `json:"wake_ups"`
	P50     float64 `json:"late_p50_us"`
	P99     float64 `json:"late_p99_us"`
	Max     float64 `json:"late_max_us"`
	CPU     float64 `json:"cpu_us_per_wake_up,omitempty"` // CPU time of the thread; 0: unknown on this system
}

// MeasureSleep sleeps sleepRate times a second, for d.
func MeasureSleep(ctx context.Context, d time.Duration) SleepNoise {
	w := pace.Precise(time.Now())
	defer w.Close()
	h := hist.New()
	used := threadCPU()
	const gap = time.Second / sleepRate
	for due := gap; due <= d && ctx.Err() == nil; due += gap {
		w.Until(due, ctx.Done())
		h.Record(max(0, w.Now()-due))
	}
	used = threadCPU() - used
	return SleepNoise{
		WakeUps: h.Count(), P50: hist.Micros(h.Quantile(0.50)), P99: hist.Micros(h.Quantile(0.99)), Max: hist.Micros(h.Max()),
		CPU: hist.Micros(used) / float64(max(1, h.Count())),
	}
}

// spinNoise is pace.Stillness as JSON: how long the host suspends a thread that only reads the
// clock.
type spinNoise struct {
	DurationS float64 `json:"duration_s"`
	WorstGap  float64 `json:"worst_gap_us"`
	LongGaps  uint64  `json:"gaps_above_100_us"`
	P99       float64 `json:"late_p99_us"`
}

func measureSpin(ctx context.Context, d time.Duration) spinNoise {
	s := pace.Still(ctx, d)
	return spinNoise{
		DurationS: s.Time.Seconds(), WorstGap: hist.Micros(s.Worst), LongGaps: s.Long, P99: hist.Micros(s.Late.Quantile(0.99)),
	}
}
