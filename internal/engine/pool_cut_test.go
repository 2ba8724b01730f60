package engine_test

import (
	"context"
	"runtime"
	"testing"
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
