package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// searched runs a search against a target: what a step at that rate gives.
func searched(t *testing.T, s Search, target func(rate float64, i int) Step) (steps []Step, ended Ending) {
	t.Helper()
	for {
		rate, ended := s.Next(steps)
		if ended != "" {
			return steps, ended
		}
		if len(steps) > 200 {
			t.Fatalf("the search does not end: %v", offered(steps[190:]))
		}
		step := target(rate, len(steps))
		step.Offered = rate
		steps = append(steps, step)
	}
}

func offered(steps []Step) (rates []float64) {
	for _, s := range steps {
		rates = append(rates, s.Offered)
	}
	return rates
}

// until holds the SLO up to a rate; from another on takt is the bottleneck.
func until(limit, wall float64) func(float64, int) Step {
	return func(rate float64, _ int) Step {
		m := min(worst, (rate-limit)/limit)
		s := Step{Achieved: rate, Verdict: takt.Valid, Margin: m, Met: m <= 0, Nearest: "p95<300ms"}
		if rate >= wall {
			s.Verdict = takt.Invalid
		}
		return s
	}
}

func TestSearchOrder(t *testing.T) {
	never := math.Inf(1)
	d := DefaultSearch()
	steps := d
	steps.Step, steps.Repeats = 30, 1
	capped := d
	capped.Max, capped.Repeats = 30, 1
	few := d
	few.Steps = 3
	for _, c := range []struct {
		name        string
		search      Search
		limit, wall float64
		want        string
		ended       Ending
		rate        float64
	}{
		{"bisects, then repeats both sides", d, 33, never, "[10 20 40 28.28 33.63 30.84 32.2 32.2 33.63 32.2 33.63]", EndFound, 33},
		{"steps", steps, 75, never, "[10 40 70 100 70]", EndFound, 75},
		{"up to the highest", capped, 1000, never, "[10 20 30]", EndMax, 30},
		{"down to an eighth", d, 1, never, "[10 5 2.5 1.25 1.25 1.25]", EndNone, 0},
		{"below the first", d, 1.5, 8, "[10 10 10 5 2.5 1.25 1.768 1.487 1.621 1.553 1.487 1.553 1.487 1.553]", EndFound, 1.5},
		{"the generator goes first, at 40", d, 1000, 40, "[10 20 40 40 40 28.28 33.63 36.68 38.3]", EndInvalid, 38.3},
		{"the limit is below the wall", d, 25, 40, "[10 20 40 40 40 28.28 23.78 25.93 24.83 24.83 25.93 24.83 25.93]", EndFound, 25},
		{"at no rate", d, 1000, 0, "[10 10 10 5 5 5 2.5 2.5 2.5 1.25 1.25 1.25]", EndInvalid, 0},
		{"no more steps", few, 33, never, "[10 20 40]", EndSteps, 20},
	} {
		all, ended := searched(t, c.search, until(c.limit, c.wall))
		a := Conclude(all, nil, ended, 0)
		if got := fmt.Sprint(offered(all)); got != c.want || a.Ended != c.ended || math.Abs(a.Sustainable-c.rate) > 0.001*c.rate {
			t.Errorf("%s: %s, %s at %v\nwant %s, %s at %v", c.name, got, a.Ended, a.Sustainable, c.want, c.ended, c.rate)
		}
	}
}

// One bad run at a rate that holds, or a good one at a rate that does not, is found out
// by the repeats.
func TestSearchCorrectsItself(t *testing.T) {
	for bad := range 6 {
		good := until(33, math.Inf(1))
		all, ended := searched(t, DefaultSearch(), func(rate float64, i int) Step {
			s := good(rate, i)
			if i == bad {
				s.Margin, s.Met = -s.Margin, !s.Met
			}
			return s
		})
		a := Conclude(all, nil, ended, 0)
		if ended != EndFound || math.Abs(a.Sustainable/33-1) > 0.06 {
			t.Errorf("step %d was wrong: %s at %v after %v", bad, ended, a.Sustainable, offered(all))
		}
	}
}

