package engine_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// The end of the drain waits for operations that are being recorded just then, with the lock
// of the flow. Recording must not want that lock.
func TestCutBesideEnds(t *testing.T) {
	for range 20 {
		o := options("2M/s", 30*time.Millisecond, 64)
		o.Drain = engine.DrainOf(0)
		p := plan(t, o, func(context.Context, *takt.Op, *takt.Result) { runtime.Gosched() })
		p.NewWaiter = nil // the clock's, and threads that really run at once
		over := make(chan struct{})
		go func() {
			defer close(over)
			run(t, context.Background(), p)
		}()
		select {
		case <-over:
		case <-time.After(time.Minute):
			t.Fatal("the run does not end")
		}
	}
}

// dialling is a worker that connects until the cut, and needs 30 ms of its own for that.
type dialling struct{}

func (dialling) Do(ctx context.Context, _ *takt.Op, _ *takt.Result) { <-ctx.Done() }
func (dialling) Close() error                                       { return nil }
func (dialling) SoFar() (r takt.Result) {
	r.Phases[5] = 30 * time.Millisecond // client_dial
	return r
}

// The cut asks every worker that can say it for takt's part of a connection that is being made.
func TestCutAsksWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("10/s", time.Second, 100)
		o.MaxInFlight, o.Drain = 100, engine.DrainOf(100*time.Millisecond) // else the last one is due at the cut
		p := plan(t, o, nil)
		p.Driver = &takt.Driver{Phases: engine.NetPhases, Worker: func(int) (takt.Worker, error) { return dialling{}, nil }}
		rep := run(t, t.Context(), p)
		late, want := rep.Attribution.Whole().Late, 0.03*float64(rep.Counts.Sent)
		if rep.Counts.Sent != 10 || late < want-0.001 || late > want+0.001 {
			t.Errorf("%+v, of which %.3f s are takt's, want %.3f", rep.Counts, late, want)
		}
	})
}
