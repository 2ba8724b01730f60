package engine_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// Operations of one place wait for each other. If the generator begins the first of them late, all that
// wait behind it are late by its fault; if the target answers the first one late, by the target's.
func TestPlaceBehindALateOperation(t *testing.T) {
	const hold = 300 * time.Millisecond
	for _, c := range []struct {
		name          string
		begin, answer time.Duration // of the first operation
		verdict       takt.Verdict
	}{
		{"the generator was late", hold, time.Millisecond, takt.Invalid},
		{"the target was late", 0, hold, takt.Valid},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options("100/s", 0, 0)
				o.Requests, o.MaxInFlight = 200, 200
				p := plan(t, o, nil)
				var work sync.WaitGroup
				p.Driver = &takt.Driver{Queues: true, Async: func(_ int, sink takt.Sink) (*takt.AsyncClient, error) {
					ops := make(chan takt.Op, o.Requests)
					work.Go(func() {
						turn := takt.Turn{Place: 1}
						for op := range ops {
							begin, answer := time.Duration(0), time.Millisecond
							if op.Seq == 0 {
								begin, answer = c.begin, c.answer
							}
							time.Sleep(begin)
							sink.Began(op.Token, turn)
							time.Sleep(answer)
							now := time.Now()
							turn.Free, turn.Read, turn.Service = now, now, answer
							sink.Done(op.Token, &takt.Result{})
						}
					})
					return &takt.AsyncClient{
						Start: func(op *takt.Op) error { ops <- *op; return nil },
						Close: func() error { close(ops); work.Wait(); return nil },
					}, nil
				}}
				rep, err := engine.Run(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				checkLaws(t, rep)
				if rep.Verdict != c.verdict {
					t.Errorf("%s, lag %+v, attribution %+v, warnings %v", rep.Verdict, rep.Latency["schedule_lag"], rep.Attribution, rep.Warnings)
				}
			})
		})
	}
}
