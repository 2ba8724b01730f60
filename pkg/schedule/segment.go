package schedule

import (
	"math"
	"math/big"
	"math/bits"
	"time"
)

// segment is a stage placed in time and in Λ, with what the inner loops need.
type segment struct {
	start, length time.Duration // endless: up to the end of the clock
	low, high     float64       // Λ at its start and its end; endless: +Inf
	stop          uint64        // ⌈Λ(end)⌉: the first whole number beyond it
	period        float64       // ns an operation; 0: a ramp
	line          line          // of whole numbers, at a constant rate
	ramp          ramp
}

// whole gives the instant of the whole number n in [low, high); false: beyond
// the 292 years of the clock.
func (g *segment) whole(n uint64) (time.Duration, bool) {
	if g.period != 0 {
		return g.line.at(n)
	}
	return g.at(float64(n)), true
}

// at gives the instant of x in [low, high). Ramps round to the nearest
// nanosecond, as float64 cannot tell a whole one from the next below; hence the
// clamp, which keeps due < end.
func (g *segment) at(x float64) time.Duration {
	ns := (x - g.low) * g.period
	if g.period == 0 {
		ns = math.Round(g.ramp.at(x-g.low) * 1e9)
	}
	if ns >= float64(g.length) {
		return g.start + g.length - 1
	}
	return g.start + time.Duration(ns) // below length: the next float64 below float64(length) is
}

// line computes ⌊(n·num + add) / den⌋ with 128 bits in between: the instants of a
// constant rate, exactly. add, two's complement, is where an earlier stage has
// shifted the line.
type line struct {
	num, den     uint64
	addHi, addLo uint64
}

// at gives the instant of n; false: it exceeds 2⁶³−1 ns.
func (l *line) at(n uint64) (time.Duration, bool) {
	hi, lo := bits.Mul64(n, l.num)
	lo, carry := bits.Add64(lo, l.addLo, 0)
	hi, _ = bits.Add64(hi, l.addHi, carry)
	if hi >= l.den {
		return 0, false
	}
	ns, _ := bits.Div64(hi, lo, l.den)
	return time.Duration(ns), ns <= math.MaxInt64
}

// newLine gives n·slope + offset, both in ns. Rounding the offset down to a
// multiple of 1/den loses nothing: ⌊(n + y)/den⌋ = ⌊(n + ⌊y⌋)/den⌋ for whole n.
// The bounds of a Spec keep num and den below 2⁶³ and add within ±2¹²⁶.
func newLine(slope, offset *big.Rat) line {
	add := new(big.Int).Mul(offset.Num(), slope.Denom())
	add.Div(add, offset.Denom())                       // Euclidean: rounds down for a positive divisor
	add.Mod(add, new(big.Int).Lsh(big.NewInt(1), 128)) // two's complement of a negative
	l := line{num: slope.Num().Uint64(), den: slope.Denom().Uint64()}
	l.addLo = new(big.Int).And(add, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	l.addHi = add.Rsh(add, 64).Uint64()
	return l
}

// ramp inverts s = r·t + m·t²/2, the operations of t seconds of a linear ramp. A
// falling ramp is a rising one seen from its end: there no difference of nearly
// equal numbers occurs, which near rate 0 would cost half of the digits.
type ramp struct {
	rate, square float64 // the lower of the two rates, and its square
	double       float64 // 2m ≥ 0
	total, secs  float64 // operations and seconds of a falling ramp; 0: it rises
}

func newRamp(g Stage, total float64) ramp {
	low, secs := min(g.From, g.To), g.Duration.Seconds()
	r := ramp{rate: low, square: low * low, double: 2 * math.Abs(g.To-g.From) / secs}
	if g.To < g.From {
		r.total, r.secs = total, secs
	}
	return r
}

// at gives the seconds from the ramp's start to its operation s.
func (r *ramp) at(s float64) float64 {
	if r.secs != 0 {
		return r.secs - r.rise(r.total-s)
	}
	return r.rise(s)
}

// rise is t = 2s / (r + √(r² + 2ms)), the root that stays exact when m or r is 0.
// The conversion forbids a fused multiply-add, by which architectures differ.
func (r *ramp) rise(s float64) float64 {
	if s <= 0 {
		return 0 // also 0/0, at rate 0
	}
	return 2 * s / (r.rate + math.Sqrt(r.square+float64(r.double*s)))
}
