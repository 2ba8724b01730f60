package verify

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/taktload/takt/internal/judge/stats"
)

// Worse takes one of the two, at half of the error; no worse takes both. The estimate is that of
// the one that decides, and the interval agrees with the word.
func TestTail(t *testing.T) {
	const bound, alpha = 0.05, 0.02
	r := rand.New(rand.NewPCG(1, 1))
	pooled := func(at, se float64) stats.Resampled {
		p := stats.Resampled{Est: at, Se: se, N: 40}
		for i := range 2000 {
			p.Draws = append(p.Draws, at+se*stats.NormalQuantile((float64(i)+0.5)/2000))
		}
		return p
	}
	each := func(at, sd float64) stats.Serial {
		d := make([]float64, 40)
		for i := range d {
			d[i] = at + sd*r.NormFloat64()
		}
		return stats.Serial{Paired: d, Stretch: 1}
	}
	for _, c := range []struct {
		name   string
		tail   stats.Tail
		want   Word
		lead   float64 // about
		within float64
	}{
		{"only seconds say worse", stats.Tail{Pooled: pooled(0.02, 0.3), Each: each(0.2, 0.05), Bound: bound}, Regressed, 0.2, 0.03},
		{"only all together say worse", stats.Tail{Pooled: pooled(0.4, 0.05), Each: each(0, 0.02), Bound: bound}, Regressed, 0.4, 0},
		{"both say no worse", stats.Tail{Pooled: pooled(-0.01, 0.01), Each: each(0, 0.01), Bound: bound}, OK, 0, 0.02},
		{"all together do not know", stats.Tail{Pooled: pooled(0, 0.3), Each: each(0, 0.01), Bound: bound}, Inconclusive, 0, 0.02},
		{"seconds do not know", stats.Tail{Pooled: pooled(0, 0.01), Each: each(0, 0.5), Bound: bound}, Inconclusive, 0, 0.3},
		{"nothing is known", stats.Tail{Pooled: pooled(0.1, 0.3), Each: each(0.1, 0.5), Bound: bound}, Inconclusive, 0.1, 0.3},
	} {
		g := gate{s: c.tail, bound: bound, sign: 1}
		g.P, g.level = c.tail.P(bound), alpha
		if got := g.word(); got != c.want || math.Abs(c.tail.Estimate()-c.lead) > c.within {
			t.Errorf("%s: %s, led by %v, p %v; want %s, %v", c.name, got, c.tail.Estimate(), g.P, c.want, c.lead)
		}
		low, high := c.tail.Interval(alpha)
		if regressed, ok := low > bound, high < bound; regressed != (c.want == Regressed) || ok != (c.want == OK) {
			t.Errorf("%s: %v–%v for %s", c.name, low, high, c.want)
		}
	}
}
