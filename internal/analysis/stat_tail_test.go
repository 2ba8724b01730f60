package analysis

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Worse takes one of the two, at half of the error; no worse takes both. The estimate is that of
// the one that decides, and the interval agrees with the word.
func TestTail(t *testing.T) {
	const bound, alpha = 0.05, 0.02
	r := rand.New(rand.NewPCG(1, 1))
	pooled := func(at, se float64) resampled {
		p := resampled{est: at, se: se, n: 40}
		for i := range 2000 {
			p.draws = append(p.draws, at+se*normalQuantile((float64(i)+0.5)/2000))
		}
		return p
	}
	each := func(at, sd float64) serial {
		d := make([]float64, 40)
		for i := range d {
			d[i] = at + sd*r.NormFloat64()
		}
		return serial{d, 1}
	}
	for _, c := range []struct {
		name   string
		tail   tail
		want   Word
		lead   float64 // about
		within float64
	}{
		{"only seconds say worse", tail{pooled(0.02, 0.3), each(0.2, 0.05), bound}, Regressed, 0.2, 0.03},
		{"only all together say worse", tail{pooled(0.4, 0.05), each(0, 0.02), bound}, Regressed, 0.4, 0},
		{"both say no worse", tail{pooled(-0.01, 0.01), each(0, 0.01), bound}, OK, 0, 0.02},
		{"all together do not know", tail{pooled(0, 0.3), each(0, 0.01), bound}, Inconclusive, 0, 0.02},
		{"seconds do not know", tail{pooled(0, 0.01), each(0, 0.5), bound}, Inconclusive, 0, 0.3},
		{"nothing is known", tail{pooled(0.1, 0.3), each(0.1, 0.5), bound}, Inconclusive, 0.1, 0.3},
	} {
		g := gate{s: c.tail, bound: bound, sign: 1}
		g.P, g.level = c.tail.p(bound), alpha
		if got := g.word(); got != c.want || math.Abs(c.tail.estimate()-c.lead) > c.within {
			t.Errorf("%s: %s, led by %v, p %v; want %s, %v", c.name, got, c.tail.estimate(), g.P, c.want, c.lead)
		}
		low, high := c.tail.interval(alpha)
		if regressed, ok := low > bound, high < bound; regressed != (c.want == Regressed) || ok != (c.want == OK) {
			t.Errorf("%s: %v–%v for %s", c.name, low, high, c.want)
		}
	}
}
