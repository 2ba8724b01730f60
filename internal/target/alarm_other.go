//go:build !linux

package target

import "time"

// alarm wakes the dispatcher at an instant, to the precision of Go's timers
// (about 1 ms), or when it rings.
type alarm struct {
	rings  chan struct{}
	origin time.Time
}

// nap is one sleep: until an instant or the next ring.
type nap struct{ until time.Time }

// maxNap bounds a sleep.
const maxNap = time.Second

func newAlarm() *alarm { return &alarm{rings: make(chan struct{}, 1)} }

// begin says what instants count from.
func (a *alarm) begin(origin time.Time) { a.origin = origin }

// enter prepares the dispatcher's goroutine.
func (a *alarm) enter() {}

// nap is to be called under the lock that admits requests.
func (a *alarm) nap(until time.Duration) nap {
	if until == forever {
		return nap{time.Now().Add(maxNap)}
	}
	return nap{a.origin.Add(until)}
}

// ring wakes the dispatcher; one ring is remembered.
func (a *alarm) ring() {
	select {
	case a.rings <- struct{}{}:
	default: // it is going to wake anyway
	}
}

// sleep sleeps n, or a part of it.
func (a *alarm) sleep(n nap) {
	timer := time.NewTimer(min(time.Until(n.until), maxNap))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.rings:
	}
}
