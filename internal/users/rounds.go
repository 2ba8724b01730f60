package users

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/ring"
	"github.com/taktload/takt/pkg/takt"
)

// Steps are the steps of each round of a user.
type Steps struct {
	Think []dist.Time // before each step; that of the first has no effect
	Seed  uint64      // of think times
	// Data is for op.Data of a step. round is the number of its round; last says that no
	// other step of the round follows.
	Data func(round uint64, step int, last bool) any
	Numbers
}

// Numbers are the numbers of a process's rounds, from 0: those that are Part modulo Parts. The rounds of all processes have
// each number once, without a gap.
type Numbers struct {
	Part, Parts uint64 // Parts 0: as 1
	Limit       uint64 // rounds with this number or above do not begin; 0: no limit
}

// number is the number of a round before which this process has begun so many.
func (n Numbers) number(begun uint64) uint64 { return begun*max(1, n.Parts) + n.Part }

// stops reports whether a round with this number does not begin.
func (n Numbers) stops(number uint64) bool { return n.Limit > 0 && number >= n.Limit }

// think is the time before a step of a round: the same for all processes and runs with one seed.
func (s *Steps) think(round uint64, step int) time.Duration {
	t := s.Think[step]
	if t.IsFixed() {
		return t.Most()
	}
	return t.Draw(rand.New(rand.NewPCG(s.Seed^round, uint64(step))))
}

// most is how long after its beginning the last step of a round is due, at most.
func (s *Steps) most() (d time.Duration) {
	for _, t := range s.Think[1:] {
		d += t.Most()
	}
	return d
}

// Rounds is a source for a schedule with instants. As many operations of the schedule as there are
// steps are a round, which begins when the first of them is due. Its other steps are due after
// their think times, whatever the answers do. It is an engine.Feed, since the last step may be due earlier
// than the longest think times say, and since Steps.Limit may end it.
type Rounds struct {
	base    takt.Source
	steps   Steps
	next    *round            // has not begun; nil: it is to be read
	open    ring.Heap[*round] // have begun, and have further steps
	begun   uint64            // number of rounds that have been read
	ended   bool              // no other round begins
	limited bool              // since Steps.Limit was reached, at the instant limitAt
	limitAt time.Duration
	last    time.Duration // latest instant at which a step was due
}

// round is one round: the operations of the schedule that it uses, and when the next of them is due.
type round struct {
	number uint64
	seq    []uint64
	step   int
	due    time.Duration
}

// NewRounds wraps the schedule base in Rounds.
func NewRounds(base takt.Source, steps Steps) *Rounds {
	return &Rounds{base: base, steps: steps, open: ring.NewHeap((*round).before)}
}

// before is the order of open rounds: of two that are due at once, the one with the earlier step is the first.
func (b *round) before(o *round) bool {
	return b.due < o.due || b.due == o.due && (b.step < o.step || b.step == o.step && b.number < o.number)
}

// read reads the next round from the schedule; nil: there is none.
func (r *Rounds) read() *round {
	b := &round{number: r.steps.number(r.begun)}
	var op takt.Op
	for range r.steps.Think {
		if r.ended = !r.base.Next(&op); r.ended {
			break
		}
		if r.steps.stops(b.number) {
			r.ended, r.limited, r.limitAt = true, true, op.Due
			break
		}
		if len(b.seq) == 0 {
			b.due = op.Due
		}
		b.seq = append(b.seq, op.Seq)
	}
	if len(b.seq) == 0 {
		return nil
	}
	r.begun++
	return b
}

// Next implements takt.Source.
func (r *Rounds) Next(op *takt.Op) bool {
	if r.next == nil && !r.ended {
		r.next = r.read()
	}
	var b *round
	switch {
	case r.next != nil && (r.open.Len() == 0 || r.next.due <= r.open.Top().due):
		b, r.next = r.next, nil
	case r.open.Len() > 0:
		b = r.open.Pop()
	default:
		return false
	}
	op.Seq, op.Due = b.seq[b.step], b.due
	op.Data = r.steps.Data(b.number, b.step, b.step == len(b.seq)-1)
	r.last = max(r.last, b.due)
	if b.step++; b.step < len(b.seq) {
		b.due += r.steps.think(b.number, b.step)
		r.open.Push(b)
	}
	return true
}

// End implements takt.Source: a round that has begun is finished. With think times that differ it is known when the last
// step is.
func (r *Rounds) End() time.Duration {
	end := r.base.End()
	if r.limited {
		end = r.limitAt
	}
	fixed := !slices.ContainsFunc(r.steps.Think, func(t dist.Time) bool { return !t.IsFixed() })
	switch {
	case end < 0:
		return end
	case fixed || !r.ended || r.next != nil || r.open.Len() > 0:
		return end + r.steps.most()
	}
	return max(end, r.last+1)
}

// Starved implements engine.Feed.
func (r *Rounds) Starved() bool { return false }

// EndedEarly implements engine.Feed.
func (r *Rounds) EndedEarly() bool { return r.limited }

// Err implements engine.Feed.
func (r *Rounds) Err() error { return nil }
