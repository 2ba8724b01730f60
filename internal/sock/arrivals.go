package sock

import (
	"sync/atomic"
	"time"
)

// Arrivals notes when the bytes that a connection reads came to this host.
type Arrivals struct {
	made time.Time
	wall Wall         // clock that starts at made
	at   atomic.Int64 // arrival of the last bytes in ns since made; 0: no bytes came
	off  atomic.Int64 // largest error of at in ns
}

// Begin sets the start of the clock to now.
func (a *Arrivals) Begin(c Clock, now time.Time) {
	a.made = now
	a.wall = NewWall(c, now)
}

// Note notes the arrival of the n bytes of a read from their stamp. The end of a stream has
// no stamp.
func (a *Arrivals) Note(n int, stamp int64) {
	at, _ := a.wall.Look()
	if n > 0 {
		at = a.wall.At(stamp, at)
	}
	a.off.Store(int64(a.wall.Error()))
	a.at.Store(int64(at))
}

// Arrived is the arrival of the last bytes and its largest error; the zero time: no bytes
// came.
func (a *Arrivals) Arrived() (at time.Time, off time.Duration) {
	if d := a.at.Load(); d > 0 {
		return a.made.Add(time.Duration(d)), time.Duration(a.off.Load())
	}
	return time.Time{}, 0
}
