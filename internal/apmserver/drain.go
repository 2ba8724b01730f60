package apmserver

import (
	"context"
	"time"
)

// state is what can be seen of the way of events into the cluster.
type state struct {
	indexed  int64   // documents since the trial began
	inFlight float64 // events in the server
	known    bool    // the server tells inFlight
}

// drained is how the wait for the events ended.
type drained struct {
	state
	took   time.Duration
	gaveUp bool // the time was over before nothing moved any more
}

const (
	drainPoll = time.Second // apm-server's output and the pipeline's counters move in seconds
	// A server that does not tell what is in flight may flush every 5 s (version 7's
	// queue.mem.flush.timeout is 1 s; users raise it).
	drainQuiet = 5
)

// drain looks until nothing moves any more, at most for patience: the server has nothing
// in flight and a poll brought no document; of a server that does not tell, drainQuiet
// polls in a row did not.
func drain(ctx context.Context, patience time.Duration, look func(context.Context) (state, error)) (drained, error) {
	begun := time.Now()
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	last, still := int64(-1), 0
	for {
		s, err := look(ctx)
		if err != nil {
			return drained{state: s, took: time.Since(begun)}, err
		}
		if still++; s.indexed != last || s.known && s.inFlight > 0 {
			still = 0
		}
		d := drained{state: s, took: time.Since(begun)}
		if s.known && still >= 1 || still >= drainQuiet {
			return d, nil
		}
		if d.took >= patience {
			d.gaveUp = true
			return d, nil
		}
		last = s.indexed
		select {
		case <-tick.C:
		case <-ctx.Done():
			return d, ctx.Err()
		}
	}
}
