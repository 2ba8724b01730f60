package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// patternOf is a Pattern of these instants.
func patternOf(at ...time.Duration) *Pattern {
	p := NewPattern("test.log")
	for _, t := range at {
		p.Add(t)
	}
	return p
}

// bursts are n instants that never fall, in bursts of different density.
func bursts(r *rand.Rand, n int) (at []time.Duration) {
	var t time.Duration
	for range n {
		at = append(at, t)
		t += time.Duration(math.Exp(14 + 4*r.NormFloat64()))
	}
	return at
}

// moments are the mean and the coefficient of variation.
func moments(list []float64) (mean, cv float64) {
	for _, x := range list {
		mean += x / float64(len(list))
	}
	for _, x := range list {
		cv += (x - mean) * (x - mean) / float64(len(list)-1)
	}
	return mean, math.Sqrt(cv) / mean
}

// After Λ, gamma arrivals on any profile have gaps with the mean 1 and the coefficient of variation that
// was asked for. Of n gaps the standard error of the mean is CV/√n, and that of the variance √((κ−1)/n)·CV²
// with the kurtosis κ = 3 + 6·CV²; five of them are allowed. The instants are whole nanoseconds, which are
// nothing beside gaps of 10 ms.
func TestGammaGaps(t *testing.T) {
	profiles := map[string][]Stage{
		"constant":   {{2000 * time.Second, 100, 100}},
		"ramp":       {{2000 * time.Second, 20, 180}},
		"with pause": {{1000 * time.Second, 0, 200}, {500 * time.Second, 0, 0}, {1000 * time.Second, 100, 100}},
	}
	for name, stages := range profiles {
		for _, cv := range []float64{0.05, 0.5, 0.9, 1.1, 2, 3, 10} {
			t.Run(fmt.Sprintf("%s %v", name, cv), func(t *testing.T) {
				var gaps []float64
				for seed := range uint64(3) {
					gaps = append(gaps, unitGaps(t, Spec{Stages: stages, Gamma: cv, Seed: seed})[1:]...)
				}
				n := float64(len(gaps))
				mean, got := moments(gaps)
				if far := 5 * cv / math.Sqrt(n); math.Abs(mean-1) > far {
					t.Errorf("mean gap %v, want 1 ± %v", mean, far)
				}
				if far := 5 * math.Sqrt((2+6*cv*cv)/n); math.Abs(got*got/(cv*cv)-1) > far {
					t.Errorf("CV² %v, want %v ± %.1f %%", got*got, cv*cv, 100*far)
				}
			})
		}
	}
}

// The gaps have the distribution of gamma, and not only its first two moments: with the shape 1/4 (CV 2)
// and 4 (CV 1/2) the Kolmogorov–Smirnov distance of n right ones exceeds 1.63/√n in one of 100.
func TestGammaDistribution(t *testing.T) {
	for cv, f := range map[float64]func(x float64) float64{
		0.5: func(x float64) float64 { // an Erlang distribution: 1 − e⁻ʸ·Σ yⁱ/i!
			y := 4 * x
			return 1 - math.Exp(-y)*(1+y+y*y/2+y*y*y/6)
		},
		2: func(x float64) float64 { return lowerGamma(0.25, 0.25*x) },
	} {
		far := 0
		for seed := range uint64(100) {
			gaps := unitGaps(t, Spec{Stages: Constant(100, 20*time.Second).Stages, Gamma: cv, Seed: seed + 1})[1:]
			slices.Sort(gaps)
			d, n := 0.0, float64(len(gaps))
			for i, x := range gaps {
				d = max(d, f(x)-float64(i)/n, float64(i+1)/n-f(x))
			}
			if d > 1.63/math.Sqrt(n) {
				far++
			}
		}
		if far > 5 {
			t.Errorf("CV %v: %d of 100 seeds are farther from the gamma distribution than 1.63/√n", cv, far)
		}
	}
}

