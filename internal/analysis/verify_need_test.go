package analysis

import (
	"math/rand/v2"
	"testing"
)

// With as many pairs, or runs of each side, as are said to be needed, nine of ten
// verifications conclude, give or take what the simulation and the steps of the few
// p-values make out; with three quarters of them clearly fewer do.
func TestNeededGivesThePower(t *testing.T) {
	for _, alpha := range []float64{0.05, 0.0125} {
		for _, ratio := range []float64{0.2, 0.6, 0.8, 1, 1.2, 1.5} {
			n := pairsNeeded(ratio, alpha)
			checkPower(t, "pairs", ratio, alpha, n, leastPairs(alpha), func(r *rand.Rand, n int) shift {
				return paired(normals(r, n, 1, ratio))
			})
			if n = runsNeeded(ratio, alpha); n <= 12 { // more take long
				checkPower(t, "runs", ratio, alpha, n, leastRuns(alpha), func(r *rand.Rand, n int) shift {
					return groups{normals(r, n, 0, ratio), normals(r, n, 1, ratio)}
				})
			}
		}
	}
}

func checkPower(t *testing.T, what string, ratio, alpha float64, n, least int, draw func(*rand.Rand, int) shift) {
	t.Helper()
	power := func(n int) float64 {
		r, found := rand.New(rand.NewPCG(8, uint64(n))), 0
		for range 200 {
			if draw(r, n).p(0) <= alpha {
				found++
			}
		}
		return float64(found) / 200
	}
	if got := power(n); got < 0.85 {
		t.Errorf("%d %s for the ratio %v at %v conclude %v of the time", n, what, ratio, alpha, got)
	}
	if fewer := n * 3 / 4; fewer >= least && power(fewer) > 0.93 {
		t.Errorf("%d %s for the ratio %v at %v: %d conclude %v of the time", n, what, ratio, alpha, fewer, power(fewer))
	}
}

func normals(r *rand.Rand, n int, mean, sd float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = mean + sd*r.NormFloat64()
	}
	return v
}

// Below these numbers even an endless difference proves nothing.
func TestLeastNeeded(t *testing.T) {
	for _, c := range []struct {
		alpha       float64
		pairs, runs int
	}{{0.05, 6, 4}, {0.0125, 8, 5}, {0.05 / 8, 9, 6}, {0.5, 2, 2}} {
		if p, r := leastPairs(c.alpha), leastRuns(c.alpha); p != c.pairs || r != c.runs {
			t.Errorf("alpha %v: %d pairs, %d runs, want %d and %d", c.alpha, p, r, c.pairs, c.runs)
		}
	}
	if n := pairsNeeded(1e6, 0.05); n != mostNeeded {
		t.Errorf("endless noise needs %d pairs", n)
	}
}
