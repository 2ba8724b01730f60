package schedule

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// open starts an iteration of a valid Spec.
func open(t testing.TB, s Spec) Schedule {
	t.Helper()
	it, err := s.Schedule()
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// all gives the instants of s, but not more than most.
func all(t testing.TB, s Spec, most int) []time.Duration {
	t.Helper()
	it := open(t, s)
	var dues []time.Duration
	for len(dues) < most {
		due, ok := it.Next()
		if !ok {
			if _, again := it.Next(); again {
				t.Fatal("Next reported true after false")
			}
			break
		}
		dues = append(dues, due)
	}
	return dues
}

func TestExactInstants(t *testing.T) {
	const ms = time.Millisecond
	third := 1.0 / 3
	for _, c := range []struct {
		name string
		spec Spec
		want []time.Duration
		end  time.Duration
	}{
		{"constant", Constant(500, 8*ms), []time.Duration{0, 2 * ms, 4 * ms, 6 * ms}, 8 * ms},
		{"just longer", Constant(500, 8*ms+1), []time.Duration{0, 2 * ms, 4 * ms, 6 * ms, 8 * ms}, 8*ms + 1},
		{"shorter than a gap", Constant(1, ms), []time.Duration{0}, ms},
		{"thirds of a second", Constant(3, time.Second), []time.Duration{0, 333333333, 666666666}, time.Second},
		{"one in three seconds", Constant(third, 9*time.Second), []time.Duration{0, 3 * time.Second, 6 * time.Second}, 9 * time.Second},
		{"ten an hour", Constant(10.0/3600, 20*time.Minute), []time.Duration{0, 6 * time.Minute, 12 * time.Minute, 18 * time.Minute}, 20 * time.Minute},
		{"0.9 a minute, a float64 rounded twice", Constant(tenths(9)/60, 400*time.Second),
			[]time.Duration{0, 66666666666, 133333333333, 200 * time.Second, 266666666666, 333333333333}, 400 * time.Second},
		{"one a nanosecond", Constant(1e9, 3), []time.Duration{0, 1, 2}, 3},
		{"rising from 0", Ramp(0, 2, 2*time.Second), []time.Duration{0, 1414213562}, 2 * time.Second},
		{"rising from 0 after a stage", Spec{Stages: []Stage{{time.Second, 2, 2}, {2 * time.Second, 0, 2}}},
			[]time.Duration{0, 500 * ms, 1000 * ms, 2414213562}, 3 * time.Second},
		{"falling to 0", Ramp(2, 0, 2*time.Second), []time.Duration{0, 585786438}, 2 * time.Second},
		{"rising", Ramp(1, 3, 4*time.Second), []time.Duration{0, 828427125, 1464101615, 2 * time.Second, 2472135955, 2898979486, 3291502622, 3656854249}, 4 * time.Second},
		{"flat ramp", Ramp(2, math.Nextafter(2, 3), 2*time.Second), []time.Duration{0, 500 * ms, 1000 * ms, 1500 * ms}, 2 * time.Second},
		{"pause", Spec{Stages: []Stage{{time.Second, 2, 2}, {time.Second, 0, 0}, {time.Second, 2, 2}}},
			[]time.Duration{0, 500 * ms, 2000 * ms, 2500 * ms}, 3 * time.Second},
		{"pause first", Spec{Stages: []Stage{{time.Second, 0, 0}, {time.Second, 2, 2}}},
			[]time.Duration{1000 * ms, 1500 * ms}, 2 * time.Second},
		{"half an operation is carried over", Spec{Stages: []Stage{{750 * ms, 2, 2}, {time.Second, 4, 4}}},
			[]time.Duration{0, 500 * ms, 875 * ms, 1125 * ms, 1375 * ms, 1625 * ms}, 1750 * ms},
		{"seldom after often", Spec{Stages: []Stage{{750 * ms, 2, 2}, {time.Hour, 0.001, 0.001}}},
			[]time.Duration{0, 500 * ms, 500750 * ms, 1500750 * ms, 2500750 * ms, 3500750 * ms}, time.Hour + 750*ms},
		{"limit", Spec{Stages: Constant(500, 0).Stages, Limit: 3}, []time.Duration{0, 2 * ms, 4 * ms}, 6 * ms},
		{"limit, rounded up", Spec{Stages: Constant(3, 0).Stages, Limit: 2}, []time.Duration{0, 333333333}, 666666667},
		{"limit before duration", Spec{Stages: Constant(500, time.Hour).Stages, Limit: 2}, []time.Duration{0, 2 * ms}, 4 * ms},
		{"duration before limit", Spec{Stages: Constant(500, 4*ms).Stages, Limit: 3}, []time.Duration{0, 2 * ms}, 4 * ms},
		{"duration and limit at once", Spec{Stages: Constant(500, 4*ms).Stages, Limit: 2}, []time.Duration{0, 2 * ms}, 4 * ms},
		{"limit ends before a pause", Spec{Stages: []Stage{{time.Second, 2, 2}, {time.Second, 0, 0}, {time.Second, 2, 2}}, Limit: 2},
			[]time.Duration{0, 500 * ms}, time.Second},
		{"limit at a ramp's end", Spec{Stages: []Stage{{2 * time.Second, 0, 2}, {time.Second, 2, 2}}, Limit: 2},
			[]time.Duration{0, 1414213562}, 2 * time.Second},
		{"limit in a ramp", Spec{Stages: Ramp(1, 3, 4*time.Second).Stages, Limit: 3},
			[]time.Duration{0, 828427125, 1464101615}, 2 * time.Second},
		{"warm-up", Spec{Stages: Constant(500, 4*ms).Stages, Warmup: 4 * ms},
			[]time.Duration{0, 2 * ms, 4 * ms, 6 * ms}, 8 * ms},
		{"warm-up and limit", Spec{Stages: Constant(500, 0).Stages, Warmup: 4 * ms, Limit: 3},
			[]time.Duration{0, 2 * ms, 4 * ms, 6 * ms, 8 * ms}, 10 * ms},
		{"warm-up of half a gap", Spec{Stages: Constant(500, 4*ms).Stages, Warmup: 3 * ms, Limit: 2},
			[]time.Duration{0, 2 * ms, 4 * ms, 6 * ms}, 7 * ms},
		{"warm-up at the first rate", Spec{Stages: Ramp(2, 0, 2*time.Second).Stages, Warmup: time.Second},
			[]time.Duration{0, 500 * ms, 1000 * ms, 1585786438}, 3 * time.Second},
		{"closed", Spec{Stages: Constant(math.Inf(1), 0).Stages, Limit: 2}, []time.Duration{takt.Asap, takt.Asap}, -1},
		{"closed for a time", Spec{Stages: Constant(math.Inf(1), time.Second).Stages, Limit: 1}, []time.Duration{takt.Asap}, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := all(t, c.spec, 100); !slices.Equal(got, c.want) {
				t.Errorf("due at %v, want %v", got, c.want)
			}
			if got := open(t, c.spec).End(); got != c.end {
				t.Errorf("end %v, want %v", got, c.end)
			}
		})
	}
}

