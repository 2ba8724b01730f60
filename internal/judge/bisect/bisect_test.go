package bisect

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/test/racetest"
)

// history is a simulated history: its commits are worse from one on.
type history struct {
	r      *rand.Rand
	n, bad int
	change float64
	spread float64   // of a pair
	heavy  bool      // tails like Student's t with 3 degrees of freedom
	jumps  float64   // probability of a pair that a pause of the machine spoils
	jump   float64   // by how much; 0: 10 spreads
	luck   []float64 // what the layout of a build adds to each commit
	broken map[int]bool
}

// noise of a pair.
func (h *history) noise() float64 {
	v := h.r.NormFloat64()
	if h.heavy {
		var squares float64
		for range 3 {
			x := h.r.NormFloat64()
			squares += x * x
		}
		v /= math.Sqrt(squares) // t3 has the standard deviation √3
	}
	if h.r.Float64() < h.jumps {
		v += cmp.Or(h.jump/h.spread, 10) * float64(2*h.r.IntN(2)-1)
	}
	return v * h.spread
}

func (h *history) value(commit int) float64 {
	v := h.noise() + h.luck[commit]
	if commit >= h.bad {
		v += h.change
	}
	return v
}

// measured is what a series of 8 pairs finds about the head. A search begins only if the series
// concludes that head is worse, so the change looks larger than it is. verify does so at half of 5 %
// divided by the number of metrics; this is the least clear metric of one.
func (h *history) measured() (d stats.Paired) {
	for {
		d = nil
		for range 8 {
			d = append(d, h.value(h.n-1))
		}
		if d.Above(math.Log(1.05)) <= 0.025 {
			return d
		}
	}
}

// pair makes a pair with base and head in turn.
func (h *history) pair(s *Search, at, number int) {
	if number%2 == 0 {
		s.Add(at, h.value(at))
		return
	}
	s.AddToHead(at, h.value(at)-h.luck[h.n-1]-h.change)
}

// search plays a search to its end.
func (h *history) search(most int) (found, right bool, pairs, builds int) {
	s := New(h.n, h.measured())
	seen := map[int]bool{}
	for pairs < most {
		first, last, chance := s.Found()
		if chance >= 0.95 {
			return true, h.bad >= first && h.bad <= last, pairs, len(seen)
		}
		at, ok := s.Next()
		if !ok {
			break
		}
		seen[at] = true
		if h.broken[at] {
			s.Skip(at)
			continue
		}
		h.pair(s, at, pairs)
		pairs++
	}
	return false, false, pairs, len(seen)
}

func newHistory(r *rand.Rand) *history {
	h := &history{r: r, n: 40, change: math.Log(1.25), broken: map[int]bool{}}
	h.bad = r.IntN(h.n)
	h.luck = make([]float64, h.n)
	return h
}

// How often is the answer right, and how many pairs does it need? 2000 histories of 40 commits of each
// kind, with two commits that do not build.
func TestSearch(t *testing.T) {
	for _, test := range []struct {
		name        string
		set         func(h *history)
		right       float64 // share of answers
		found       float64 // share of histories with an answer
		pairs, most float64 // mean, limit
	}{
		{"a spread of 2 %", func(h *history) { h.spread = 0.02 }, 0.99, 0.99, 8, 100},
		{"a spread of 5 %", func(h *history) { h.spread = 0.05 }, 0.99, 0.99, 10, 100},
		{"a spread of 10 %", func(h *history) { h.spread = 0.10 }, 0.98, 0.99, 21, 100},
		{"a spread of 25 %", func(h *history) { h.spread = 0.25 }, 0.96, 0.75, 75, 100},
		{"heavy tails", func(h *history) { h.spread, h.heavy = 0.05, true }, 0.99, 0.99, 9, 100},
		{"one pair in ten is spoilt", func(h *history) { h.spread, h.jumps = 0.05, 0.1 }, 0.98, 0.99, 16, 100},
		{"quiet, but one pair in ten is off by 30 %", func(h *history) { h.spread, h.jumps, h.jump = 0.01, 0.1, 0.3 }, 0.98, 0.99, 16, 100},
		{"builds differ by 2 %", func(h *history) {
			h.spread = 0.03
			for i := range h.luck {
				h.luck[i] = 0.02 * h.r.NormFloat64()
			}
		}, 0.98, 0.99, 9, 100},
	} {
		var answers, right, pairs, builds float64
		trials := float64(racetest.Simulations(2000))
		for seed := range int(trials) {
			h := newHistory(rand.New(rand.NewPCG(uint64(seed), 7)))
			test.set(h)
			for range 2 {
				h.broken[h.r.IntN(h.n-1)] = true
			}
			found, good, n, built := h.search(int(test.most))
			if found {
				answers++
			}
			if good {
				right++
			}
			pairs, builds = pairs+float64(n), builds+float64(built)
		}
		t.Logf("%s: %.1f %% answers, %.1f %% of them right, %.1f pairs, %.1f builds", test.name, 100*answers/trials, 100*right/answers, pairs/trials, builds/trials)
		if right/answers < test.right || answers/trials < test.found || pairs/trials > test.pairs {
			t.Errorf("%s: want %.0f %% right, %.0f %% answers, at most %.0f pairs", test.name, 100*test.right, 100*test.found, test.pairs)
		}
	}
}

