package capacity

import (
	"slices"

	"github.com/taktload/takt/pkg/takt"
)

// mostStolen is the share of CPU time that the hypervisor may take before a step counts as
// disturbed, per cent.
const mostStolen = 5

// Disturbed reports whether the hypervisor took so much CPU time in a valid step that its pauses,
// not the target, may have shaped the figures.
func (s Step) Disturbed() bool { return s.Verdict != takt.Invalid && s.Stolen > mostStolen }

// sound reports whether neither the generator nor the hypervisor shaped the figures.
func (s Step) sound() bool { return s.Verdict != takt.Invalid && !s.Disturbed() }

// decides reports whether a step says if its rate meets the SLO, so that the search goes on.
func (s Step) decides() bool { return s.sound() || s.Proven }

// counting reports whether conclusions may use s where no better step exists at its rate.
func (s Step) counting() bool { return s.Verdict != takt.Invalid || s.Proven }

// Counts reports whether conclusions may use s: it is sound, or it is disturbed or proven and no run
// at its rate is sound. The target was not warming up.
func (c Answer) Counts(s Step) bool { return counts(c.Steps, s) }

func counts(steps []Step, s Step) bool {
	return !s.Warming && (s.sound() || s.counting() && verdictsAt(steps, s.Offered).sound == 0)
}

// counted returns the steps from which conclusions are drawn.
func counted(steps []Step) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !counts(steps, s) })
}

// exact returns the counted steps whose figures the generator did not shape.
func exact(steps []Step) []Step {
	return slices.DeleteFunc(counted(steps), func(s Step) bool { return s.Proven })
}

// madeRate is the share of the offered rate that a generator must achieve to be below its limit.
const madeRate = 0.98

// noisy reports whether noise of the machine, not the rate, shaped the figures.
func (s Step) noisy() bool {
	return s.Disturbed() || s.Verdict == takt.Invalid && s.Achieved >= madeRate*s.Offered
}

// verdicts counts the runs at one rate by their quality. A noisy run is also counted as disturbed,
// proven or invalid.
type verdicts struct{ sound, disturbed, proven, invalid, noisy int }

func verdictsAt(steps []Step, rate float64) (n verdicts) {
	for _, s := range steps {
		if s.Offered != rate || s.Warming {
			continue
		}
		if s.noisy() {
			n.noisy++
		}
		switch {
		case s.Disturbed():
			n.disturbed++
		case s.sound():
			n.sound++
		case s.Proven:
			n.proven++
		default:
			n.invalid++
		}
	}
	return n
}

// valid is the number of runs that say something of the target.
func (n verdicts) valid() int { return n.sound + n.disturbed + n.proven }

// wasted is the number of runs to repeat. Proven runs say whether the rate meets the SLO, but not by
// how much.
func (n verdicts) wasted() int { return n.disturbed + n.proven + n.invalid }
