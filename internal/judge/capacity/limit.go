package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
)

// sure is the confidence of the limit's interval.
const sure = 0.95

// The line of the limit goes through the two levels next to the limit and up to nearLevels more on
// each side. Margins are on a straight line only near the limit, hence nearby.
const (
	nearLevels = 2
	nearby     = 1.25 // largest ratio of the rates of such a level and the one next to the limit
	farOff     = 2    // an interval must not go beyond high × farOff or low ÷ farOff
	widest     = 2    // largest upper end ÷ lower end of an interval for which a figure is named
)

// level is all counted runs at one rate.
type level struct {
	rate   float64
	margin float64 // of the mean of the runs' values
	n      int
	proven bool // runs are invalid, so the margin is only a bound
	steps  []Step
}

// levelsOf groups runs by rate. It averages their values, not the reciprocals: in short runs the mean
// of reciprocals is too optimistic (by 1.4 % of the rate instead of 0.3 %, in runs of 4000 operations
// at 90 % utilisation).
func levelsOf(steps []Step) (all []*level) {
	for _, s := range counted(steps) {
		i := slices.IndexFunc(all, func(l *level) bool { return l.rate == s.Offered })
		if i < 0 {
			i, all = len(all), append(all, &level{rate: s.Offered})
		}
		all[i].steps, all[i].n = append(all[i].steps, s), all[i].n+1
		all[i].proven = all[i].proven || s.Proven
	}
	for _, l := range all {
		l.margin = 1 - 1/l.mean(func(s Step) float64 { return 1 / (1 - s.Margin) })
	}
	slices.SortFunc(all, func(a, b *level) int { return cmp.Compare(a.rate, b.rate) })
	return all
}

// mean averages one figure over the runs of a level.
func (l *level) mean(figure func(Step) float64) float64 {
	var sum float64
	for _, s := range l.steps {
		sum += figure(s)
	}
	return sum / float64(l.n)
}

// limit is where the SLO breaks.
type limit struct {
	low, high *level // neighbours: low meets the SLO, high breaks it; nil: no level does
	rate      float64
	interval  Range    // empty: there are too few runs, or they scatter too much
	steep     float64  // slope of the line ÷ the least slope that gives an interval
	near      []*level // through which the line goes, by rising rate
	line      line
}

// limitOf fits margins that never fall as the rate rises. The limit lies between the two levels where
// the fitted margin crosses 0; a straight line through their margins finds it.
func limitOf(steps []Step) (l limit) {
	levels := levelsOf(steps)
	at := 0 // the first level that breaks
	for _, fitted := range rising(levels) {
		if fitted > 0 {
			break
		}
		at++
	}
	if at > 0 {
		l.low = levels[at-1]
	}
	if at < len(levels) {
		l.high = levels[at]
	}
	if l.low != nil && l.high != nil && !l.low.proven && !l.high.proven {
		l.cross(neighbours(levels, at))
	}
	return l
}

// repeats is how often the rates next to the limit were run: the smaller number of the two; 0: no
// run counts.
func (l limit) repeats() int {
	switch {
	case l.low == nil && l.high == nil:
		return 0
	case l.low == nil:
		return l.high.n
	case l.high == nil:
		return l.low.n
	}
	return min(l.low.n, l.high.n)
}

// ending is why the search ended: what the steps show if it ended by itself, else ended. It is
// EndInvalid if the limit may lie at a rate at which every run is invalid: whatever ended the search,
// the limit is not known then. Only a search that was cut off between two valid rates has an answer.
func (l limit) ending(steps []Step, ended Ending) Ending {
	shown := ended == EndFound || ended == EndNone
	hidden := slices.ContainsFunc(steps, func(s Step) bool {
		return verdictsAt(steps, s.Offered).valid() == 0 && !s.Warming && (l.low == nil || s.Offered > l.low.rate) && (l.high == nil || s.Offered < l.high.rate)
	})
	switch {
	case hidden && ended != EndBroken && (shown || l.low == nil || l.high == nil):
		return EndInvalid
	case !shown:
		return ended
	case l.low == nil:
		return EndNone
	case l.high == nil:
		return EndMax
	}
	return EndFound
}

// rising returns the non-decreasing sequence nearest to the mean margins, by weighted least
// squares: pool adjacent violators (Barlow, Bartholomew, Bremner & Brunk,
// Statistical Inference under Order Restrictions, 1972, 1.2).
func rising(levels []*level) (fitted []float64) {
	type block struct {
		sum  float64
		n, k int // runs, levels
	}
	var blocks []block
	for _, l := range levels {
		blocks = append(blocks, block{l.margin * float64(l.n), l.n, 1})
		for last := len(blocks) - 1; last > 0 && blocks[last-1].sum/float64(blocks[last-1].n) > blocks[last].sum/float64(blocks[last].n); last-- {
			a, b := blocks[last-1], blocks[last]
			blocks = append(blocks[:last-1], block{a.sum + b.sum, a.n + b.n, a.k + b.k})
		}
	}
	for _, b := range blocks {
		for range b.k {
			fitted = append(fitted, b.sum/float64(b.n))
		}
	}
	return fitted
}

