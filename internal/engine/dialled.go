package engine

import (
	"sort"
	"time"

	"github.com/taktload/takt/internal/record"
)

// dialTime is takt's part of the time in which connections were being made, as a function of time.
// Each attempt that ends says whose the time since the last one was: operations wait for the next
// one that ends.
type dialTime struct {
	points []dialPoint
	since  time.Duration // start of the wait for connections that is over last, or goes on
}

type dialPoint struct{ at, own time.Duration } // own: takt's part of the time until at

// ended notes an attempt that ended at the instant at. The points before the last one are for
// operations that wait.
func (d *dialTime) ended(at time.Duration, attempt record.Slot, waits bool) {
	last := dialPoint{at: at - attempt.Service}
	if n := len(d.points); n > 0 {
		last = d.points[n-1]
		if !waits {
			d.points = append(d.points[:0], last)
		}
	}
	d.points = append(d.points, dialPoint{at, last.own + attempt.OwnOf(at-last.at)})
}

// wait divides the time from one instant to the other, which no later wait begins before. Before
// operations had to wait for connections, takt could have begun to make one.
func (d *dialTime) wait(from, to time.Duration) record.Slot {
	begun := from
	from = min(to, max(from, d.since))
	if after := d.after(from); after > 1 {
		d.points = d.points[after-1:]
	}
	return record.Slot{Service: to - begun, Own: from - begun + d.until(to) - d.until(from)}
}

// until is takt's part of the time until at.
func (d *dialTime) until(at time.Duration) time.Duration {
	switch i := d.after(at); {
	case len(d.points) == 0:
		return 0
	case i == 0:
		return d.points[0].own
	case i == len(d.points):
		return d.points[i-1].own
	default:
		a, b := d.points[i-1], d.points[i]
		return a.own + record.Slot{Service: b.at - a.at, Own: b.own - a.own}.OwnOf(at-a.at)
	}
}

// after is the index of the first point after the instant at.
func (d *dialTime) after(at time.Duration) int {
	return sort.Search(len(d.points), func(i int) bool { return d.points[i].at > at })
}
