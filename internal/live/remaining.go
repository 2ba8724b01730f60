package live

import "time"

// share is the finished part of the run, 0 to 1; negative: unknown.
func (s *State) share(elapsed time.Duration) float64 {
	switch n := s.total.OK + s.total.Failed + s.total.Dropped; {
	case s.head.End > 0:
		return max(0, min(1, float64(elapsed)/float64(s.head.End)))
	case s.head.Requests > 0:
		return min(1, float64(n)/float64(s.head.Requests))
	}
	return -1
}

// window is the part of an interval that the schedule covers. The last interval ends with the last
// operation, often before the schedule does: 10/s for 1 s has its last one at 0.9 s.
func (s *State) window(from, to float64) float64 {
	end := s.head.End.Seconds()
	switch {
	case end <= 0:
		return to - from
	case shorter(to-from) && end <= from+1:
		to = end
	}
	return max(0, min(to, end)-from)
}

// shorter reports whether an interval is the last of its run: all others are a second long.
func shorter(length float64) bool { return length < 1 }

// remaining is the time until the end of the schedule, without the drain. known: false if the run
// has no end but a signal. The time of a number of operations is an estimate.
func (s *State) remaining(elapsed time.Duration) (left time.Duration, known bool) {
	if s.head.End > 0 {
		return max(0, s.head.End-elapsed), true
	}
	share := s.share(elapsed)
	if share <= 0 {
		return 0, false
	}
	return time.Duration(float64(elapsed) / share * (1 - share)), true
}

// drains reports whether the schedule is over, so that only open operations are left.
func (s *State) drains(m Moment) bool {
	return m.Stopping || s.head.End > 0 && m.Elapsed > s.head.End
}
