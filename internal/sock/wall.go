package sock

import (
	"sync/atomic"
	"time"
)

// Wall converts the kernel's stamps, which use the wall clock, to instants since start. Both
// clocks are slewed together, so their distance changes only when somebody sets the wall
// clock: in a step.
type Wall struct {
	Steps int           // number of times that the clock was set
	Moved time.Duration // sum of all changes, without signs

	clock  Clock
	start  time.Time
	offset int64         // the wall clock at start, in nanoseconds since 1970
	gap    int64         // time between the two readings for offset
	since  time.Duration // instant at which the last step was noticed; earlier stamps are not valid
}

const (
	// Doubt is the largest error of an instant of Wall, and the change of the offset above
	// which it is measured again. A single reading of both clocks is that far off if its
	// thread loses the core between them.
	Doubt = 20 * time.Microsecond
	// apart is the largest distance between the clocks of two cores.
	apart = int64(2 * time.Microsecond)
)

// NewWall measures the distance between the clocks of c. start has a monotonic reading.
func NewWall(c Clock, start time.Time) Wall {
	w := Wall{clock: c, start: start}
	w.offset, w.gap = w.measure()
	return w
}

// At is when the bytes with this stamp came, which were read at the instant now. Without a
// valid stamp (none, or the clock was set) the result is now.
func (w *Wall) At(stamp int64, now time.Duration) time.Duration {
	at := time.Duration(stamp - w.offset)
	if stamp == 0 || at > now || at < w.since {
		return now
	}
	return at
}

// Error is the largest error of an instant of Wall: mostly 2 µs, at most Doubt.
func (w *Wall) Error() time.Duration { return min(Doubt, time.Duration(w.gap+apart)) }

// Look returns the instant now and whether the wall clock was set since the last look. It
// costs one reading of the clock, unless there is doubt.
func (w *Wall) Look() (now time.Duration, stepped bool) {
	now, wall := w.clock.Both(w.start)
	if d := wall - int64(now) - w.offset; -int64(Doubt) < d && d < int64(Doubt) {
		return now, false
	}
	return now, w.Check()
}

// Check is Look with the more exact measure.
func (w *Wall) Check() bool {
	offset, gap := w.measure()
	moved := offset - w.offset
	if most := gap + w.gap + apart; -most <= moved && moved <= most {
		if gap < w.gap {
			w.offset, w.gap = offset, gap
		}
		return false
	}
	w.Steps++
	w.Moved += time.Duration(max(moved, -moved))
	w.offset, w.gap, w.since = offset, gap, w.clock.Since(w.start)
	return true
}

// measure reads both clocks five times, and the tightest pair counts: a thread that loses its
// core between the two would shift every instant.
func (w *Wall) measure() (offset, gap int64) {
	gap = 1<<63 - 1
	for range 5 {
		before := w.clock.Since(w.start)
		now, wall := w.clock.Both(w.start)
		if g := int64(w.clock.Since(w.start) - before); g < gap {
			gap, offset = g, wall-int64(now)
		}
	}
	return offset, gap
}

// pretended replaces the wall clock's time; nil: real time.
var pretended atomic.Pointer[func(ns int64) int64]

// Pretend changes the wall clock and the kernel's stamps until undo, for tests, which cannot
// set the clock. shown maps true to shown nanoseconds since 1970.
func Pretend(shown func(ns int64) int64) (undo func()) {
	pretended.Store(&shown)
	return func() { pretended.Store(nil) }
}

func pretend(ns int64) int64 {
	if p := pretended.Load(); p != nil {
		return (*p)(ns)
	}
	return ns
}

func wallOf(t time.Time) int64 { return pretend(t.UnixNano()) }