// lowerGamma is the regularized lower incomplete gamma function, by its series.
func lowerGamma(a, x float64) float64 {
	if x <= 0 {
		return 0
	}
	sum, term := 1/a, 1/a
	for k := 1.0; term > 1e-15*sum; k++ {
		term *= x / (a + k)
		sum += term
	}
	log, _ := math.Lgamma(a)
	return min(1, sum*math.Exp(a*math.Log(x)-x-log))
}

// The number of operations is on average that of the rate, also of a short run with large bursts, in which
// a process that begins with a whole gap would have (CV² − 1)/2 too many: 40 instead of 20 here. Counts of
// long windows have the variance CV² times their mean.
func TestGammaIsStationary(t *testing.T) {
	const runs, expected = 4000, 20
	for _, cv := range []float64{0.5, 1, 3, 6.4} {
		var counts, first []float64
		for seed := range uint64(runs) {
			s := Spec{Stages: []Stage{{100 * time.Millisecond, 0, 200}, {50 * time.Millisecond, 200, 200}}, Gamma: cv, Seed: seed}
			counts = append(counts, float64(len(all(t, s, 1<<20))))
			s.Stages = []Stage{{1000 * time.Second, 1, 1}}
			first = append(first, float64(len(all(t, s, 1<<20))))
		}
		mean, relative := moments(counts)
		if far := 5 * mean * relative / math.Sqrt(runs); math.Abs(mean-expected) > far {
			t.Errorf("CV %v: %v operations on average, want %v ± %v", cv, mean, expected, far)
		}
		mean, relative = moments(first)
		idc := relative * relative * mean
		if math.Abs(idc/(cv*cv)-1) > 0.2 { // the end of a window adds (CV⁴ − 1)/6 ÷ 1000 + …, and 4000 runs an error of 2.2 %
			t.Errorf("CV %v: index of dispersion %v of 1000 operations, want %v", cv, idc, cv*cv)
		}
	}
}

// CV 1 is Poisson, to the instant.
func TestGammaOneIsPoisson(t *testing.T) {
	eachSpec(t, func(t *testing.T, s Spec) {
		s.Poisson, s.Gamma, s.Like = true, 0, nil
		want := all(t, s, 1<<20)
		s.Poisson, s.Gamma = false, 1
		if got := all(t, s, 1<<20); !slices.Equal(got, want) {
			t.Errorf("%d instants, Poisson has %d", len(got), len(want))
		}
	})
}

// A run has to be repeatable with a later version: these instants do not change.
func TestGammaInstantsArePinned(t *testing.T) {
	for cv, want := range map[float64][]time.Duration{
		MinCV: {62054, 1057002, 2060834, 3076025, 4065180, 5074731},
		0.5:   {46495, 742928, 1857130, 3706924, 4196082, 5650403},
		3:     {124600, 253876, 253880, 345520, 346940, 1762112},
		MaxCV: {104450827, 104450827, 104450827, 104450827, 104450827, 104450827},
	} {
		if got := all(t, Spec{Stages: Constant(1000, time.Second).Stages, Gamma: cv, Seed: 1}, 6); !slices.Equal(got, want) {
			t.Errorf("CV %v: due at %d, want %d", cv, got, want)
		}
	}
}

