package history

import (
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
)

const (
	// fewestBeside is the smallest number of points on either side of a change. One or two points beside
	// the others are outliers as likely as a change.
	fewestBeside = 3
	// scoreCap limits what one point counts, in standard deviations, so that an outlier is not a change.
	scoreCap = 3
)

// scores maps values to their distance from the median in robust standard deviations, limited to
// scoreCap, so that a single spike counts no more than any other large value (Huber, Ann. Math. Stat.
// 35, 1964). They depend on the values, not on their order. nil: all values are equal.
func scores(values []float64) []float64 {
	center := stats.MedianOf(values)
	scale := spreadOf(values, center)
	if scale == 0 {
		return nil
	}
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = min(max((v-center)/scale, -scoreCap), scoreCap)
	}
	return list
}

// spreadOf is the standard deviation that a normal distribution with this median absolute deviation
// has; if more than half of the values are equal, the one with this mean absolute deviation.
func spreadOf(values []float64, center float64) float64 {
	off := make([]float64, len(values))
	for i, v := range values {
		off[i] = math.Abs(v - center)
	}
	slices.Sort(off)
	if mad := stats.Median(off); mad > 0 {
		return 1.4826 * mad
	}
	return math.Sqrt(math.Pi/2) * stats.Total(off) / float64(len(off))
}

// split is a place where a series may change: between the points at-1 and at.
type split struct {
	at       int
	distance float64 // √(ab ÷ (a+b)) · |difference of the means of a points before and b points after|
}

// interval are the points from up to before to.
type interval struct{ from, to int }

// seeded returns the intervals that are searched for a change in n points: all, then halves, quarters
// and so on, which overlap by half. A change that a later one takes back lies in an interval without
// the latter (seeded binary segmentation: Kovács et al., Biometrika 110, 2023).
func seeded(n int) (list []interval) {
	for length := n; length >= 2*fewestBeside; length = (length + 1) / 2 {
		step := max(1, length/2)
		for from := 0; ; from += step {
			from = min(from, n-length)
			list = append(list, interval{from, from + length})
			if from == n-length {
				break
			}
		}
		if length == 2*fewestBeside {
			break
		}
	}
	return list
}

// scan returns the best split of all intervals, in standard deviations as neighbours show them: those
// include no change. sums is room for one value more than there are points.
func scan(points []float64, list []interval, sums []float64) (best split) {
	sums[0] = 0
	squares := 0.0
	for i, v := range points {
		sums[i+1] = sums[i] + v
		if i > 0 {
			d := v - points[i-1]
			squares += d * d
		}
	}
	for _, in := range list {
		if s := in.best(sums); s.distance > best.distance {
			best = s
		}
	}
	best.distance /= math.Sqrt(squares / 2 / float64(len(points)-1)) // a change has squares above 0
	return best
}

// best is the best split of an interval, by prefix sums: the statistic of CUSUM charts (Page, Biometrika
// 42, 1955), which with normal noise is the likelihood ratio of a change.
func (in interval) best(sums []float64) (best split) {
	n := float64(in.to - in.from)
	whole := sums[in.to] - sums[in.from]
	for k := in.from + fewestBeside; k <= in.to-fewestBeside; k++ {
		a := float64(k - in.from)
		off := sums[k] - sums[in.from] - whole*a/n // a ÷ n · (mean before − mean of all) …
		if d := off * off / (a * (n - a)); d > best.distance {
			best = split{k, d}
		}
	}
	best.distance = math.Sqrt(best.distance * n)
	return best
}
