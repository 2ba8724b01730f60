package schedule

import (
	"math"
	"math/big"
)

// Exact arithmetic for instants. It runs once a schedule, so it may allocate.

// maxDenominator keeps 10⁹ × denominator, and MaxRate × denominator, below 2⁶³.
const maxDenominator = 9_000_000_000

// rational returns the fraction that r means: 1/360 for the float64 next to 10/3600. It is
// the first convergent of r's continued fraction within 4e-16 of r (two roundings). By
// Legendre's theorem every p/q as near to r as 1/(2q²) is a convergent, so any intended
// fraction with p·q < 10¹⁵ is found. Otherwise the error is 0.4 ns in ten days. r is in
// [MinRate, MaxRate] or 0.
func rational(r float64) *big.Rat {
	x := new(big.Rat).SetFloat64(r)
	num, den := new(big.Int).Set(x.Num()), new(big.Int).Set(x.Denom())
	p0, q0, p1, q1 := big.NewInt(0), big.NewInt(1), big.NewInt(1), big.NewInt(0)
	for den.Sign() != 0 {
		a, rest := new(big.Int).DivMod(num, den, new(big.Int))
		p := new(big.Int).Add(new(big.Int).Mul(a, p1), p0)
		q := new(big.Int).Add(a.Mul(a, q1), q0)
		if q.Cmp(big.NewInt(maxDenominator)) > 0 {
			break
		}
		p0, q0, p1, q1 = p1, q1, p, q
		if near(x.SetFrac(p1, q1), r) {
			break
		}
		num, den = den, rest
	}
	return new(big.Rat).SetFrac(p1, q1)
}

// near reports whether x is r except for rounding.
func near(x *big.Rat, r float64) bool {
	f, _ := x.Float64()
	return math.Abs(f-r) <= 4e-16*r
}

// floor and ceil round x ≥ 0 to a whole number; ceil saturates.
func floor(x *big.Rat) *big.Int { return new(big.Int).Div(x.Num(), x.Denom()) }

func ceil(x *big.Rat) uint64 {
	n, rest := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	if !n.IsUint64() {
		return math.MaxUint64
	}
	return n.Uint64()
}

// short rounds x to a multiple of 2⁻⁴⁰ if its denominator exceeds 64 bits, as after many
// stages of odd rates. The error is 10⁻¹² operations; without rounding the sums would grow
// with every stage.
func short(x *big.Rat) *big.Rat {
	if x.Denom().BitLen() <= 64 {
		return x
	}
	unit := new(big.Int).Lsh(big.NewInt(1), 40)
	n := floor(new(big.Rat).Mul(x, new(big.Rat).SetInt(unit)))
	return new(big.Rat).SetFrac(n, unit)
}
