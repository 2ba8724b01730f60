package capacity

import (
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
)

// USL is the universal scalability law: with N operations in the system, the throughput is
// X(N) = γN ÷ (1 + σ(N−1) + κN(N−1)) per second (Gunther, Guerrilla Capacity Planning,
// 2007, ch. 4). N is throughput × mean response time, by Little's law.
type USL struct {
	Gamma     float64  `json:"gamma_per_s"`          // γ: the throughput with one operation at a time
	Sigma     float64  `json:"sigma"`                // σ: contention, the share of work that waits for other operations
	Kappa     float64  `json:"kappa"`                // κ: crosstalk, the cost of coordinating N operations
	Peak      *float64 `json:"peak_per_s"`           // the highest throughput of the law; nil: the steps do not reach it
	Interval  Range    `json:"peak_interval_per_s"`  // 95 %, of Peak
	PeakAt    *float64 `json:"peak_concurrency"`     // N at Peak; nil: the law levels off, or has no peak among the steps
	Deviation float64  `json:"deviation"`            // root mean square of measured X ÷ X(N) − 1
	Measured  float64  `json:"measured_concurrency"` // the highest measured N; beyond it the law is a guess
	Achieved  float64  `json:"measured_per_s"`       // the highest rate of operations without an error
}

const (
	// fewestLevels is the least number of rates: the law has three parameters, and its fit needs
	// more rates than that to show its error.
	fewestLevels = 5
	// nearPeak is the share of the law's peak that must have been achieved before the peak is named.
	// Everything beyond is extrapolation.
	nearPeak = 0.95
)

// uslRow is one step, in the form for which the law is linear.
type uslRow struct {
	terms [3]float64
	rate  float64 // offered; steps at one rate may share an error
}

// uslOf fits the law to all counted steps, each by itself. Little's law also applies if the queue
// grows until the end of a step: then N is the mean over the step. Least squares of the relative
// deviation of X is linear in p = (1−σ) ÷ γ, q = σ ÷ γ and r = κ ÷ γ, all at least 0:
// N ÷ X(N) = p + qN + rN(N−1). It returns nil if more was achieved than the law allows.
func uslOf(steps []Step) *USL {
	var rows []uslRow
	var most, measured float64
	rates := map[float64]bool{}
	for _, s := range exact(steps) {
		most = max(most, s.Throughput()*(1-s.Errors/100))
		r := s.Response.Mean / 1e6
		n := s.Throughput() * r
		if n <= 0 || s.Errors > stored.MostErrors {
			continue
		}
		rows = append(rows, uslRow{[3]float64{1 / r, n / r, n * (n - 1) / r}, s.Offered})
		measured = max(measured, n)
		rates[s.Offered] = true
	}
	if len(rates) < fewestLevels {
		return nil
	}
	u := fitUSL(rows)
	if u == nil {
		return nil
	}
	u.Measured, u.Achieved = measured, most
	if !u.doubt(rows, rates) {
		return nil
	}
	return u
}

// fitUSL fits the law to these rows; nil: no law fits.
func fitUSL(rows []uslRow) *USL {
	terms := make([][3]float64, len(rows))
	for i, r := range rows {
		terms[i] = r.terms
	}
	c, squares := nonNegative(terms)
	serial := c[0] + c[1]
	if serial <= 0 {
		return nil
	}
	u := &USL{Gamma: 1 / serial, Sigma: c[1] / serial, Kappa: c[2] / serial, Deviation: math.Sqrt(squares / float64(len(rows)))}
	u.peak()
	return u
}

// doubt computes the interval of the peak, on the scale of logarithms, from two sources: the laws
// without the steps of one rate (the jackknife: Efron & Tibshirani, An Introduction to the
// Bootstrap, 1993, 11.2), and the deviation of the steps from the law, since few steps may agree by
// luck. It forgets a peak that was not reached, that depends on one rate, or whose interval is too
// wide. It reports false if more was achieved than the whole interval allows.
func (u *USL) doubt(rows []uslRow, rates map[float64]bool) bool {
	if u.Peak == nil {
		return true
	}
	var logs []float64
	bent := u.PeakAt != nil // every law has κ > 0 and its peak among the measured N
	for rate := range rates {
		v := fitUSL(slices.DeleteFunc(slices.Clone(rows), func(r uslRow) bool { return r.rate == rate }))
		if v == nil || v.Peak == nil {
			u.forget()
			return true
		}
		bent = bent && v.PeakAt != nil && *v.PeakAt < u.Measured
		logs = append(logs, math.Log(*v.Peak))
	}
	slices.Sort(logs) // the order of a map is random, so the last digit of the sum would be, too
	n := float64(len(logs))
	var mean, squares float64
	for _, l := range logs {
		mean += l / n
	}
	for _, l := range logs {
		squares += (l - mean) * (l - mean)
	}
	off := math.Exp(stats.StudentQuantile(0.5+sure/2, n-3) * math.Sqrt(squares*(n-1)/n+u.Deviation*u.Deviation))
	peak, low, high := max(*u.Peak, u.Achieved), max(*u.Peak/off, u.Achieved), *u.Peak*off
	switch {
	case high < u.Achieved:
		return false
	case u.Achieved < nearPeak**u.Peak, high > low*widest:
		u.forget()
		return true
	}
	if !bent || *u.PeakAt > u.Measured {
		u.PeakAt = nil
	}
	u.Peak, u.Interval = &peak, Range{&low, &high}
	return true
}

