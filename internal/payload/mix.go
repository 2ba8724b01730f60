package payload

import (
	"hash/fnv"
	"io"
	"math/bits"
)

// gamma is the step of splitmix64: 2⁶⁴ over the golden ratio, made odd.
const gamma = 0x9e3779b97f4a7c15

// mix is the output function of splitmix64, a bijection: different x, different
// results. mix(s + n·gamma) is the n-th number of the generator that starts at s,
// so any number can be had without those before it.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// draw gives 128 random bits for every operation, those of two generators. One
// would do within a run; but runs of 10⁹ operations each, with different seeds,
// would share some of its 2⁶⁴ states, and so a uuid, in 5 of 100 cases.
type draw struct{ high, low uint64 }

// newDraw derives the generators of the i-th placeholder of a template.
func newDraw(seed uint64, template string, i int) draw {
	h := fnv.New64a()
	io.WriteString(h, template) // cannot fail
	key := mix(mix(seed) + h.Sum64())
	n := uint64(2 * i)
	return draw{mix(key + (n+1)*gamma), mix(key + (n+2)*gamma)}
}

func (d draw) at(seq uint64) (high, low uint64) {
	return mix(d.high + seq*gamma), mix(d.low + seq*gamma)
}

// Chance gives 64 random bits for every operation.
type Chance struct{ draw draw }

// NewChance derives the generator of that name.
func NewChance(seed uint64, name string) Chance { return Chance{newDraw(seed, name, 0)} }

// At are the bits of operation seq.
func (c Chance) At(seq uint64) uint64 {
	high, _ := c.draw.at(seq)
	return high
}

// below gives floor(x·n ÷ 2¹²⁸) of the 128-bit number x = high, low: a number in
// [0, n). Every one stands for 2¹²⁸ ÷ n values of x, rounded up or down, so their
// probabilities differ by less than n ÷ 2¹²⁸ of each other, 2⁻⁶⁴ at most. No
// value of x is refused, so there is no loop.
func below(n, high, low uint64) uint64 {
	carried, _ := bits.Mul64(low, n)
	whole, part := bits.Mul64(high, n)
	_, carry := bits.Add64(part, carried, 0)
	return whole + carry
}
