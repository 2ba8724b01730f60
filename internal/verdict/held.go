package verdict

import "time"

// Held is the time for which the generator and the target used the connections that
// operations waited for, in nanoseconds, summed over all connections.
type Held struct{ Generator, Target float64 }

// Add adds n operations. Each waited while the generator and the target used its connection
// for these times.
func (h *Held) Add(generator, target time.Duration, n uint64) {
	h.Generator += float64(generator) * float64(n)
	h.Target += float64(target) * float64(n)
}

// Merge adds o.
func (h *Held) Merge(o Held) {
	h.Generator += o.Generator
	h.Target += o.Target
}

// Share is the generator's part, 0 to 1.
func (h Held) Share() float64 {
	if all := h.Generator + h.Target; all > 0 {
		return h.Generator / all
	}
	return 0
}

// mostHeld is the largest acceptable Share. Connections circulate between generator and
// target, and the slower one has nearly all of them. With 50 connections a generator has a
// quarter of them when it is busy for more than 90 % of its time, as a loop may be.
const mostHeld = 0.25

// shortRate is the part of the intended rate that counts as achieved.
const shortRate = 0.99

// Bottleneck reports whether the generator is why a rate was not achieved: it used the
// connections for more than a quarter of the time, or without its part the rate would have
// been achieved. n connections make n ÷ (target + generator) operations a second. Without the
// generator's part s of that time they make 1 ÷ (1 − s) times as many.
func (h Held) Bottleneck(achieved, intended float64) bool {
	s := h.Share()
	return achieved < shortRate*intended && (s > mostHeld || s > 0 && achieved >= (1-s)*intended)
}
