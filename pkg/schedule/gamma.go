package schedule

import (
	"math"
	"math/rand/v2"
)

// gamma has gaps of a gamma distribution with the mean 1: a renewal process. It is stationary
// (Cox, Renewal Theory, 1962, chapter 5): the first number is a uniform part of a gap that was
// chosen by its length, a gamma variate whose shape is larger by 1. A process that begins with a
// whole gap would have (CV² − 1)/2 operations too many: 4 of CV 3, and 5000 of CV 100.
type gamma struct {
	rand  *rand.Rand
	scale float64 // CV²
	boost float64 // CV² if the shape is below 1; 0: it is not
	of    shape
	begun bool
}

// newGamma has the shape 1/cv², which vllm calls burstiness.
func newGamma(cv float64, r *rand.Rand) *gamma {
	g := &gamma{rand: r, scale: cv * cv}
	if cv > 1 {
		g.boost, g.of = g.scale, shapeOf(1/g.scale+1)
		return g
	}
	g.of = shapeOf(1 / g.scale)
	return g
}

func (g *gamma) next(x float64) float64 {
	if !g.begun {
		g.begun = true
		whole := shapeOf(1/g.scale + 1)
		return g.rand.Float64() * whole.draw(g.rand) * g.scale
	}
	gap := g.of.draw(g.rand) * g.scale
	if g.boost != 0 { // Gamma(a) is Gamma(a+1)·U^(1/a), and −ln U an exponential
		gap *= math.Exp(-g.rand.ExpFloat64() * g.boost)
	}
	return x + gap
}

// shape is that of a gamma distribution, at least 1, for the method of Marsaglia and Tsang (2000):
// a cube of a normal variate, which is accepted in 95 of 100 cases or more.
type shape struct{ d, c float64 }

func shapeOf(a float64) shape {
	d := a - 1.0/3
	return shape{d: d, c: 1 / math.Sqrt(9*d)}
}

// draw is a gamma variate with the scale 1. Conversions to float64 prevent a fused multiply-add, which
// differs between architectures.
func (s *shape) draw(r *rand.Rand) float64 {
	for {
		n := r.NormFloat64()
		v := 1 + float64(s.c*n)
		if v <= 0 {
			continue
		}
		v *= float64(v * v)
		u, square := 1-r.Float64(), float64(n*n)
		if u < 1-float64(0.0331*float64(square*square)) || math.Log(u) < float64(0.5*square)+float64(s.d*(1-v+math.Log(v))) {
			return s.d * v
		}
	}
}
