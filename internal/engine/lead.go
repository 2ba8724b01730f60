package engine

import (
	"sync/atomic"
	"time"
)

// lead is how long before its due instant an operation is handed to an idle worker, which
// then spins until it is due. Waking a thread and a goroutine takes 25–100 µs. Without the
// lead that time would be schedule lag. The lead adapts to the machine: it grows when a
// worker is late and shrinks when a worker is early, so about seven of eight are a little
// early.
type lead struct {
	on bool // false under fake time, where spinning would never end
	ns atomic.Int64
}

const (
	leadStart = 50 * time.Microsecond
	leadMax   = 150 * time.Microsecond
	leadUp    = 3500 * time.Nanosecond // step when a worker is late
	leadDown  = 500 * time.Nanosecond  // step when a worker is early; ratio 7 : 1
)

func (l *lead) begin(on bool) {
	l.on = on
	l.ns.Store(int64(leadStart))
}

// now is the current lead.
func (l *lead) now() time.Duration {
	if !l.on {
		return 0
	}
	return time.Duration(l.ns.Load())
}

// arrived spins until due, at most leadMax away, and returns the time. start is when the
// worker was ready.
func (l *lead) arrived(start, due time.Duration, now func() time.Duration) time.Duration {
	if !l.on || start-due > leadMax {
		return start // fake time or a backlog: no reason to change the lead
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
