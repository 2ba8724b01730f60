package overload

import (
	"math"
	"slices"
)

// second is what the detector needs of an interval. An operation that failed or was dropped is done.
type second struct {
	from, to  float64 // seconds since the start of the run
	due, done float64 // operations
	p50       float64 // median response time of what ended, in seconds; 0: nothing ended
	inFlight  int     // most operations at once
	late      bool    // the generator was late, so its backlog is not the target's alone
}

// growth is how the backlog grows.
type growth struct {
	since     float64 // begin of the first second, since the start of the run
	due, done float64 // operations per second
	inFlight  int     // most operations at once
}

// The rules. A false alarm is worse than a late one: with them none of 100 simulated runs of each kind
// below capacity was called overloaded at its end, at 100/s to 10 000/s, up to 120 s long.
const (
	leastSeconds  = 3    // that count
	leastShare    = 0.01 // growth ÷ due operations
	leastGrowth   = 10   // operations
	sigmas        = 4    // growth ÷ its standard error, in a long window
	shortPenalty  = 2    // ÷ seconds: the part by which a short window needs more sigmas
	trendSeconds  = 5    // from which a trend of the growth is taken out of its variance
	memorySeconds = 8    // from which a correlation of neighbours counts
	mostMemory    = 0.8  // largest correlation of neighbours that is believed
	newestPart    = 1.0 / 8
	filling       = 1.2 // last ÷ first third of the completions, above which the target still fills up or warms up
	rising        = 1.1 // due ÷ due before the window, above which the window follows a rise of the rate
	riseSeconds   = 10  // after which such a window counts
	fillTimes     = 4   // response times of a later window, at least: a slow target fills up for one
	madToSigma    = 1.4826
)

// detect looks whether the backlog grows up to the newest second, from its last minimum on: the work that
// is left since then has never been done. The last minimum of the newer half, and of the newest quarter,
// find a backlog that rested at a higher level before, as that of a target after a burst.
func detect(s []second) (growth, bool) {
	n := len(s)
	backlog := make([]float64, n+1)
	for i, v := range s {
		backlog[i+1] = backlog[i] + v.due - v.done
	}
	first := lowest(backlog, 0)
	w := windows{s, stalled(s)}
	if g, ok := w.grows(first); ok || n == 0 {
		return g, ok
	}
	newest := s[n-1]
	for _, from := range []int{n / 2, n * 3 / 4} {
		at := lowest(backlog, from)
		if at > first && at < n && newest.p50 > 0 && newest.to-s[at].from >= fillTimes*newest.p50 {
			if g, ok := w.grows(at); ok {
				return g, true
			}
		}
	}
	return growth{}, false
}

// lowest is the last index of the minimum of list, from an index on.
func lowest(list []float64, from int) int {
	at := from
	for i := from; i < len(list); i++ {
		if list[i] <= list[at] {
			at = i
		}
	}
	return at
}

// stalled are the seconds in which the target did less than half of what was due, and of what it usually
// does: a freeze is not an overload. The seconds before the first usual one are not stalled, because a slow
// target fills up.
func stalled(s []second) []bool {
	usual, seen := median(s, func(v second) float64 { return v.done }), false
	list := make([]bool, len(s))
	for i, v := range s {
		list[i] = seen && v.done < usual/2 && v.done < v.due/2
		seen = seen || v.done >= usual/2
	}
	return list
}

