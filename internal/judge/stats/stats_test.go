package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// What testdata/reference.py has from scipy and statsmodels.
type reference struct {
	Signed     []rankCase `json:"signed"`
	RankSum    []rankCase `json:"ranksum"`
	Prediction []struct {
		Earlier   []float64  `json:"earlier"`
		Value     float64    `json:"value"`
		Alpha     float64    `json:"alpha"`
		Estimate  float64    `json:"estimate"`
		Interval  [2]float64 `json:"interval"`
		AboveZero float64    `json:"above_zero"`
	} `json:"prediction"`
	Student []struct {
		P        float64 `json:"p"`
		DF       float64 `json:"df"`
		Quantile float64 `json:"quantile"`
	} `json:"student"`
	Holm []struct {
		P        []float64 `json:"p"`
		Alpha    float64   `json:"alpha"`
		Rejected []bool    `json:"rejected"`
	} `json:"holm"`
}

type rankCase struct {
	Name       string
	D          []float64
	Base, Head []float64
	Theta      float64
	Above      float64
	Below      float64
	TwoSided   float64 `json:"two_sided"`
	Estimate   float64
	Alpha      float64 // 0: without interval
	Interval   *[2]float64
}

func references(t *testing.T) reference {
	t.Helper()
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if got != want && !(math.Abs(got-want) <= 1e-10*max(1e-3, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

// ranked is a shift that is tested on ranks.
type ranked interface {
	Shift
	Above(theta float64) float64
	below(theta float64) float64
}

func checkRanked(t *testing.T, c rankCase, s ranked) {
	t.Helper()
	near(t, c.Name+": above", s.Above(c.Theta), c.Above)
	near(t, c.Name+": below", s.below(c.Theta), c.Below)
	near(t, c.Name+": p", s.P(c.Theta), c.TwoSided)
	near(t, c.Name+": estimate", s.Estimate(), c.Estimate)
	if c.Alpha == 0 {
		return
	}
	want := [2]float64{math.Inf(-1), math.Inf(1)} // the confidence cannot be had
	if c.Interval != nil {
		want = *c.Interval
	}
	low, high := s.Interval(c.Alpha)
	near(t, c.Name+": low", low, want[0])
	near(t, c.Name+": high", high, want[1])
}

func TestRankTestsAreScipys(t *testing.T) {
	r := references(t)
	for _, c := range r.Signed {
		checkRanked(t, c, Paired(c.D))
	}
	for _, c := range r.RankSum {
		checkRanked(t, c, Groups{c.Base, c.Head})
	}
	if len(r.Signed) != 12 || len(r.RankSum) != 8 {
		t.Errorf("%d and %d cases", len(r.Signed), len(r.RankSum))
	}
}

func TestPredictionIsScipys(t *testing.T) {
	for _, c := range references(t).Prediction {
		w := Prediction{c.Earlier, c.Value}
		low, high := w.Interval(c.Alpha)
		near(t, "estimate", w.Estimate(), c.Estimate)
		near(t, "low", low, c.Interval[0])
		near(t, "high", high, c.Interval[1])
		near(t, "p", w.P(0), min(c.AboveZero, 1-c.AboveZero))
	}
	same := Prediction{[]float64{2, 2, 2}, 3} // what never varied
	if low, high := same.Interval(0.05); low != 1 || high != 1 || same.P(0.5) != 0 || same.P(1) != 0.5 {
		t.Errorf("without spread: %v to %v, p %v and %v", low, high, same.P(0.5), same.P(1))
	}
}

func TestStudentIsScipys(t *testing.T) {
	for _, c := range references(t).Student {
		got := StudentQuantile(c.P, c.DF)
		if math.Abs(got-c.Quantile) > 1e-8*max(1, math.Abs(c.Quantile)) {
			t.Errorf("t of %v with %v degrees is %v, want %v", c.P, c.DF, got, c.Quantile)
		}
	}
}

func TestHolmIsStatsmodels(t *testing.T) {
	for _, c := range references(t).Holm {
		for i, level := range Holm(c.P, c.Alpha) {
			if got := c.P[i] <= level; got != c.Rejected[i] {
				t.Errorf("%v: %v at level %v: rejected is %v", c.P, c.P[i], level, got)
			}
		}
	}
}

// shifts are random ones of every kind, some with ties and zeros.
func shifts(r *rand.Rand) []Shift {
	draw := func(n int, round float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = math.Round(r.NormFloat64()/round) * round
		}
		return v
	}
	n, m, round := 2+r.IntN(12), 2+r.IntN(8), []float64{1e-9, 0.25, 1}[r.IntN(3)]
	return []Shift{Paired(draw(n, round)), Groups{draw(n, round), draw(m, round)}, Prediction{draw(n, round), draw(1, round)[0]}}
}

// The interval is the set of shifts with p > alpha, with ties and zeros too: the words of
// verify, which follow p, never contradict the interval that stands beside them.
func TestIntervalInvertsTheTest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		alpha, theta := []float64{0.05, 0.0125, 0.2}[r.IntN(3)], r.NormFloat64()
		for _, s := range shifts(r) {
			low, high := s.Interval(alpha)
			inside := low <= theta && theta <= high
			if rejected := s.P(theta) <= alpha; rejected == inside {
				t.Fatalf("%#v: p of %v is %v, the interval of alpha %v goes from %v to %v", s, theta, s.P(theta), alpha, low, high)
			}
		}
	}
}

