package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
)

// mostSerial is the largest correlation of neighbours that stretchOf assumes. It makes the variance of
// the mean 9 times that of independent values.
const mostSerial = 0.8

// stretchOf estimates by which factor the dependence of consecutive values increases the variance of
// their centre: (1 + ρ) ÷ (1 − ρ), as in a first-order autoregression. ρ is the rank correlation of
// neighbours, which single spikes hardly change, corrected for its bias of −(1 + 3ρ) ÷ n (Marriott &
// Pope, Biometrika 41, 1954, 390–402). The factor is at least 1, even for alternating values.
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

// serial are differences like paired, but of consecutive slices of one measurement, so neighbours may
// resemble each other. A p-value is the larger one of that of paired and that of the normal
// approximation with the variance × stretch.
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

// resamples is the number of bootstrap draws. They show p-values down to 2 ÷ 2000; below that,
// Student's t decides.
const resamples = 2000

// resampled is a figure of all slices together, such as the p99 of all their operations. Its
// uncertainty comes from drawing whole slices again (the block bootstrap).
type resampled struct {
	est   float64
	se    float64
	draws []float64 // ascending
	n     int       // slices
}

// newResampled draws n slices with replacement, resamples times. of returns the figure if the i-th
// slice counts weight[i] times. stretch is the result of stretchOf.
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
	b.se *= math.Sqrt(float64(n) / max(1, float64(n-1))) // the draws have a variance with n, not n − 1
	slices.Sort(b.draws)
	return b
}

func (b resampled) estimate() float64 { return b.est }

func (b resampled) least() float64 { return math.Pow(2, float64(1-b.n)) }

// p is the largest of three p-values: Student's t with the standard error, the share of the draws,
// which need not be symmetric, and the least p that n slices can give.
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
