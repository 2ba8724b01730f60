package drivertest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// arrivals hands results on and counts the operations that went well, and of these those that
// say when their answer came.
type arrivals struct {
	takt.Sink
	ok, told *atomic.Uint64
}

// Done implements takt.Sink.
func (a arrivals) Done(token uint64, r *takt.Result) { a.DoneAll([]uint64{token}, r) }

// DoneAll implements takt.Sink.
func (a arrivals) DoneAll(tokens []uint64, r *takt.Result) {
	if r.Class == "" {
		a.ok.Add(uint64(len(tokens)))
		if age := time.Since(r.Arrived); age >= 0 && age < time.Minute {
			a.told.Add(uint64(len(tokens)))
		}
	}
	a.Sink.DoneAll(tokens, r)
}

// TellsArrivals makes the run of p, whose asynchronous driver is to say of every operation
// when its answer came to this host.
func TellsArrivals(t *testing.T, p engine.Plan) {
	t.Helper()
	var ok, told atomic.Uint64
	open := p.Driver.Async
	p.Driver.Async = func(i int, s takt.Sink) (*takt.AsyncClient, error) {
		return open(i, arrivals{s, &ok, &told})
	}
	Make(t, p)
	if ok.Load() == 0 || told.Load() < ok.Load() {
		t.Errorf("the arrival of %d of %d answers is known", told.Load(), ok.Load())
	}
}
