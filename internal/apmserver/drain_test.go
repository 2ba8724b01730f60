package apmserver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestDrain(t *testing.T) {
	known := func(indexed, queued float64) account {
		return account{told: true, counted: true, indexed: indexed, queued: queued}
	}
	unknown := func(indexed float64) account { return account{counted: true, indexed: indexed} }
	of := func(accepted, indexed float64) account {
		return account{known: true, accepted: accepted, counted: true, indexed: indexed}
	}
	shrinks := make([]account, 200)
	for i := range shrinks {
		shrinks[i] = known(float64(i), float64(len(shrinks)-1-i))
	}
	for name, test := range map[string]struct {
		looks  []account // one a second, the last for ever
		want   float64
		took   time.Duration
		gaveUp bool
	}{
		"nothing in flight":      {[]account{known(7, 0)}, 7, time.Second, false},
		"arrives":                {[]account{known(0, 9), known(5, 4), known(9, 0), known(9, 0)}, 9, 3 * time.Second, false},
		"arrives after the last": {[]account{known(0, 9), known(5, 0), known(9, 0)}, 9, 3 * time.Second, false},
		"stands still in flight": {[]account{known(5, 4), known(5, 4), known(5, 4), known(5, 0)}, 5, 3 * time.Second, false},
		"shrinks for long":       {shrinks, 199, 200 * time.Second, false},
		"never ends":             {[]account{known(5, 4)}, 5, 75 * time.Second, true},
		"is filled by others":    {append(grows(500), known(5, 500)), 5, 75 * time.Second, true},
		"shrinks for too long":   {append(grows(1), slow(2000)...), 1000, 1000 * time.Second, true},
		"unknown, waits":         {[]account{of(9, 0), of(9, 0), of(9, 0), of(9, 0), of(9, 0), of(9, 0), of(9, 0), of(9, 9)}, 9, 12 * time.Second, false},
		"unknown, lost":          {[]account{of(9, 5)}, 5, 75 * time.Second, true},
		"unknown":                {[]account{unknown(5)}, 5, 5 * time.Second, false},
		"unknown, in bursts":     {[]account{unknown(0), unknown(5), unknown(5), unknown(5), unknown(5), unknown(9)}, 9, 10 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				d, err := drain(t.Context(), 1000*time.Second, func(context.Context) (account, error) {
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

// grows is a queue that others fill for n seconds, and slow one that goes out in n.
func grows(n int) (looks []account) {
	for i := range n {
		looks = append(looks, account{told: true, counted: true, indexed: 5, queued: float64(i + 1)})
	}
	return looks
}

func slow(n int) (looks []account) {
	for i := range n {
		looks = append(looks, account{told: true, counted: true, indexed: float64(i + 1), queued: float64(n - i)})
	}
	return looks
}

func TestDrainEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err := drain(ctx, time.Minute, func(context.Context) (account, error) { return account{queued: 1, told: true}, nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		down := errors.New("down")
		if _, err := drain(t.Context(), time.Minute, func(context.Context) (account, error) { return account{}, down }); err != down {
			t.Error(err)
		}
	})
}