func TestLikeExactInstants(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	log := patternOf(5*s, 5*s, 6*s, 15*s) // mean gap 10/3 s; in its units 0, 0, 0.3, 3
	for _, c := range []struct {
		name string
		spec Spec
		want []time.Duration
		end  time.Duration
	}{
		{"as recorded", Spec{Stages: Constant(0.3, 13*s).Stages}, []time.Duration{0, 0, 1 * s, 10 * s}, 13 * s},
		{"ten times the rate", Spec{Stages: Constant(3, 4*s/3).Stages}, []time.Duration{0, 0, 100*ms - 1, 1000 * ms}, 4 * s / 3}, // 0.3 rounded down
		{"twice the log", Spec{Stages: Constant(10, 800*ms).Stages}, []time.Duration{0, 0, 30 * ms, 300 * ms, 400 * ms, 400 * ms, 430 * ms, 700 * ms}, 800 * ms},
		{"a part of the log", Spec{Stages: Constant(10, 300*ms).Stages}, []time.Duration{0, 0, 200 * ms}, 300 * ms}, // of 5, 5, 6
		{"a burst only", Spec{Stages: Constant(10, 200*ms).Stages}, []time.Duration{0, 0}, 200 * ms},
		{"one", Spec{Stages: Constant(10, 100*ms).Stages}, []time.Duration{0}, 100 * ms},
		{"with a limit", Spec{Stages: Constant(10, 0).Stages, Limit: 4}, []time.Duration{0, 0, 30 * ms, 300 * ms}, 400 * ms},
		{"with a limit beyond the log", Spec{Stages: Constant(10, 0).Stages, Limit: 5}, []time.Duration{0, 0, 30 * ms, 300 * ms, 400 * ms}, 400*ms + 1},
		{"on a ramp", Spec{Stages: Ramp(0, 2, 2*s).Stages}, []time.Duration{0, 0}, 2 * s}, // Λ = t²/2 = 2
		{"on a ramp of 8", Spec{Stages: Ramp(0, 4, 4*s).Stages},
			[]time.Duration{0, 0, 774596669, 2449489743, 2828427125, 2828427125, 2932575660, 3741657387}, 4 * s}, // √2x
		{"pause", Spec{Stages: []Stage{{200 * ms, 10, 10}, {s, 0, 0}, {200 * ms, 10, 10}}}, []time.Duration{0, 0, 30 * ms, 1300 * ms}, 1400 * ms},
		{"warm-up", Spec{Stages: Constant(10, 200*ms).Stages, Warmup: 200 * ms}, []time.Duration{0, 0, 30 * ms, 300 * ms}, 400 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spec.Like = log
			if got := all(t, c.spec, 100); !slices.Equal(got, c.want) {
				t.Errorf("due at %d, want %d", got, c.want)
			}
			if got := open(t, c.spec).End(); got != c.end {
				t.Errorf("end %v, want %v", got, c.end)
			}
		})
	}
}

// A log of even gaps gives the instants of uniform arrivals, within 1 ns of rounding.
func TestLikeOfEvenGapsIsUniform(t *testing.T) {
	even := NewPattern("")
	for i := range 100 {
		even.Add(time.Duration(i) * 70 * time.Millisecond)
	}
	eachSpec(t, func(t *testing.T, s Spec) {
		s.Poisson, s.Gamma, s.Like, s.Limit = false, 0, nil, 0
		want := all(t, s, 1<<20)
		s.Like = even
		got := all(t, s, 1<<20)
		if len(got) != len(want) {
			t.Errorf("%d operations, want %d", len(got), len(want))
			return
		}
		for i := range got {
			if d := got[i] - want[i]; d < -1 || d > 1 {
				if x := cumulative(s, got[i]); math.Abs(x-float64(i)) > 1e-6 { // at the end of a ramp to 0
					t.Errorf("operation %d is due at %d, want %d", i, got[i], want[i])
				}
			}
		}
	})
}

// However long the log, a schedule has the operations of its rate, without a warm-up exactly, and the gaps of the
// log's part.
func TestLikeKeepsRateAndCV(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	log := patternOf(bursts(r, 5000)...)
	for _, n := range []int{2, 3, 100, 4999, 5000, 5001, 20_000} {
		s := Spec{Stages: Constant(1000, time.Duration(n)*time.Millisecond).Stages, Like: log}
		dues := all(t, s, 1<<20)
		if n <= 5000 && len(dues) != n || math.Abs(float64(len(dues)-n)) > 5000 {
			t.Errorf("%d operations, want %d", len(dues), n)
		}
		if n%5000 == 0 && len(dues) != n {
			t.Errorf("whole passes have %d operations, want %d", len(dues), n)
		}
		if most := s.Most(); most != float64(len(dues)) {
			t.Errorf("%v are the most, and there are %d", most, len(dues))
		}
	}
	part := patternOf(log.at[:1000]...)
	dues := all(t, Spec{Stages: Constant(10, 100*time.Second).Stages, Like: log}, 1000)
	if got := patternOf(dues...).CV(); math.Abs(got-part.CV()) > 1e-6 || got < 2 {
		t.Errorf("CV %v, the log's is %v", got, part.CV())
	}
}

