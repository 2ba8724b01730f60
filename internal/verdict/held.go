package verdict

import "time"

// Held says who held the connections that operations had to wait for, in nanoseconds of all
// connections together.
type Held struct{ Generator, Target float64 }

// Add adds n operations, of each of which the two held the connection for so long.
func (h *Held) Add(generator, target time.Duration, n uint64) {
	h.Generator += float64(generator) * float64(n)
	h.Target += float64(target) * float64(n)
}

// Merge adds what o holds.
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

// mostHeld is the part that the generator may hold of connections that operations wait for.
// Of two stations in a ring the slower one has nearly all that goes round: with 50
// connections a generator has a quarter of them when it is busy for more than 90 % of its
// time, as a loop may be.
const mostHeld = 0.25

// shortRate is the part of the intended rate below which it was not achieved.
const shortRate = 0.99

// Bottleneck reports whether the generator is why a rate was not achieved: it held the
// connections for more than a quarter of the time, or the rate would have been achieved without
// its part. n connections make n ÷ (target + generator) operations a second, so without the
// generator's part s of that time they make 1 ÷ (1 − s) times as many.
func (h Held) Bottleneck(achieved, intended float64) bool {
	s := h.Share()
	return achieved < shortRate*intended && (s > mostHeld || s > 0 && achieved >= (1-s)*intended)
}
