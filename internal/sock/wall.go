package sock

import (
	"sync/atomic"
	"time"
)

// Wall turns the kernel's stamps, which are of the wall clock, into instants since start.
// Both clocks are slewed together, so the distance between them changes only when somebody
// sets the wall clock: in a step.
type Wall struct {
	Steps int           // how often the clock was set
	Moved time.Duration // by how much in all, without its sign

	clock  Clock
	start  time.Time
	offset int64         // the wall clock at start, in nanoseconds since 1970
	gap    int64         // time between the readings that offset was measured with
	since  time.Duration // instant at which the last step was found; earlier stamps say nothing
}

const (
	// Doubt is how far an instant of Wall may be off at most, and the change of the offset from
	// which that is measured with care. One reading of both clocks is that far off when its
	// thread loses the core in between.
	Doubt = 20 * time.Microsecond
	// apart is how far the clocks of two cores may be from each other.
	apart = int64(2 * time.Microsecond)
)

// NewWall measures the distance between the clocks of c. start has a monotonic reading.
func NewWall(c Clock, start time.Time) Wall {
	w := Wall{clock: c, start: start}
	w.offset, w.gap = w.measure()
	return w
}

// At is when the bytes with that stamp came, of those that were read at the instant now.
// Where the stamp cannot tell, since there is none or the clock was set, they came now.
func (w *Wall) At(stamp int64, now time.Duration) time.Duration {
	at := time.Duration(stamp - w.offset)
	if stamp == 0 || at > now || at < w.since {
		return now
	}
	return at
}

// Error is how far an instant of Wall may be off: mostly 2 µs, at most Doubt.
func (w *Wall) Error() time.Duration { return min(Doubt, time.Duration(w.gap+apart)) }

// Look is the instant now, and reports whether the wall clock was set since the last look.
// It costs as much as to read the clock, unless there is doubt.
func (w *Wall) Look() (now time.Duration, stepped bool) {
	now, wall := w.clock.Both(w.start)
	if d := wall - int64(now) - w.offset; -int64(Doubt) < d && d < int64(Doubt) {
		return now, false
	}
	return now, w.Check()
}

// Check is Look with more care.
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

// measure reads both clocks five times. The tightest pair counts: a thread that loses its
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

// pretended is what the wall clock shows instead of the truth; nil: the truth.
var pretended atomic.Pointer[func(ns int64) int64]

// Pretend lets the wall clock, and the kernel's stamps, show what shown makes of the true
// nanoseconds since 1970, until undo: tests cannot set the clock.
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
