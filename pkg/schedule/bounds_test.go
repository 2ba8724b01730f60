package schedule

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// A refused input gives zero, so nobody goes on with a part of it.
func TestErrorsGiveZero(t *testing.T) {
	for _, s := range []string{"", "x", "0", "-1", "5/day", "1001M/s", "5m", strings.Repeat("9", 400)} {
		if r, err := ParseRate(s); r != 0 || err == nil {
			t.Errorf("ParseRate(%.20q) = %v, %v", s, r, err)
		}
	}
	for _, s := range []string{"5", "0..0", "1..x", "x..1", "1..max", "1..1/m"} {
		if from, to, err := ParseRamp(s); from != 0 || to != 0 || err == nil {
			t.Errorf("ParseRamp(%q) = %v, %v, %v", s, from, to, err)
		}
	}
	for _, s := range []string{"", "x", "-1", "1m30", "200000d", "0.0000000001"} {
		if d, err := ParseDuration(s); d != 0 || err == nil {
			t.Errorf("ParseDuration(%q) = %v, %v", s, d, err)
		}
	}
	for _, s := range []string{"", "1s@1,0@1", "1s@0"} {
		if stages, err := ParseStages(s); stages != nil || err == nil {
			t.Errorf("ParseStages(%q) = %v, %v", s, stages, err)
		}
	}
}

// Of input an error shows 64 bytes, and a hint repeats 32 at most.
func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 64)
	for in, want := range map[string]string{long: long, long + "y": long + "…"} {
		if got := (&InputError{"rate", in, "cause", "hint"}).Error(); got != `rate "`+want+`": cause; hint` {
			t.Errorf("got %s", got)
		}
	}
	for in, want := range map[string]string{
		strings.Repeat("0", 30) + "m1": strings.Repeat("0", 30) + "m1s",
		strings.Repeat("0", 31) + "m1": strings.Repeat("0", 30) + "m1s",
	} {
		_, err := ParseDuration(in)
		checkError(t, in, err, `; give "`+want+`" if seconds are meant`)
	}
}

