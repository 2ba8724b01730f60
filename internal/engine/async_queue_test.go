package engine_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// An operation that waits for the room of another one, which its client drops, is not the
// generator's lateness: its wait is queue wait.
func TestRoomOfADroppedOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("100/s", 0, 0)
		o.Requests, o.MaxInFlight = 3, 1
		p := plan(t, o, nil)
		var work sync.WaitGroup
		p.Driver = &takt.Driver{Queues: true, Async: func(_ int, sink takt.Sink) (*takt.AsyncClient, error) {
			start := func(op *takt.Op) error {
				token, seq := op.Token, op.Seq
				work.Go(func() {
					if seq == 0 {
						time.Sleep(time.Second)
						sink.Drop(token)
						return
					}
					sink.Began(token, takt.Turn{})
					sink.Done(token, &takt.Result{})
				})
				return nil
			}
			return &takt.AsyncClient{Start: start, Close: func() error { work.Wait(); return nil }}, nil
		}}
		rep, err := engine.Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		checkLaws(t, rep)
		if c := rep.Counts; c.OK != 2 || c.Dropped != 1 {
			t.Errorf("%+v", c)
		}
		if l := rep.Latency["schedule_lag"]; l.Max > 1000 || rep.Latency["send_delay"].Max < 980_000 {
			t.Errorf("lag %v µs, send delay %v µs: %v", l.Max, rep.Latency["send_delay"].Max, rep.Warnings)
		}
	})
}