// An arrival before the last one counts as simultaneous, and there is room for MaxPattern.
func TestPattern(t *testing.T) {
	p := patternOf(3, 1, 7, 2)
	if want := []time.Duration{3, 3, 7, 7}; !slices.Equal(p.at, want) || p.Len() != 4 {
		t.Errorf("%v, want %v", p.at, want)
	}
	p.at = make([]time.Duration, MaxPattern)
	if p.Add(1) || p.Len() != MaxPattern {
		t.Error("more arrivals than there is room for")
	}
	for want, p := range map[float64]*Pattern{
		0:                patternOf(1, 2),
		1e-300:           patternOf(1, 1, 1),
		math.Sqrt2:       patternOf(0, 0, 2*time.Second), // gaps 0 and 2
		math.Sqrt(3) / 2: patternOf(5*time.Second, 6*time.Second, 7*time.Second, 11*time.Second),
	} {
		if got := p.CV(); math.Abs(got-want) > 1e-12 {
			t.Errorf("CV %v of %v, want %v", got, p.at, want)
		}
	}
	if cv := patternOf(0, 0, 1).CV(); math.Abs(cv-math.Sqrt2) > 1e-12 {
		t.Errorf("CV %v in a nanosecond", cv)
	}
	if x := patternOf(0, 1).numbers(2).number(1); x != 1 {
		t.Errorf("the second of two is at %v, want 1 mean gap", x)
	}
	if MaxPattern*8 != 64<<20 {
		t.Error("a Pattern may have more than 64 MiB")
	}
	if (&Pattern{}).CV() != 0 {
		t.Error("a CV without arrivals")
	}
}

func TestValidateBursts(t *testing.T) {
	base := Constant(1, time.Second)
	for _, c := range []struct {
		change func(s *Spec)
		want   string // "": valid
	}{
		{func(s *Spec) { s.Gamma = MinCV }, ""},
		{func(s *Spec) { s.Gamma = MaxCV }, ""},
		{func(s *Spec) { s.Like = patternOf(1, 2) }, ""},
		{func(s *Spec) { s.Gamma = math.NaN() }, "a coefficient of variation of NaN is not possible for gamma arrivals; give one from 0.01 to 100"},
		{func(s *Spec) { s.Gamma = -1 }, "variation of -1 is not"},
		{func(s *Spec) { s.Gamma = 0.009 }, "variation of 0.009 is not"},
		{func(s *Spec) { s.Gamma = 101 }, "variation of 101 is not"},
		{func(s *Spec) { s.Gamma = math.Inf(1) }, "variation of +Inf is not"},
		{func(s *Spec) { s.Like = NewPattern("") }, "fewer than two"},
		{func(s *Spec) { s.Like = patternOf(5) }, "fewer than two"},
		{func(s *Spec) { s.Like = patternOf(5, 5, 4) }, "all at one instant"},
		{func(s *Spec) { s.Poisson, s.Gamma = true, 1 }, "more than one kind of arrivals"},
		{func(s *Spec) { s.Like, s.Gamma = patternOf(1, 2), 1 }, "more than one kind of arrivals"},
		{func(s *Spec) { s.Gamma, s.Stages = 3, Constant(math.Inf(1), 0).Stages }, "no arrivals that could be gamma:3"},
		{func(s *Spec) { s.Like, s.Stages = patternOf(1, 2), Constant(math.Inf(1), 0).Stages }, "no arrivals that could be like:test.log"},
	} {
		s := base
		c.change(&s)
		err := s.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", s, err, c.want)
		}
	}
}

