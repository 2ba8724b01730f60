// Package bisect finds the first slower commit of a history from noisy comparisons: a probability for
// each commit, which every pair of runs changes (Bayesian search after Horstein, IEEE Transactions on
// Information Theory 9, 1963, 136–143).
package bisect

import (
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
)

const (
	freedom   = 4    // of Student's t, whose tails allow for outliers
	wrongPair = 0.05 // least probability that a pair points in the wrong direction, however clear it is
	caution   = 1.5  // factor of the measured spread; with 1.25, 93 of 100 answers are right where pairs vary as much as the change, with 1.5 98
	visitOdds = 9    // odds at which the search leaves a commit
	visitMost = 6    // pairs after which it looks whether another commit says more
	rounds    = 5    // repetitions of the estimate of change and spread
)

// pair is by how much a commit is worse than the base, or than the head.
type pair struct {
	commit int
	value  float64
	toHead bool
}

// Search is the state of a search. Commit 0 is the first after the base, which is not slower; the last
// commit is the head, which is slower.
type Search struct {
	head   []float64 // by how much the head is worse than the base, in the pairs before the search
	made   []pair
	change float64 // estimate of how much worse a slower commit is
	spread float64 // estimate of the scale of pairs

	prior  []float64 // logarithms
	odds   []float64 // logarithm of the odds that a commit is slower, from its pairs alone
	pairs  []int
	broken []bool

	at    int     // the commit of the last pair; -1: none
	begun int     // number of its pairs before this visit
	was   float64 // its odds before this visit
}

// New searches among n commits. head are the pairs that showed that the head is worse: by how much.
func New(n int, head []float64) *Search {
	s := &Search{head: head, at: -1, prior: make([]float64, n), odds: make([]float64, n), pairs: make([]int, n), broken: make([]bool, n)}
	_, s.spread = stats.MeanAndSD(head)
	s.change = stats.Paired(head).Estimate()
	s.estimate()
	return s
}

// Expect gives half of the probability before the first pair to these commits, in which another metric
// became worse.
func (s *Search) Expect(commits ...int) {
	for i := range s.prior {
		s.prior[i] = math.Log(0.5 / float64(len(s.prior)))
	}
	for _, i := range commits {
		s.prior[i] = math.Log(math.Exp(s.prior[i]) + 0.5/float64(len(commits)))
	}
}

// Add adds a pair: by how much the commit is worse than the base.
func (s *Search) Add(commit int, value float64) { s.add(pair{commit, value, false}) }

// AddToHead adds a pair: by how much the commit is worse than the head.
func (s *Search) AddToHead(commit int, value float64) { s.add(pair{commit, value, true}) }

func (s *Search) add(p pair) {
	if p.commit != s.at {
		s.at, s.begun, s.was = p.commit, s.pairs[p.commit], s.odds[p.commit]
	}
	s.pairs[p.commit]++
	s.made = append(s.made, p)
	s.estimate()
}

// estimate measures the change and the spread again, with all pairs: the few pairs before the search
// were those that made the head look worse, so they exaggerate the change and hide the spread. Each pair
// counts by the probability that its commit is slower, and with its weight in Student's distribution
// (expectation and maximization; Lange, Little & Taylor, JASA 84, 1989, 881–896).
func (s *Search) estimate() {
	for range rounds {
		s.weigh()
		slower := s.slower()
		var sum, weights, squares, n float64
		add := func(value, expected, share float64) {
			r := value - expected
			w := share * (freedom + 1) / (freedom + r*r/(s.spread*s.spread))
			squares, n = squares+w*r*r, n+share
		}
		center := func(value, expected, share float64) {
			r := value - expected
			w := share * (freedom + 1) / (freedom + r*r/(s.spread*s.spread))
			sum, weights = sum+w*value, weights+w
		}
		for _, v := range s.head {
			center(v, s.change, 1)
			add(v, s.change, 1)
		}
		for _, p := range s.made {
			q := slower[p.commit]
			if p.toHead {
				center(-p.value, s.change, 1-q)
				add(-p.value, s.change, 1-q)
				add(p.value, 0, q)
			} else {
				center(p.value, s.change, q)
				add(p.value, s.change, q)
				add(p.value, 0, 1-q)
			}
		}
		s.change = sum / weights
		s.spread = max(math.Sqrt(squares/max(1, n-1)), math.Abs(s.change)*1e-6)
	}
	s.weigh()
}

