package history

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
)

const (
	// drawsPerLevel × 1 ÷ level is the number of draws of a test, so that one or a few draws decide nothing.
	drawsPerLevel = 5
	// mostDraws bounds the time. With smaller levels, the tail of the draws decides.
	mostDraws = 500
	// tailDraws is the number of largest draws that are the tail.
	tailDraws = mostDraws / 10
)

// mostCorrelated is the largest correlation of neighbours that a test assumes.
const mostCorrelated = 0.8

// shuffler puts values into an order of chance in which neighbours resemble each other as much as they
// do in the series: the ranks are those of a first-order autoregression. Without correlation every
// order is equally likely, and the test is an exact permutation test.
type shuffler struct {
	r      *rand.Rand
	rho    float64
	sorted []float64
	keys   []float64
	order  []int
	out    []float64
}

func newShuffler(values []float64, rho float64) *shuffler {
	n := len(values)
	return &shuffler{
		r: rand.New(rand.NewPCG(uint64(n), 1)), rho: rho, sorted: slices.Sorted(slices.Values(values)),
		keys: make([]float64, n), order: make([]int, n), out: make([]float64, n),
	}
}

// draw returns the values in the next order. The next call overwrites them.
func (s *shuffler) draw() []float64 {
	if s.rho == 0 {
		copy(s.out, s.sorted)
		s.r.Shuffle(len(s.out), func(i, j int) { s.out[i], s.out[j] = s.out[j], s.out[i] })
		return s.out
	}
	fresh := math.Sqrt(1 - s.rho*s.rho)
	last := s.r.NormFloat64()
	for i := range s.keys {
		s.keys[i], s.order[i] = last, i
		last = s.rho*last + fresh*s.r.NormFloat64()
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Compare(s.keys[a], s.keys[b]) })
	for rank, at := range s.order {
		s.out[at] = s.sorted[rank]
	}
	return s.out
}

// changes reports whether the best split of points is farther from chance than level allows: whether
// its p-value (draws at least as far + 1) ÷ (draws + 1) is at most level (Phipson & Smyth, Stat. Appl.
// Genet. Mol. Biol. 9, 2010, 39). It ends as soon as the rest of the draws cannot change the answer.
func changes(points []float64, rho, level float64) (split, bool) {
	list, sums := seeded(len(points)), make([]float64, len(points)+1)
	if len(list) == 0 || level <= 0 {
		return split{}, false
	}
	best := scan(points, list, sums)
	if best.distance == 0 || 2/stats.Choose(len(points), best.at) > level { // so often chance orders the points like this
		return best, false
	}
	draws := min(int(math.Ceil(drawsPerLevel/level)), mostDraws)
	most := max(0, level*float64(draws+1)-1) // draws as far that a change may have
	s := newShuffler(points, rho)
	as := 0.0
	far := make([]float64, draws)
	for i := range far {
		if far[i] = scan(s.draw(), list, sums).distance; far[i] >= best.distance*(1-1e-12) {
			if as++; as > most {
				return best, false
			}
		}
	}
	return best, level*float64(draws+1) >= 1 || tail(far, best.distance) <= level
}

// tail is the p-value of a distance beyond all draws: the squares of distances have an exponential tail, as
// those of normal noise, or a shorter one. Its mean is raised by a standard error (few draws and a fitted
// tail: Knijnenburg et al., Bioinformatics 25, 2009).
func tail(draws []float64, distance float64) float64 {
	slices.Sort(draws)
	from := len(draws) - tailDraws
	begin, mean := draws[from-1]*draws[from-1], 0.0
	for _, d := range draws[from:] {
		mean += (d*d - begin) / tailDraws
	}
	mean *= 1 + 1/math.Sqrt(tailDraws)
	return float64(tailDraws) / float64(len(draws)) * math.Exp(-(distance*distance-begin)/mean)
}

// correlationOf estimates the correlation of neighbours from differences, which a change of the level
// disturbs in few places only: half the variance of values 1 apart is (1 − ρ) · σ², that of values
// farther apart about σ² (Tecuapetla-Gómez & Munk, Scand. J. Stat. 44, 2017). A standard error is
// added: a false alarm costs more than a change that is found some revisions later.
func correlationOf(values []float64) float64 {
	n := len(values)
	if n < fewestCorrelated {
		return 0
	}
	far, lags := 0.0, 0.0
	for lag := 3; lag <= 8 && lag < n/2; lag++ {
		far, lags = far+variogram(values, lag), lags+1
	}
	if far == 0 {
		return 0
	}
	rho := 1 - variogram(values, 1)/(far/lags) + 1/math.Sqrt(float64(n))
	return min(max(rho, 0), mostCorrelated)
}

// fewestCorrelated is the smallest number of values whose correlation is estimated.
const fewestCorrelated = 8

// variogram is half the mean square of the differences of values that are lag apart.
func variogram(values []float64, lag int) float64 {
	sum := 0.0
	for i := lag; i < len(values); i++ {
		d := values[i] - values[i-lag]
		sum += d * d / 2
	}
	return sum / float64(len(values)-lag)
}

// normalScores are the normal quantiles of the ranks, equal for equal values, with which the shuffler orders values, too: the
// correlation does not depend on the distribution of the noise (van der Waerden, 1952).
func normalScores(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	list := make([]float64, len(values))
	for rank := 0; rank < len(order); {
		end := rank + 1
		for end < len(order) && values[order[end]] == values[order[rank]] {
			end++
		}
		score := stats.NormalQuantile(float64(rank+1+end) / 2 / float64(len(values)+1))
		for ; rank < end; rank++ {
			list[order[rank]] = score
		}
	}
	return list
}

// plainChange is the size of a change, in spreads of the points about their levels, that noise whose
// neighbours resemble each other hardly ever looks like.
const plainChange = 4

// correlated estimates the correlation of neighbours about the levels of a series. Only plain changes of
// level count: without the small changes that noise makes, the noise would look less correlated than it is.
func correlated(values []float64, level float64) float64 {
	found := segment(values, level, 0)
	found = largeOnly(values, found, plainChange*spreadOf(residualsOf(values, found), 0))
	return correlationOf(normalScores(residualsOf(values, found)))
}
