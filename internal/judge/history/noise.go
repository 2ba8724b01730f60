package history

import (
	"math"

	"github.com/taktload/takt/internal/judge/stats"
)

const (
	farOut       = 4      // spreads from the level, beyond which a point is an outlier
	fewOutliers  = 2      // of any series; of a long one, a fifth
	found4of5    = 0.8416 // normal quantile of 80 %
	mostForecast = 100_000
)

// noise says how many revisions the series needs to show a change of that size.
func (s *Series) noise(values []float64, found []int, rho, level, size float64) Noise {
	residuals, last := residualsOf(values, found), 0
	eachLevel(found, len(values), func(from, to int) { last = to - from })
	spread, outliers := scattered(residuals)
	n := Noise{Spread: spread, Correlation: rho, Outliers: outliers}
	if !s.Absolute {
		n.Spread = math.Expm1(spread)
	}
	f := forecast{size: size, spread: spread * math.Sqrt(stretch(rho)), level: level}
	n.Needed = f.needed()
	n.Missing = max(0, n.Needed-len(values))
	n.Delay = f.delay(last)
	return n
}

// scattered is the spread of residuals, and the number of outliers. More outliers than few beside the
// others are none: they belong to the spread.
func scattered(residuals []float64) (spread float64, outliers int) {
	spread = spreadOf(residuals, 0)
	squares := 0.0
	for _, v := range residuals {
		squares += v * v
		if math.Abs(v) > farOut*spread {
			outliers++
		}
	}
	if outliers <= max(fewOutliers, len(residuals)/5) {
		return spread, outliers
	}
	return math.Sqrt(squares / float64(len(residuals))), 0
}

// forecast says when a change of a size shows in noise of a spread.
type forecast struct{ size, spread, level float64 }

// shows reports whether a change between a points before and b after shows in 4 of 5 cases: its statistic,
// √(ab ÷ (a + b)) · size ÷ spread, is above what chance reaches, and chance does not put the
// points into this order too often.
func (f forecast) shows(a, b int) bool {
	if min(a, b) < fewestBeside || 2/stats.Choose(a+b, b) > f.level/positions {
		return false
	}
	if f.spread == 0 {
		return true
	}
	n := float64(a + b)
	distance := math.Sqrt(float64(a)*float64(b)/n) * min(f.size/f.spread, 2*scoreCap)
	return distance >= reach(n, f.level)+found4of5
}

// positions is the number of splits that a short series has, as if they were independent (by simulation).
const positions = 3

// reach is about the largest statistic of chance among the splits of n points: as many as 2n independent
// ones (by simulation).
func reach(n, level float64) float64 { return stats.NormalQuantile(1 - level/(4*n)) }

// needed is the number of points that show the change if it lies in their middle.
func (f forecast) needed() int {
	n := 2 * fewestBeside
	for n < mostForecast && !f.shows(n/2, n-n/2) {
		n += max(1, n/100)
	}
	return n
}

// delay is the number of points after before ones that show the change; 0: none does.
func (f forecast) delay(before int) int {
	for b := fewestBeside; b <= before; b++ {
		if f.shows(before, b) {
			return b
		}
	}
	return 0
}