// weigh computes the odds of the commits.
func (s *Search) weigh() {
	clear(s.odds)
	for _, p := range s.made {
		v := p.value
		if p.toHead {
			v += s.change
		}
		s.odds[p.commit] += s.evidence(v)
	}
}

// slower are the probabilities of the commits to be slower.
func (s *Search) slower() []float64 {
	p := s.Chances()
	for i := 1; i < len(p); i++ {
		p[i] += p[i-1]
	}
	return p
}

// evidence is the logarithm of the ratio of two likelihoods: the commit is slower, or not. Its bound
// lets no single pair decide.
func (s *Search) evidence(value float64) float64 {
	bound, scale := math.Log((1-wrongPair)/wrongPair), caution*s.spread
	return max(-bound, min(bound, density((value-s.change)/scale)-density(value/scale)))
}

// density is the logarithm of Student's density, without its constant.
func density(x float64) float64 { return -(freedom + 1) / 2.0 * math.Log1p(x*x/freedom) }

// Skip marks a commit that cannot be built or run.
func (s *Search) Skip(commit int) { s.broken[commit] = true }

// Pairs is the number of pairs of the commit.
func (s *Search) Pairs(commit int) int { return s.pairs[commit] }

// Chances are the probabilities of the commits to be the first slower one.
func (s *Search) Chances() []float64 {
	p := make([]float64, len(s.prior))
	sum, most := 0.0, math.Inf(-1)
	for i := len(p) - 1; i >= 0; i-- {
		sum += s.odds[i] // if i is the first, all from i on are slower
		p[i] = s.prior[i] + sum
		most = max(most, p[i])
	}
	var total float64
	for i := range p {
		p[i] = math.Exp(p[i] - most)
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
	return p
}

// Found are the commits that most probably contain the first slower one: one commit, or with those
// before it that were skipped, which no pair can tell apart.
func (s *Search) Found() (first, last int, chance float64) {
	p := s.Chances()
	for end := range p {
		if s.broken[end] && end < len(p)-1 {
			continue
		}
		begin, sum := end, p[end]
		for begin > 0 && s.broken[begin-1] {
			begin--
			sum += p[begin]
		}
		if sum > chance {
			first, last, chance = begin, end, sum
		}
	}
	return first, last, chance
}

// Next is the commit to compare next; ok is false if no commit can say more. It stays with a commit
// for some pairs, because another one must be built first. Then it is the commit that divides the
// probability into halves.
func (s *Search) Next() (commit int, ok bool) {
	if s.stays() {
		return s.at, true
	}
	p := s.Chances()
	best, below := math.Inf(1), 0.0
	for i := range len(p) - 1 {
		below += p[i]
		if off := math.Abs(below - 0.5); !s.broken[i] && off < best {
			best, commit, ok = off, i, true
		}
	}
	if ok {
		s.at = -1 // a new visit, also of the same commit
	}
	return commit, ok
}

func (s *Search) stays() bool {
	if s.at < 0 || s.broken[s.at] || s.pairs[s.at]-s.begun >= visitMost {
		return false
	}
	if math.Abs(s.odds[s.at]-s.was) >= math.Log(visitOdds) {
		return false
	}
	_, _, chance := s.Found()
	return chance < 1-1/float64(visitOdds)
}

// Likely are the commits with the highest chances, of at least least, in the order of the history.
func (s *Search) Likely(least float64) (list []int) {
	for i, p := range s.Chances() {
		if p >= least {
			list = append(list, i)
		}
	}
	return slices.Clip(list)
}
