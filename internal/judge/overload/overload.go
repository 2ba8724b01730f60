// Package overload finds runs whose target cannot do what is due: its backlog grows up to the end of the
// schedule, so each percentile measures how long the run was. It judges the seconds of a run, of a report
// or while the run goes on.
//
// The backlog after a second is Σ due − Σ done. It is also large without an overload: a slow target fills
// up, a queue near saturation swings, a server freezes. So the growth since the backlog's last minimum has
// to exceed what chance explains. A least-squares slope whose residuals count as independent calls 30 to
// 98 % of stable queues at 98 % of their capacity overloaded; the rules in detect.go call none of them so.
package overload

import (
	"fmt"
	"math"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Of is the overload of a report: that which it has, or the one that Find finds in the report of an older
// takt; nil: none.
func Of(r *takt.Report) *takt.Overload {
	if r.Overload != nil && proves(r) {
		return r.Overload
	}
	return Find(r)
}

// Find finds the overload at the end of a run's schedule; nil: there was none, or the report cannot say so.
// Nothing can be said where takt was late, without a rate, without answers, and where operations wait for
// answers: an overloaded target gets less load then.
func Find(r *takt.Report) *takt.Overload {
	if !proves(r) {
		return nil
	}
	w := Watch{End: r.WarmupS + r.DurationS, Room: number(r.Variables["max_in_flight"]) * max(1, number(r.Extra["shards"]))}
	for _, iv := range r.Intervals {
		w.Add(&iv)
	}
	return w.Now()
}

// proves reports whether the backlog of a run is that of its target.
func proves(r *takt.Report) bool {
	return r.Verdict == takt.Valid && r.Rate.Intended != nil && r.Latency[takt.LatencyResponse].Count > 0 && !Waits(r.Variables)
}

// Waits reports whether the operations of a load with these variables wait for the answers to others, as the
// steps of a scenario and the requests of a user do.
func Waits(variables map[string]any) bool {
	_, scenario := variables["scenario"]
	_, per := variables["per"]
	return scenario || per
}

// number is a number of a report that was made here, or read.
func number(v any) int {
	switch v := v.(type) {
	case int:
		return v
	case float64:
		return int(v)
	}
	return 0
}

// Watch finds the overload of a run while it goes on, in constant memory. The zero value is of a run whose
// schedule has no known end.
type Watch struct {
	End  float64 // of the schedule, in seconds since the start of the run; not above 0: unknown
	Room int     // most operations in flight; 0: unknown
	list []second
	open second  // of list, while it has fewer than each intervals
	held int     // intervals in open
	each int     // intervals in a second of list; 0: 1
	unit float64 // length of the first interval
	last float64 // end of the newest interval
	now  *takt.Overload
	old  bool // now is that of a second before the newest
}

const (
	rounding = 1e-3 // of an interval's end, in seconds
	shortest = 0.9  // part of an interval's length, below which it is the end of a run, and no measure of a rate
)

// Add adds the next interval. What ends after the schedule does not count: nothing is due any more.
func (w *Watch) Add(iv *takt.Interval) {
	from := w.last
	w.last = iv.T
	if w.unit == 0 {
		w.unit = iv.T
	}
	if w.End > 0 && iv.T > w.End+rounding || iv.T-from < shortest*w.unit {
		return
	}
	s := second{
		from: from, to: iv.T, due: float64(iv.Scheduled), done: float64(iv.OK + iv.Failed + iv.Dropped),
		p50: iv.ResponseP50 / 1e6, inFlight: iv.InFlightMax, late: verdict.LateSecond(iv),
	}
	if w.held > 0 {
		s = both(w.open, s)
	}
	if w.open, w.held = s, w.held+1; w.held < w.each {
		return
	}
	w.list, w.held, w.old = append(w.list, s), 0, true
	if len(w.list) == takt.MaxIntervals {
		for i := range len(w.list) / 2 {
			w.list[i] = both(w.list[2*i], w.list[2*i+1])
		}
		w.list, w.each = w.list[:len(w.list)/2], 2*max(1, w.each)
	}
}

// both is two neighbours as one second.
func both(a, b second) second {
	return second{a.from, b.to, a.due + b.due, a.done + b.done, max(a.p50, b.p50), max(a.inFlight, b.inFlight), a.late || b.late}
}

// Now is the overload at the end of the newest second; nil: there is none.
func (w *Watch) Now() *takt.Overload {
	if !w.old {
		return w.now
	}
	w.now, w.old = nil, false
	if g, ok := detect(w.list); ok {
		w.now = &takt.Overload{FromS: g.since, DuePerS: g.due, CompletedPerS: g.done, GrowthUSPerS: 1e6 * (g.due/g.done - 1)}
		if w.Room > 0 && g.inFlight >= w.Room {
			w.now.InFlight = w.Room
		}
	}
	return w.now
}

// Left is what the backlog at the end of the schedule says of a run that shows no overload.
type Left int

// What a backlog says.
const (
	Nothing Left = iota
	Pause        // one pause, or one burst, explains it: whether the target keeps up in a longer run is not known
	Growth       // it may grow for as long as the run is; a longer run shows it
)

const (
	fast      = 2       // response times whose operations may be left
	pausePart = 1.0 / 4 // of the run, at most, that is one pause
	leastEven = 2       // intervals besides the pause, at least, in which the target keeps up
	answered  = 0.99    // of the backlog, by which the pause is over
)

// AtEnd says what the end of a schedule without an overload shows. A backlog counts if it is more than a target leaves
// that always answers as fast as in its best second, and more than in the middle of the run.
func AtEnd(r *takt.Report) Left {
	if !proves(r) || Of(r) != nil {
		return Nothing
	}
	var more, due []float64 // of each interval: by how much the backlog grew, and what was due
	middle, ok, best := 0, uint64(0), math.Inf(1)
	for _, iv := range r.Intervals {
		if iv.Warmup || iv.T > r.WarmupS+r.DurationS+rounding {
			continue
		}
		more, due, ok = append(more, float64(iv.Scheduled)-float64(iv.OK+iv.Failed+iv.Dropped)), append(due, float64(iv.Scheduled)), ok+iv.OK
		if iv.T <= r.WarmupS+r.DurationS/2 {
			middle = len(more)
		}
		if iv.OK+iv.Failed > 0 {
			best = min(best, iv.ResponseP50/1e6)
		}
	}
	left := total(more)
	if left <= max(leastGrowth, leastShare*total(due), fast*best**r.Rate.Intended) || total(more[middle:]) <= leastShare*total(due[middle:]) {
		return Nothing
	}
	if float64(r.Counts.OK) >= float64(ok)+answered*left && onePause(more, due) {
		return Pause
	}
	return Growth
}

// onePause reports whether the backlog does not grow but in one stretch of the intervals. An overload is everywhere,
// so what remains without a stretch still grows.
func onePause(more, due []float64) bool {
	longest := min(len(more)-leastEven, max(2, int(pausePart*float64(len(more))))) // a pause that ends within a second is in two
	for from := range more {
		for to := from + 1; to <= min(from+longest, len(more)); to++ {
			rest := total(more[:from]) + total(more[to:])
			if rest <= max(leastGrowth, leastShare*(total(due[:from])+total(due[to:]))) {
				return true
			}
		}
	}
	return false
}

func total(list []float64) float64 { return sum(list, func(v float64) float64 { return v }) }

// Sentence says what the overload of a report is; "" if there was none.
func Sentence(r *takt.Report) string {
	if o := Of(r); o != nil {
		return "The run is " + Kind(r) + ": " + Words(o) + "."
	}
	return ""
}

// Mark is what to read beside the percentiles of an overloaded run.
const Mark = "overloaded: these percentiles grow with the length of the run"

// Words says what an overload is: 499/s of 700/s completed; responses grow by 402ms each second since
// second 1. Operations that wait for the limit in flight may be more than the target refuses to do.
func Words(o *takt.Overload) string {
	limit := ""
	if o.InFlight > 0 {
		limit = fmt.Sprintf(" with %d in flight, the limit", o.InFlight)
	}
	return fmt.Sprintf("%s/s of %s/s completed%s; responses grow by %s each second since second %d",
		figure.Near(o.CompletedPerS, o.DuePerS), figure.Near(o.DuePerS, o.CompletedPerS), limit, figure.Micros(o.GrowthUSPerS), int(o.FromS)+1)
}

// Behind says why a figure of an overloaded run, or of one with Growth at its end, may not be that of a longer run.
func Behind(r *takt.Report) string {
	switch {
	case OverQuota(r):
		return "the run is above the quota of the brokers"
	case Of(r) != nil:
		return "the target is overloaded"
	}
	return "the target was behind the schedule at its end"
}

// OverQuota reports whether brokers made takt wait, because it was above their quota.
func OverQuota(r *takt.Report) bool { return r.Warned(warn.Quota) }

// Kind names an overloaded run: whose limit it is. A broker that refuses to be faster than its quota says so.
func Kind(r *takt.Report) string {
	if OverQuota(r) {
		return "above the quota of the brokers"
	}
	return "of an overloaded target"
}