// A step that is invalid now and then is repeated and never taken for the limit.
func TestInvalidStepsDoNotCount(t *testing.T) {
	good := until(33, math.Inf(1))
	all, ended := searched(t, DefaultSearch(), func(rate float64, i int) Step {
		s := good(rate, i)
		if i%2 == 0 {
			s.Verdict, s.Margin, s.Met = takt.Invalid, worst, false
		}
		return s
	})
	if a := Conclude(all, nil, ended, 0); ended != EndFound || math.Abs(a.Sustainable-33) > 0.1 {
		t.Errorf("%s at %v after %v", ended, a.Sustainable, offered(all))
	}
}

// A step in which the hypervisor took too much is made again, whether it held or not, and
// does not count beside a sound one.
func TestDisturbedStepsDoNotCount(t *testing.T) {
	good := until(33, math.Inf(1))
	all, ended := searched(t, DefaultSearch(), func(rate float64, i int) Step {
		s := good(rate, i)
		if i%3 != 2 {
			s.Stolen, s.Margin, s.Met = 6, worst, false
		}
		return s
	})
	a := Conclude(all, nil, ended, 0)
	if ended != EndFound || math.Abs(a.Sustainable-33) > 0.1 {
		t.Errorf("%s at %v after %v", ended, a.Sustainable, offered(all))
	}
	if w := stolenNote(t, a); !strings.Contains(w, "do not count") || !strings.Contains(w, fmt.Sprintf("of %d steps", len(all))) {
		t.Errorf("%q", w)
	}
}

// Where the hypervisor takes as much all the time its steps are all there is: each rate has
// three, the answer comes, and says what it is worth.
func TestAllStepsDisturbed(t *testing.T) {
	good := until(33, math.Inf(1))
	all, ended := searched(t, DefaultSearch(), func(rate float64, i int) Step {
		s := good(rate, i)
		s.Stolen = 6
		return s
	})
	a := Conclude(all, nil, ended, 0)
	want := "[10 10 10 20 20 20 40 40 40 28.28 28.28 28.28 33.63 33.63 33.63 30.84 30.84 30.84 32.2 32.2 32.2]"
	if got := fmt.Sprint(offered(all)); got != want || ended != EndFound || math.Abs(a.Sustainable-33) > 0.1 {
		t.Errorf("%s, %s at %v", got, ended, a.Sustainable)
	}
	if w := stolenNote(t, a); !strings.Contains(w, "in 21 of 21 steps") || !strings.Contains(w, "21 of them count") {
		t.Errorf("%q", w)
	}
	for _, s := range a.Steps {
		if !a.Counts(s) {
			t.Errorf("%v does not count", s)
		}
	}
}

// With a budget, a disturbed step is made again more often, and what was disturbed is not taken
// for the target's limit. The search ends when the budget does, or would not help.
func TestSearchWithBudget(t *testing.T) {
	good := until(33, math.Inf(1))
	timed := DefaultSearch()
	timed.Timed, timed.Left, timed.Steps = true, 100, math.MaxInt
	disturbed := func(first int) func(float64) Step { // that many runs of each rate
		seen := map[float64]int{}
		return func(rate float64) Step {
			s := good(rate, 0)
			if seen[rate]++; rate > 10 && seen[rate] <= first {
				s.Stolen, s.Margin, s.Met = 6, worst, false
			}
			return s
		}
	}
	all, ended := searchedTimed(t, timed, disturbed(8))
	if a := Conclude(all, nil, ended, 0); ended != EndFound || math.Abs(a.Sustainable-33) > 0.1 {
		t.Errorf("%s at %v after %v", ended, a.Sustainable, offered(all))
	}
	late := func(made float64) func(float64) Step { // a bad time: 20 runs in a row above 10/s
		seen := 0
		return func(rate float64) Step {
			s := good(rate, 0)
			if rate > 10 && seen < 20 {
				seen++
				s.Verdict, s.Achieved = takt.Invalid, made*rate
			}
			return s
		}
	}
	all, ended = searchedTimed(t, timed, late(1))
	if a := Conclude(all, nil, ended, 0); ended != EndFound || math.Abs(a.Sustainable-33) > 0.1 {
		t.Errorf("late, at the rate: %s at %v after %v", ended, a.Sustainable, offered(all))
	}
	all, ended = searchedTimed(t, timed, late(0.9))
	if ended != EndInvalid {
		t.Errorf("late, below the rate: %s after %v", ended, offered(all))
	}
	few := timed
	few.Left = 5
	all, ended = searchedTimed(t, few, disturbed(0))
	if a := Conclude(all, nil, ended, 0); a.Ended != EndBudget || len(all) != 5 {
		t.Errorf("%s at %v after %v", a.Ended, a.Sustainable, offered(all))
	}
	invalid := func(rate float64) Step { return until(33, 0)(rate, 0) }
	if all, ended = searchedTimed(t, few, invalid); Conclude(all, nil, ended, 0).Ended != EndInvalid {
		t.Errorf("only invalid steps: %s after %v", ended, offered(all))
	}
	r := rand.New(rand.NewPCG(1, 5)) // the SLO breaks at chance, at any rate
	noisy := func(rate float64) Step {
		s := good(rate, 0)
		s.Margin = min(worst, max(1-mostOver, 0.2*math.Log(rate/33)+0.4*r.NormFloat64()))
		s.Met = s.Margin < 0
		return s
	}
	endings := map[Ending]int{}
	for range 20 {
		_, ended := searchedTimed(t, timed, noisy)
		endings[ended]++
	}
	if endings[EndFutile] < 5 {
		t.Errorf("searches that cannot succeed ended so: %v", endings)
	}
}

