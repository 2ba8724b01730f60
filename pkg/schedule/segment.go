package schedule

import (
	"math"
	"math/big"
	"math/bits"
	"time"
)

// segment is a stage placed in time and in Λ, with precomputed values for the inner loops.
type segment struct {
	start, length time.Duration // an endless one lasts to the end of the clock
	low, high     float64       // Λ at start and end; endless: +Inf
	stop          uint64        // ⌈Λ(end)⌉: the first whole number after the segment
	period        float64       // ns an operation; 0: a ramp
	line          line          // instants of whole numbers, at a constant rate
	ramp          ramp
}

// whole returns the instant of the whole number n in [low, high); false: beyond the clock's
// 292 years.
func (g *segment) whole(n uint64) (time.Duration, bool) {
	if g.period != 0 {
		return g.line.at(n)
	}
	return g.at(float64(n)), true
}

// at returns the instant of x in [low, high). Ramps round to the nearest nanosecond, because
// float64 cannot distinguish a whole number from the next below. So the result is clamped to
// keep due < end.
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

// line computes ⌊(n·num + add) / den⌋ with 128 bits in between: the exact instants of a
// constant rate. add, in two's complement, is the shift by earlier stages.
type line struct {
	num, den     uint64
	addHi, addLo uint64
}

// at returns the instant of n; false: the instant exceeds 2⁶³−1 ns.
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

// newLine makes the line n·slope + offset, both in ns. Rounding the offset down to a multiple
// of 1/den loses nothing: ⌊(n + y)/den⌋ = ⌊(n + ⌊y⌋)/den⌋ for whole n. The bounds of a Spec
// keep num and den below 2⁶³ and add within ±2¹²⁶.
func newLine(slope, offset *big.Rat) line {
	add := new(big.Int).Mul(offset.Num(), slope.Denom())
	add.Div(add, offset.Denom())                       // Euclidean: rounds down for a positive divisor
	add.Mod(add, new(big.Int).Lsh(big.NewInt(1), 128)) // two's complement of a negative number
	l := line{num: slope.Num().Uint64(), den: slope.Denom().Uint64()}
	l.addLo = new(big.Int).And(add, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	l.addHi = add.Rsh(add, 64).Uint64()
	return l
}

// ramp inverts s = r·t + m·t²/2, the operations in t seconds of a linear ramp. A falling ramp
// is computed as a rising one from its end. That avoids differences of nearly equal numbers,
// which near rate 0 would cost half of the digits.
type ramp struct {
	rate, square float64 // the lower of the two rates, and its square
	double       float64 // 2m ≥ 0
	total, secs  float64 // operations and seconds of a falling ramp; 0: a rising ramp
}

func newRamp(g Stage, total float64) ramp {
	low, secs := min(g.From, g.To), g.Duration.Seconds()
	r := ramp{rate: low, square: low * low, double: 2 * math.Abs(g.To-g.From) / secs}
	if g.To < g.From {
		r.total, r.secs = total, secs
	}
	return r
}

// at returns the seconds from the ramp's start to its operation s.
func (r *ramp) at(s float64) float64 {
	if r.secs != 0 {
		return r.secs - r.rise(r.total-s)
	}
	return r.rise(s)
}

// rise is t = 2s / (r + √(r² + 2ms)), the form that stays exact when m or r is 0. The
// conversion to float64 prevents a fused multiply-add, which differs between architectures.
func (r *ramp) rise(s float64) float64 {
	if s <= 0 {
		return 0 // also 0/0, at rate 0
	}
	return 2 * s / (r.rate + math.Sqrt(r.square+float64(r.double*s)))
}
