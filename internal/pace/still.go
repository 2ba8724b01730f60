package pace

import (
	"context"
	"runtime"
	"time"

	"github.com/taktload/takt/pkg/hist"
)

const (
	// StillRate is how many operations a second are due while Still looks at the clock.
	StillRate = 100_000
	// LongGap is from when standing still is worth counting: 1/10 of the schedule lag
	// from which a run is invalid.
	LongGap = 100 * time.Microsecond
)

// Stillness is what a thread that only looks at the clock finds out about its host:
// other programs, the hypervisor, and Go's scheduler, which interrupts it every 10 ms.
type Stillness struct {
	Time  time.Duration // that it looked
	Worst time.Duration // the longest time between two looks
	Long  uint64        // such times above LongGap
	// Late is how late it saw operations that were due at StillRate: the schedule lag
	// of a pacer that needs no time for anything, and so the floor of any other.
	Late *hist.Histogram
}

// Still looks at the clock for d, or until ctx ends, and keeps a core busy meanwhile.
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
