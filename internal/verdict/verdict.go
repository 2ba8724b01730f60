// Package verdict has the rules that decide whether the generator shaped the figures of a
// run: for all modes and protocols, and for runs merged from shards.
package verdict

import (
	"fmt"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/pkg/hist"
)

// LateShare is the largest part of operations that may be late.
const LateShare = 0.01

// LateAtLeast is the number of operations, however large their part, from which operations are many.
const LateAtLeast = 10

// The bounds, as docs/exit-codes.md explains them to users.
const (
	lateFloor    = time.Millisecond
	latePart     = 0.10 // part of response p99, if above the floor
	warnLagFloor = 200 * time.Microsecond
	warnLagPart  = 0.05
	warnShare    = 0.05 // part of fewer than 200 operations, of which 10 would be too many to ask for
	warnAtLeast  = 3    // operations; one pause of a host makes two of a slow rate late
)

// Lateness is how late a generator sent through its own fault.
type Lateness struct {
	Bound    time.Duration // schedule lag from which an operation is late
	Late     uint64        // number of late operations
	Share    float64       // part of the sent operations, 0 to 1
	Some     time.Duration // schedule lag from which an operation is a little late
	SomeLate uint64        // number of operations that are a little late
	Sent     uint64        // number of sent operations
	Response time.Duration // p99 of the response time
}

// latenessOf computes the lateness from histograms of the response time and schedule lag.
func latenessOf(response, lag *hist.Histogram) Lateness {
	l := Lateness{Response: response.Quantile(0.99), Bound: BoundOf(response)}
	l.Some = SomeFor(l.Response)
	l.Late, l.SomeLate, l.Sent = lag.Above(l.Bound), lag.Above(l.Some), lag.Count()
	l.Share = float64(l.Late) / float64(max(1, l.Sent))
	return l
}

// BoundOf is the schedule lag from which an operation is late, from a histogram of the response time.
func BoundOf(response *hist.Histogram) time.Duration { return BoundFor(response.Quantile(0.99)) }

// BoundFor is the schedule lag from which an operation is late, from the p99 of the response time.
func BoundFor(responseP99 time.Duration) time.Duration {
	return max(lateFloor, time.Duration(latePart*float64(responseP99)))
}

// SomeFor is the schedule lag from which an operation is a little late, from the p99 of the response
// time.
func SomeFor(responseP99 time.Duration) time.Duration {
	return max(warnLagFloor, time.Duration(warnLagPart*float64(responseP99)))
}

// Bottleneck reports whether the generator, not the target, shaped the figures: more
// than 1 % and at least 10 of the operations were sent later than max(1 ms, 10 % of
// response p99).
func (l Lateness) Bottleneck() bool { return l.Late >= LateAtLeast && l.Share > LateShare }

// many reports whether n late operations are at least 10 and more than 1 % of all.
func many(n, of uint64) bool { return n >= LateAtLeast && float64(n) > LateShare*float64(of) }

// Doubtful reports whether so many operations were sent later than max(200 µs, 5 % of response
// p99) that the figures show it: more than 1 % of them, and 10, or 3 and more than 5 %. One pause of the
// host makes two of 200 operations late, which says nothing about the generator. What makes the
// run invalid needs no warning.
func (l Lateness) Doubtful() bool {
	return !l.Bottleneck() && (many(l.SomeLate, l.Sent) || l.SomeLate >= warnAtLeast && float64(l.SomeLate) > warnShare*float64(l.Sent))
}

// words describe operations that were a little late.
func (l Lateness) words() string {
	return fmt.Sprintf("%d of %d operations (%.1f %%) were sent more than %s after they could have been, beside a response p99 of %s; latencies include that delay",
		l.SomeLate, l.Sent, 100*float64(l.SomeLate)/float64(max(1, l.Sent)), figure.Duration(l.Some), figure.Duration(l.Response))
}
