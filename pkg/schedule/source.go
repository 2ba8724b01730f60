package schedule

import (
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Source makes operations of a schedule: numbered from 0, without Data. open
// gives a fresh iteration each time, always of the same schedule. It is called
// twice: the second iteration, which holds one instant and no list, runs ahead to
// answer DueBefore. DueBefore can therefore be called beside Next from another
// goroutine. Of a closed loop, in which nothing is due before it is taken, the
// Source is no takt.Counter.
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

// counted is a takt.Counter. due, if there are more, is the instant of operation n.
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

// Split keeps every n-th operation of src, from number k (0 … n−1) on. Seq and
// Due are unchanged, so the n parts together are src whatever n is, also of a
// list or of a part. Each part needs a src of its own, for it reads and discards
// the other operations (10 ns each); a src that exists only once has to be dealt
// out instead. A takt.Counter stays one. n of 0 or 1 gives src itself; k counts
// modulo n.
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

// part is one of n parts; skip operations of the others come first.
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

// DueBefore counts those of the numbers 0 … due−1 that are k modulo n.
func (p *countedPart) DueBefore(t time.Duration) uint64 {
	due := p.whole.DueBefore(t)
	if due <= p.k {
		return 0
	}
	return (due-p.k-1)/p.n + 1
}
