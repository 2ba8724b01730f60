package engine

import (
	"testing"
	"time"
)

// dials is how many connections a loop of so many makes in ten looks at its hold, a
// lateness of 5 ms changing by step from one to the next, with forty operations waiting.
func dials(h *hold, from time.Duration, conns int, step time.Duration, answered bool) (n int) {
	for i := range 10 {
		now := from + time.Duration(i)*holdTime
		if answered {
			h.answers++
		}
		for range 40 {
			if !h.holds(now, 5*time.Millisecond+time.Duration(i)*step, conns) {
				n++
			}
		}
	}
	return n
}

func TestHold(t *testing.T) {
	const second, faster, slower = time.Second, -100 * time.Microsecond, 100 * time.Microsecond
	for name, c := range map[string]struct {
		conns    int
		step     time.Duration
		answered bool
		want     int
	}{
		"becomes less late":   {256, faster, true, 0},
		"becomes later":       {256, slower, true, 9 * 256 / holdShare}, // not at the first look
		"has few connections": {holdShare - 1, faster, true, 400},
		"gets no answers":     {256, faster, false, 10 * 256 / silentShare},
	} {
		if n := dials(new(hold), second, c.conns, c.step, c.answered); n != c.want {
			t.Errorf("who %s makes %d connections, want %d", name, n, c.want)
		}
	}

	h := &hold{answers: 1}
	if h.holds(second, holdLate-1, 256) {
		t.Error("a loop that is not late holds")
	}
	dials(h, second, 256, faster, true)
	if n := dials(h, 2*second, 256, faster, true); n != 0 {
		t.Errorf("what was seen a second ago counts: %d connections", n)
	}
}
