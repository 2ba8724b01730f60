package outage

import (
	"fmt"
	"slices"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// StallsOf is the stalls of a report: those that it has, or those that FindStalls finds in the report of an older
// takt. It is nil if the intervals cannot be read.
func StallsOf(r *takt.Report) []takt.Stall {
	if r.Stalls != nil {
		return r.Stalls
	}
	list, _ := FindStalls(r) // whoever reads the intervals says what is wrong with them
	return list
}

// FindStalls finds the stalls of a run. A stall of length L holds up everything that is due in it: at a
// rate λ the operations that waited longer than a limit are about λ·(L − limit). A single slow
// operation, however slow, is not a stall. A timeout is not an answer, so it does not end a stall.
// The list is not nil. The error is about a histogram of the intervals.
func FindStalls(r *takt.Report) ([]takt.Stall, error) {
	s, err := seriesOf(r)
	if err != nil {
		return nil, err
	}
	list := []takt.Stall{}
	for _, one := range s.stalls(r) {
		list = append(list, takt.Stall{FromS: one.from, ToS: one.to, LongestUS: one.length, Held: one.held})
	}
	return list, nil
}

// StallSentence says how often and for how long the target stalled; "" if it did not.
func StallSentence(r *takt.Report) string {
	list := StallsOf(r)
	if len(list) == 0 {
		return ""
	}
	var held uint64
	longest := 0.0
	for _, one := range list {
		held, longest = held+one.Held, max(longest, one.LongestUS)
	}
	if n := len(r.Intervals); r.Counts.OK == 0 && len(list) == 1 && list[0].FromS == 0 && n > 0 && list[0].ToS == r.Intervals[n-1].T {
		return fmt.Sprintf("The target answered nothing in the %s of the run; %s waited in vain.", figure.Micros(longest), operations(held))
	}
	fate := "had to wait for it"
	if slices.ContainsFunc(r.Intervals, func(iv takt.Interval) bool { return iv.Errors[timeout] > 0 }) {
		fate += " or timed out"
	}
	if r.Counts.Dropped > 0 {
		fate += ", or were dropped"
	}
	return fmt.Sprintf("The target stalled %s, for up to %s; %s %s.", times(len(list)), figure.Micros(longest), operations(held), fate)
}

func operations(n uint64) string {
	if n == 1 {
		return "1 operation"
	}
	return fmt.Sprintf("%d operations", n)
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// series is the intervals of a run, as far as stalls need them.
type series struct {
	list []second
	slow float64 // response time in µs from which an operation was held up
}

// second is an interval.
type second struct {
	takt.Interval
	from     float64
	slow     uint64 // operations that were held up
	timeouts uint64 // operations that failed because no answer came in time
}

// timeout is the class of operations without an answer in time.
const timeout = "timeout"

// An operation that took this many times the median, and at least slowFloor µs, was held up.
const (
	slowTimes = 10
	slowFloor = 10_000
)

func seriesOf(r *takt.Report) (*series, error) {
	s := &series{slow: max(slowFloor, slowTimes*usual(r))}
	var d hist.Decoder
	h := hist.New()
	from := 0.0
	for _, iv := range r.Intervals {
		h.Reset()
		if err := d.Merge(h, iv.HDR); err != nil {
			return nil, fmt.Errorf("the interval that ends at %v s: %w", iv.T, err)
		}
		s.list = append(s.list, second{Interval: iv, from: from, timeouts: iv.Errors[timeout], slow: h.Above(micros(s.slow))})
		from = iv.T
	}
	return s, nil
}

// usual is the median of the time that intervals have, in µs. Many timeouts would be the median of all
// response times.
func usual(r *takt.Report) float64 {
	for _, name := range []string{takt.LatencyResponseOK, takt.LatencyResponse, takt.LatencySend, "transfer"} {
		if l := r.Latency[name]; l.Count > 0 {
			return l.P50
		}
	}
	return 0
}

func (s *second) length() float64 { return max(1e-9, s.T-s.from) }

// answered counts the operations that the target ended, well or with an error.
func (s *second) answered() uint64 { return s.OK + s.Failed - min(s.Failed, s.timeouts) }

// stall is a time in which the target answered nothing.
type stall struct {
	from, to float64 // seconds of the run, as exactly as intervals tell
	length   float64 // µs: the longest wait
	held     uint64  // operations that waited for its end, or were dropped meanwhile
}

func micros(us float64) time.Duration { return time.Duration(us * float64(time.Microsecond)) }

func (s *series) stalls(r *takt.Report) (list []stall) {
	counted := -1 // last interval whose operations are counted
	for i := range s.list {
		one := &s.list[i]
		silent := s.silent(i, r)
		if one.Warmup || !silent && !s.stalled(i, r.Rate.Intended != nil) {
			continue
		}
		first, from := s.start(i)
		next := stall{from: from, to: min(one.T, from+one.ResponseMax/1e6), length: one.ResponseMax, held: one.heldUp()}
		if i == len(s.list)-1 && silent {
			next.held = one.Dropped + max(one.slow, one.timeouts+r.Counts.Unfinished) // their histogram may have the unfinished, too
		}
		for k := max(first, counted+1); k < i; k++ {
			next.held += s.list[k].timeouts
		}
		counted = i
		if last := len(list) - 1; last >= 0 && s.same(list[last], next) {
			next.from, next.held = list[last].from, list[last].held+next.held
			if list[last].length >= next.length {
				next.length, next.to = list[last].length, list[last].to
			}
			list = list[:last]
		}
		if silent {
			next.until(one.T)
		} else if s.timedOut(first, i) { // the longest wait is that of a timeout, so the count has the length
			next.until(min(one.T, next.from+float64(next.held)/s.rate(first, i)))
		}
		list = append(list, next)
	}
	return list
}

// same reports whether the stall b is the rest of a: it began in a, or its operations are those that ended
// last after a, so they waited for a shorter time.
func (s *series) same(a, b stall) bool {
	if b.length < a.length {
		return b.from <= a.to+s.slow/1e6
	}
	return b.from < a.from+a.length/1e6
}

// until makes a stall last at least to an instant.
func (s *stall) until(t float64) {
	if length := (t - s.from) * 1e6; length > s.length {
		s.length, s.to = length, t
	}
}

// start is the interval in which the stall began that the interval i noticed, and the instant.
func (s *series) start(i int) (first int, from float64) {
	first, from = i, s.list[i].from
	for k := i - 1; k >= 0 && s.dip(k) && !s.list[k].Warmup; k-- {
		first, from = k, s.began(k)
		if float64(s.list[k].answered()) > fewPart*float64(s.list[k].Scheduled) {
			break
		}
	}
	return first, from
}

// silent reports whether the interval i ends a time without answers in which so many operations were
// due that one slow operation is not the cause: they timed out, or the run ended.
func (s *series) silent(i int, r *takt.Report) bool {
	one := &s.list[i]
	if !one.mute() {
		return false
	}
	lost := one.timeouts
	if i == len(s.list)-1 {
		lost += r.Counts.Unfinished
	}
	due, from := uint64(0), one.from
	for k := i; k >= 0 && s.list[k].mute() && !s.list[k].Warmup; k-- {
		due, from = due+s.list[k].Scheduled, s.list[k].from
	}
	least := max(long, slowTimes*r.Latency[takt.LatencyResponseOK].P50)
	return lost >= heldAtLeast && due >= heldAtLeast && (one.T-from)*1e6 >= least
}

// mute reports whether operations waited in the interval, and the target answered none of them.
func (s *second) mute() bool {
	return s.answered() == 0 && (s.Scheduled > 0 || s.InFlightMax > 0 || s.timeouts > 0)
}

func (s *series) timedOut(first, i int) bool {
	return slices.ContainsFunc(s.list[first:i+1], func(one second) bool { return one.timeouts > 0 })
}

// rate is the highest rate of the intervals from first to i at which operations were due.
func (s *series) rate(first, i int) (rate float64) {
	for k := first; k <= i; k++ {
		rate = max(rate, float64(s.list[k].Scheduled)/s.list[k].length())
	}
	return max(rate, 1e-9)
}

const (
	heldAtLeast = 10      // operations
	heldMany    = 100     // operations, from which also a wait below long is a stall
	long        = 100_000 // µs
	heldPart    = 0.5     // part of the operations that a stall should have held up
	ownPart     = 0.2     // part of the wait that may be the generator's
	dipPart     = 0.7     // part of the due operations, below which an interval has a dip
	fewPart     = 0.05    // part of the due operations, up to which answers do not show when a stall began
)

// stalled reports whether the slow operations of the interval i waited for a stall.
func (s *series) stalled(i int, open bool) bool {
	one := &s.list[i]
	longer := (one.ResponseMax - s.slow) / 1e6
	if longer <= 0 || one.slow <= one.timeouts || one.ScheduleLagP99 > ownPart*one.ResponseMax {
		return false
	}
	if !open { // a closed loop sends nothing during a stall
		return s.dip(i) || i > 0 && s.dip(i-1)
	}
	rate := s.rate(max(0, i-1), i)
	held := one.heldUp() - one.timeouts // a timeout alone is not a stall
	if i > 0 {
		before := &s.list[i-1]
		held += before.Dropped // while the target answered nothing
		if before.timeouts > 0 && s.dip(i-1) {
			held += before.slow - min(before.slow, before.timeouts)
		}
	}
	if held < heldAtLeast || held < heldMany && one.ResponseMax < long {
		return false
	}
	return float64(held) >= heldPart*rate*longer
}

// heldUp counts the slow operations, with those that timed out.
func (s *second) heldUp() uint64 { return max(s.slow, s.timeouts) + s.Dropped }

// began estimates when a stall began in an interval with a dip: until then the target answered at the
// rate at which operations were due.
func (s *series) began(k int) float64 {
	one := &s.list[k]
	return one.from + one.length()*min(1, float64(one.answered())/float64(max(1, one.Scheduled)))
}

// dip reports whether the target answered far fewer operations in the interval than were due.
func (s *series) dip(i int) bool {
	one := &s.list[i]
	return one.mute() || one.Scheduled > 0 && float64(one.answered()) < dipPart*float64(one.Scheduled)
}
