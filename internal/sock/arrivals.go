package sock

import (
	"sync/atomic"
	"time"
)

// Arrivals notes when the bytes that a connection reads came to its host.
type Arrivals struct {
	made time.Time
	wall Wall         // since made
	at   atomic.Int64 // of the last bytes, ns since made; 0: none came
	off  atomic.Int64 // how far that may be off, ns
}

// Begin sets the clock, which shows the instant now.
func (a *Arrivals) Begin(c Clock, now time.Time) {
	a.made = now
	a.wall = NewWall(c, now)
}

// Note notes when the n bytes of a read came, by their stamp. The end of a stream has no stamp.
func (a *Arrivals) Note(n int, stamp int64) {
	at, _ := a.wall.Look()
	if n > 0 {
		at = a.wall.At(stamp, at)
	}
	a.off.Store(int64(a.wall.Error()))
	a.at.Store(int64(at))
}

// Arrived is when the last bytes came, and how far that may be off; the zero time: none came.
func (a *Arrivals) Arrived() (at time.Time, off time.Duration) {
	if d := a.at.Load(); d > 0 {
		return a.made.Add(time.Duration(d)), time.Duration(a.off.Load())
	}
	return time.Time{}, 0
}