// stolenNote is the warning of an answer.
func stolenNote(t *testing.T, a Answer) string {
	t.Helper()
	r, err := Report(a, []*takt.Report{{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Warnings {
		if w.Code == "steal" {
			return w.Message
		}
	}
	return ""
}

func TestSearchValidate(t *testing.T) {
	if err := DefaultSearch().Validate(); err != nil {
		t.Error(err)
	}
	err := Search{Start: -1, Max: -2, Precision: 0.001}.Validate()
	bad := Search{Start: 5, Max: 2, Precision: 0.05, Repeats: 1, Steps: 1}.Validate()
	for want, in := range map[string]error{"the first rate": err, "--precision is 0.1 %": err, "--repeats": err, "--max-steps": err, "is below the first": bad} {
		if in == nil || !strings.Contains(in.Error(), want) {
			t.Errorf("%v lacks %q", in, want)
		}
	}
}

// mm1 is one step against a queue with one server, exponential gaps and service times: n
// operations after a tenth as many of warm-up.
func mm1(r *rand.Rand, rate, mu float64, n int) Step {
	var now, free float64
	times := make([]float64, 0, n)
	for i := range n + n/10 {
		now += r.ExpFloat64() / rate
		free = max(now, free) + r.ExpFloat64()/mu
		if i >= n/10 {
			times = append(times, (free-now)*1e6)
		}
	}
	mean, _ := stats.MeanAndSD(times)
	slices.Sort(times)
	p95 := times[int(math.Ceil(0.95*float64(n)))-1]
	return Step{Achieved: rate, Verdict: takt.Valid, Response: StepLatency{Mean: mean, P95: p95}}
}

// TestCoverage holds the estimate and its interval against the theory: response times of
// M/M/1 are exponential with the mean 1 ÷ (μ − λ), so p95 reaches the bound at
// λ = μ − ln 20 ÷ bound (Gross, Shortle, Thompson & Harris, Fundamentals of Queueing
// Theory, 4th ed., 2.2).
func TestCoverage(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	const searches, length, mu = 40, 8000, 100.0
	for _, bound := range []float64{0.08, 0.3} { // at 63 % and at 90 % of the capacity
		truth := mu - math.Log(20)/bound
		slo, err := ParseSLO(fmt.Sprintf("p95<%vms", bound*1e3))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		held, off, steps := 0, 0.0, 0
		for range searches {
			all, ended := searched(t, DefaultSearch(), func(rate float64, _ int) Step {
				s := mm1(r, rate, mu, length)
				s.Margin = margin(slo[0], s.Response.P95)
				s.Met = s.Margin < 0
				return s
			})
			a := Conclude(all, slo, ended, 0)
			if i := a.Interval; i.Low != nil && *i.Low <= truth && truth <= *i.High {
				held++
			}
			off, steps = off+math.Abs(a.Sustainable/truth-1)/searches, steps+len(all)
		}
		t.Logf("bound %v s: %d of %d intervals hold %.1f/s, off by %.1f %% on average, %d steps", bound, held, searches, truth, off*100, steps/searches)
		if held < searches*85/100 || off > 0.03 {
			t.Errorf("bound %v s: only %d of %d intervals hold %.1f/s, which is missed by %.1f %% on average", bound, held, searches, truth, off*100)
		}
	}
}
