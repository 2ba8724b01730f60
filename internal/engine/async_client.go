package engine

import (
	"context"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// What asynchronous clients may be besides an AsyncWorker, and what they find in their
// Sink besides its own methods.

// Clocked is an AsyncWorker that sends due instants along: it is told the run's start
// before its first operation.
type Clocked interface {
	Started(at time.Time)
}

// BatchStarter is an AsyncWorker that has always room, and takes all operations that
// are due at once: one lock serves them all.
type BatchStarter interface {
	takt.AsyncWorker
	// StartAll is Start for several. They are the engine's again when it returns.
	StartAll(ops []takt.Op)
}

// Pauser is an AsyncWorker that may keep what it was given until it is told that
// nothing follows now: full says that something is due and has to wait, since as much
// is in flight as may be.
type Pauser interface {
	Pause(full bool)
}

// Relayer is an AsyncWorker of which Start and Pause may be called within Done and
// DoneAll, though never by two goroutines at once: what waits for room is started by the
// goroutine that made it.
type Relayer interface {
	Relays()
}

// Drainer is an AsyncWorker with something to wait for behind the last completion: the
// run goes on until Drain returns, or the drain time is over, when ctx ends.
type Drainer interface {
	Drain(ctx context.Context)
}

// BatchSink is a Sink that takes the completions of several operations at once, of
// which each had the result r, and all together its bytes. One clock reading and one
// lock serve all: at 500k/s that is a quarter of what the engine costs.
type BatchSink interface {
	takt.Sink
	DoneAll(tokens []uint64, r *takt.Result)
}

// Waker is a Sink by which a client says that it has room again after ErrBusy where no
// completion says so: it is asked again at once.
type Waker interface {
	Wake()
}

// Ender is a Sink by which a client that cannot go on ends the schedule at once.
type Ender interface {
	End()
}
