// Package verdict has the rules that decide whether the generator shaped the figures of a
// run: for all modes and protocols, and for runs merged from shards.
package verdict

import (
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
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
	OnTime   time.Duration // p99 of the response time without the generator's part
}

// DialPhase is the name of the generator's own part of connecting, in the latencies of a report.
const DialPhase = "client_dial"

// Delays are the latencies of a run that show how late its generator was.
type Delays struct {
	OnTime *hist.Histogram // the latency that OnTime names
	Lag    *hist.Histogram // schedule lag
	Dial   *hist.Histogram // the generator's own part of connecting; nil: none
}

// OnTime is the name of the response or send time from which the bounds follow: a bound must not grow
// with the generator's own delay. Reports of an older takt do not have the time without this delay.
func OnTime(latency map[string]takt.Latency) string {
	for _, name := range []string{takt.LatencyOnTime, takt.LatencyResponse} {
		if _, known := latency[name]; known {
			return name
		}
	}
	return takt.LatencySend
}

// BoundOf is the schedule lag from which an operation of r is late.
func BoundOf(r *takt.Report) time.Duration { return BoundFor(micros(r.Latency[OnTime(r.Latency)].P99)) }

func micros(us float64) time.Duration { return time.Duration(us * float64(time.Microsecond)) }

// dialSpread is how many times the quickest handshake of a run the generator may need for another
// one: computing costs CPU, and several wake-ups, which is not lateness.
const dialSpread = 3

// latenessOf computes the lateness.
func latenessOf(d Delays) Lateness {
	l := Lateness{OnTime: d.OnTime.Quantile(0.99)}
	l.Bound, l.Some = BoundFor(l.OnTime), someFor(l.OnTime)
	l.Late, l.SomeLate, l.Sent = d.Lag.Above(l.Bound), d.Lag.Above(l.Some), d.Lag.Count()
	if d.Dial != nil { // an operation may be late twice
		l.Late = min(l.Sent, l.Late+d.Dial.Above(l.Bound+dialSpread*d.Dial.Min()))
	}
	l.Share = float64(l.Late) / float64(max(1, l.Sent))
	return l
}

// BoundFor is the schedule lag from which an operation is late, from the p99 of the response time
// without the generator's part.
func BoundFor(onTimeP99 time.Duration) time.Duration {
	return max(lateFloor, time.Duration(latePart*float64(onTimeP99)))
}

// someFor is the schedule lag from which an operation is a little late, from the p99 of the response
// time without the generator's part.
func someFor(onTimeP99 time.Duration) time.Duration {
	return max(warnLagFloor, time.Duration(warnLagPart*float64(onTimeP99)))
}

// Second is how late the generator was in an interval, which has no histogram of its lateness.
type Second struct {
	Lag         time.Duration // p99 of the schedule lag
	Bound, Some time.Duration // as those of Lateness
}

// SecondOf is the lateness of an interval whose response time and schedule lag have these p99s, in µs.
func SecondOf(responseP99, lagP99 float64) Second {
	onTime := max(0, micros(responseP99-lagP99))
	return Second{Lag: micros(lagP99), Bound: BoundFor(onTime), Some: someFor(onTime)}
}

// Late reports whether more than 1 % of the interval's operations were late.
func (s Second) Late() bool { return s.Lag > s.Bound }

// SomeLate reports whether more than 1 % of the interval's operations were at least a little late.
func (s Second) SomeLate() bool { return s.Lag > s.Some }

// LateSecond reports whether the generator was late in an interval.
func LateSecond(iv *takt.Interval) bool { return SecondOf(iv.ResponseP99, iv.ScheduleLagP99).Late() }

// Bottleneck reports whether the generator, not the target, shaped the figures: more
// than 1 % and at least 10 of the operations were sent, or had their handshake computed, later than
// max(1 ms, 10 % of response p99).
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

// warn warns of operations that were a little late.
func (l Lateness) warn(r *takt.Report, who string) {
	r.Warn(warn.GeneratorLate, "%s late: %d of %d operations (%.1f %%) were sent more than %s after they could have been, beside a response p99 of %s without the generator's part; %s",
		who, takt.Number("late", l.SomeLate), takt.Number("operations", l.Sent), takt.Percent("late_share", 100*float64(l.SomeLate)/float64(max(1, l.Sent))),
		figure.Time("bound", l.Some), figure.Time("response_p99", l.OnTime), takt.Advice("latencies include that delay"))
}