func TestDescribeBursts(t *testing.T) {
	s := Spec{Stages: Constant(5, time.Second).Stages, Gamma: 0.25, Seed: 3}
	if d := s.Describe(); d.Arrivals != "gamma:0.25" || d.Seed != 3 || d.GapCV != 0 {
		t.Errorf("%+v", d)
	}
	s.Gamma, s.Like = 0, patternOf(0, 0, 2)
	if d := s.Describe(); d.Arrivals != "like:test.log" || math.Abs(d.GapCV-math.Sqrt2) > 1e-12 {
		t.Errorf("%+v", d)
	}
}

// Most bounds the operations of a run: at most one run of 10⁹ has more, so none of these.
func TestMost(t *testing.T) {
	for _, cv := range []float64{0.1, 1, 3, 30, 100} {
		largest := 0
		s := Spec{Stages: Constant(100, time.Second).Stages, Gamma: cv}
		for s.Seed = range uint64(2000) {
			largest = max(largest, len(all(t, s, 1<<24)))
		}
		if most := s.Most(); float64(largest) > most || most > 12*float64(largest)+100 {
			t.Errorf("CV %v: %d operations in one of 2000 runs, at most %v", cv, largest, most)
		}
	}
	for name, c := range map[string]struct {
		s    Spec
		want float64
	}{
		"uniform": {Constant(100, time.Second), 100},
		"endless": {Constant(100, 0), math.Inf(1)},
		"one":     {Spec{Stages: Constant(100, 0).Stages, Limit: 1}, 1},
		"Poisson": {Spec{Stages: Constant(100, time.Second).Stages, Poisson: true}, 172},
		"gamma":   {Spec{Stages: Constant(100, time.Second).Stages, Gamma: 3}, 350},
		"limit":   {Spec{Stages: Constant(100, 0).Stages, Limit: 7, Gamma: 100}, 7},
		"warm-up": {Spec{Stages: Constant(100, time.Second).Stages, Warmup: time.Second}, 200},
		"ramp":    {Ramp(0, 100, time.Second), 50},
	} {
		if got := c.s.Most(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Whatever the CV and the recorded instants: a schedule that is valid has instants that never fall, from 0 to
// before its end, as often as it is iterated, and not more than Most.
func FuzzBursts(f *testing.F) {
	f.Add(uint64(1), 3.0, 100.0, 0.0, int64(time.Second), []byte{})
	f.Add(uint64(2), math.NaN(), 1e9, 1e9, int64(100), []byte{0, 0, 9})
	f.Add(uint64(3), 0.0, 0.001, 500.0, int64(time.Second), []byte{255, 0, 0, 255, 1})
	f.Add(uint64(4), float64(MaxCV), 5.0, 5.0, int64(time.Hour), []byte{7})
	f.Fuzz(func(t *testing.T, seed uint64, cv, from, to float64, length int64, gaps []byte) {
		s := Spec{Stages: Ramp(from, to, time.Duration(length)).Stages, Seed: seed, Limit: seed % 50}
		if s.Gamma = cv; len(gaps) > 0 {
			s.Gamma, s.Like = 0, NewPattern("")
			var at time.Duration
			for i, b := range gaps {
				at += time.Duration(b) << (i % 40)
				s.Like.Add(at)
			}
		}
		if s.Validate() != nil || s.Closed() {
			return
		}
		if expected := cumulative(s, math.MaxInt64); expected > 1e5 {
			return // takes long
		}
		const enough = 20_000
		dues, end := all(t, s, enough), open(t, s).End()
		if !slices.IsSorted(dues) || len(dues) > 0 && (dues[0] < 0 || end >= 0 && dues[len(dues)-1] >= end) {
			t.Errorf("%+v: due at %d, end %d", s, dues[:min(9, len(dues))], end)
		}
		if s.Limit > 0 && uint64(len(dues)) > s.Limit || float64(len(dues)) > s.Most() {
			t.Errorf("%+v: %d operations, limit %d, most %v", s, len(dues), s.Limit, s.Most())
		}
		if again := all(t, s, enough); !slices.Equal(dues, again) {
			t.Errorf("%+v: a second iteration differs", s)
		}
	})
}
