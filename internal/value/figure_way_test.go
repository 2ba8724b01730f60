package value_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/taktload/takt/internal/figure"
)

// A lower limit is never printed above its value, nor an upper one below, and each is a step away at most.
func TestLimitsAreRoundedOutwards(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		v := math.Exp(40*r.Float64()-20) * float64(1-2*r.IntN(2))
		for n := 1; n < 6; n++ {
			down, up := figure.Down.Round(v, n), figure.Up.Round(v, n)
			if step := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-float64(n)+1); !(down <= v && v <= up) || up-down > step*(1+1e-9) {
				t.Fatalf("%v with %d digits is from %v to %v", v, n, down, up)
			}
		}
	}
	for _, c := range []struct{ got, want string }{
		{figure.Down.Micros(8289.9), "8.28ms"}, {figure.Up.Micros(8281.1), "8.29ms"}, {figure.Up.Micros(8280), "8.28ms"}, {figure.Up.Micros(999.9e3), "1s"}, {figure.Down.Micros(1000.4), "1ms"},
		{figure.Up.MicrosNear(249.9e3, 250e3), "249.9ms"}, {figure.Down.MicrosNear(250.1e3, 250e3), "250.1ms"},
		{figure.Up.Near(0.29951, 0), "0.3"}, {figure.Up.Near(0.2991, 0), "0.3"}, {figure.Down.Near(0.2999, 0), "0.299"}, {figure.Up.Near(1234, 0), "1234"},
		{figure.Up.Fixed(8.2811, 3), "8.282"}, {figure.Down.Fixed(8.2819, 3), "8.281"}, {figure.Down.Fixed(8.281, 3), "8.281"}, {figure.Nearest.Fixed(8.2819, 3), "8.282"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}
