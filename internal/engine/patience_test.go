package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// A connection of a closed loop that has no answers pauses 1, 2, 4 … 128 ms, and an answer
// ends that.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begin := time.Now()
		o := options("", 0, 1)
		o.Rate, o.Duration, o.Requests, o.Connections, o.MaxInFlight = engine.Rate{}, 0, 20, 1, 1
		rep := run(t, t.Context(), plan(t, o, func(_ context.Context, op *takt.Op, r *takt.Result) {
			at = append(at, time.Since(begin))
			if op.Seq != 12 {
				engine.Fail(r, errors.New("no"), true)
			}
		}))
		if rep.Counts.Failed != 19 || rep.Counts.OK != 1 {
			t.Fatalf("%+v", rep.Counts)
		}
		for i := 1; i < len(at); i++ {
			n := i - 1
			if i > 13 {
				n -= 13
			}
			want := time.Millisecond << min(n, 7)
			if i == 13 {
				want = 0
			}
			if got := at[i] - at[i-1]; got < want || got > want+want/8+ms {
				t.Errorf("operation %d began %v after the one before, want %v", i, got, want)
			}
		}
	})
}
