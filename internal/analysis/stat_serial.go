package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
)

// mostSerial is the dependence of neighbours up to which values are used: from there on the
// variance of their mean is 9 times that of independent ones.
const mostSerial = 0.8

// stretchOf is how many times the variance of the centre of these values, which were
// measured one after the other, is that of independent ones: (1 + ρ) ÷ (1 − ρ), as of an
// autoregression of the first order. ρ is the correlation of neighbours in rank, which
// single spikes do not move, without its bias of −(1 + 3ρ) ÷ n (Marriott & Pope, Biometrika
// 41, 1954, 390–402). Values that alternate do not make it smaller than 1.
func stretchOf(values []float64) float64 {
	n := float64(len(values))
	if n < 5 {
		return 1
	}
	ranks := doubledRanks(values)
	var products, squares float64
	for i, r := range ranks {
		off := float64(r) - n - 1
		squares += off * off
		if i > 0 {
			products += off * (float64(ranks[i-1]) - n - 1)
		}
	}
	if squares == 0 {
		return 1
	}
	rho := (products/squares + 1/n) / (1 - 3/n)
	rho = min(max(rho, 0), mostSerial)
	return (1 + rho) / (1 - rho)
}

// serial are differences like paired, of slices of one measurement: the next one may
// resemble the last. Its tests are those of paired, or, when it is larger, that of the rank
// sum with a variance that is stretched.
type serial struct {
	paired
	stretch float64
}

func newSerial(d []float64) serial { return serial{d, stretchOf(d)} }

func (d serial) above(theta float64) float64 { return d.tail(theta, false) }
func (d serial) below(theta float64) float64 { return d.tail(theta, true) }

func (d serial) tail(theta float64, below bool) float64 {
	ranks, plus, minus := d.signed(theta)
	if below {
		minus = plus
	}
	exact := signTail(ranks, minus)
	if d.stretch <= 1 {
		return exact
	}
	var sum, squares float64
	for _, r := range ranks {
		sum += float64(r)
		squares += float64(r) * float64(r)
	}
	if squares == 0 {
		return exact
	}
	z := (float64(minus) + 1 - sum/2) / math.Sqrt(squares/4*d.stretch)
	return max(exact, normalCDF(z))
}

func (d serial) p(theta float64) float64 { return min(1, 2*min(d.above(theta), d.below(theta))) }

func (d serial) interval(alpha float64) (low, high float64) {
	return invert(d.centres(), d.above, d.below, alpha)
}

// resamples is how often slices are drawn anew. The tail that they show ends at 2 ÷ 2000;
// beyond it Student's t decides.
const resamples = 2000

// resampled is a figure of all slices together, such as the p99 of all their operations: its
// uncertainty is that between slices, which are drawn anew as wholes (the block bootstrap).
type resampled struct {
	est   float64
	se    float64
	draws []float64 // ascending
	n     int       // slices
}

// newResampled draws n slices with repetition again and again; of gives the figure when the
// i-th slice counts weight[i] times. stretch is that of stretchOf.
func newResampled(n int, stretch float64, of func(weight []int) float64) resampled {
	weight := make([]int, n)
	for i := range weight {
		weight[i] = 1
	}
	if n < 2 {
		return resampled{se: math.Inf(1), n: n}
	}
	b := resampled{est: of(weight), n: n}
	r := rand.New(rand.NewPCG(uint64(n), 3))
	root := math.Sqrt(stretch)
	for range resamples {
		clear(weight)
		for range n {
			weight[r.IntN(n)]++
		}
		b.draws = append(b.draws, b.est+root*(of(weight)-b.est))
	}
	_, b.se = meanAndSD(b.draws)
	b.se *= math.Sqrt(float64(n) / max(1, float64(n-1))) // the draws vary as with a spread over n, not n − 1
	slices.Sort(b.draws)
	return b
}

func (b resampled) estimate() float64 { return b.est }

func (b resampled) least() float64 { return math.Pow(2, float64(1-b.n)) }

// p is the largest of what Student's t says of the standard error, what the draws
// themselves say, which need not be symmetric, and the least that so many slices can prove.
func (b resampled) p(theta float64) float64 {
	p := b.least()
	if b.n < 2 {
		return 1
	}
	switch {
	case b.se > 0:
		p = max(p, 2*studentCDF(-math.Abs(b.est-theta)/b.se, float64(b.n-1)))
	case b.est == theta:
		return 1
	}
	return min(1, max(p, b.drawn(theta)))
}

func (b resampled) drawn(theta float64) float64 {
	below, _ := slices.BinarySearch(b.draws, theta)
	upTo, _ := slices.BinarySearch(b.draws, math.Nextafter(theta, math.Inf(1)))
	return 2 * float64(min(upTo, len(b.draws)-below)) / float64(len(b.draws))
}

func (b resampled) interval(alpha float64) (low, high float64) {
	if b.n < 2 || b.least() > alpha {
		return math.Inf(-1), math.Inf(1)
	}
	half := studentQuantile(1-alpha/2, float64(b.n-1)) * b.se
	k := min(int(alpha/2*float64(len(b.draws))), len(b.draws)/2)
	return min(b.est-half, b.draws[k]), max(b.est+half, b.draws[len(b.draws)-1-k])
}
