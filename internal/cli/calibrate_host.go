package cli

import (
	"context"
	"runtime"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/hist"
)

const (
	sleepRate = 1000 // a second
	// longGap is from when standing still is worth counting: 1/10 of the lag from
	// which a run is invalid.
	longGap = 100 * time.Microsecond
)

// sleepNoise is how late the pacer's sleeps end, 1000 a second.
type sleepNoise struct {
	WakeUps uint64  `json:"wake_ups"`
	P50     float64 `json:"late_p50_us"`
	P99     float64 `json:"late_p99_us"`
	Max     float64 `json:"late_max_us"`
	CPU     float64 `json:"cpu_us_per_wake_up,omitempty"` // of the thread; 0: this system does not say
}

func measureSleep(ctx context.Context, d time.Duration) sleepNoise {
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
	return sleepNoise{
		WakeUps: h.Count(), P50: hist.Micros(h.Quantile(0.50)), P99: hist.Micros(h.Quantile(0.99)), Max: hist.Micros(h.Max()),
		CPU: hist.Micros(used) / float64(max(1, h.Count())),
	}
}

// spinNoise is for how long a thread stood still that only looks at the clock: other
// programs, the hypervisor, and Go's scheduler, which interrupts it every 10 ms.
type spinNoise struct {
	DurationS float64 `json:"duration_s"`
	WorstGap  float64 `json:"worst_gap_us"`
	LongGaps  uint64  `json:"gaps_above_100_us"`
}

func measureSpin(ctx context.Context, d time.Duration) (s spinNoise) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start, last, worst := time.Now(), time.Duration(0), time.Duration(0)
	for i := 0; last < d && (i%4096 != 0 || ctx.Err() == nil); i++ {
		now := time.Since(start)
		gap := now - last
		worst = max(worst, gap)
		if gap > longGap {
			s.LongGaps++
		}
		last = now
	}
	s.DurationS, s.WorstGap = last.Seconds(), hist.Micros(worst)
	return s
}
