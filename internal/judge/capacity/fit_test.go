package capacity

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/taktload/takt/internal/test/racetest"
)

// simulated is the answer of a search on a station with these operations a step.
func simulated(t *testing.T, s station, seed uint64, length int) Answer {
	t.Helper()
	slo, r := slo(t, "p95<50ms"), rand.New(rand.NewPCG(seed, 11))
	search := DefaultSearch()
	search.Start = 50 + 200*r.Float64()
	all, ended := searched(t, search, func(rate float64, _ int) Step {
		step := s.step(r, rate, length)
		step.Margin, step.Nearest = margin(slo[0], step.Response.P95), "p95<50ms"
		step.Met = step.Margin < 0
		return step
	})
	return Conclude(all, slo, ended, 0)
}

// The band contains the true response time about as often as it says: that of M/M/1 at a rate λ is
// ln 20 ÷ (μ − λ) at p95.
func TestFitContainsTheTruth(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	var points, inside int
	curves, searches := 0, racetest.Simulations(100)
	for seed := range uint64(searches) {
		curve := simulated(t, station{servers: 1}, seed, 8000).Fit()
		if curve == nil {
			continue
		}
		curves++
		for _, p := range curve {
			if p.Low > p.Time || p.Time > p.High {
				t.Fatalf("seed %d: %+v", seed, p)
			}
			if truth := math.Log(20) / (500 - p.Rate) * 1e6; p.Rate < 490 {
				points++
				if p.Low <= truth && truth <= p.High {
					inside++
				}
			}
		}
	}
	t.Logf("%d of %d searches have a curve; the truth is in the band at %.1f %% of their points", curves, searches, 100*float64(inside)/float64(points))
	if curves < searches*95/100 || float64(inside) < 0.85*float64(points) {
		t.Errorf("%d of %d searches have a curve, and %d of %d points contain the truth", curves, searches, inside, points)
	}
}

// The curve crosses the SLO at the limit, and the band does so at the interval or within it.
func TestFitCrossesAtTheLimit(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	for seed := range uint64(20) {
		a := simulated(t, station{servers: 4}, seed, 4000)
		var below, above FitPoint // neighbours of the limit
		for _, p := range a.Fit() {
			if p.Rate <= a.Sustainable {
				below = p
			} else if above.Rate == 0 {
				above = p
			}
			if slack := 1e-6; p.Rate < *a.Interval.Low*(1-slack) && p.High > 50e3*(1+slack) || p.Rate > *a.Interval.High*(1+slack) && p.Low < 50e3*(1-slack) {
				t.Errorf("seed %d: the band contains the SLO at %.0f/s, outside of the interval %.0f to %.0f", seed, p.Rate, *a.Interval.Low, *a.Interval.High)
			}
		}
		if l := limitOf(a.Steps); l.rate > l.low.rate && l.rate < l.high.rate && (below.Time > 50e3 || above.Time < 50e3) {
			t.Errorf("seed %d: %.4g ms below the limit and %.4g ms above it, and the SLO is 50 ms", seed, below.Time/1e3, above.Time/1e3)
		}
	}
}

// Without an interval, or where another condition breaks, there is no curve.
func TestFitIsOfTheLatency(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	a := simulated(t, station{servers: 1}, 1, 4000)
	if a.Fit() == nil {
		t.Fatal("there is no curve")
	}
	unsure := a
	unsure.Confidence = 0
	if unsure.Fit() != nil {
		t.Error("a curve without an interval")
	}
	unbound := a
	unbound.SLO = "errors<1%"
	if unbound.Fit() != nil {
		t.Error("a curve without a bound")
	}
	for i := range a.Steps {
		a.Steps[i].Nearest = "errors<1%"
	}
	if a.Fit() != nil {
		t.Error("a curve of errors as response time")
	}
}