// vegeta writes 500 a second as 500/1s.
func TestRateOfVegeta(t *testing.T) {
	for in, want := range map[string]float64{"500/1s": 500, "60/1m": 1, "2k/1s": 2000} {
		if got, err := ParseRate(in); got != want || err != nil {
			t.Errorf("ParseRate(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
}

// One nanosecond of warm-up is a warm-up: the operation at 0 is not a measured one.
func TestShortestWarmup(t *testing.T) {
	s := Spec{Stages: Constant(500, 0).Stages, Warmup: 1, Limit: 1}
	if got := all(t, s, 10); !slices.Equal(got, []time.Duration{0, 2 * time.Millisecond}) {
		t.Errorf("due at %v", got)
	}
	if end := open(t, s).End(); end != 2*time.Millisecond+1 {
		t.Errorf("end %v, want half a gap after the last", end)
	}
	s = Spec{Stages: Constant(math.Inf(1), time.Second).Stages, Warmup: 1, Limit: 1}
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "from the end of a warm-up on") {
		t.Errorf("a closed loop with a warm-up and a number: %v", err)
	}
}

// A limit that is the schedule's own number of operations ends it where the next one would be.
func TestLimitIsTheNumber(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		spec Spec
		end  time.Duration
		n    int
	}{
		"before a pause":  {Spec{Stages: []Stage{{time.Second, 2, 2}, {time.Second, 0, 0}}, Limit: 2}, time.Second, 2},
		"half a gap less": {Spec{Stages: Constant(500, 5*ms).Stages, Warmup: ms, Limit: 2}, 5 * ms, 3},
	} {
		if end, n := open(t, c.spec).End(), len(all(t, c.spec, 100)); end != c.end || n != c.n {
			t.Errorf("%s: end %v with %d operations, want %v with %d", name, end, n, c.end, c.n)
		}
	}
	if end := open(t, Constant(math.Inf(1), 1)).End(); end != 1 {
		t.Errorf("a closed loop of 1 ns ends at %v", end)
	}
}

// At the end a schedule gives 0 and false.
func TestNothingAfterTheEnd(t *testing.T) {
	for name, s := range map[string]Spec{
		"uniform":            Constant(1, time.Second),
		"end of the clock":   Constant(MinRate, 0),
		"poisson":            {Stages: Constant(1, time.Second).Stages, Poisson: true},
		"poisson with limit": {Stages: Constant(1, 0).Stages, Poisson: true, Limit: 1},
		"closed":             {Stages: Constant(math.Inf(1), 0).Stages, Limit: 1},
	} {
		it := open(t, s)
		for _, ok := it.Next(); ok; {
			_, ok = it.Next()
		}
		if due, ok := it.Next(); due != 0 || ok {
			t.Errorf("%s: %v, %v after the end", name, due, ok)
		}
	}
}

// The end comes after the last instant, if they would be the same nanosecond.
func TestEndIsAfterTheLast(t *testing.T) {
	b := builder{sum: new(big.Rat)}
	b.add(Stage{Duration: time.Second, From: 10, To: 10})
	const last = 300 * time.Millisecond // of number 3
	for at, want := range map[time.Duration]time.Duration{last - 1: last + 1, last: last + 1, last + 1: last + 1, last + 2: last + 2} {
		if got := b.after(at, 3); got != want {
			t.Errorf("after %v: %v, want %v", at, got, want)
		}
	}
}

// An instant that rounding puts at the end of a stage is one nanosecond before it.
func TestDueIsBeforeTheEnd(t *testing.T) {
	g := segment{start: 5, length: 10, high: 10, period: 1}
	for x, want := range map[float64]time.Duration{0: 5, 8.9: 13, 9.9: 14, 10: 14, 11: 14} {
		if got := g.at(x); got != want {
			t.Errorf("at %v: %d, want %d", x, got, want)
		}
	}
}

// A line ends with the last nanosecond of the clock, also where the product has 128 bits.
func TestLineEnds(t *testing.T) {
	for _, c := range []struct {
		l    line
		n    uint64
		want time.Duration
		ok   bool
	}{
		{line{num: math.MaxInt64, den: 1}, 1, math.MaxInt64, true},
		{line{num: 1 << 62, den: 1}, 4, 0, false},                                            // 2⁶⁴: its upper word is den
		{line{num: 1 << 62, den: 2}, 8, 0, false},                                            // 2⁶⁵ ÷ 2, the same
		{line{num: 1 << 62, den: 4}, 7, 7 << 60, true},                                       // 128 bits in between
		{line{num: 1, den: 1, addHi: math.MaxUint64, addLo: math.MaxUint64 - 4}, 7, 2, true}, // 7 − 5
	} {
		if got, ok := c.l.at(c.n); got != c.want || ok != c.ok {
			t.Errorf("%+v at %d: %d, %v, want %d, %v", c.l, c.n, got, ok, c.want, c.ok)
		}
	}
	if _, ok := (&line{num: 1 << 63, den: 1}).at(1); ok {
		t.Error("2⁶³ ns are on the clock")
	}
}

// Denominators up to the bound are found, and long sums are cut to multiples of 2⁻⁴⁰.
func TestRationalBounds(t *testing.T) {
	for _, want := range []*big.Rat{big.NewRat(11, maxDenominator), big.NewRat(7, 1e9), big.NewRat(1, 3)} {
		r, _ := want.Float64()
		if got := rational(r); got.Cmp(want) != 0 {
			t.Errorf("%v means %v, want %v", r, got, want)
		}
	}
	for digits := range int64(100) { // rates of odd digits have no short fraction
		r := MinRate * (1 + math.Sqrt(float64(digits+2)))
		if got := rational(r); got.Denom().Cmp(big.NewInt(maxDenominator)) > 0 {
			t.Errorf("%v means %v, whose denominator is too long", r, got)
		}
	}
	power := func(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }
	even := new(big.Rat).SetFrac(big.NewInt(1), power(63)) // 64 bits
	if short(even) != even {
		t.Error("a denominator of 64 bits is cut")
	}
	long := new(big.Rat).SetFrac(new(big.Int).Sub(power(64), big.NewInt(1)), power(64)) // 1 − 2⁻⁶⁴
	want := new(big.Rat).SetFrac(new(big.Int).Sub(power(40), big.NewInt(1)), power(40))
	if got := short(long); got.Cmp(want) != 0 {
		t.Errorf("%v is cut to %v, want %v", long, got, want)
	}
}

// What is just right is right, and each fault is said once.
func TestValidateBounds(t *testing.T) {
	if err := Constant(1, math.MaxInt64-1).Validate(); err != nil {
		t.Errorf("the longest: %v", err)
	}
	for _, s := range []Spec{Constant(MaxRate, 1), Constant(MinRate, 1), {Stages: slices.Repeat([]Stage{{1, 1, 1}}, MaxStages)}, {Stages: Constant(1, 1).Stages, Shard: 2, Shards: 3}, {Stages: Constant(1, 0).Stages, Warmup: math.MaxInt64 - 1}} {
		if err := s.Validate(); err != nil {
			t.Errorf("%v", err)
		}
	}
	for want, s := range map[string]Spec{
		"the schedule has no stage; give a rate, a ramp or stages":                     {},
		"shard 2 of 1 does not exist; they are numbered from 1":                        {Stages: Constant(1, 1).Stages, Shard: 1},
		"shard 4 of 3 does not exist; they are numbered from 1":                        {Stages: Constant(1, 1).Stages, Shard: 3, Shards: 3},
		"warm-up and stages together exceed 292 years; shorten them":                   Constant(1, math.MaxInt64),
		"stage 1: rate 1e-10: less than one operation in 32 years; give a higher rate": Constant(1e-10, 1),
	} {
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