func TestEndUnknown(t *testing.T) {
	for _, s := range []Spec{
		Constant(500, 0),
		Constant(math.Inf(1), 0),
		{Stages: Constant(500, 0).Stages, Warmup: time.Second, Poisson: true},
		{Stages: []Stage{{time.Second, 0, 500}, {0, 500, 500}}},
	} {
		if end := open(t, s).End(); end >= 0 {
			t.Errorf("%+v ends at %v", s, end)
		}
		if n := len(all(t, s, 5000)); n != 5000 {
			t.Errorf("%+v gave %d operations, want no end", s, n)
		}
	}
}

func TestClosedEnd(t *testing.T) {
	s := Constant(math.Inf(1), 10*time.Second)
	s.Warmup = 3 * time.Second
	if end := open(t, s).End(); end != 13*time.Second {
		t.Errorf("end %v, want warm-up + duration", end)
	}
}

func TestCountIsRateTimesDuration(t *testing.T) {
	for _, c := range []struct {
		rate float64
		d    time.Duration
		want int
	}{
		{500, 12 * time.Second, 6000},
		{0.1, 100 * time.Second, 10},
		{1.0 / 3, 300 * time.Second, 100},
		{1000.0 / 60, time.Minute, 1000},
		{2010, 100 * time.Second, 201000},
		{99999, time.Second, 99999},
		{0.7, 1000 * time.Second, 700},
	} {
		dues := all(t, Constant(c.rate, c.d), 1<<20)
		if len(dues) != c.want || dues[len(dues)-1] >= c.d {
			t.Errorf("%v/s for %v: %d operations, want %d; last at %v", c.rate, c.d, len(dues), c.want, dues[len(dues)-1])
		}
		warm := Spec{Stages: Constant(c.rate, c.d).Stages, Warmup: 1234567891}
		from := slices.IndexFunc(all(t, warm, 1<<20), func(d time.Duration) bool { return d >= warm.Warmup })
		if n := len(all(t, warm, 1<<20)) - from; n != c.want {
			t.Errorf("%v/s for %v after a warm-up: %d operations, want %d", c.rate, c.d, n, c.want)
		}
	}
}

