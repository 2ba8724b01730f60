// Package journey says which step of a scenario a user performs next: what is optional, repeated, polled, tried again, or
// passed over.
package journey

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/taktload/takt/internal/dist"
)

// Step are the rules of one step. Some steps are a group: its steps are performed one behind the other, as often as
// the first of them is repeated.
type Step struct {
	Think    dist.Time   // before it
	When     []Condition // all hold, or the step is passed over; of a group's first step: the group. Each repetition asks anew
	Optional bool        // its failure does not end the round
	Repeat   Repeat      // of a group's first step, or of a step alone
	Poll     *Poll       // nil: it is not polled
	Retry    *Retry      // nil: it is not tried again

	Before, Behind int // steps of its group that are before and behind it
}

// performs reports whether a user performs the step, after so many repetitions of its group.
func (s *Step) performs(times int, u User) bool {
	if s.Before == 0 && times >= s.Repeat.values(u.List) {
		return false
	}
	return !slices.ContainsFunc(s.When, func(c Condition) bool { return c.Holds(u) == c.Not })
}

// Condition is a condition on the values of a user.
type Condition struct {
	Holds func(u User) bool
	Not   bool
}

// Repeat says how often a step is performed. The zero Repeat is once.
type Repeat struct {
	Name     string // of the value of each time; "": it has none
	List     string // captured list with the values; "": they are numbers
	From, To int    // first and last of the numbers
	By       int    // from one number to the next; 0: 1
}

// Number is the number of repetition i, from 0.
func (r Repeat) Number(i int) int { return r.From + i*max(1, r.By) }

// values are those of a repetition; list is a captured list.
func (r Repeat) values(list func(name string) [][]byte) int {
	switch {
	case r.List != "":
		return len(list(r.List))
	case r.To >= r.From && r.To > 0:
		return (r.To-r.From)/max(1, r.By) + 1
	}
	return 1
}

// Poll asks again until a check holds.
type Poll struct {
	Every dist.Time // after each answer
	Most  int       // times that it asks
}

// Retry tries a failed step again, as clients do.
type Retry struct {
	Times   int
	On      func(class string, status int) bool
	Backoff dist.Time // before the first of them; it doubles each time
}

// longestBackoff bounds the pause before a retry, which doubles each time.
const longestBackoff = time.Minute

// Place is where a user is in a journey. The zero Place is before the first step.
type Place struct {
	Step   int
	times  int // repetitions of the step, or of its group, that are over
	polls  int // answers of the step that were not the one that is waited for
	failed int // tries of the step that failed
}

// Time is the number of the repetition of the step, or of its group, from 0.
func (p Place) Time() int { return p.times }

// IsFirst reports whether the repetition has not performed the step yet: it is not polled again, nor tried again.
func (p Place) IsFirst() bool { return p.polls == 0 && p.failed == 0 }

// IsLastPoll reports whether the step asks for the last time.
func (p Place) IsLastPoll(s *Step) bool { return s.Poll != nil && p.polls+1 >= s.Poll.Most }

// Result is what came of a step.
type Result struct {
	Class  string // of the failure; "": it is ok
	Status int
	Done   bool // the check of Poll holds
}

// Next is what a user does next.
type Next struct {
	Place
	Over   bool          // the round is over
	Failed bool          // since a step failed
	Wait   time.Duration // before the step
	After  bool          // Wait begins with the answer, since the answer is the reason for the step; else when the step before was due
	Passed []int         // steps that were passed over
}

// User is what conditions and repetitions ask.
type User struct {
	Self any                        // for Condition.Holds
	List func(name string) [][]byte // a captured list
	Rand *rand.Rand                 // of think times and pauses
	Lose func(step int)             // the step is passed over in a repetition of its group: its values are those of an earlier one
}

// Begin is the first step of a round.
func Begin(steps []Step, u User) Next {
	var n Next
	n.forward(steps, 0, 0, u)
	if n.Step == 0 {
		n.Wait = 0 // nobody waits before the first one
	}
	return n
}

// After is what follows the step at p with this result.
func After(steps []Step, p Place, r Result, u User) Next {
	s := &steps[p.Step]
	n := Next{Place: p}
	switch {
	case r.Class != "" && s.Retry != nil && p.failed < s.Retry.Times && s.Retry.On(r.Class, r.Status):
		n.Wait, n.After = min(longestBackoff, s.Retry.Backoff.Draw(u.Rand)<<min(p.failed, 20)), true
		n.failed++
		return n
	case r.Class != "" && !s.Optional:
		n.Over, n.Failed = true, true
		return n
	case r.Class == "" && s.Poll != nil && !r.Done && p.polls+1 < s.Poll.Most:
		n.Wait, n.After = s.Poll.Every.Draw(u.Rand), true
		n.polls, n.failed = n.polls+1, 0
		return n
	}
	at, times := s.follows(p.Step, p.times)
	n.forward(steps, at, times, u)
	return n
}

// follows is the step behind step at, which is s: within its group, or the first one of it for the next repetition.
func (s *Step) follows(at, times int) (next, repetition int) {
	if s.Behind > 0 {
		return at + 1, times
	}
	return at - s.Before, times + 1
}

// forward goes to the first step that is performed, from step at on, whose group was performed so many times.
func (n *Next) forward(steps []Step, at, times int, u User) {
	for at < len(steps) {
		s := &steps[at]
		if s.performs(times, u) {
			n.Place, n.Wait = Place{Step: at, times: times}, s.Think.Draw(u.Rand)
			return
		}
		if s.Before > 0 {
			n.Passed = append(n.Passed, at)
			if times > 0 {
				u.Lose(at)
			}
			at, times = s.follows(at, times)
			continue
		}
		for range s.Behind + 1 { // the group is over, or passed over
			if times == 0 {
				n.Passed = append(n.Passed, at)
			}
			at++
		}
		times = 0
	}
	n.Over = true
}

// longestRound bounds Longest, which could pass 292 years.
const longestRound = 365 * 24 * time.Hour

// Longest is how long after the beginning of a round its last step is due, at most, if no answer is late. It has neither polls
// nor retries, and of a repetition over a captured list one.
func Longest(steps []Step) (d time.Duration) {
	for i := range steps {
		s := &steps[i]
		times := 1
		if r := steps[i-s.Before].Repeat; r.List == "" {
			times = r.values(nil)
		}
		if d += time.Duration(times) * s.Think.Most(); d > longestRound {
			return longestRound
		}
	}
	return d
}

// Fixed reports whether each round has all steps, each once, whatever the answers are.
func Fixed(steps []Step) bool {
	return !slices.ContainsFunc(steps, func(s Step) bool {
		return s.When != nil || s.Optional || s.Repeat != (Repeat{}) || s.Poll != nil || s.Retry != nil
	})
}