// Turned round in sign, everything turns round.
func TestShiftsAreSymmetric(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		d := shifts(r)[0].(Paired)
		turned := make(Paired, len(d))
		for i, v := range d {
			turned[i] = -v
		}
		low, high := d.Interval(0.1)
		other, otherHigh := turned.Interval(0.1)
		if d.P(0.3) != turned.P(-0.3) || low != -otherHigh || high != -other || d.Estimate() != -turned.Estimate() {
			t.Fatalf("%v: %v %v, turned %v %v", d, low, high, other, otherHigh)
		}
	}
}

// A pair whose difference grows never speaks more for a lower centre: Pratt's reason for
// ranking zeros.
func TestSignedRankIsMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		d := make(Paired, 4+r.IntN(8)) // of which two or three are zero
		for i := range d[3-r.IntN(2):] {
			d[i] = r.NormFloat64()
		}
		before := d.Above(0)
		d[r.IntN(len(d))] += r.ExpFloat64()
		if after := d.Above(0); after > before+1e-12 {
			t.Fatalf("%v: p rose from %v to %v", d, before, after)
		}
	}
}

// Where the exact distributions end, the approximations continue them, with ties, too.
func TestApproximationsContinueTheExact(t *testing.T) {
	plain, tied := make([]int, 61), make([]int, 61)
	for i := range plain {
		plain[i], tied[i] = 2*(i+1), 10*(i/5)+6 // five with the same rank
	}
	tied[60] = 122
	near := func(name string, low int, exact, approximate, most float64) {
		if !(math.Abs(exact-approximate) <= most) {
			t.Errorf("%s up to %d: %v, approximately %v", name, low, exact, approximate)
		}
	}
	for name, ranks := range map[string][]int{"plain": plain, "tied": tied} {
		for low, most := range map[int]float64{1100: 1e-3, 1300: 1e-3, 1500: 1e-3, 1890: 1e-4} { // the mean is 1891
			near(name+" signed ranks", low, signExact(ranks, low), signNormal(ranks, low, 1), most)
		}
		for low, most := range map[int]float64{900: 2e-3, 1000: 2e-3, 1150: 2e-3, 1302: 2e-4} { // the mean is 21·62
			near("21 "+name+" ranks", low, chooseExact(ranks, 21, low), chooseNormal(ranks, 21, low), most)
		}
	}
	if got, want := signTail(plain, 1300), signNormal(plain, 1300, 1); got != want {
		t.Errorf("61 signed ranks: %v, want the approximation %v", got, want)
	}
	if got, want := signTail(plain[:60], 1300), signExact(plain[:60], 1300); got != want {
		t.Errorf("60 signed ranks: %v, want %v", got, want)
	}
	if got, want := chooseTail(plain, 21, 1000), chooseNormal(plain, 21, 1000); got != want {
		t.Errorf("21 of 61 ranks: %v, want the approximation %v", got, want)
	}
	if got, want := chooseTail(plain[:50], 25, 1000), chooseExact(plain[:50], 25, 1000); got != want {
		t.Errorf("25 of 50 ranks: %v, want %v", got, want)
	}
}

