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

// Runs that meet count from one instant, whoever is ready first.
func TestRunsMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().Add(time.Minute)
		var sent []time.Duration
		p := plan(t, options("10/s", time.Second, 0), func(context.Context, *takt.Op, *takt.Result) { sent = append(sent, time.Since(at)) })
		p.Meet = func(context.Context) (time.Time, error) {
			time.Sleep(30 * time.Second)
			return at, nil
		}
		rep := run(t, t.Context(), p)
		if !rep.StartedAt.Equal(at) || len(sent) != 10 || sent[0] != 0 || sent[9] != 900*ms {
			t.Errorf("started at %v, want %v; sent at %v", rep.StartedAt, at, sent)
		}
	})
}

// A run whose meeting fails is not made; one that is ended while it waits sends nothing.
func TestRunsDoNotMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nothing := func(context.Context, *takt.Op, *takt.Result) { t.Error("an operation was sent") }
		p := plan(t, options("10/s", time.Second, 0), nothing)
		alone := errors.New("nobody came")
		p.Meet = func(context.Context) (time.Time, error) { return time.Time{}, alone }
		if _, err := engine.Run(t.Context(), p); !errors.Is(err, alone) {
			t.Error(err)
		}
		p = plan(t, options("10/s", time.Second, 0), nothing)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.Meet = func(ctx context.Context) (time.Time, error) {
			<-ctx.Done()
			return time.Now(), nil
		}
		if rep := run(t, ctx, p); rep.Counts.Scheduled != 0 {
			t.Errorf("%+v", rep.Counts)
		}
	})
}
