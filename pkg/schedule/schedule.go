// Package schedule says when operations are due. A schedule is a value, a
// [Spec]; clocks, sleeping and sending are elsewhere.
//
// A schedule is a profile times a process. The profile is the rate over time
// λ(t), as a list of linear [Stage]s; Λ(t) = ∫λ counts the operations that are
// expected until t. The process gives numbers x₀ ≤ x₁ ≤ …: n for uniform
// arrivals, a sum of unit exponentials for Poisson arrivals. Operation n is due
// at Λ⁻¹(xₙ). That these instants are a Poisson process of rate λ(t), exactly
// and without thinning, is the time-change theorem (Çinlar 1975; the method of
// inversion beside that of Lewis & Shedler 1979).
//
// The n-th uniform instant is computed from n, by integers where the rate is
// constant: nothing accumulates, so 3/s still meets every whole second after ten
// days. Instants are whole nanoseconds, rounded down, and due < end always.
package schedule

import "time"

// Schedule gives the due instants of one run, counted from its start. It has one
// consumer. Schedules of this package allocate nothing in Next, which takes 5 to
// 15 ns.
type Schedule interface {
	// Next gives the next due instant, never before the last one, or takt.Asap in
	// a closed loop. After it has once reported false it goes on doing so.
	Next() (due time.Duration, ok bool)
	// End is the end of the schedule, later than every due instant; negative: not known.
	End() time.Duration
}

// Schedule gives a fresh iteration of the schedule, from its first operation, of
// all shards. Two iterations of equal Specs give equal instants. The error is
// that of Validate.
func (s Spec) Schedule() (Schedule, error) {
	p, err := newPlan(s)
	if err != nil {
		return nil, err
	}
	return p.iterate(), nil
}

// iterate starts a new iteration of p, which they all share and none changes.
func (p *plan) iterate() Schedule {
	switch {
	case p.closed:
		return &closed{plan: p}
	case p.poisson:
		return newPoisson(p)
	}
	return &uniform{plan: p, seg: &p.segs[0]}
}
