package schedule

import (
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Source makes operations from a schedule: numbered from 0, without Data. open returns a new
// iteration of the same schedule each time. Source calls open twice: the second iteration,
// one instant and no list, runs ahead for DueBefore. So DueBefore may be called from another
// goroutine than Next. In a closed loop no operation is due before it is taken, so the Source
// is then no takt.Counter.
func Source(open func() Schedule) takt.Source {
	c := &counted{source: source{schedule: open()}, ahead: open()}
	c.due, c.more = c.ahead.Next()
	if c.more && c.due == takt.Asap {
		return &c.source
	}
	return c
}

// source numbers the instants of a schedule.
type source struct {
	schedule Schedule
	seq      uint64
}

func (s *source) End() time.Duration { return s.schedule.End() }

func (s *source) Next(op *takt.Op) bool {
	due, ok := s.schedule.Next()
	if !ok {
		return false
	}
	op.Seq, op.Due = s.seq, due
	s.seq++
	return true
}

// counted is a takt.Counter. If more, due is the instant of operation n.
type counted struct {
	source
	ahead Schedule
	due   time.Duration
	more  bool
	n     uint64
}

func (c *counted) DueBefore(t time.Duration) uint64 {
	for c.more && c.due < t {
		c.n++
		c.due, c.more = c.ahead.Next()
	}
	return c.n
}

// Split keeps every n-th operation of src, starting with number k (0 … n−1). Seq and Due do
// not change, so the n parts together are src, also for a list or a part of one. Each part
// needs its own src, because it reads and discards the other operations (10 ns each). A src
// that exists only once must be dealt out instead. A takt.Counter stays a takt.Counter. With
// n of 0 or 1 Split returns src; k counts modulo n.
func Split(src takt.Source, k, n uint64) takt.Source {
	if n <= 1 {
		return src
	}
	p := part{Source: src, skip: k % n, n: n}
	if c, ok := src.(takt.Counter); ok {
		return &countedPart{part: p, whole: c, k: k % n}
	}
	return &p
}

// part is one of n parts; skip is how many operations of other parts come first.
type part struct {
	takt.Source
	skip, n uint64
}

func (p *part) Next(op *takt.Op) bool {
	for ; p.skip > 0; p.skip-- {
		if !p.Source.Next(op) {
			return false
		}
	}
	p.skip = p.n - 1
	return p.Source.Next(op)
}

// countedPart is the part k of a takt.Counter.
type countedPart struct {
	part
	whole takt.Counter
	k     uint64
}

// DueBefore counts the numbers from 0 … due−1 that are k modulo n.
func (p *countedPart) DueBefore(t time.Duration) uint64 {
	due := p.whole.DueBefore(t)
	if due <= p.k {
		return 0
	}
	return (due-p.k-1)/p.n + 1
}
