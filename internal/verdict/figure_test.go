package verdict

import "testing"

// A figure is the generator's own above both bounds: a part of the figure, and the floor of a lag that warns.
func TestOwn(t *testing.T) {
	floor := float64(warnLagFloor.Microseconds())
	for _, c := range []struct {
		us, onTime float64
		want       bool
	}{
		{1000, 1000, false}, {0, 0, false}, {1000, 0, true},
		{floor, 0, false}, {floor + 1, 0, true}, // the floor
		{100 * floor, 100*floor - floor - 1, false},                                                       // above the floor, and a small part
		{100 * floor, 100 * floor * (1 - ownPart), false}, {100 * floor, 100*floor*(1-ownPart) - 1, true}, // the part
		{1000, 2000, false}, // never below what was on time
	} {
		if got := Own(c.us, c.onTime); got != c.want {
			t.Errorf("%v µs, of which %v on time: %v", c.us, c.onTime, got)
		}
	}
}
