package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// mostSerial is the largest correlation of neighbours that StretchOf assumes. It makes the variance of
// the mean 9 times that of independent values.
const mostSerial = 0.8

// StretchOf estimates by which factor the dependence of consecutive values increases the variance of
// their centre: (1 + ρ) ÷ (1 − ρ), as in a first-order autoregression. ρ is the rank correlation of
// neighbours, which single spikes hardly change, corrected for its bias of −(1 + 3ρ) ÷ n (Marriott &
// Pope, Biometrika 41, 1954, 390–402). The factor is at least 1, even for alternating values.
func StretchOf(values []float64) float64 {
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

// Serial are differences like paired, but of consecutive slices of one measurement, so neighbours may
// resemble each other. A p-value is the larger one of that of paired and that of the normal
// approximation with the variance × stretch.
type Serial struct {
	Paired
	Stretch float64
}

// NewSerial returns the differences d with the stretch that StretchOf finds.
func NewSerial(d []float64) Serial { return Serial{d, StretchOf(d)} }

// Above is the one-sided p-value of the hypothesis that the centre is at most theta.
func (d Serial) Above(theta float64) float64 { return d.tail(theta, false) }
func (d Serial) below(theta float64) float64 { return d.tail(theta, true) }

func (d Serial) tail(theta float64, below bool) float64 {
	ranks, plus, minus := d.signed(theta)
	if below {
		minus = plus
	}
	exact := signTail(ranks, minus)
	if d.Stretch <= 1 || len(ranks) == 0 {
		return exact
	}
	return max(exact, signNormal(ranks, minus, d.Stretch))
}

// P is the two-sided p-value: twice the smaller of both sides.
func (d Serial) P(theta float64) float64 { return min(1, 2*min(d.Above(theta), d.below(theta))) }

// Interval contains the centre with at least the probability 1 − alpha.
func (d Serial) Interval(alpha float64) (low, high float64) {
	return invert(d.centres(), d.Above, d.below, alpha)
}

// resamples is the number of bootstrap draws. They show p-values down to 2 ÷ 2000; below that,
// Student's t decides.
const resamples = 2000

// Resampled is a figure of all slices together, such as the p99 of all their operations. Its
// uncertainty comes from drawing whole slices again (the block bootstrap).
type Resampled struct {
	Est   float64
	Se    float64
	Draws []float64 // ascending
	N     int       // slices
}

// NewResampled draws n slices with replacement, resamples times. of returns the figure if the i-th
// slice counts weight[i] times. stretch is the result of StretchOf.
func NewResampled(n int, stretch float64, of func(weight []int) float64) Resampled {
	weight := make([]int, n)
	for i := range weight {
		weight[i] = 1
	}
	if n < 2 {
		return Resampled{Se: math.Inf(1), N: n}
	}
	b := Resampled{Est: of(weight), N: n}
	r := rand.New(rand.NewPCG(uint64(n), 3))
	root := math.Sqrt(stretch)
	for range resamples {
		clear(weight)
		for range n {
			weight[r.IntN(n)]++
		}
		b.Draws = append(b.Draws, b.Est+root*(of(weight)-b.Est))
	}
	_, b.Se = MeanAndSD(b.Draws)
	b.Se *= math.Sqrt(float64(n) / max(1, float64(n-1))) // the draws have a variance with n, not n − 1
	slices.Sort(b.Draws)
	return b
}

// Estimate is the shift of all slices together.
func (b Resampled) Estimate() float64 { return b.Est }

// Least is the smallest p that N slices can give, as with Paired.
func (b Resampled) Least() float64 { return math.Pow(2, float64(1-b.N)) }

// P is the largest of three p-values: Student's t with the standard error, the share of the draws,
// which need not be symmetric, and the least p that n slices can give.
func (b Resampled) P(theta float64) float64 {
	p := b.Least()
	if b.N < 2 {
		return 1
	}
	switch {
	case b.Se > 0:
		p = max(p, 2*studentTail(math.Abs(b.Est-theta)/b.Se, float64(b.N-1)))
	case b.Est == theta:
		return 1
	}
	return min(1, max(p, b.drawn(theta)))
}

func (b Resampled) drawn(theta float64) float64 {
	below, _ := slices.BinarySearch(b.Draws, theta)
	upTo, _ := slices.BinarySearch(b.Draws, math.Nextafter(theta, math.Inf(1)))
	return 2 * float64(min(upTo, len(b.Draws)-below)) / float64(len(b.Draws))
}

// Interval contains the shift with about the probability 1 − alpha.
func (b Resampled) Interval(alpha float64) (low, high float64) {
	if b.N < 2 || b.Least() > alpha {
		return math.Inf(-1), math.Inf(1)
	}
	half := StudentQuantile(1-alpha/2, float64(b.N-1)) * b.Se
	k := min(int(alpha/2*float64(len(b.Draws))), len(b.Draws)/2)
	return min(b.Est-half, b.Draws[k]), max(b.Est+half, b.Draws[len(b.Draws)-1-k])
}
