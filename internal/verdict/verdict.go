// Package verdict has the rules that decide whether the generator shaped the figures of a
// run: for all modes and protocols, and for runs merged from shards.
package verdict

import (
	"time"

	"github.com/taktload/takt/pkg/hist"
)

// LateShare is the largest part of operations that may be late.
const LateShare = 0.01

// The bounds, as docs/exit-codes.md explains them to users.
const (
	lateAtLeast  = 10 // operations that may be late, if LateShare is less
	lateFloor    = time.Millisecond
	latePart     = 0.10 // part of response p99, if above the floor
	warnLagFloor = 200 * time.Microsecond
	warnLagPart  = 0.05
)

// Lateness is how late a generator sent through its own fault.
type Lateness struct {
	Bound    time.Duration // schedule lag from which an operation is late
	Late     uint64        // number of late operations
	Share    float64       // part of the sent operations, 0 to 1
	Lag      time.Duration // p99 of the schedule lag
	Response time.Duration // p99 of the response time
}

// latenessOf computes the lateness from histograms of the response time and schedule lag.
func latenessOf(response, lag *hist.Histogram) Lateness {
	l := Lateness{Lag: lag.Quantile(0.99), Response: response.Quantile(0.99), Bound: BoundOf(response)}
	l.Late = lag.Above(l.Bound)
	l.Share = float64(l.Late) / float64(max(1, lag.Count()))
	return l
}

// BoundOf is the schedule lag from which an operation is late, from a histogram of the response time.
func BoundOf(response *hist.Histogram) time.Duration { return BoundFor(response.Quantile(0.99)) }

// BoundFor is the schedule lag from which an operation is late, from the p99 of the response time.
func BoundFor(responseP99 time.Duration) time.Duration {
	return max(lateFloor, time.Duration(latePart*float64(responseP99)))
}

// Bottleneck reports whether the generator, not the target, shaped the figures: more
// than 1 % and at least 10 of the operations were sent later than max(1 ms, 10 % of
// response p99).
func (l Lateness) Bottleneck() bool { return l.Late >= lateAtLeast && l.Share > LateShare }

// many reports whether n late operations are at least 10 and more than 1 % of all.
func many(n, of uint64) bool { return n >= lateAtLeast && float64(n) > LateShare*float64(of) }

// Doubtful reports whether lag p99 is above max(200 µs, 5 % of response p99).
func (l Lateness) Doubtful() bool {
	return l.Lag > max(warnLagFloor, time.Duration(warnLagPart*float64(l.Response)))
}
