package payload

import (
	"fmt"
	"math"
	"strconv"
)

// The bounds of a Zipf distribution. The numbers must be exact in a float64, and beyond the
// largest exponent everything is number 1.
const (
	maxRanks    = 1 << 53
	maxExponent = 20
)

// ranks is a Zipf distribution: number k of 1 to n has a probability in proportion to
// k^-exponent. It needs no table, by rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6,
// 1996): a draw is accepted at the first attempt in at least 3 of 4 cases, whatever n is.
type ranks struct {
	n, exponent float64
	first, last float64 // integral at the ends
	certain     float64 // distance from a number within which it is accepted at once
}

func newRanks(n int64, exponent float64) (ranks, error) {
	switch {
	case n < 1 || n > maxRanks:
		return ranks{}, fmt.Errorf("a zipf distribution has 1 to %d numbers, not %d; choose a number within", int64(maxRanks), n)
	case !(exponent > 0 && exponent <= maxExponent):
		return ranks{}, fmt.Errorf("the exponent of a zipf distribution is above 0 and at most %d, not %v; 1 is usual", maxExponent, exponent)
	}
	r := ranks{n: float64(n), exponent: exponent}
	r.first = r.integral(1.5) - 1
	r.last = r.integral(r.n + 0.5)
	r.certain = 2 - r.inverse(r.integral(2.5)-r.height(2))
	return r, nil
}

// at is the number that 128 random bits choose. Further attempts continue the generator that
// these bits begin.
func (r *ranks) at(state, low uint64) int64 {
	word := state
	for {
		u := r.last + unit(word)*(r.first-r.last)
		x := r.inverse(u)
		k := math.Max(1, math.Min(r.n, math.Floor(x+0.5)))
		if k-x <= r.certain || u >= r.integral(k+0.5)-r.height(k) {
			return int64(k)
		}
		state += gamma
		word = mix(state) ^ low
	}
}

// unit is a number between 0 and 1, never one of them.
func unit(word uint64) float64 { return (float64(word>>12) + 0.5) / (1 << 52) }

// height is x^-exponent.
func (r *ranks) height(x float64) float64 { return math.Exp(-r.exponent * math.Log(x)) }

// integral is an integral of height. The form is exact near the exponent 1.
func (r *ranks) integral(x float64) float64 {
	log := math.Log(x)
	return overX(math.Expm1, (1-r.exponent)*log) * log
}

// inverse is the inverse of integral.
func (r *ranks) inverse(y float64) float64 {
	t := math.Max(-1, y*(1-r.exponent)) // below -1 by rounding only
	return math.Exp(overX(math.Log1p, t) * y)
}

// overX is f(x) ÷ x for a function with f(0) = 0 and the slope 1 there.
func overX(f func(float64) float64, x float64) float64 {
	if math.Abs(x) < 1e-12 {
		return 1
	}
	return f(x) / x
}

// zipf is {{zipf N}} and {{zipf N EXPONENT}}.
type zipf struct {
	draw
	ranks *ranks
}

func (z zipf) append(dst []byte, seq uint64) []byte {
	return strconv.AppendInt(dst, z.ranks.at(z.draw.at(seq)), 10)
}

func (z zipf) longest() int { return len(strconv.FormatFloat(z.ranks.n, 'f', 0, 64)) }

func makeZipf(p *parser, args []token) (part, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, errArguments
	}
	n, err := args[0].int()
	if err != nil {
		return nil, errArguments
	}
	exponent := 1.0
	if len(args) == 2 {
		if exponent, err = strconv.ParseFloat(args[1].text, 64); err != nil || args[1].quoted {
			return nil, errArguments
		}
	}
	r, err := newRanks(n, exponent)
	return zipf{p.draw(), &r}, err
}
