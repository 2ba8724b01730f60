package verify

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/racetest"
)

// With as many pairs, or runs of each side, as are said to be needed, nine of ten
// verifications conclude, give or take what the simulation and the steps of the few
// p-values make out; with three quarters of them clearly fewer do.
func TestNeededGivesThePower(t *testing.T) {
	for _, alpha := range []float64{0.05, 0.0125} {
		for _, ratio := range []float64{0.2, 0.6, 0.8, 1, 1.2, 1.5} {
			n := pairsNeeded(ratio, alpha)
			checkPower(t, "pairs", ratio, alpha, n, leastPairs(alpha), func(r *rand.Rand, n int) stats.Shift {
				return stats.Paired(normals(r, n, 1, ratio))
			})
			if n = runsNeeded(ratio, alpha); n <= 12 { // more take long
				checkPower(t, "runs", ratio, alpha, n, leastRuns(alpha), func(r *rand.Rand, n int) stats.Shift {
					return stats.Groups{Base: normals(r, n, 0, ratio), Head: normals(r, n, 1, ratio)}
				})
			}
		}
	}
}

func checkPower(t *testing.T, what string, ratio, alpha float64, n, least int, draw func(*rand.Rand, int) stats.Shift) {
	t.Helper()
	power := func(n int) float64 {
		r, found := rand.New(rand.NewPCG(8, uint64(n))), 0
		for range 200 {
			if draw(r, n).P(0) <= alpha {
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

var forecastSeries = flag.Int("forecast-series", 4, "simulate so many series of pairs of each kind; docs/verify.md has the shares of 100")

// Who repeats a series with the number of pairs that an inconclusive one asks for gets a word in
// nineteen of twenty cases, and a false one in at most one: with normal pairs and heavy tails,
// quiet and noisy ones, for changes near the tolerance and far from it.
func TestPairsForecast(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	t.Parallel()
	for _, tails := range []bool{false, true} {
		sum, sumWrong, sumAll := 0, 0, 0
		for _, pairs := range []int{8, 12, 16} {
			concluded, wrong, all, asked := 0, 0, 0, 0
			for _, sd := range []float64{0.03, 0.05, 0.1} {
				for _, change := range []float64{0, 0.02, 0.08, 0.1, 0.15} {
					w := seeded(0.2, sd, change)
					w.tails = tails
					for range *forecastSeries {
						j := w.verified(t, pairs)
						needed := neededOf(&j.Comparisons[0])
						if j.Verdict != Inconclusive || needed >= mostNeeded {
							continue
						}
						all, asked = all+1, asked+needed
						base, head := w.pairs(needed)
						switch word := w.word(base, head); {
						case word == Inconclusive:
							continue
						case word == OK && change > 0.05, word == Regressed && change < 0.05:
							wrong++
						}
						concluded++
					}
				}
			}
			t.Logf("tails %v, %d pairs: %d of %d (%.1f %%), %d wrong, %d asked for on average", tails, pairs, concluded, all, 100*float64(concluded)/float64(all), wrong, asked/all)
			sum, sumWrong, sumAll = sum+concluded, sumWrong+wrong, sumAll+all
		}
		if float64(sum) < 0.95*float64(sumAll) || float64(sumWrong) > 0.05*float64(sumAll) {
			t.Errorf("tails %v: %d of %d series concluded within their forecast, %d wrongly", tails, sum, sumAll, sumWrong)
		}
	}
}

// verified is the judgement of so many pairs.
func (w world) verified(t *testing.T, pairs int) Judgement {
	t.Helper()
	base, head := w.pairs(pairs)
	j, err := Verify(base, head, true, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// word is the verdict alone: intervals and advice take most of the time of Verify.
func (w world) word(base, head []stored.Run) Word {
	o := DefaultOptions()
	var gates []gate
	for _, name := range []string{"p50", "p99", "errors", "rate"} {
		gates = append(gates, newGate(name, match{base: base, head: head, inPairs: true}, o, false))
	}
	decide(gates, 1-o.Confidence)
	var words []Word
	for _, g := range gates {
		words = append(words, g.Verdict)
	}
	return overall(words)
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
