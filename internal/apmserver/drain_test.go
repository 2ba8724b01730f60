package apmserver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestDrain(t *testing.T) {
	known := func(indexed int64, inFlight float64) state { return state{indexed, inFlight, true} }
	unknown := func(indexed int64) state { return state{indexed: indexed} }
	for name, test := range map[string]struct {
		looks  []state // one a second, the last for ever
		want   int64
		took   time.Duration
		gaveUp bool
	}{
		"nothing in flight":      {[]state{known(7, 0)}, 7, time.Second, false},
		"arrives":                {[]state{known(0, 9), known(5, 4), known(9, 0), known(9, 0)}, 9, 3 * time.Second, false},
		"arrives after the last": {[]state{known(0, 9), known(5, 0), known(9, 0)}, 9, 3 * time.Second, false},
		"stands still in flight": {[]state{known(5, 4), known(5, 4), known(5, 4), known(5, 0)}, 5, 3 * time.Second, false},
		"never ends":             {[]state{known(5, 4)}, 5, time.Minute, true},
		"unknown":                {[]state{unknown(5)}, 5, 5 * time.Second, false},
		"unknown, in bursts":     {[]state{unknown(0), unknown(5), unknown(5), unknown(5), unknown(5), unknown(9)}, 9, 10 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				d, err := drain(t.Context(), time.Minute, func(context.Context) (state, error) {
					n++
					return test.looks[min(n, len(test.looks))-1], nil
				})
				if err != nil || d.indexed != test.want || d.took != test.took || d.gaveUp != test.gaveUp {
					t.Errorf("%+v, %v", d, err)
				}
			})
		})
	}
}

func TestDrainEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err := drain(ctx, time.Minute, func(context.Context) (state, error) { return state{inFlight: 1, known: true}, nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		down := errors.New("down")
		if _, err := drain(t.Context(), time.Minute, func(context.Context) (state, error) { return state{}, down }); err != down {
			t.Error(err)
		}
	})
}
