package sim

import (
	"context"
	"errors"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// batch is one call that handed over messages.
type batch struct {
	from, to time.Duration // the call
	n        uint64        // messages that the engine counted; 0 for a single one, see counted
}

var errBroken = errors.New("the subscription is over")

// receive is the driver of the receiving mode. Messages arrive alone or together, from one thread
// or two, until all have arrived.
func (w *world) receive(ctx context.Context, sink takt.Sink) error {
	left, over := w.sc.Messages, false
	deliver := func() {
		n := min(left, 1+w.rng.IntN(20))
		left -= n
		b := batch{from: w.cur.at}
		w.note("message", 0, n)
		b.n = uint64(sink.Received(make([]takt.Result, n)))
		b.to = w.cur.at
		w.report.got = append(w.report.got, b)
	}
	if w.rng.IntN(2) == 0 {
		w.serve(func() {
			for left > 0 && !over {
				deliver()
				w.cur.at += time.Duration(w.rng.Int64N(int64(4 * w.sc.Service)))
				w.sync()
			}
		})
	}
	defer func() { over = true }()
	for left > 0 {
		if w.First(w.After(time.Duration(w.rng.Int64N(int64(4*w.sc.Service)))), ctx.Done()) == 1 {
			return nil
		}
		if left > 0 {
			deliver()
		}
		if w.chance("broken", w.sc.Resets/100) {
			return errBroken
		}
	}
	if w.sc.Silence > 0 { // the source does not say that no more messages follow
		w.First(ctx.Done())
	}
	return nil
}

// counted checks the counts of the receiving mode against the messages that were handed over.
// Whether a message that arrived alone was counted is unknown, so they only give a range.
func (k *checker) counted(w *world, rep *takt.Report) {
	c, warm := rep.Counts, rep.WarmupCounts.OK
	if c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
		k.fault("identity", "scheduled %d, ok %d + failed %d + dropped %d + unfinished %d", c.Scheduled, c.OK, c.Failed, c.Dropped, c.Unfinished)
	}
	var taken, during uint64
	for _, b := range k.got {
		taken += b.n
		if b.from < w.origin+k.sc.Warmup && b.to >= w.origin+k.sc.Warmup {
			during += b.n
		}
	}
	if got := c.OK + warm; got != taken || k.sc.Requests > 0 && c.OK > k.sc.Requests {
		k.fault("received", "the report counts %d messages and %d of the warm-up; %d were counted on arrival, %d were asked for", c.OK, warm, taken, k.sc.Requests)
	}
	if k.sc.Requests > 0 && c.OK+c.Unfinished != k.sc.Requests && during == 0 {
		k.fault("received", "%d messages were asked for, but the report has %d ok and %d unfinished", k.sc.Requests, c.OK, c.Unfinished)
	}
	var ok uint64
	for _, iv := range rep.Intervals {
		ok += iv.OK
	}
	if ok != c.OK+warm {
		k.fault("intervals", "the intervals add up to %d messages, the report has %d and %d of the warm-up", ok, c.OK, warm)
	}
}