// Ten days at 3/s are 2.6 million operations; every third meets a whole second.
func TestNoDrift(t *testing.T) {
	it := open(t, Constant(3, 240*time.Hour))
	n := 0
	for due, ok := it.Next(); ok; due, ok = it.Next() {
		if want := time.Duration(n) * time.Second / 3; due != want {
			t.Fatalf("operation %d is due at %d, want %d", n, due, want)
		}
		n++
	}
	if n != 3*240*3600 {
		t.Errorf("%d operations, want %d", n, 3*240*3600)
	}
}

// Whatever the rate, n/rate is met to the nanosecond, checked by fractions.
func TestConstantAgainstFractions(t *testing.T) {
	for _, r := range []struct{ p, q int64 }{{1, 1}, {1, 7}, {7, 3}, {22, 3600}, {123456, 60}, {1e9, 1}, {1, 1e9}, {999999937, 1000003}, {314159265, 1e8}, {123456789, 1000}, {1234567891, 7000}, {987654321, 100}} {
		g := Constant(float64(r.p)/float64(r.q), 0)
		p, err := newPlan(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []uint64{0, 1, 2, 1e3, 1e6 + 1, 1e9 - 1, 1e12 + 7, 1e15 + 1, uint64(r.p), 3 * uint64(r.p)} { // multiples of p are on whole seconds
			x := big.NewRat(r.q, r.p)
			x.Mul(x, new(big.Rat).SetInt(new(big.Int).SetUint64(n))).Mul(x, big.NewRat(1e9, 1))
			want := floor(x)
			due, ok := p.segs[0].whole(n)
			if ok != want.IsInt64() || ok && int64(due) != want.Int64() {
				t.Errorf("%d/%d per second: operation %d is due at %d (%v), want %v", r.p, r.q, n, due, ok, want)
			}
		}
	}
}

// Two roundings, as of 71376292.4 an hour, do not hide the fraction.
func TestRational(t *testing.T) {
	for _, c := range []struct {
		r    float64
		want *big.Rat
	}{
		{tenths(713762924) / 3600, big.NewRat(713762924, 36000)},
		{tenths(9) / 60, big.NewRat(9, 600)},
		{0, new(big.Rat)},
		{MinRate, big.NewRat(1, 1e9)},
		{MaxRate, big.NewRat(1e9, 1)},
	} {
		if got := rational(c.r); got.Cmp(c.want) != 0 {
			t.Errorf("%v means %v, want %v", c.r, got, c.want)
		}
	}
}

// The clock ends after 292 years; a schedule that would go on stops there.
func TestEndOfClock(t *testing.T) {
	dues := all(t, Constant(MinRate, 0), 100)
	if want := []time.Duration{0, 1e18, 2e18, 3e18, 4e18, 5e18, 6e18, 7e18, 8e18, 9e18}; !slices.Equal(dues, want) {
		t.Errorf("due at %v, want %v", dues, want)
	}
	if end := open(t, Spec{Stages: Constant(MinRate, 0).Stages, Limit: 100}).End(); end != math.MaxInt64 {
		t.Errorf("end %v, want the clock's", end)
	}
}

// tenths gives n/10 rounded to a float64, which a constant expression would not.
func tenths(n float64) float64 { return n / 10 }
