package schedule

import (
	"math"
	"slices"
	"testing"
	"time"
)

// With Λ applied to its instants, a Poisson schedule of any profile has gaps that
// are unit exponentials. The Kolmogorov–Smirnov distance of n right ones exceeds
// 1.63/√n with probability 0.01 (asymptotically 2·exp(−2·1.63²) = 0.0098). So of
// the seeds 1 to 100 about one does; more than five do with probability 0.0005.
// The seeds are fixed, the test hence passes always or never.
func TestPoissonGaps(t *testing.T) {
	for name, stages := range map[string][]Stage{
		"constant":   {{20 * time.Second, 100, 100}},
		"ramp":       {{20 * time.Second, 20, 180}},
		"ramp to 0":  {{20 * time.Second, 200, 0}},
		"with pause": {{10 * time.Second, 0, 200}, {5 * time.Second, 0, 0}, {10 * time.Second, 100, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			far, total := 0, 0.0
			for seed := range uint64(100) {
				s := Spec{Stages: stages, Poisson: true, Seed: seed + 1}
				gaps := unitGaps(t, s)
				n := float64(len(gaps))
				if total += n; distance(gaps) > 1.63/math.Sqrt(n) {
					far++
				}
				// The count is Poisson with mean Λ = 2000: within 4 standard deviations.
				if mean := cumulative(s, math.MaxInt64); math.Abs(n-mean) > 4*math.Sqrt(mean) {
					t.Errorf("seed %d: %v operations, want about %v", s.Seed, n, mean)
				}
			}
			if far > 5 {
				t.Errorf("%d of 100 seeds are farther from exponential gaps than 1.63/√n", far)
			}
			if math.Abs(total-200_000) > 4*math.Sqrt(200_000) {
				t.Errorf("%v operations in all, want about 200 000", total)
			}
		})
	}
}

// The test of gaps can tell: evenly spaced arrivals are far off.
func TestUniformGapsAreNotPoisson(t *testing.T) {
	gaps := unitGaps(t, Ramp(20, 180, 20*time.Second))
	if d := distance(gaps); d < 0.5 {
		t.Errorf("K-S distance %.3f, want 1 − 1/e", d)
	}
}

// unitGaps gives the gaps between the instants of s after Λ.
func unitGaps(t *testing.T, s Spec) (gaps []float64) {
	last := 0.0
	for _, due := range all(t, s, 1<<20) {
		x := cumulative(s, due)
		gaps, last = append(gaps, x-last), x
	}
	return gaps
}

// distance is the largest difference between the distribution of gaps and 1 − e⁻ˣ.
func distance(gaps []float64) float64 {
	slices.Sort(gaps)
	d, n := 0.0, float64(len(gaps))
	for i, x := range gaps {
		f := -math.Expm1(-x)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}

// A run has to be repeatable with a later version: these instants do not change.
func TestPoissonInstantsArePinned(t *testing.T) {
	got := all(t, Spec{Stages: Constant(1000, time.Second).Stages, Poisson: true, Seed: 1}, 5)
	want := []time.Duration{2516327, 2936205, 3910376, 4229310, 4571859}
	if !slices.Equal(got, want) {
		t.Errorf("due at %v, want %v", got, want)
	}
}

func TestSeedMatters(t *testing.T) {
	s := Spec{Stages: Constant(1000, time.Second).Stages, Poisson: true, Seed: 1}
	other := s
	other.Seed = 2
	if slices.Equal(all(t, s, 10), all(t, other, 10)) {
		t.Error("two seeds give the same instants")
	}
}

// A limit takes the first operations of the same sequence and ends where the next
// one would be due; with a duration, the first to be reached ends it.
func TestPoissonLimit(t *testing.T) {
	s := Spec{Stages: Constant(1000, 0).Stages, Poisson: true, Seed: 5, Warmup: time.Second}
	endlessly := all(t, s, 3000)
	warm := slices.IndexFunc(endlessly, func(d time.Duration) bool { return d >= s.Warmup })
	s.Limit = 700
	if got := all(t, s, 3000); !slices.Equal(got, endlessly[:warm+700]) {
		t.Errorf("%d operations, want %d", len(got), warm+700)
	}
	if end := open(t, s).End(); end != endlessly[warm+700] {
		t.Errorf("end %v, want %v", end, endlessly[warm+700])
	}
	s.Stages[0].Duration = 100 * time.Millisecond
	if end := open(t, s).End(); end != 1100*time.Millisecond {
		t.Errorf("end %v, want warm-up + duration", end)
	}
}

// A schedule with a limit ends after its last operation, as early as 1 ns after it where operations
// are as dense as the clock.
func TestPoissonEndIsAfterTheLast(t *testing.T) {
	shortest := time.Hour
	for seed := range uint64(20) {
		s := Spec{Stages: Constant(MaxRate, 0).Stages, Poisson: true, Seed: seed, Limit: 5}
		dues := all(t, s, 10)
		shortest = min(shortest, open(t, s).End()-dues[4])
	}
	if shortest != 1 {
		t.Errorf("20 schedules end %v or more after their last operation, want 1ns", shortest)
	}
}