// Commits that cannot be compared, beside the first slower one, are part of the answer.
func TestSkippedNeighbours(t *testing.T) {
	s := New(10, around(0.2, 0.01))
	for _, i := range []int{4, 5} {
		s.Skip(i)
	}
	for range 3 {
		s.Add(3, 0)
		s.Add(6, 0.2)
	}
	if first, last, chance := s.Found(); first != 4 || last != 6 || chance < 0.99 {
		t.Errorf("%d to %d, %v", first, last, chance)
	}
	if got := s.Likely(0.2); len(got) != 3 || got[0] != 4 {
		t.Errorf("%v", got)
	}
}

// If nothing between base and head can be compared, the answer is all of it.
func TestNothingCanBeCompared(t *testing.T) {
	s := New(4, around(0.2, 0.01))
	for {
		at, ok := s.Next()
		if !ok {
			break
		}
		s.Skip(at)
	}
	if first, last, chance := s.Found(); first != 0 || last != 3 || math.Abs(chance-1) > 1e-9 {
		t.Errorf("%d to %d, %v", first, last, chance)
	}
	one := New(1, around(0.2, 0.01))
	if _, ok := one.Next(); ok {
		t.Error("the head itself was to be compared")
	}
	if _, last, chance := one.Found(); last != 0 || chance != 1 {
		t.Error(last, chance)
	}
}

// No single pair decides, however large its difference is.
func TestOnePairIsNotEnough(t *testing.T) {
	for _, value := range []float64{-1e9, 0, 0.2, 1e9} {
		s := New(2, around(0.2, 0))
		s.Add(0, value)
		if _, _, chance := s.Found(); !(chance >= 0.5 && chance <= 1-wrongPair+1e-9) {
			t.Errorf("%v: %v", value, chance)
		}
	}
}

// Half of the probability goes to the commits that are expected, and other pairs can refute that.
func TestExpect(t *testing.T) {
	s := New(40, around(0.2, 0.05))
	s.Expect(10, 20)
	p := s.Chances()
	if math.Abs(p[10]-(0.25+0.5/40)) > 1e-9 || math.Abs(p[10]-p[20]) > 1e-9 {
		t.Errorf("%v", p[10])
	}
	for range 8 {
		s.Add(29, 0)
		s.Add(30, 0.2)
	}
	if _, last, chance := s.Found(); last != 30 || chance < 0.95 {
		t.Error(last, chance)
	}
	s = New(40, around(0.2, 0.05))
	for range 8 { // the same, in comparison with the head
		s.AddToHead(29, -0.2)
		s.AddToHead(30, 0)
	}
	if _, last, chance := s.Found(); last != 30 || chance < 0.95 {
		t.Error(last, chance)
	}
}

// around are pairs with this change and spread.
func around(change, spread float64) (list []float64) {
	for i := range 8 {
		list = append(list, change+spread*float64(2*(i%2)-1))
	}
	return list
}

// A forecast is of searches like the ones that follow, not of the best case.
func TestForecast(t *testing.T) {
	for _, spread := range []float64{0.02, 0.1} {
		below, within, cheap := 0, 0, 0
		searches := racetest.Simulations(100)
		for i := range searches {
			h := &history{r: rand.New(rand.NewPCG(uint64(i), 1)), n: 40, change: math.Log(1.25), spread: spread, luck: make([]float64, 40)}
			h.bad = h.r.IntN(h.n)
			f := NewForecast(h.n, h.measured(), 0.95, 100)
			_, _, pairs, builds := h.search(100)
			if pairs <= f.Likely.Pairs {
				below++
			}
			if pairs <= f.Most.Pairs {
				within++
			}
			if builds <= f.Most.Builds {
				cheap++
			}
		}
		t.Logf("spread %.2f: pairs below the likely number in %d, below the highest in %d; builds in %d", spread, below, within, cheap)
		if below < searches*3/10 || within < searches*85/100 || cheap < searches*85/100 {
			t.Errorf("spread %.2f: of %d searches, %d needed less than the likely number of pairs, %d less than the highest, and %d less than the highest number of builds", spread, searches, below, within, cheap)
		}
	}
}
