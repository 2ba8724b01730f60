package pace

import (
	"context"
	"runtime"
	"time"

	"github.com/taktload/takt/pkg/hist"
)

const (
	// StillRate is the number of operations due per second while Still reads the clock.
	StillRate = 100_000
	// LongGap is the shortest gap that Long counts: 1/10 of the schedule lag that makes a run
	// invalid.
	LongGap = 100 * time.Microsecond
)

// Stillness is what a thread that only reads the clock measures of its host: interruptions by
// other programs, the hypervisor and Go's scheduler, which interrupts every 10 ms.
type Stillness struct {
	Time  time.Duration // time spent reading the clock
	Worst time.Duration // longest gap between two readings
	Long  uint64        // number of gaps above LongGap
	// Late is the lag of operations due at StillRate: the schedule lag of a pacer that needs
	// no time itself, and so the lower limit for any pacer.
	Late *hist.Histogram
}

// Still reads the clock for d, or until ctx ends, and keeps a core busy meanwhile.
func Still(ctx context.Context, d time.Duration) Stillness {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	return still(ctx, d, func() time.Duration { return time.Since(start) })
}

func still(ctx context.Context, d time.Duration, now func() time.Duration) Stillness {
	const gap = time.Second / StillRate
	s := Stillness{Late: hist.New()}
	due := gap
	for i := 0; s.Time < d && (i%4096 != 0 || ctx.Err() == nil); i++ {
		at := now()
		stood := at - s.Time
		s.Worst = max(s.Worst, stood)
		if stood > LongGap {
			s.Long++
		}
		for ; due <= at; due += gap {
			s.Late.Record(at - due)
		}
		s.Time = at
	}
	return s
}
