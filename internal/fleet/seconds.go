package fleet

import (
	"math"

	"github.com/taktload/takt/internal/judge/merge"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/takt"
)

// seconds are the seconds of a run that not all members have sent yet.
type seconds struct {
	next int // the first that was not passed on
	open map[int][]takt.Interval
}

// add adds a second of a member. One that comes too late is left out; the report has it.
func (s *seconds) add(p *peer, snap *live.Snapshot) {
	iv := snap.Interval
	iv.T = merge.End(p.until, iv.T, 1)
	n := max(0, int(math.Ceil(iv.T))-1)
	p.second, p.until, p.errors = max(p.second, n), snap.Interval.T, snap.Errors
	if n < s.next || n > s.next+mostOpen {
		return
	}
	if s.open == nil {
		s.open = map[int][]takt.Interval{}
	}
	s.open[n] = append(s.open[n], iv)
}

// mostOpen is how many seconds a member may be ahead of the others: more than one that is not lost
// can be behind.
const mostOpen = 64

// of is one second of all members.
type of struct {
	intervals []takt.Interval
	errors    []takt.ErrorClass
}

// complete takes out the seconds that every member has sent, or will not send.
func (s *seconds) complete(list []*peer) (whole []of) {
	last, all := math.MaxInt, true
	for _, p := range list {
		if !p.ended() {
			last, all = min(last, p.second), false
		}
	}
	if all {
		last = -1
		for n := range s.open {
			last = max(last, n)
		}
	}
	for ; s.next <= last && len(s.open) > 0; s.next++ {
		if intervals := s.open[s.next]; len(intervals) > 0 {
			whole = append(whole, of{intervals, together(list)})
		}
		delete(s.open, s.next)
	}
	return whole
}

// together are the failures of all members so far, most frequent first.
func together(list []*peer) []takt.ErrorClass {
	all := make([][]takt.ErrorClass, len(list))
	for i, p := range list {
		all[i] = p.errors
	}
	return merge.Errors(all)
}
