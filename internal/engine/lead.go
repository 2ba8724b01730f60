package engine

import (
	"sync/atomic"
	"time"
)

// lead is how long before its due instant an operation is handed to an idle
// worker, which then looks at the clock until it is due. Waking a thread and a
// goroutine takes 25–100 µs, which would all be schedule lag; begun that much
// earlier, it is none, and costs no more than what is left to wait. The lead
// follows the machine: it grows when a worker comes late and shrinks when it
// comes early, so that about seven of eight come a little early.
type lead struct {
	on bool // off under fake time, where looking at the clock would take for ever
	ns atomic.Int64
}

const (
	leadStart = 50 * time.Microsecond
	leadMax   = 150 * time.Microsecond
	leadUp    = 3500 * time.Nanosecond // when late …
	leadDown  = 500 * time.Nanosecond  // … and when early: 7 : 1
)

func (l *lead) begin(on bool) {
	l.on = on
	l.ns.Store(int64(leadStart))
}

// now is the lead that holds.
func (l *lead) now() time.Duration {
	if !l.on {
		return 0
	}
	return time.Duration(l.ns.Load())
}

// arrived waits until due, at most leadMax away, and returns the time then. start
// is when the worker was ready.
func (l *lead) arrived(start, due time.Duration, now func() time.Duration) time.Duration {
	if !l.on || start-due > leadMax {
		return start // fake time, or a backlog: nothing to learn
	}
	if start > due {
		l.ns.Store(min(l.ns.Load()+int64(leadUp), int64(leadMax)))
		return start
	}
	l.ns.Store(max(l.ns.Load()-int64(leadDown), 0))
	for start < due {
		start = now()
	}
	return start
}