func TestLeast(t *testing.T) {
	for _, c := range []struct {
		s    Shift
		want float64
	}{
		{Paired{1, 2, 3, 4, 5, 6, 7, 8}, 2.0 / 256},
		{Groups{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}}, 2.0 / 252},
		{Groups{[]float64{1}, []float64{2}}, 1},
	} {
		if got := c.s.Least(); got != c.want || c.s.P(-100) != c.want {
			t.Errorf("%v: %v, p of a far shift %v, want %v", c.s, got, c.s.P(-100), c.want)
		}
	}
	if p := (Prediction{[]float64{1, 2}, 3}).Least(); p != 0 {
		t.Errorf("the least p of a prediction is %v", p)
	}
}

// Zeros are ties, and so are values that differ only by the rounding of a subtraction.
func TestRoundingIsATie(t *testing.T) {
	if zeros := (Groups{[]float64{0, 0}, []float64{0, 0}}); zeros.P(0) != 1 || zeros.Above(0) != 1 {
		t.Errorf("p of zeros: %v, %v", zeros.P(0), zeros.Above(0))
	}
	tenth, fifth := 0.1, 0.2
	if ranks, plus, minus := (Paired{tenth + fifth, -0.3, 1}).signed(0); !slices.Equal(ranks, []int{3, 3, 6}) || plus != 9 || minus != 3 {
		t.Errorf("ranks %v, sums %d and %d", ranks, plus, minus)
	}
}

// Four values show no dependence; five do; and it counts as a correlation of 0.8 at most.
func TestStretchBounds(t *testing.T) {
	rising := make([]float64, 40)
	for i := range rising {
		rising[i] = float64(i)
	}
	if got := StretchOf(rising[:4]); got != 1 {
		t.Errorf("the stretch of four values is %v", got)
	}
	if got := StretchOf(rising[:5]); got <= 1 {
		t.Errorf("the stretch of five rising values is %v", got)
	}
	near(t, "the stretch of 40 rising values", StretchOf(rising), 9)
}

// The dependence of neighbours stretches the variance from the first on, and no p exceeds 1.
func TestSerialBounds(t *testing.T) {
	const rho = (5.75/82.5 + 0.1) / 0.7 // sum of the products of neighbours' distances from the mean, and of squares
	near(t, "the stretch", StretchOf([]float64{1, 2, 9, 8, 3, 4, 7, 6, 5, 10}), (1+rho)/(1-rho))
	d := Paired{1, 2, 3, 4, -0.5, 6, 7, 8}
	ranks, _, minus := d.signed(0)
	if got, want := (Serial{d, 1.5}).Above(0), signNormal(ranks, minus, 1.5); got != want || got <= d.Above(0) {
		t.Errorf("p with a stretch of 1.5 is %v, want %v, more than %v", got, want, d.Above(0))
	}
	if got := (Serial{Paired{-1, 1, -2, 2}, 1.5}).P(0); got != 1 {
		t.Errorf("p of symmetric differences is %v", got)
	}
	if rounded := (Groups{[]float64{0.1 + 0.2*one()}, []float64{0.3}}); rounded.Above(0) != 1 || rounded.below(0) != 1 {
		t.Errorf("a difference by rounding: %v, %v", rounded.Above(0), rounded.below(0))
	}
}

// one is 1, but not a constant, so that sums are rounded.
func one() float64 { return math.Cos(0) }

// Two slices are enough to resample. The standard error is that of a mean of n values.
func TestResampledBounds(t *testing.T) {
	mean := func(w []int) (sum float64) { // of 0, 1, 2 …
		for i, k := range w {
			sum += float64(i*k) / float64(len(w))
		}
		return sum
	}
	for n, want := range map[int]float64{2: 0.5, 3: 1 / math.Sqrt(3)} {
		b := NewResampled(n, 1, mean)
		if math.Abs(b.Se-want) > 0.03 || len(b.Draws) != resamples || b.Draws[0] != 0 || b.Draws[resamples-1] != float64(n-1) || b.Est != float64(n-1)/2 {
			t.Errorf("%d slices: estimate %v, standard error %v, want %v; draws from %v", n, b.Est, b.Se, want, b.Draws[0])
		}
		if b.P(1e6) != b.Least() || b.P(b.Est) != 1 {
			t.Errorf("%d slices: p of a far shift %v, of the estimate %v", n, b.P(1e6), b.P(b.Est))
		}
		if low, high := b.Interval(0.6); math.IsInf(low, 0) || math.IsInf(high, 0) {
			t.Errorf("%d slices: from %v to %v", n, low, high)
		}
	}
	if b := NewResampled(1, 1, mean); !math.IsInf(b.Se, 1) || b.P(0) != 1 {
		t.Errorf("one slice: %+v", b)
	}
}
