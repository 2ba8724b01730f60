package apmserver

import (
	"context"
	"time"
)

// drained is how the wait for the events ended.
type drained struct {
	account
	took   time.Duration
	gaveUp bool // the wait ended before nothing moved any more
}

const (
	drainPoll = time.Second // apm-server's output and the pipeline's counters move in seconds
	// A server that does not tell what is in flight may flush every 5 s (version 7's
	// queue.mem.flush.timeout is 1 s; users raise it).
	drainQuiet = 5
	// libbeat waits up to 60 s before it tries a cluster again that has failed, so a
	// queue that stands still for less may go on.
	drainStall = 75 * time.Second
	// drainLong bounds the wait for a queue that shrinks.
	drainLong = 15 * time.Minute
)

// drain looks until every event has arrived and a poll brought no document; of a server
// that does not tell, drainQuiet polls in a row did not. It waits for events as long as
// they go on, at most for patience, and gives up when nothing moves for drainStall.
func drain(ctx context.Context, patience time.Duration, look func(context.Context) (account, error)) (drained, error) {
	begun := time.Now()
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	var best progress
	last, still := -1.0, 0
	for moved := begun; ; {
		a, err := look(ctx)
		d := drained{account: a, took: time.Since(begun)}
		if err != nil {
			return d, err
		}
		if still++; a.indexed != last || a.pending() > 0 {
			still = 0
		}
		if best.advance(a) {
			moved = time.Now()
		}
		switch {
		case a.told && still >= 1, still >= drainQuiet:
			return d, nil
		case d.took >= patience, a.pending() > 0 && time.Since(moved) >= drainStall:
			d.gaveUp = true
			return d, nil
		}
		last = a.indexed
		select {
		case <-tick.C:
		case <-ctx.Done():
			return d, ctx.Err()
		}
	}
}

// progress is the furthest that the events have come. A queue that other clients fill, or
// one that is sent in vain, is none.
type progress struct {
	begun         bool
	pending, done float64
}

// advance reports whether they have come further.
func (p *progress) advance(a account) bool {
	done := a.acked + a.dropped + a.indexed
	further := !p.begun || a.pending() < p.pending || done > p.done
	if !p.begun {
		p.begun, p.pending = true, a.pending()
	}
	p.pending, p.done = min(p.pending, a.pending()), max(p.done, done)
	return further
}
