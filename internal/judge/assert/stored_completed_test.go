package assert_test

import (
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// Only whole intervals of the measured window count: neither the warm-up nor the drain.
func TestCompleted(t *testing.T) {
	list := []takt.Interval{{T: 1, Warmup: true, OK: 490}, {T: 2, OK: 493, Failed: 7}, {T: 3, OK: 510}, {T: 4.0005, OK: 490}, {T: 5, OK: 500}, {T: 5.2, OK: 90}}
	for _, c := range []struct {
		warmup, duration float64
		quickest         float64 // service time, in seconds
		list             []takt.Interval
		want             float64 // -1: unknown
	}{
		{1, 3, 0, list, 1500 / 3.0005},
		{1, 2.5, 0, list, 1010 / 2.0}, // the third interval ends in the drain
		{1, 3, 0, []takt.Interval{{T: 1, Warmup: true}, {T: 2, OK: 20}, {T: 3.5, OK: 22}}, 42 / 3.0}, // the last one ended, and nothing more was due
		{1, 0.5, 0, list, -1},
		{1, 3, 0, nil, -1},
		{1, 3, 0, list[:1], -1},
		{0, 5, 1, []takt.Interval{{T: 1}, {T: 2, OK: 50}, {T: 3, OK: 50}, {T: 4, OK: 50}, {T: 5, OK: 50}, {T: 6, OK: 50}}, 50}, // of what was due 1 s earlier
		{1, 3, 0.9, list, 1500 / 3.0005}, // the warm-up's operations end instead
		{0, 2, 3, []takt.Interval{{T: 1}, {T: 2}}, 0},
	} {
		got, ok := stored.Completed(&takt.Report{
			WarmupS: c.warmup, DurationS: c.duration, Intervals: c.list, Latency: map[string]takt.Latency{"service": {Min: 1e6 * c.quickest}},
		})
		if ok != (c.want >= 0) || ok && (got < c.want*0.999999 || got > c.want*1.000001) {
			t.Errorf("%v s after %v s, %d intervals: %v %v, want %v", c.duration, c.warmup, len(c.list), got, ok, c.want)
		}
	}
}
