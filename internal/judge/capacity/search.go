package capacity

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/value"
)

const (
	tries       = 3 // disturbed or invalid runs after which a rate is given up, without a budget: one may be bad luck
	timedTries  = 6 // the same with a budget: on a machine that disturbs half of all steps, 2 of 100 rates have 6 in a row
	noisyTries  = 4 // times timedTries, if noise disturbs steps and not the rate: noise may last for minutes
	lowest      = 8 // the first rate is halved down to 1/lowest of it
	repeatLimit = 3 // times Repeats: the most runs without a budget; with a budget, futile checks from then on
)

// Search decides which rates to offer, per second. It is a plain value without state: Next uses only
// the steps so far.
type Search struct {
	Start     float64 // the first rate
	Step      float64 // added each time; 0: double the rate, then bisect
	Max       float64 // the highest; 0: none
	Precision float64 // rates this close are no longer bisected: 0.05 is 5 %
	Repeats   int     // runs at each rate next to the limit; more while the interval is wider than ±Precision
	Steps     int     // largest number of steps

	// Timed is a search with a time budget. Within it, more disturbed steps are replaced (see
	// givesUp), and rates next to the limit are repeated until the interval is narrow.
	Timed bool
	Left  int // number of steps for which the rest of the budget is enough
}

// DefaultSearch starts at 10/s, bisects down to 5 %, runs the rates next to the limit three times,
// and ends after 60 steps.
func DefaultSearch() Search { return Search{Start: 10, Precision: 0.05, Repeats: 3, Steps: 60} }

// Validate reports every fault at once.
func (s Search) Validate() error {
	var faults value.Faults
	faults.If(!(s.Start > 0), "the first rate is %v/s; give one above 0, as in --start 10/s", s.Start)
	faults.If(s.Max > 0 && s.Max < s.Start, "the highest rate %v/s is below the first, %v/s; raise --max or lower --start", s.Max, s.Start)
	faults.If(!(s.Precision >= 0.005 && s.Precision <= 1), "--precision is %v %%; give 0.5%% to 100%%", s.Precision*100)
	faults.If(s.Repeats < 1, "--repeats is %d; give a number above 0", s.Repeats)
	faults.If(s.Steps < 1, "--max-steps is %d; give a number above 0", s.Steps)
	return errors.Join(faults...)
}

// Next returns the rate to offer after these steps, or why the search ends.
func (s Search) Next(steps []Step) (rate float64, ended Ending) {
	if len(steps) == 0 {
		return s.Start, ""
	}
	steps = warming(steps)
	rate, ended = s.next(steps, limitOf(steps))
	switch {
	case ended != "":
	case s.Timed && s.Left < 1:
		return 0, EndBudget
	case len(steps) >= s.Steps:
		return 0, EndSteps
	}
	return rate, ended
}

func (s Search) next(steps []Step, l limit) (float64, Ending) {
	wall := s.wallOf(steps, l.low)
	if last := steps[len(steps)-1]; !last.decides() && !s.enough(steps, last.Offered) {
		return last.Offered, "" // again
	}
	upper := wall
	if l.high != nil && (wall == 0 || l.high.rate < wall) {
		upper = l.high.rate
	}
	switch {
	case l.low == nil:
		return s.lower(steps, l)
	case upper == 0:
		return s.raise(l.low.rate)
	case s.Step == 0 && upper/l.low.rate > 1+s.Precision:
		return between(l.low.rate, upper), ""
	case upper == wall:
		return 0, EndInvalid
	}
	return s.again(steps, l)
}

// wallOf is the lowest rate above low at which the generator was the bottleneck every time; 0: there
// is none.
func (s Search) wallOf(steps []Step, low *level) (wall float64) {
	for _, step := range steps {
		n := verdictsAt(steps, step.Offered)
		if n.valid() == 0 && s.givesUp(steps, step.Offered) && (low == nil || step.Offered > low.rate) && (wall == 0 || step.Offered < wall) {
			wall = step.Offered
		}
	}
	return wall
}

