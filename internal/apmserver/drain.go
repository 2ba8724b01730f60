package apmserver

import (
	"context"
	"time"
)

// drained is the result of the wait for the events.
type drained struct {
	account
	took   time.Duration
	gaveUp bool // the wait ended at a limit while events were pending or still arriving
}

const (
	drainPoll = time.Second // apm-server's output and counters change in seconds
	// Number of quiet polls for a server without counters of events in flight. It may flush
	// every 5 s (version 7's queue.mem.flush.timeout is 1 s; users raise it).
	drainQuiet = 5
	// libbeat waits up to 60 s before it retries a failed cluster, so a queue may continue
	// after a shorter stall.
	drainStall = 75 * time.Second
	// drainLong is the longest wait for a queue that shrinks.
	drainLong = 15 * time.Minute
)

// drain polls until every event has arrived and a poll found no new document. For a server
// without counters, drainQuiet polls in a row must find none. drain waits while events
// arrive, at most for patience, and gives up when nothing moves for drainStall.
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

// progress is the best state so far. Events that other clients queue, or that are retried in
// vain, are not progress.
type progress struct {
	begun         bool
	pending, done float64
}

// advance reports whether the events made progress.
func (p *progress) advance(a account) bool {
	done := a.acked + a.dropped + a.indexed
	further := !p.begun || a.pending() < p.pending || done > p.done
	if !p.begun {
		p.begun, p.pending = true, a.pending()
	}
	p.pending, p.done = min(p.pending, a.pending()), max(p.done, done)
	return further
}
