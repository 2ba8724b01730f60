package users

import (
	"container/heap"
	"sync"
	"time"

	"github.com/taktload/takt/internal/ring"
	"github.com/taktload/takt/pkg/takt"
)

// Steps are the steps of each round of a user.
type Steps struct {
	Think []time.Duration // before each step; that of the first has no effect
	// Data is for op.Data of a step. round is the number of its round, see Part; last says that no
	// other step of the round follows.
	Data func(round uint64, step int, last bool) any
	// Part and Parts say which rounds are this process's: their numbers, from 0, are Part modulo Parts; 0: as 1.
	Part, Parts uint64
	Limit       uint64 // rounds with this number or above do not begin; 0: no limit
	// Over says that a round has failed before its last step; nil: not called.
	Over func(round uint64)
}

// number is the number of a round before which this process has begun so many. The rounds of all processes
// have each number once, without a gap.
func (s *Steps) number(begun uint64) uint64 { return begun*max(1, s.Parts) + s.Part }

// stops reports whether a round with this number does not begin.
func (s *Steps) stops(number uint64) bool { return s.Limit > 0 && number >= s.Limit }

// offset is how long after the beginning of its round a step is due.
func (s *Steps) offset(step int) (d time.Duration) {
	for _, think := range s.Think[1 : step+1] {
		d += think
	}
	return d
}

// Rounds is a source for a schedule with instants. As many operations of the schedule as there are
// steps are a round, which begins when the first of them is due. Its other steps are due after
// their think times, whatever the answers do.
type Rounds struct {
	base    takt.Source
	steps   Steps
	offsets []time.Duration
	rounds  ring.Queue[round] // begun and not finished, from number first on
	first   uint64            // index of the oldest of rounds
	next    []uint64          // index of the round whose step is the next, by step
	begun   uint64            // number of rounds that have begun
	ended   bool              // no other round begins
	limited bool              // since Steps.Limit was reached, at the instant limitAt
	limitAt time.Duration
}

// round is one round: the operations of the schedule that it uses.
type round struct {
	number uint64
	due    time.Duration
	seq    []uint64
}

// NewRounds wraps the schedule base in Rounds.
func NewRounds(base takt.Source, steps Steps) takt.Source {
	r := &Rounds{base: base, steps: steps, next: make([]uint64, len(steps.Think))}
	for i := range steps.Think {
		r.offsets = append(r.offsets, steps.offset(i))
	}
	if steps.Limit > 0 {
		return &limitedRounds{r}
	}
	return r
}

// limitedRounds is an engine.Feed, since it may end before its schedule.
type limitedRounds struct{ *Rounds }

// End implements takt.Source.
func (r *limitedRounds) End() time.Duration {
	if r.limited {
		return r.limitAt + r.offsets[len(r.offsets)-1]
	}
	return r.Rounds.End()
}

// Starved implements engine.Feed.
func (r *limitedRounds) Starved() bool { return false }

// EndedEarly implements engine.Feed.
func (r *limitedRounds) EndedEarly() bool { return r.limited }

// Err implements engine.Feed.
func (r *limitedRounds) Err() error { return nil }

// begin reads the next round.
func (r *Rounds) begin() {
	b := round{number: r.steps.number(r.begun)}
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
	if len(b.seq) > 0 {
		r.begun++
		r.rounds.Push(b)
	}
}

// Next implements takt.Source.
func (r *Rounds) Next(op *takt.Op) bool {
	if !r.ended && r.next[0] == r.first+uint64(r.rounds.Len()) {
		r.begin()
	}
	best, at := -1, time.Duration(0)
	for step := range r.next {
		b := r.at(step)
		if b == nil {
			continue
		}
		if due := b.due + r.offsets[step]; best < 0 || due < at {
			best, at = step, due
		}
	}
	if best < 0 {
		return false
	}
	b := r.at(best)
	op.Seq, op.Due = b.seq[best], at
	op.Data = r.steps.Data(b.number, best, best == len(b.seq)-1)
	r.next[best]++
	for last := len(r.next) - 1; r.rounds.Len() > 0 && (r.next[last] > r.first || r.isShort(last)); r.first++ {
		r.rounds.Pop()
		r.next[last] = max(r.next[last], r.first+1)
	}
	return true
}

