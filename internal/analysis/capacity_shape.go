package analysis

import (
	"math"
	"slices"
)

// USL is the universal scalability law: with N operations in the system it does
// X(N) = γN ÷ (1 + σ(N−1) + κN(N−1)) a second (Gunther, Guerrilla Capacity Planning,
// 2007, ch. 4). N is achieved rate × mean response time, by Little's law.
type USL struct {
	Gamma     float64  `json:"gamma_per_s"`          // γ: the rate of one operation at a time
	Sigma     float64  `json:"sigma"`                // σ: the part that waits for others, contention
	Kappa     float64  `json:"kappa"`                // κ: the cost of keeping N in step, crosstalk
	Peak      *float64 `json:"peak_per_s"`           // the highest rate of the law; nil: the steps do not reach it
	Interval  Range    `json:"peak_interval_per_s"`  // 95 %, of Peak
	PeakAt    *float64 `json:"peak_concurrency"`     // N there; nil: the law levels off, or has no peak among the steps
	Deviation float64  `json:"deviation"`            // root mean square of measured X ÷ X(N) − 1
	Measured  float64  `json:"measured_concurrency"` // the highest N that was measured; beyond it the law is a guess
	Achieved  float64  `json:"measured_per_s"`       // the highest rate that was achieved
}

const (
	// fewestLevels is how many rates a law of three numbers takes, and one more to tell how far
	// it is off.
	fewestLevels = 5
	// mostFailed is the share of failed operations, per cent, up to which a step shows how much
	// work the target did: fast refusals are answers, but no work.
	mostFailed = 1
	// nearPeak is the part of the law's highest rate that has to be measured before the law
	// may name it: everything beyond is extrapolation.
	nearPeak = 0.95
)

// uslRow is one step in the form in which the law is linear.
type uslRow struct {
	terms [3]float64
	rate  float64 // offered: steps at one rate may share an error
}

// uslOf fits the law to all steps that count, each by itself. Little's law also holds for a
// step in which the queue grows until its end: then N is the mean over the step. Least squares
// of the relative deviation of X is linear in p = (1−σ) ÷ γ, q = σ ÷ γ and r = κ ÷ γ, none of
// them below 0: N ÷ X(N) = p + qN + rN(N−1). A law whose highest rate is below what was
// achieved is refuted and left out.
func uslOf(steps []CapacityStep) *USL {
	var rows []uslRow
	var most, measured float64
	rates := map[float64]bool{}
	for _, s := range counted(steps) {
		most = max(most, s.Achieved*(1-s.Errors/100))
		r := s.Response.Mean / 1e6
		n := s.Achieved * r
		if n <= 0 || s.Errors > mostFailed {
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

// fitUSL is the law of these rows; nil: there is none.
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

// doubt gives the peak its interval: from the laws of all steps but those of one rate (the
// jackknife: Efron & Tibshirani, An Introduction to the Bootstrap, 1993, 11.2), on the scale of
// logarithms, and from how far the steps are off the law, since few steps agree with each other
// by luck. It forgets a peak that was not reached, that stands on one rate, or may be
// anywhere. It reports false if more was achieved than the whole interval allows.
func (u *USL) doubt(rows []uslRow, rates map[float64]bool) bool {
	if u.Peak == nil {
		return true
	}
	var logs []float64
	bent := u.PeakAt != nil // every law has a κ, so the peak is seen and not only approached
	for rate := range rates {
		v := fitUSL(slices.DeleteFunc(slices.Clone(rows), func(r uslRow) bool { return r.rate == rate }))
		if v == nil || v.Peak == nil {
			u.forget()
			return true
		}
		bent = bent && v.PeakAt != nil && *v.PeakAt < u.Measured
		logs = append(logs, math.Log(*v.Peak))
	}
	slices.Sort(logs) // the order of a map is random, and so would be the last digit of a sum
	n := float64(len(logs))
	var mean, squares float64
	for _, l := range logs {
		mean += l / n
	}
	for _, l := range logs {
		squares += (l - mean) * (l - mean)
	}
	off := math.Exp(studentQuantile(0.5+sure/2, n-3) * math.Sqrt(squares*(n-1)/n+u.Deviation*u.Deviation))
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

// forget drops the peak: the steps do not show it.
func (u *USL) forget() { u.Peak, u.PeakAt, u.Interval = nil, nil, Range{} }

// At is X(n).
func (u USL) At(n float64) float64 {
	return u.Gamma * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1))
}

// peak is the highest rate of the law from one operation at a time on: below that it says
// nothing, and with σ = 1 its peak by the formula is 0.
func (u *USL) peak() {
	switch {
	case u.Kappa > 0:
		at := max(1, math.Sqrt((1-u.Sigma)/u.Kappa))
		rate := u.At(at)
		u.Peak, u.PeakAt = &rate, &at
	case u.Sigma > 0: // it is only approached
		rate := u.Gamma / u.Sigma
		u.Peak = &rate
	}
}

// nonNegative finds the c ≥ 0 for which the sum of the squares of 1 − row·c is least. With
// three unknowns each choice of those that are not 0 is tried.
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

// leastSquares solves the normal equations of the unknowns in choice, a bit for each, by
// Gauss's elimination. They are scaled to a diagonal of 1: N(N−1) is large.
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

// knee is the tested rate with the highest power, achieved rate ÷ mean response time: above
// it a rate that is 1 % higher costs more than 1 % of response time (Kleinrock, Power and
// deterministic rules of thumb for probabilistic problems in computer communications, ICC
// 1979). The knee itself lies between the tested rates beside that one. Nil when it is the
// lowest or the highest rate, for then the knee may lie beyond, or of fewer than five rates.
func knee(steps []CapacityStep) (rate *float64, between Range) {
	levels := levelsOf(steps)
	power := func(l *level) float64 {
		return l.mean(func(s CapacityStep) float64 { return s.Achieved / max(s.Response.Mean, 1e-3) })
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

// LimitLine is the straight part of a hockey stick, the blade: achieved rate =
// Rate + Slope × response time in µs.
type LimitLine struct {
	Rate  float64 `json:"rate_per_s"`
	Slope float64 `json:"slope_per_s_per_us"`
}

// limitLine is the line of Theil and Sen (Sen, JASA 63, 1968, 1379–1389) through the runs
// whose response time is at least twice the least: the median of all slopes. Up to 29 % of
// the runs may be outliers. The rate is taken as the function, since the blade may stand
// upright. Nil with less than five runs.
func limitLine(steps []CapacityStep, statistic string) *LimitLine {
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
	f := LimitLine{Slope: medianOf(slopes)}
	for i := range xs {
		rates = append(rates, xs[i]-f.Slope*ys[i])
	}
	f.Rate = medianOf(rates)
	return &f
}

func blade(steps []CapacityStep, statistic string) (rates, times []float64) {
	least := math.Inf(1)
	valid := counted(steps)
	for _, s := range valid {
		if us, _ := s.Response.Get(statistic); us > 0 {
			least = min(least, us)
		}
	}
	for _, s := range valid {
		if us, _ := s.Response.Get(statistic); us >= 2*least {
			rates, times = append(rates, s.Achieved), append(times, us)
		}
	}
	return rates, times
}
