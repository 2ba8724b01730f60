package stats

import (
	"math"
	"testing"
)

// Fisher's lady tasting tea, and values by hand: the sum over the hypergeometric distribution.
func TestMoreOften(t *testing.T) {
	for _, c := range []struct {
		k, n, j, m int
		want       float64
	}{
		{3, 4, 1, 4, 17.0 / 70},
		{4, 4, 0, 4, 1.0 / 70},
		{0, 300, 0, 300, 1},
		{300, 300, 300, 300, 1},
		{1, 300, 0, 300, 0.5},
		{2, 2, 0, 1, 1.0 / 3},
	} {
		if got := MoreOften(c.k, c.n, c.j, c.m); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d of %d against %d of %d: %g, want %g", c.k, c.n, c.j, c.m, got, c.want)
		}
	}
}
