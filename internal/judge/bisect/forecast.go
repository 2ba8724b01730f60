package bisect

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Effort is what a search needs.
type Effort struct{ Pairs, Builds int }

// Forecast is the effort of a search.
type Forecast struct {
	Likely Effort // half of the searches need less
	Most   Effort // 19 of 20 searches need less
}

// forecasts is the number of simulated searches.
const forecasts = 200

// NewForecast simulates searches among n commits after these pairs of base and head, each with another first
// worse commit. The few pairs know the change and the spread only roughly, so each search has others.
func NewForecast(n int, head []float64, confidence float64, most int) Forecast {
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(head)))) // the same forecast for the same pairs
	var pairs, builds []int
	for range forecasts {
		p, b := play(r, n, head, confidence, most)
		pairs, builds = append(pairs, p), append(builds, b)
	}
	slices.Sort(pairs)
	slices.Sort(builds)
	const high = forecasts * 19 / 20
	return Forecast{Effort{pairs[forecasts/2], builds[forecasts/2]}, Effort{pairs[high], builds[high]}}
}

// play is one simulated search.
func play(r *rand.Rand, n int, head []float64, confidence float64, most int) (pairs, builds int) {
	s := New(n, head)
	first, at := r.IntN(n), -1
	spread := s.spread / math.Sqrt(squares(r, max(1, len(head)-1)))
	change := s.change + spread/math.Sqrt(float64(len(head)))*r.NormFloat64()
	for ; pairs < most; pairs++ {
		if _, _, chance := s.Found(); chance >= confidence {
			break
		}
		next, ok := s.Next()
		if !ok {
			break
		}
		if next != at {
			at, builds = next, builds+1
		}
		value := spread * student(r)
		if at >= first {
			value += change
		}
		if pairs%2 == 1 {
			s.AddToHead(at, value-change)
		} else {
			s.Add(at, value)
		}
	}
	return pairs, builds
}

// student draws from Student's distribution with the search's degrees of freedom.
func student(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(squares(r, freedom)) }

// squares draws the mean of n squares of normal numbers.
func squares(r *rand.Rand, n int) float64 {
	var sum float64
	for range n {
		x := r.NormFloat64()
		sum += x * x
	}
	return sum / float64(n)
}
