package service

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/permanent"
)

// Each end of the wait, in fake time: the answers are those of the questions at 0, 20 ms, 40 ms …, each of 1 ms.
func TestWait(t *testing.T) {
	var (
		refused = errors.New("refused")
		wrong   = permanent.Mark(errors.New("wrong"))
		stopped = errors.New("stopped")
		last    = func(err error) error { return &Late{err} }
	)
	for name, c := range map[string]struct {
		answers            []error // the last one is repeated; none: nobody asks
		said, ended, stops time.Duration
		want               error
		at                 time.Duration
	}{
		"ready":                       {answers: []error{refused, refused, nil}, want: nil, at: 41 * time.Millisecond},
		"permanent":                   {answers: []error{refused, wrong}, want: wrong, at: 21 * time.Millisecond},
		"late":                        {answers: []error{refused}, want: last(refused), at: 110 * time.Millisecond},
		"ended":                       {answers: []error{refused}, ended: 5 * time.Millisecond, want: ErrEnded, at: 5 * time.Millisecond},
		"another answers on its port": {answers: []error{refused, nil}, ended: 20500 * time.Microsecond, want: ErrEnded, at: 21 * time.Millisecond},
		"stopped":                     {answers: []error{refused}, stops: 5 * time.Millisecond, want: stopped, at: 5 * time.Millisecond},
		"said":                        {said: 5 * time.Millisecond, want: nil, at: 5 * time.Millisecond},
		"never said":                  {want: last(nil), at: 110 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			after := func(d time.Duration) <-chan struct{} {
				c := make(chan struct{})
				if d > 0 {
					time.AfterFunc(d, func() { close(c) })
				}
				return c
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.stops > 0 {
				time.AfterFunc(c.stops, func() { cancel(stopped) })
			}
			w := Wait{Patience: 110 * time.Millisecond, Said: after(c.said), Ended: after(c.ended)}
			if n := 0; len(c.answers) > 0 {
				w.Ask = func(context.Context) error {
					time.Sleep(time.Millisecond)
					n++
					return c.answers[min(n, len(c.answers))-1]
				}
			}
			begun := time.Now()
			err := w.For(ctx)
			var got, want *Late
			if errors.As(c.want, &want) {
				if !errors.As(err, &got) || got.Last != want.Last {
					t.Errorf("%s: %v", name, err)
				}
			} else if err != c.want {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(begun); took != c.at {
				t.Errorf("%s: ended after %v", name, took)
			}
		})
	}
}

func TestFreePorts(t *testing.T) {
	ports, err := FreePorts(50)
	if err != nil || len(ports) != 50 {
		t.Fatal(ports, err)
	}
	seen := map[int]bool{}
	for _, p := range ports {
		if seen[p] || p < lowestPort || p >= highestPort {
			t.Errorf("port %d of %v", p, ports)
		}
		seen[p] = true
	}
}
