package jms

import (
	"context"
	"sync"

	"github.com/taktload/takt/pkg/takt"
)

// ending is how a run ends: because the engine closes it, or because it cannot go on.
type ending struct {
	mu       sync.Mutex
	sink     takt.Sink
	endsSink bool          // a broken run ends the sink; if not, Receive returns the error
	broken   error         // reason why the run cannot go on
	broke    chan struct{} // closed when broken is set
	closed   bool

	tending sync.WaitGroup     // of the lines
	ctx     context.Context    // ends with the run, for tending
	cancel  context.CancelFunc // ends ctx
}

func newEnding(endsSink bool) ending {
	ctx, cancel := context.WithCancel(context.Background())
	return ending{endsSink: endsSink, broke: make(chan struct{}), ctx: ctx, cancel: cancel}
}

// give sets the sink for completions. It returns the error if the run is already over.
func (e *ending) give(sink takt.Sink) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sink = sink
	return e.broken
}

// wake tells the engine that a producer has room again.
func (e *ending) wake() {
	e.mu.Lock()
	sink := e.sink
	e.mu.Unlock()
	if sink != nil {
		sink.Wake()
	}
}

// fail notes that the run cannot go on, and ends it.
func (e *ending) fail(err error) {
	e.mu.Lock()
	first := e.broken == nil && !e.closed
	if first {
		e.broken = err
		close(e.broke)
	}
	sink := e.sink
	e.mu.Unlock()
	e.cancel()
	if sink != nil && first && e.endsSink {
		sink.End()
	}
}

func (e *ending) why() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.broken
}

// halt lets no lost connection be made again.
func (e *ending) halt() {
	e.cancel()
	e.tending.Wait()
}

// shut closes the run. It reports whether it was open.
func (e *ending) shut() bool {
	e.mu.Lock()
	open := !e.closed
	e.closed = true
	e.mu.Unlock()
	if open {
		e.halt()
	}
	return open
}
