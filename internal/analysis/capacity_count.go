package analysis

import (
	"slices"

	"github.com/taktload/takt/pkg/takt"
)

// mostStolen is what the hypervisor may take of the CPU before it disturbs a step, per cent.
const mostStolen = 5

// Disturbed reports whether the hypervisor took so much of the CPU in a valid step that its
// pauses may have shaped the figures. The target had no part in them.
func (s CapacityStep) Disturbed() bool { return s.Verdict != takt.Invalid && s.Stolen > mostStolen }

// sound reports whether neither the generator nor the hypervisor shaped the figures.
func (s CapacityStep) sound() bool { return s.Verdict != takt.Invalid && !s.Disturbed() }

// Counts reports whether s says something of the target: it is sound, or disturbed and so
// are all other runs at its rate.
func (c Capacity) Counts(s CapacityStep) bool { return counts(c.Steps, s) }

func counts(steps []CapacityStep, s CapacityStep) bool {
	return s.sound() || s.Disturbed() && verdictsAt(steps, s.Offered).sound == 0
}

// counted are the steps that count.
func counted(steps []CapacityStep) []CapacityStep {
	return slices.DeleteFunc(slices.Clone(steps), func(s CapacityStep) bool { return !counts(steps, s) })
}

// madeRate is the part of the offered rate from which a generator was not at its limit.
const madeRate = 0.98

// noisy reports whether noise of the machine, and not the rate, shaped the figures.
func (s CapacityStep) noisy() bool {
	return s.Disturbed() || s.Verdict == takt.Invalid && s.Achieved >= madeRate*s.Offered
}

// verdicts are how many runs at one rate were what. Noisy ones are disturbed or invalid, too.
type verdicts struct{ sound, disturbed, invalid, noisy int }

func verdictsAt(steps []CapacityStep, rate float64) (n verdicts) {
	for _, s := range steps {
		if s.Offered == rate && s.noisy() {
			n.noisy++
		}
		switch {
		case s.Offered != rate:
		case s.Disturbed():
			n.disturbed++
		case s.sound():
			n.sound++
		default:
			n.invalid++
		}
	}
	return n
}

// valid are those that the generator did not shape.
func (n verdicts) valid() int { return n.sound + n.disturbed }

// wasted are those that are to be made again.
func (n verdicts) wasted() int { return n.disturbed + n.invalid }
