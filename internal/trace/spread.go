package trace

import (
	"io"
	"math"
	"math/rand/v2"
	"time"
)

// maxSecond limits the records of one second that spread holds in memory: about 70 MB. One
// process does not replay that many per second.
const maxSecond = 1 << 17

// spread gives the records of one stamp different instants within the stamp's resolution: a second, or
// the millisecond that several records share. At 20 000/s a log in milliseconds would otherwise be
// bursts of 20.
type spread struct {
	src     Stream
	jitter  Jitter
	rand    *rand.Rand
	group   []Record      // records of one second
	n       int           // number of records in group
	given   int           // number of these that Next has returned
	x       float64       // place of the last record in the second, from 0 to 1
	ahead   Record        // the first record after the group
	have    bool          // ahead is filled
	full    time.Time     // the last second that had maxSecond records
	behind  bool          // group is a further record of the second full
	crowded uint64        // records of full seconds beyond maxSecond
	count   uint64        // records without a fraction
	unit    time.Duration // resolution of group
	fine    uint64        // records that were spread within their millisecond
}

// Next implements Stream.
func (s *spread) Next(rec *Record) error {
	if s.given == s.n {
		if err := s.fill(); err != nil {
			return err
		}
	}
	r := &s.group[s.given]
	switch {
	case r.Second:
		r.At, r.Second = r.At.Add(s.offset()), false
		s.count++
	case s.n > 1:
		r.At = r.At.Add(s.offset())
		s.fine++
	}
	*rec, *r = *r, *rec
	s.given++
	return nil
}

// offset is the place of group[given] within its second.
func (s *spread) offset() time.Duration {
	switch {
	case s.behind:
		s.crowded++
		return time.Second - 1
	case s.jitter == Burst:
		return 0
	case s.jitter == Uniform:
		return time.Duration(s.given) * s.unit / time.Duration(s.n)
	}
	// A given number of Poisson arrivals are sorted uniform numbers. This is the least of the
	// remaining ones in [x, 1) (Devroye, Non-Uniform Random Variate Generation, 1986,
	// chapter V).
	left := float64(s.n - s.given)
	s.x += (1 - s.x) * (1 - math.Pow(1-s.rand.Float64(), 1/left))
	return min(time.Duration(s.x*float64(s.unit)), s.unit-1)
}

// fill reads the next group: all records of one second or one millisecond, or a single record if its
// stamp is finer or its second is full.
func (s *spread) fill() error {
	if err := s.look(); err != nil {
		return err
	}
	at, limit := s.ahead.At, maxSecond
	s.behind = s.ahead.Second && at.Equal(s.full)
	if s.unit = resolution(&s.ahead); s.behind || s.unit == 0 {
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
		if resolution(&s.ahead) != s.unit || !s.ahead.At.Equal(at) {
			return nil
		}
	}
	if s.unit == time.Second {
		s.full = at
	}
	return nil
}

// resolution is the unit of a stamp: a second, a millisecond, or 0 if the stamp is finer or missing.
func resolution(r *Record) time.Duration {
	switch {
	case r.Second:
		return time.Second
	case r.At.IsZero() || r.At.Nanosecond()%int(time.Millisecond) != 0:
		return 0
	}
	return time.Millisecond
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
