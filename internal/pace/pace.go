// Package pace waits until an instant. It knows nothing of schedules: instants count from the
// run's start.
package pace

import (
	"time"

	"github.com/taktload/takt/internal/pause"
)

// Waiter tells the time since a start and waits. Only the goroutine that made a Waiter may
// call Until; any goroutine may call Now.
type Waiter interface {
	Now() time.Duration
	// Until returns at due, or soon (at most Piece) after stop is closed.
	Until(due time.Duration, stop <-chan struct{})
	// Live reports whether time is real, so that the caller may spin for a few microseconds.
	Live() bool
	Close()
}

// Piece is the longest that a Precise waiter sleeps without looking at stop.
// Fifty wake-ups a second of 25 µs each cost 0.1 % of a core.
const Piece = 20 * time.Millisecond

// Timer waits with Go's timers. They are exact under testing/synctest; live they
// are up to 1 ms late, since the runtime's poller rounds to whole milliseconds.
func Timer(start time.Time) Waiter { return timer{start} }

type timer struct{ start time.Time }

func (w timer) Now() time.Duration { return time.Since(w.start) }

func (w timer) Until(due time.Duration, stop <-chan struct{}) {
	left := due - w.Now()
	if left <= 0 {
		return
	}
	pause.For(left, stop)
}

func (w timer) Live() bool { return false }

func (w timer) Close() {}
