package record

import (
	"cmp"
	"slices"
	"time"
)

// StepLength is the resolution with which a journal records the due instants of open
// operations.
const StepLength = 10 * time.Millisecond

// Steps counts operations by due, in steps of StepLength. The zero value is ready. Operations
// come nearly in due order, so the map is accessed once a step, not once an operation.
type Steps struct {
	at  int64 // step of the n operations that are not in all yet
	n   uint64
	all map[int64]uint64
}

// Add counts n operations that were due at that instant.
func (s *Steps) Add(due time.Duration, n uint64) {
	if at := int64(due / StepLength); at != s.at {
		s.flush()
		s.at = at
	}
	s.n += n
}

func (s *Steps) flush() {
	if s.n == 0 {
		return
	}
	if s.all == nil {
		s.all = map[int64]uint64{}
	}
	s.all[s.at] += s.n
	s.n = 0
}

func (s *Steps) reset() {
	s.n = 0
	clear(s.all)
}

func (s *Steps) merge(o *Steps) {
	o.flush()
	for at, n := range o.all {
		s.Add(time.Duration(at)*StepLength, n)
	}
}

// open is the number of open operations by step. A negative number means operations that
// ended after a tick, but are counted as taken only in the next tick.
type open map[int64]int64

// update adds taken operations and subtracts ended ones.
func (o open) update(taken, ended *Steps) {
	if o == nil || taken == nil {
		return
	}
	taken.flush()
	ended.flush()
	for at, n := range taken.all {
		o.add(at, int64(n))
	}
	for at, n := range ended.all {
		o.add(at, -int64(n))
	}
}

func (o open) add(at, n int64) {
	if o[at] += n; o[at] == 0 {
		delete(o, at)
	}
}

// Open is the number of open operations that were due about the instant Due.
type Open struct {
	Due time.Duration `json:"due"` // the middle of the step
	N   uint64        `json:"n"`
}

// before is the open operations due before the instant at, in due order.
func (o open) before(at time.Duration) []Open {
	var list []Open
	for step, n := range o {
		if start := time.Duration(step) * StepLength; n > 0 && start < at {
			list = append(list, Open{min(at, start+StepLength/2), uint64(n)})
		}
	}
	slices.SortFunc(list, func(a, b Open) int { return cmp.Compare(a.Due, b.Due) })
	return list
}