// lower halves the lowest rate, since no rate has met the SLO so far, and repeats the last one: the
// target may have warmed up meanwhile.
func (s Search) lower(steps []Step, l limit) (float64, Ending) {
	least := steps[0].Offered
	for _, step := range steps {
		least = min(least, step.Offered)
	}
	switch half := round4(least / 2); {
	case s.Step == 0 && half >= s.Start/lowest*0.999: // round4 may have rounded half down
		return half, ""
	case l.high == nil:
		return 0, EndInvalid
	case !s.repeated(steps, least):
		return least, ""
	}
	return 0, EndNone
}

// raise returns the next higher rate, since no rate has broken the SLO so far.
func (s Search) raise(from float64) (float64, Ending) {
	rate := from * 2
	if s.Step > 0 {
		rate = from + s.Step
	}
	switch {
	case s.Max == 0 || round4(rate) < s.Max:
		return round4(rate), ""
	case from < s.Max:
		return s.Max, ""
	}
	return 0, EndMax
}

// again repeats the two rates next to the limit, the one with fewer runs first.
func (s Search) again(steps []Step, l limit) (float64, Ending) {
	rate := l.low.rate
	if l.high.n < l.low.n {
		rate = l.high.rate
	}
	done := s.enough(steps, l.low.rate) && s.enough(steps, l.high.rate)
	often := min(l.low.n, l.high.n) >= s.Repeats*repeatLimit
	switch {
	case done && (l.narrow(s.Precision) || often && !s.Timed), s.givesUp(steps, rate):
		return 0, EndFound
	case done && often && s.Timed && s.futile(l):
		return 0, EndFutile
	}
	return rate, ""
}

// hopeful is the largest expected width of the interval at the end of the budget, as a multiple of
// the width asked for. Few runs may show a scatter that is too large by this factor.
const hopeful = 2

// futile reports whether the rest of the budget would most probably not narrow the interval to the
// precision. The width is proportional to the quantile of Student's t, and to 1 ÷ the root of the
// number of runs.
func (s Search) futile(l limit) bool {
	n := float64(l.low.n + l.high.n)
	t := func(n float64) float64 { return stats.StudentQuantile(0.5+sure/2, n-2) / math.Sqrt(n) }
	shrinks := t(n+float64(s.Left)) / t(n)
	if i := l.interval; i.Low != nil && i.High != nil {
		return (*i.High-*i.Low)*shrinks > hopeful*max(2*s.Precision*l.rate, l.high.rate-l.low.rate)
	}
	return l.steep*hopeful < shrinks
}

// enough reports whether a rate has all its repeats, or gets no more runs.
func (s Search) enough(steps []Step, rate float64) bool {
	n := verdictsAt(steps, rate)
	return n.sound >= s.Repeats || s.givesUp(steps, rate)
}

// repeated reports whether the lowest rate was run often enough to say that no rate meets the SLO: as
// often as a rate beside the limit, and at least twice.
func (s Search) repeated(steps []Step, rate float64) bool {
	n := verdictsAt(steps, rate)
	return n.valid() >= max(2, s.Repeats) || s.givesUp(steps, rate)
}

// givesUp reports whether a rate gets no more runs because too many were disturbed or invalid. With a
// budget, a rate gets more runs if noise of the machine was the cause: the hypervisor took CPU time,
// or the generator was late although it achieved the rate, so the rate is not its limit. If no step
// at all is sound, it gets no extra runs: the result would only show the noise.
func (s Search) givesUp(steps []Step, rate float64) bool {
	n := verdictsAt(steps, rate)
	if !s.Timed {
		return n.wasted() >= tries
	}
	most := timedTries
	if n.noisy > 0 && slices.ContainsFunc(steps, Step.sound) {
		most *= noisyTries
	}
	return n.wasted() >= most+2*n.sound
}

// between is the geometric mean.
func between(low, high float64) float64 { return round4(math.Sqrt(low * high)) }

// round4 rounds to four digits, for readers of the steps.
func round4(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // cannot fail
	return short
}
