package engine

import (
	"context"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Optional interfaces of asynchronous clients besides AsyncWorker, and of the engine's Sink
// besides takt.Sink.

// Clocked is an AsyncWorker that transmits due instants. Started tells it the run's start
// before the first operation.
type Clocked interface {
	Started(at time.Time)
}

// BatchStarter is an AsyncWorker that always has room and starts all due operations at once,
// with one lock for all.
type BatchStarter interface {
	takt.AsyncWorker
	// StartAll is Start for several operations. The engine reuses ops when StartAll returns.
	StartAll(ops []takt.Op)
}

// Pauser is an AsyncWorker that may buffer operations until Pause says that nothing follows
// for now. full: an operation is due but waits, because the in-flight limit is reached.
type Pauser interface {
	Pause(full bool)
}

// Relayer is an AsyncWorker whose Start and Pause may be called within Done and DoneAll, but
// never by two goroutines at once. The goroutine that makes room then starts the waiting
// operation.
type Relayer interface {
	Relays()
}

// Drainer is an AsyncWorker with work after the last completion. The run goes on until Drain
// returns, or until ctx ends with the drain time.
type Drainer interface {
	Drain(ctx context.Context)
}

// BatchSink is a Sink that accepts the completions of several operations at once. Each
// operation has the result r, but r's bytes are the total of all. One clock reading and one
// lock serve all: at 500k/s they are a quarter of the engine's cost.
type BatchSink interface {
	takt.Sink
	DoneAll(tokens []uint64, r *takt.Result)
}

// Waker is a Sink for clients that refused an operation with ErrBusy. Wake says that there is
// room again without a completion; the engine retries at once.
type Waker interface {
	Wake()
}

// Ender is a Sink for clients that cannot go on. End ends the schedule at once.
type Ender interface {
	End()
}
