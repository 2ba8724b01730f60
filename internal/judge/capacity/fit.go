package capacity

import (
	"slices"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/pkg/takt"
)

// FitPoint is the fitted response time at a rate, µs, with its 95 % confidence band.
type FitPoint struct {
	Rate            float64
	Low, Time, High float64
}

// fitPoints is the number of points of a fitted curve.
const fitPoints = 48

// Fit is the line that found the limit, as a curve of the SLO's response time over the rate: a margin m
// is the time bound ÷ (1 − m). It reaches over the rates through which the line goes, and over the
// interval of the limit. The curve crosses the bound at the limit, and its band does so at the ends of
// the interval, unless tested rates are farther away. Nil: there is no interval, or the line is not one
// of the response time that a curve shows.
func (c Answer) Fit() (curve []FitPoint) {
	bound, l := c.Bound(), limitOf(c.Steps)
	if c.Confidence == 0 || bound <= 0 || l.line.n < 3 || !c.bounds(l.near, bound) {
		return nil
	}
	from, to := l.near[0].rate, l.near[len(l.near)-1].rate
	if i := c.Interval; i.Low != nil && i.High != nil {
		from, to = min(from, *i.Low), max(to, *i.High)
	}
	time := func(margin float64) float64 { return bound / (1 - min(margin, worst)) }
	for i := range fitPoints {
		rate := from + (to-from)*float64(i)/(fitPoints-1)
		low, middle, high := l.line.band(rate)
		curve = append(curve, FitPoint{rate, time(low), time(middle), time(high)})
	}
	return curve
}

// bounds reports whether the margins of all these runs are of the response time that a curve shows.
func (c Answer) bounds(levels []*level, bound float64) bool {
	return !slices.ContainsFunc(levels, func(l *level) bool {
		return slices.ContainsFunc(l.steps, func(s Step) bool {
			a, err := assert.ParseAssertion(s.Nearest)
			return err != nil || a.Of != takt.LatencyResponse || a.Metric != c.Statistic || a.Bound != bound
		})
	})
}
