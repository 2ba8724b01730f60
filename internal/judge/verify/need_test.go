package verify

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/test/racetest"
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

var forecastSeries = flag.Int("forecast-series", 4, "simulate so many series of pairs of each kind; docs/verify-statistics.md has the shares of 100")

// Who repeats a series with the number of pairs that an inconclusive one names gets a word in nine of
// ten cases, and a false one in at most one of twenty: with normal pairs and heavy tails, quiet and
// noisy ones, for changes near the tolerance and far from it. Where pauses make the pairs noisy, few
// series name a number.
func TestPairsForecast(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	t.Parallel()
	for name, c := range map[string]struct {
		tails  bool
		pauses float64
		named  float64 // largest share of series that name a number
		met    float64 // least share of the numbers that are enough
	}{
		"normal":               {named: 0.6, met: 0.9},
		"tails":                {tails: true, named: 0.6, met: 0.9},
		"pauses in half":       {pauses: 0.5, named: 0.3},
		"pauses in one of ten": {pauses: 0.1, named: 0.5},
	} {
		var sum forecasts
		for _, pairs := range []int{8, 12, 16, 24} {
			var f forecasts
			for _, sd := range []float64{0.03, 0.05, 0.1} {
				for _, change := range []float64{0, 0.02, 0.08, 0.1, 0.15} {
					w := seeded(0.2, sd, change)
					w.tails, w.pauses = c.tails, c.pauses
					for range *forecastSeries {
						f.try(t, w, pairs)
					}
				}
			}
			t.Logf("%s, %d pairs: %+v", name, pairs, f)
			sum.add(f)
		}
		t.Logf("%s: %+v", name, sum)
		if float64(sum.Met) < c.met*float64(sum.Named) || float64(sum.Wrong) > 0.05*float64(sum.Named+20) || float64(sum.Named) > c.named*float64(sum.Open) {
			t.Errorf("%s: %+v, want at most %v named, of which %v are enough", name, sum, c.named, c.met)
		}
	}
}

// forecasts counts inconclusive series, those that name a number of pairs, those that conclude with it,
// and those that conclude wrongly; and of those that name none, what the largest number would have done.
type forecasts struct{ Open, Named, Met, Wrong, UnknownMet int }

func (f *forecasts) add(more forecasts) {
	f.Open, f.Named, f.Met, f.Wrong, f.UnknownMet = f.Open+more.Open, f.Named+more.Named, f.Met+more.Met, f.Wrong+more.Wrong, f.UnknownMet+more.UnknownMet
}

func (f *forecasts) try(t *testing.T, w world, pairs int) {
	j := w.verified(t, pairs)
	c := &j.Comparisons[0]
	if j.Verdict != Inconclusive || neededOf(c) >= mostNeeded {
		return
	}
	f.Open++
	base, head := w.pairs(neededOf(c))
	word := w.word(base, head)
	if unknownOf(c) {
		if word != Inconclusive {
			f.UnknownMet++
		}
		return
	}
	f.Named++
	if word != Inconclusive {
		f.Met++
	}
	if word == OK && w.change > 0.05 || word == Regressed && w.change < 0.05 {
		f.Wrong++
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
