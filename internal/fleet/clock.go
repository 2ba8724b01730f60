package fleet

import (
	"math"
	"time"
)

// Clock is a clock that nobody sets: the wall clock of the process's start, and from there on the
// monotonic one.
type Clock interface {
	Read(t time.Time) int64        // what it shows at t, in ns since 1970
	Instant(shown int64) time.Time // when it shows that
}

// processClock is the clock of this process.
type processClock struct{ began time.Time }

// NewClock returns a clock that shows the wall clock's time now.
func NewClock() Clock { return processClock{time.Now()} }

// Read implements Clock.
func (c processClock) Read(t time.Time) int64 { return c.began.UnixNano() + int64(t.Sub(c.began)) }

// Instant implements Clock. The result has a reading of the monotonic clock.
func (c processClock) Instant(shown int64) time.Time {
	return c.began.Add(time.Duration(shown - c.began.UnixNano()))
}

// reading is the gatherer's answer to a member that asks for the time. In ns.
type reading struct {
	Asked int64 `json:"asked"` // the member's clock when it asked
	Got   int64 `json:"got"`   // the gatherer's clock when the question came
	Back  int64 `json:"back"`  // and when the answer left
}

// Offset is how far the gatherer's clock is ahead of the member's.
type Offset struct {
	At    int64         `json:"at_ns"` // when, by the member's clock
	Ahead time.Duration `json:"ahead_ns"`
	Bound time.Duration `json:"bound_ns"` // its error is at most this much: half the time on the way
}

// offset is what one reading says, which came back when the member's clock showed at. The
// computation is that of NTP (RFC 5905, section 8): both ways are taken to be equally long, and
// at worst one of them took all the time.
func (r reading) offset(at int64) Offset {
	way := (at - r.Asked) - (r.Back - r.Got)
	return Offset{
		At: at, Ahead: time.Duration((r.Got-r.Asked)/2 + (r.Back-at)/2), // the sum could overflow
		Bound: time.Duration(max(way, 0))/2 + 1,
	}
}

// worst is the bound of no estimate at all.
const worst = time.Duration(math.MaxInt64)

// drift is how fast the gatherer's clock gains on the member's between two estimates, and how
// uncertain that is. Both are in seconds a second.
func drift(first, last Offset) (rate, bound float64) {
	span := float64(last.At - first.At)
	if span <= 0 {
		return 0, math.Inf(1)
	}
	return float64(last.Ahead-first.Ahead) / span, float64(last.Bound+first.Bound) / span
}
