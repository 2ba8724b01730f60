package engine_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
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

// A closed loop dials a target that has gone some dozen times a second with each connection,
// not as often as it can; the schedule of an open one says when.
func TestModesDeadTarget(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		for _, rate := range []string{"", "2000"} {
			var first atomic.Bool
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer c.Close()
						if request(c) && first.CompareAndSwap(false, true) {
							io.WriteString(c, ok)
							l.Close()
						}
					}()
				}
			}()
			r := load(t, mode, httpLoop(t, l.Addr().String()), func(o *engine.Options) {
				o.Rate, o.Duration, o.Connections = engine.MustRate(rate), time.Second/2, 10
			})
			most := uint64(10 * (8 + 500/128 + 1)) // as TestPatience has it
			if rate != "" {
				most = 1000
			}
			if n := r.Counts.Sent; n > most || n < most/8 {
				t.Errorf("rate %q: %+v, at most %d", rate, r.Counts, most)
			}
			l.Close()
		}
	})
}