// neighbours returns the levels around the limit, which lies below levels[at]. Beyond the two next to
// the limit, it excludes levels whose margin is at its bound: they only say that the limit is far,
// and would bend the line of a target that breaks suddenly.
func neighbours(levels []*level, at int) []*level {
	from, to := at-1, at
	for from > 0 && at-from-1 < nearLevels && levels[from-1].rate*nearby >= levels[at-1].rate && levels[from-1].margin > 1-mostOver && !levels[from-1].proven {
		from--
	}
	for to < len(levels)-1 && to-at < nearLevels && levels[to+1].rate <= levels[at].rate*nearby && levels[to+1].margin < worst && !levels[to+1].proven {
		to++
	}
	return levels[from : to+1]
}

// cross finds the rate at which the least-squares line through the levels' margins crosses 0. The
// interval is all rates at which the confidence band of the line contains 0 (Fieller's theorem for
// inverse regression: Draper & Smith, Applied Regression Analysis, 3rd ed., 3.2). Where the SLO
// breaks suddenly, the line may be wrong, so the interval always includes low and high. An interval
// that goes far beyond low and high is dropped: the measurements there say more.
func (l *limit) cross(levels []*level) {
	line := newLine(levels)
	l.near, l.line = levels, line
	l.rate = math.Sqrt(l.low.rate * l.high.rate)
	if line.slope > 0 {
		l.rate = min(l.high.rate, max(l.low.rate, line.x-line.y/line.slope))
	}
	l.steep = line.steep()
	low, high, ok := line.fieller()
	if !ok {
		return
	}
	low, high = min(low, l.low.rate), max(high, l.high.rate)
	if low < l.low.rate/farOff || high > l.high.rate*farOff {
		return
	}
	l.interval = Range{Low: &low, High: &high}
}

// narrow reports whether the interval is within ± precision of the limit, or as narrow as the tested
// rates allow.
func (l limit) narrow(precision float64) bool {
	i := l.interval
	if i.Low == nil || i.High == nil {
		return false
	}
	return *i.High-*i.Low <= 2*precision*l.rate || *i.Low == l.low.rate && *i.High == l.high.rate
}

// line is the least-squares line of margin over rate.
type line struct {
	x, y     float64 // means
	slope    float64
	sxx      float64 // sum of squares of the rates around x
	variance float64 // of the margins around the line
	n        int
}

func newLine(levels []*level) (f line) {
	var sxy, squares float64
	for _, l := range levels {
		n := float64(l.n)
		f.x, f.y, f.n = f.x+n*l.rate, f.y+n*l.margin, f.n+l.n
	}
	f.x, f.y = f.x/float64(f.n), f.y/float64(f.n)
	for _, l := range levels {
		n, off := float64(l.n), l.rate-f.x
		f.sxx, sxy = f.sxx+n*off*off, sxy+n*off*(l.margin-f.y)
	}
	f.slope = sxy / f.sxx // at least two levels, so sxx > 0
	for _, l := range levels {
		off := l.margin - f.y - f.slope*(l.rate-f.x)
		squares += float64(l.n) * off * off
		mean := l.mean(func(s Step) float64 { return s.Margin })
		for _, s := range l.steps {
			squares += (s.Margin - mean) * (s.Margin - mean)
		}
	}
	f.variance = squares / float64(f.n-2)
	return f
}

// steep is the slope ÷ the least slope that can be told from 0; 0: the line falls or is level, or
// there are only two runs.
func (f line) steep() float64 {
	if f.n < 3 || f.slope <= 0 {
		return 0
	}
	return f.slope / (stats.StudentQuantile(0.5+sure/2, float64(f.n-2)) * math.Sqrt(f.variance/f.sxx))
}

// band returns the confidence band of the line at a rate, for at least three runs: of the mean margin
// there (Draper & Smith, 1.4). fieller finds the rates at which it contains 0.
func (f line) band(rate float64) (low, middle, high float64) {
	off := rate - f.x
	middle = f.y + f.slope*off
	half := stats.StudentQuantile(0.5+sure/2, float64(f.n-2)) * math.Sqrt(f.variance*(1/float64(f.n)+off*off/f.sxx))
	return middle - half, middle, middle + half
}

// fieller returns the interval of the rate at which the line crosses 0. ok is false with only two
// runs, or if the runs scatter so much that the line may be level.
func (f line) fieller() (low, high float64, ok bool) {
	if f.n < 3 {
		return 0, 0, false
	}
	t := stats.StudentQuantile(0.5+sure/2, float64(f.n-2))
	v := t * t * f.variance
	a, b, c := f.slope*f.slope-v/f.sxx, f.slope*f.y, f.y*f.y-v/float64(f.n)
	if a <= 0 || f.slope <= 0 {
		return 0, 0, false
	}
	root := math.Sqrt(max(0, b*b-a*c))
	return f.x + (-b-root)/a, f.x + (-b+root)/a, true
}
