package schedule

import (
	"math/rand/v2"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// uniform has operation n due at Λ⁻¹(n).
type uniform struct {
	plan *plan
	seg  *segment
	i    int // index of seg in plan.segs
	n    uint64
	last time.Duration
}

func (u *uniform) End() time.Duration { return u.plan.end }

func (u *uniform) Next() (time.Duration, bool) {
	if u.n >= u.plan.stop {
		return 0, false
	}
	for u.n >= u.seg.stop { // ends: plan.stop ≤ stop of the last segment
		u.i++
		u.seg = &u.plan.segs[u.i]
	}
	due, ok := u.seg.whole(u.n)
	if !ok {
		return 0, false
	}
	u.n++
	u.last = max(u.last, due) // float64 ramps can step back by 1 ns where operations are about as dense
	return u.last, true
}

// poisson has operation n due at Λ⁻¹ of the sum of n+1 unit exponentials. The sum counts
// operations, not time: after 10¹² operations the rounding is 10⁻⁴ of a gap.
type poisson struct {
	plan *plan
	seg  *segment
	i    int // index of seg in plan.segs
	x    float64
	left uint64 // number of measured operations left
	last time.Duration
	rand *rand.Rand
}

// stream is the second word of the generator's seed: the golden ratio, an
// arbitrary constant that keeps small seeds apart from a zero state.
const stream = 0x9e3779b97f4a7c15

func newPoisson(p *plan) *poisson {
	return &poisson{plan: p, seg: &p.segs[0], left: p.limit, rand: rand.New(rand.NewPCG(p.seed, stream))}
}

func (p *poisson) End() time.Duration { return p.plan.end }

func (p *poisson) Next() (time.Duration, bool) {
	p.x += p.rand.ExpFloat64()
	for p.x >= p.seg.high {
		if p.i+1 == len(p.plan.segs) {
			return 0, false // for good: x only grows
		}
		p.i++
		p.seg = &p.plan.segs[p.i]
	}
	if p.i >= p.plan.warm {
		if p.left == 0 {
			return 0, false
		}
		p.left--
	}
	p.last = max(p.last, p.seg.at(p.x))
	return p.last, true
}

// maxDraw limits drawEnd to about a second.
const maxDraw = 100_000_000

// drawEnd returns the end of a schedule with a limit: the instant of the arrival after the
// last one. The time until then is Gamma(n+1), for which n/time is an unbiased estimate of
// the rate. Ending with the last arrival would overstate the rate.
func (p *poisson) drawEnd() time.Duration {
	whole := p.plan.end
	for range maxDraw {
		if _, ok := p.Next(); ok {
			continue
		}
		if p.x >= p.seg.high {
			return whole // the stages end first
		}
		return max(p.seg.at(p.x), p.last+1)
	}
	return whole
}

// closed has every operation due when the operation is taken.
type closed struct {
	plan *plan
	n    uint64
}

func (c *closed) End() time.Duration { return c.plan.end }

func (c *closed) Next() (time.Duration, bool) {
	if c.n >= c.plan.limit {
		return 0, false
	}
	c.n++
	return takt.Asap, true
}
