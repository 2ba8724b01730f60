package trace

import (
	"io"
	"math"
	"math/rand/v2"
	"time"
)

// maxSecond bounds the records of one second that are kept to be spread: about 70
// MB. Nobody replays that many a second from one process.
const maxSecond = 1 << 17

// spread gives the records of one second different instants within it.
type spread struct {
	src     Stream
	jitter  Jitter
	rand    *rand.Rand
	group   []Record  // of one second
	n       int       // how many of group are filled
	given   int       // how many of these were given
	x       float64   // where in the second the last one was
	ahead   Record    // the first after the group
	have    bool      // ahead is filled
	full    time.Time // a second that has more than the bound
	behind  bool      // the group is one of those too many
	crowded uint64
	count   uint64
}

// Next implements Stream.
func (s *spread) Next(rec *Record) error {
	if s.given == s.n {
		if err := s.fill(); err != nil {
			return err
		}
	}
	r := &s.group[s.given]
	if r.Second {
		r.At, r.Second = r.At.Add(s.offset()), false
		s.count++
	}
	*rec, *r = *r, *rec
	s.given++
	return nil
}

// offset is where within its second the record group[given] belongs.
func (s *spread) offset() time.Duration {
	switch {
	case s.behind:
		s.crowded++
		return time.Second - 1
	case s.jitter == Burst:
		return 0
	case s.jitter == Uniform:
		return time.Duration(s.given) * time.Second / time.Duration(s.n)
	}
	// Poisson arrivals whose number is given are uniform numbers in order. This is the
	// least of those that are left in [x, 1) (Devroye, Non-Uniform Random Variate
	// Generation, 1986, chapter V).
	left := float64(s.n - s.given)
	s.x += (1 - s.x) * (1 - math.Pow(1-s.rand.Float64(), 1/left))
	return min(time.Duration(s.x*float64(time.Second)), time.Second-1)
}

// fill reads the next group: all records of one second, or a single one.
func (s *spread) fill() error {
	if err := s.look(); err != nil {
		return err
	}
	at, limit := s.ahead.At, maxSecond
	s.behind = s.ahead.Second && at.Equal(s.full)
	if s.behind || !s.ahead.Second {
		limit = 1
	}
	s.n, s.given, s.x = 0, 0, 0
	for s.n < limit {
		s.keep()
		if limit == 1 {
			return nil
		}
		if err := s.look(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if !s.ahead.Second || !s.ahead.At.Equal(at) {
			return nil
		}
	}
	s.full = at
	return nil
}

// look fills ahead.
func (s *spread) look() error {
	if s.have {
		return nil
	}
	err := s.src.Next(&s.ahead)
	s.have = err == nil
	return err
}

// keep moves ahead into the group.
func (s *spread) keep() {
	if s.n == len(s.group) {
		s.group = append(s.group, Record{})
	}
	s.group[s.n], s.ahead = s.ahead, s.group[s.n]
	s.n++
	s.have = false
}