// forget drops the peak, which the steps do not show.
func (u *USL) forget() { u.Peak, u.PeakAt, u.Interval = nil, nil, Range{} }

// At is X(n).
func (u USL) At(n float64) float64 {
	return u.Gamma * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1))
}

// peak sets the highest throughput of the law for N ≥ 1. Below 1 the law says nothing, and with
// σ = 1 the formula would place the peak at N = 0.
func (u *USL) peak() {
	switch {
	case u.Kappa > 0:
		at := max(1, math.Sqrt((1-u.Sigma)/u.Kappa))
		rate := u.At(at)
		u.Peak, u.PeakAt = &rate, &at
	case u.Sigma > 0: // X(N) approaches γ ÷ σ
		rate := u.Gamma / u.Sigma
		u.Peak = &rate
	}
}

// nonNegative finds the c ≥ 0 with the least sum of the squares of 1 − row·c. It tries each of the
// seven choices of unknowns that are not 0.
func nonNegative(rows [][3]float64) (best [3]float64, squares float64) {
	squares = math.Inf(1)
	for choice := 1; choice < 8; choice++ {
		c, ok := leastSquares(rows, choice)
		if !ok || min(c[0], c[1], c[2]) < 0 {
			continue
		}
		var sum float64
		for _, r := range rows {
			off := 1 - r[0]*c[0] - r[1]*c[1] - r[2]*c[2]
			sum += off * off
		}
		if sum < squares {
			best, squares = c, sum
		}
	}
	return best, squares
}

// leastSquares solves the normal equations of the unknowns in choice, one bit each, by Gaussian
// elimination. It scales them to a diagonal of 1, because N(N−1) is large.
func leastSquares(rows [][3]float64, choice int) (c [3]float64, ok bool) {
	var a [3][4]float64
	var scale [3]float64
	for i := range 3 {
		for _, r := range rows {
			scale[i] += r[i] * r[i]
		}
		scale[i] = math.Sqrt(scale[i])
	}
	for i := range 3 {
		if choice>>i&1 == 0 || scale[i] == 0 {
			a[i][i] = 1 // c[i] = 0
			continue
		}
		for _, r := range rows {
			for j := range 3 {
				if choice>>j&1 == 1 && scale[j] > 0 {
					a[i][j] += r[i] / scale[i] * r[j] / scale[j]
				}
			}
			a[i][3] += r[i] / scale[i]
		}
	}
	for i := range 3 {
		if a[i][i] < 1e-12 { // the unknowns cannot be told apart
			return c, false
		}
		for k := range 3 {
			if f := a[k][i] / a[i][i]; k != i {
				for j := range 4 {
					a[k][j] -= f * a[i][j]
				}
			}
		}
	}
	for i := range 3 {
		if scale[i] > 0 {
			c[i] = a[i][3] / a[i][i] / scale[i]
		}
	}
	return c, true
}

// knee is the tested rate with the highest power, throughput ÷ mean response time. Above it, a
// rate 1 % higher costs more than 1 % of response time (Kleinrock, Power and deterministic rules of
// thumb for probabilistic problems in computer communications, ICC 1979). The exact knee lies
// between the tested rates next to it. rate is nil with fewer than five rates, or if it would be the
// lowest or highest rate, because the knee may then lie beyond.
func knee(steps []Step) (rate *float64, between Range) {
	levels := levelsOf(exact(steps))
	power := func(l *level) float64 {
		return l.mean(func(s Step) float64 { return s.Throughput() / max(s.Response.Mean, 1e-3) })
	}
	best := 0
	for i, l := range levels {
		if power(l) > power(levels[best]) {
			best = i
		}
	}
	if best == 0 || best == len(levels)-1 || len(levels) < fewestLevels {
		return nil, Range{}
	}
	return &levels[best].rate, Range{&levels[best-1].rate, &levels[best+1].rate}
}

// LimitLine is the straight part of a hockey stick, the blade: throughput =
// Rate + Slope × response time in µs.
type LimitLine struct {
	Rate  float64 `json:"rate_per_s"`
	Slope float64 `json:"slope_per_s_per_us"`
}

// limitLine is the Theil–Sen line (Sen, JASA 63, 1968, 1379–1389), the median of all slopes, through
// the runs whose response time is at least twice the least. Up to 29 % of these runs may be
// outliers. The rate is the dependent variable, because the blade may be vertical. Nil with fewer
// than five such runs.
func limitLine(steps []Step, statistic string) *LimitLine {
	xs, ys := blade(steps, statistic)
	if len(xs) < fewestLevels {
		return nil
	}
	var slopes, rates []float64
	for i := range xs {
		for j := range i {
			if ys[i] != ys[j] {
				slopes = append(slopes, (xs[i]-xs[j])/(ys[i]-ys[j]))
			}
		}
	}
	if slopes == nil {
		return nil
	}
	f := LimitLine{Slope: stats.MedianOf(slopes)}
	for i := range xs {
		rates = append(rates, xs[i]-f.Slope*ys[i])
	}
	f.Rate = stats.MedianOf(rates)
	return &f
}

func blade(steps []Step, statistic string) (rates, times []float64) {
	least := math.Inf(1)
	valid := exact(steps)
	for _, s := range valid {
		if us, _ := s.Response.Get(statistic); us > 0 {
			least = min(least, us)
		}
	}
	for _, s := range valid {
		if us, _ := s.Response.Get(statistic); us >= 2*least {
			rates, times = append(rates, s.Throughput()), append(times, us)
		}
	}
	return rates, times
}
