package stats

import "math"

// NormalCDF is the distribution function of the standard normal distribution.
func NormalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// NormalQuantile is the inverse of NormalCDF, for 0 < p < 1.
func NormalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// studentTail is the probability that Student's t with df degrees of freedom is above t ≥ 0:
// Abramowitz & Stegun, Handbook of Mathematical Functions, 26.7.1, by 26.5.27.
func studentTail(t, df float64) float64 { return incompleteBeta(df/2, 0.5, df/(df+t*t)) / 2 }

// StudentQuantile is the inverse of the distribution function of Student's t, for 0 < p < 1, by
// bisection.
func StudentQuantile(p, df float64) float64 {
	if p < 0.5 {
		return -StudentQuantile(1-p, df)
	}
	low, high := 0.0, 1.0
	for studentTail(high, df) > 1-p {
		high *= 2
	}
	for range 100 { // a double has 53 bits
		if middle := (low + high) / 2; studentTail(middle, df) > 1-p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// BinomialCDF is the probability of at most k successes in m trials, each with the probability p: as
// I_(1−p)(m−k, k+1) (Abramowitz & Stegun 26.5.24), for which neither k nor m need be whole.
func BinomialCDF(k, m, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= m:
		return 1
	}
	return incompleteBeta(m-k, k+1, 1-p)
}

// incompleteBeta is the regularized incomplete beta function I_x(a, b) for 0 ≤ x ≤ 1, by its continued fraction
// (Abramowitz & Stegun 26.5.8). Where that converges slowly, the symmetry 26.5.2 is used first.
func incompleteBeta(a, b, x float64) float64 {
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a * betaFraction(a, b, x)
}

// betaFraction is the continued fraction by Lentz's method, which evaluates it from the front (Press
// et al., Numerical Recipes, 3rd ed., 5.2). It needs about √max(a, b) steps.
func betaFraction(a, b, x float64) float64 {
	f, c, d := 1.0, 1.0, 0.0
	for i := range 10_000 {
		m := float64(i / 2)
		term := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		switch {
		case i == 0:
			term = 1
		case i%2 == 0:
			term = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		}
		d = 1 / away(1+term*d)
		c = away(1 + term/c)
		f *= c * d
		if math.Abs(c*d-1) < 1e-15 {
			break
		}
	}
	return f - 1
}

// away keeps a divisor from zero.
func away(v float64) float64 {
	if math.Abs(v) < 1e-300 {
		return 1e-300
	}
	return v
}

// MeanAndSD returns the mean and the standard deviation (with n − 1). With one value, sd is NaN.
func MeanAndSD(values []float64) (mean, sd float64) {
	n := float64(len(values))
	mean = Total(values) / n
	var squares float64
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(squares / (n - 1))
}

// Prediction compares one new value with earlier values, which are assumed to be normal: latencies and
// rates on the scale of logarithms.
type Prediction struct {
	Earlier []float64 // two or more
	Value   float64
}

// Estimate is the distance of the value from the mean of the earlier values.
func (w Prediction) Estimate() float64 {
	mean, _ := MeanAndSD(w.Earlier)
	return w.Value - mean
}

// scale is the standard error of the estimate: s·√(1 + 1/n), as in the prediction
// interval for one future observation (Hahn & Meeker, Statistical Intervals, 1991, 4.7).
func (w Prediction) scale() float64 {
	_, sd := MeanAndSD(w.Earlier)
	return sd * math.Sqrt(1+1/float64(len(w.Earlier)))
}

func (w Prediction) df() float64 { return float64(len(w.Earlier) - 1) }

// P is the one-sided p-value of the hypothesis that the shift is at most theta if the estimate is
// above theta, or at least theta otherwise.
func (w Prediction) P(theta float64) float64 {
	off, scale := math.Abs(w.Estimate()-theta), w.scale()
	switch {
	case scale > 0:
		return studentTail(off/scale, w.df())
	case off > 0:
		return 0
	}
	return 0.5
}

// Least is 0: one value can lie any distance away.
func (w Prediction) Least() float64 { return 0 }

// Interval returns two one-sided limits, each with the confidence 1 − alpha, because a test looks at
// the end towards theta only.
func (w Prediction) Interval(alpha float64) (low, high float64) {
	half := StudentQuantile(1-alpha, w.df()) * w.scale()
	return w.Estimate() - half, w.Estimate() + half
}