// isShort reports whether the oldest round, of the end of the schedule, is over without its last
// step.
func (r *Rounds) isShort(last int) bool {
	n := len(r.rounds.Head().seq)
	return n <= last && r.next[n-1] > r.first
}

// at is the round whose step is the next; nil: there is none yet.
func (r *Rounds) at(step int) *round {
	i := r.next[step]
	if i < r.first {
		i, r.next[step] = r.first, r.first
	}
	if i >= r.first+uint64(r.rounds.Len()) || step > 0 && i >= r.next[step-1] {
		return nil
	}
	b := r.rounds.At(int(i - r.first))
	if step >= len(b.seq) {
		return nil
	}
	return &b
}

// End implements takt.Source: a round that has begun is finished.
func (r *Rounds) End() time.Duration {
	end := r.base.End()
	if end < 0 {
		return end
	}
	return end + r.offsets[len(r.offsets)-1]
}

// Circles is a source for a schedule without instants: users begin a round when their previous one
// is over, and a step its think time after the answer to the step before.
type Circles struct {
	base  takt.Source
	steps Steps
	users int

	mu      sync.Mutex
	wake    func()
	begun   uint64 // number of rounds that have begun
	active  int    // users within a round, or pausing after one
	pending byReady
	starved bool
	ended   bool
}

// pending is a step that waits for its think time, or the pause of a user after a round.
type pending struct {
	round uint64
	step  int // negative: a pause
	at    time.Time
}

// NewCircles wraps the schedule base.
func NewCircles(base takt.Source, steps Steps, users int) *Circles {
	return &Circles{base: base, steps: steps, users: users, wake: func() {}}
}

// Begin says how to wake the engine.
func (c *Circles) Begin(wake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = wake
}

// Next implements takt.Source.
func (c *Circles) Next(op *takt.Op) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starved = false
	now, step, number := time.Now(), 0, uint64(0)
	for len(c.pending) > 0 && c.pending[0].step < 0 && !c.pending[0].at.After(now) {
		heap.Pop(&c.pending)
		c.active--
	}
	switch {
	case c.ended:
		return false
	case len(c.pending) > 0 && !c.pending[0].at.After(now):
		step, number = c.pending[0].step, c.pending[0].round
	case c.active == c.users:
		c.starved = true
		return false
	default:
		if number = c.steps.number(c.begun); c.steps.stops(number) {
			c.starved = c.active > 0
			return false
		}
	}
	if c.ended = !c.base.Next(op); c.ended {
		return false
	}
	if step > 0 {
		heap.Pop(&c.pending)
	} else {
		c.active++
		c.begun++
	}
	op.Data = c.steps.Data(number, step, step == len(c.steps.Think)-1)
	return true
}

// Ended says that a step has ended. failed: so has its round, and its user begins the next one
// after the pause.
func (c *Circles) Ended(number uint64, step int, failed bool, at time.Time, pause time.Duration) {
	c.mu.Lock()
	switch {
	case !failed && step+1 < len(c.steps.Think):
		heap.Push(&c.pending, pending{number, step + 1, at.Add(c.steps.Think[step+1])})
	case failed && c.steps.Over != nil:
		c.steps.Over(number)
	}
	switch {
	case !failed && step+1 < len(c.steps.Think):
	case pause > 0:
		heap.Push(&c.pending, pending{step: -1, at: at.Add(pause)})
	default:
		c.active--
	}
	wake := c.wake
	c.mu.Unlock()
	wake()
}

// End implements takt.Source.
func (c *Circles) End() time.Duration { return c.base.End() }

// Starved implements engine.Feed.
func (c *Circles) Starved() bool { return c.starved }

// EndedEarly implements engine.Feed.
func (c *Circles) EndedEarly() bool { return false }

// Err implements engine.Feed.
func (c *Circles) Err() error { return nil }

// byReady is a heap by the end of the wait.
type byReady []pending

func (h byReady) Len() int           { return len(h) }
func (h byReady) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h byReady) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *byReady) Push(x any) { *h = append(*h, x.(pending)) }

// Pop implements heap.Interface.
func (h *byReady) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	*h = (*h)[:last]
	return p
}
