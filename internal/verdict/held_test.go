package verdict

import (
	"testing"
	"time"
)

func TestHeld(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		name               string
		generator, target  time.Duration
		achieved, intended float64
		want               bool
	}{
		{"nothing waited", 0, 0, 500, 1000, false},
		{"the target held all", 0, 10 * ms, 500, 1000, false},
		{"the generator held most", 4 * ms, 1 * ms, 400, 1000, true},
		{"but the rate was achieved", 4 * ms, 1 * ms, 990, 1000, false},
		{"a quarter", 1 * ms, 3 * ms, 500, 1000, false},
		{"a little more", 1001 * time.Microsecond, 3 * ms, 500, 1000, true},
		{"a tenth, where the target could not have done it either", 1 * ms, 9 * ms, 500, 1000, false},
		{"a tenth, without which the rate would have been achieved", 1 * ms, 9 * ms, 900, 1000, true},
		{"a tenth, without which it would just not", 1 * ms, 9 * ms, 899, 1000, false},
	} {
		var h, half Held
		half.Add(c.generator, c.target, 5)
		h.Merge(half)
		h.Merge(half)
		if got := h.Bottleneck(c.achieved, c.intended); got != c.want {
			t.Errorf("%s: %v of share %v", c.name, got, h.Share())
		}
	}
}
