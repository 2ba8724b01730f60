package pace

import (
	"context"
	"testing"
	"time"
)

// A thread that stands still sees late all that falls due meanwhile.
func TestStill(t *testing.T) {
	var clock time.Duration
	s := still(t.Context(), 10*time.Millisecond, func() time.Duration {
		if clock += time.Microsecond; clock == 5*time.Millisecond {
			clock += time.Millisecond
		}
		return clock
	})
	if s.Time != 10*time.Millisecond || s.Worst != 1001*time.Microsecond || s.Long != 1 {
		t.Errorf("%+v", s)
	}
	if s.Late.Count() != 1000 || s.Late.Above(5*time.Microsecond) != 100 || s.Late.Above(500*time.Microsecond) != 50 {
		t.Errorf("%d operations, %d late, %d by more than 500µs", s.Late.Count(), s.Late.Above(5*time.Microsecond), s.Late.Above(500*time.Microsecond))
	}
}

func TestStillLive(t *testing.T) {
	s := Still(t.Context(), 20*time.Millisecond)
	if want := uint64(s.Time * StillRate / time.Second); s.Time < 20*time.Millisecond || s.Worst <= 0 || s.Late.Count() != want {
		t.Errorf("%d of %d operations; %+v", s.Late.Count(), want, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := Still(ctx, time.Hour); s.Time > 0 {
		t.Errorf("it looked at the clock for %v after its end", s.Time)
	}
}