func median[T any](s []T, figure func(T) float64) float64 {
	if len(s) == 0 {
		return 0
	}
	list := make([]float64, len(s))
	for i, v := range s {
		list[i] = figure(v)
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// windows are the ends of a series of seconds.
type windows struct {
	all     []second
	stalled []bool
}

// grows reports whether the backlog grows in the seconds from index at on.
func (w windows) grows(at int) (growth, bool) {
	var s []second // that count
	for i := at; i < len(w.all); i++ {
		if v := w.all[i]; !w.stalled[i] && !v.late {
			s = append(s, v)
		}
	}
	if len(s) < leastSeconds || median(w.all, func(v second) float64 { return v.done }) == 0 {
		return growth{}, false
	}
	due, done := sum(s, func(v second) float64 { return v.due }), sum(s, func(v second) float64 { return v.done })
	k := float64(len(s))
	d := clipped(s, done)
	g := sum(d, func(v float64) float64 { return v })
	newest := sum(d[len(d)-len(d)/2:], func(v float64) float64 { return v })
	switch {
	case g < leastShare*due, g < leastGrowth, due <= done, done == 0:
		return growth{}, false
	case g < sigmas*(1+shortPenalty/k)*math.Sqrt(k*variance(d, done)):
		return growth{}, false
	case newest < newestPart*g, fills(s), w.risen(at, due/k):
		return growth{}, false
	}
	last := w.all[len(w.all)-1]
	length := last.to - last.from
	return growth{since: w.all[at].from, due: due / k / length, done: usual(s) / length, inFlight: last.inFlight}, true
}

func sum[T any](s []T, figure func(T) float64) (total float64) {
	for _, v := range s {
		total += figure(v)
	}
	return total
}

// clipped is due − done of each second, at most 4 sigma from the median: a second whose end slipped, or a
// burst of one second, is not the growth of all.
func clipped(s []second, done float64) []float64 {
	middle := median(s, func(v second) float64 { return v.due - v.done })
	apart := median(s, func(v second) float64 { return math.Abs(v.due - v.done - middle) })
	most := 4 * max(madToSigma*apart, math.Sqrt(done/float64(len(s))))
	list := make([]float64, len(s))
	for i, v := range s {
		list[i] = min(max(v.due-v.done, middle-most), middle+most)
	}
	return list
}

// variance is that of the growth of one second, for the error of a sum: without the trend of a ramp, times
// the stretch (1+r)÷(1−r) of an AR(1) process whose neighbours have the correlation r, and at least that of
// a Poisson process. The correlation has the bias term of Marriott and Pope (Biometrika 41, 1954).
func variance(d []float64, done float64) float64 {
	k := float64(len(d))
	mean, slope := sum(d, func(v float64) float64 { return v })/k, 0.0
	x := func(i int) float64 { return float64(i) - (k-1)/2 }
	if len(d) >= trendSeconds {
		var xy, xx float64
		for i, v := range d {
			xy, xx = xy+x(i)*v, xx+x(i)*x(i)
		}
		slope = xy / xx
	}
	var squares, neighbours, before float64
	for i, v := range d {
		rest := v - mean - slope*x(i)
		squares, neighbours, before = squares+rest*rest, neighbours+rest*before, rest
	}
	r := 0.0
	if squares > 0 && len(d) >= memorySeconds {
		r = min(max((neighbours/squares+1/k)/(1-3/k), 0), mostMemory)
	}
	return max(squares/(k-1)*(1+r)/(1-r), done/k)
}

// fills reports whether the completions still rise: a target whose response time is not small beside the
// window fills up, and a JVM warms up.
func fills(s []second) bool {
	third := max(1, len(s)/3)
	done := func(v second) float64 { return v.done }
	first, last := sum(s[:third], done), sum(s[len(s)-third:], done)
	return last > filling*first+3*math.Sqrt(first)
}

// risen reports whether the window that begins at an index is short and follows a rise of the rate to so
// many operations a second: the target has to fill up again.
func (w windows) risen(at int, due float64) bool {
	n := len(w.all) - at
	before := w.all[max(0, at-n):at]
	return len(before) > 0 && n < riseSeconds && due > rising*sum(before, func(v second) float64 { return v.due })/float64(len(before))
}

// usual is the operations that the target does in a second, from the first second on in which it had filled
// up.
func usual(s []second) float64 {
	done := func(v second) float64 { return v.done }
	half := median(s, done) / 2
	for len(s) > 1 && done(s[0]) < half {
		s = s[1:]
	}
	return sum(s, done) / float64(len(s))
}
