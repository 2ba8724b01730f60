package html

import (
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// stall is a time in which the target answered nothing.
type stall struct {
	from, to float64 // seconds of the run, as exactly as intervals tell
	length   float64 // µs: the longest wait
	held     uint64  // operations that waited for its end, or were dropped meanwhile
}

func micros(us float64) time.Duration { return time.Duration(us * float64(time.Microsecond)) }

// stalls finds the stalls of a run. A stall of length L holds up everything that is due in it: at a
// rate λ the operations that waited longer than a limit are about λ·(L − limit). A single slow
// operation, however slow, is not a stall.
func (s *series) stalls(r *takt.Report) (list []stall) {
	for i := range s.list {
		one := &s.list[i]
		if one.Warmup || !s.stalled(i, r.Rate.Intended != nil) {
			continue
		}
		from := one.from
		for k := i - 1; k >= 0 && s.dip(k) && !s.list[k].Warmup; k-- {
			from = s.began(k)
		}
		next := stall{from: from, to: min(one.T, from+one.ResponseMax/1e6), length: one.ResponseMax, held: one.heldUp()}
		if last := len(list) - 1; last >= 0 && from < list[last].from+list[last].length/1e6 && i > 0 {
			list[last].held += next.held
			if next.length > list[last].length {
				list[last].length, list[last].to = next.length, next.to
			}
			continue
		}
		list = append(list, next)
	}
	return list
}

const (
	heldAtLeast = 10      // operations
	heldMany    = 100     // operations, from which also a wait below long is a stall
	long        = 100_000 // µs
	heldPart    = 0.5     // part of the operations that a stall should have held up
	ownPart     = 0.2     // part of the wait that may be the generator's
	dipPart     = 0.7     // part of the due operations, below which an interval has a dip
)

// stalled reports whether the slow operations of the interval i waited for a stall.
func (s *series) stalled(i int, open bool) bool {
	one := &s.list[i]
	longer := (one.ResponseMax - s.slow) / 1e6
	if longer <= 0 || one.slow == 0 || one.ScheduleLagP99 > ownPart*one.ResponseMax {
		return false
	}
	if !open { // a closed loop sends nothing during a stall
		return s.dip(i) || i > 0 && s.dip(i-1)
	}
	rate := float64(one.Scheduled) / one.length()
	if i > 0 {
		rate = max(rate, float64(s.list[i-1].Scheduled)/s.list[i-1].length())
	}
	held := one.heldUp()
	if i > 0 { // dropped while the target answered nothing
		held += s.list[i-1].Dropped
	}
	if held < heldAtLeast || held < heldMany && one.ResponseMax < long {
		return false
	}
	return float64(held) >= heldPart*rate*longer
}

func (s *second) heldUp() uint64 { return s.slow + s.Dropped }

// began estimates when a stall began in an interval with a dip: until then operations ended at their
// rate.
func (s *series) began(k int) float64 {
	one := &s.list[k]
	return one.from + one.length()*min(1, float64(one.ended())/float64(max(1, one.Scheduled)))
}

// dip reports whether far fewer operations ended in the interval than were due.
func (s *series) dip(i int) bool {
	one := &s.list[i]
	return one.Scheduled > 0 && float64(one.ended()) < dipPart*float64(one.Scheduled)
}
