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

// drawn has operation n due at Λ⁻¹(xₙ), with numbers x₀ ≤ x₁ ≤ … from elsewhere. They count
// operations, not time: after 10¹² operations the rounding is 10⁻⁴ of a gap.
type drawn struct {
	plan    *plan
	numbers numbers
	seg     *segment
	i       int // index of seg in plan.segs
	x       float64
	left    uint64 // number of measured operations left
	last    time.Duration
}

// numbers are those of one iteration: next is called with 0, and then with its last result.
type numbers interface {
	next(x float64) float64
}

// stream is the second word of the generator's seed: the golden ratio, an
// arbitrary constant that keeps small seeds apart from a zero state.
const stream = 0x9e3779b97f4a7c15

func newDrawn(p *plan) *drawn {
	d := &drawn{plan: p, seg: &p.segs[0], left: p.limit}
	switch r := rand.New(rand.NewPCG(p.seed, stream)); {
	case p.like != nil:
		d.numbers = p.like.numbers(p.stop)
	case p.gamma != 0 && p.gamma != 1:
		d.numbers = newGamma(p.gamma, r)
	default:
		d.numbers = exponential{r}
	}
	return d
}

func (d *drawn) End() time.Duration { return d.plan.end }

func (d *drawn) Next() (time.Duration, bool) {
	d.x = d.numbers.next(d.x)
	for d.x >= d.seg.high {
		if d.i+1 == len(d.plan.segs) {
			return 0, false // for good: x only grows
		}
		d.i++
		d.seg = &d.plan.segs[d.i]
	}
	if d.i >= d.plan.warm {
		if d.left == 0 {
			return 0, false
		}
		d.left--
	}
	d.last = max(d.last, d.seg.at(d.x))
	return d.last, true
}

// exponential has unit exponentials as gaps, also before the first number: a Poisson process.
type exponential struct{ rand *rand.Rand }

func (e exponential) next(x float64) float64 { return x + e.rand.ExpFloat64() }

// maxDraw limits drawEnd to about a second.
const maxDraw = 100_000_000

// drawEnd returns the end of a schedule with a limit: the instant of the arrival after the
// last one. For Poisson arrivals the time until then is Gamma(n+1), for which n/time is an unbiased
// estimate of the rate. Ending with the last arrival would overstate the rate.
func (d *drawn) drawEnd() time.Duration {
	whole := d.plan.end
	for range maxDraw {
		if _, ok := d.Next(); ok {
			continue
		}
		if d.x >= d.seg.high {
			return whole // the stages end first
		}
		return max(d.seg.at(d.x), d.last+1)
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
