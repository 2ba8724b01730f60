package schedule

import (
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

func TestValidate(t *testing.T) {
	inf, second := math.Inf(1), time.Second
	steps := func(g ...Stage) Spec { return Spec{Stages: g} }
	for _, c := range []struct {
		spec Spec
		want []string // parts of the error, one a line
	}{
		{Spec{}, []string{"no stage"}},
		{Constant(-1, second), []string{"stage 1: rate -1: the rate is negative"}},
		{Constant(math.NaN(), second), []string{"not a number"}},
		{Constant(2e9, second), []string{"clock's resolution"}},
		{Constant(1e-10, second), []string{"32 years"}},
		{Constant(0, second), []string{"no operation is ever due"}},
		{Constant(0, 0), []string{"duration is 0", "no operation is ever due"}},
		{Constant(1, -1), []string{"duration -1ns is negative"}},
		{Constant(inf, -1), []string{"negative"}},
		{Ramp(1, 2, 0), []string{"duration is 0"}},
		{Ramp(1, inf, second), []string{"closed loop"}},
		{Ramp(math.Inf(-1), -2, second), []string{"not a number", "negative"}},
		{steps(Stage{0, 1, 1}, Stage{second, 1, 1}), []string{"stage 1: the duration is 0"}},
		{steps(Stage{second, inf, inf}, Stage{second, 1, 1}), []string{"stage 1: rate +Inf"}},
		{steps(Stage{math.MaxInt64 - 1, 1, 1}, Stage{1, 1, 1}), []string{"292 years"}},
		{Spec{Stages: []Stage{{5, 1, 1}}, Warmup: math.MaxInt64 - 5}, []string{"292 years"}},
		{steps(make([]Stage, MaxStages+1)...), []string{"10001 stages are too many"}},
		{Spec{Stages: []Stage{{second, -1, 1}}, Warmup: -1, Shard: 2, Shards: 2},
			[]string{"warm-up -1ns is negative", "shard 3 of 2", "rate -1"}},
		{Spec{Stages: Constant(inf, 0).Stages, Limit: 1, Warmup: second, Poisson: true},
			[]string{"poisson", "from the end of a warm-up"}},
	} {
		err := c.spec.Validate()
		if err == nil {
			t.Errorf("%v: no error, want %q", c.spec.Stages[:min(2, len(c.spec.Stages))], c.want)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %q, want %q in it", err, part)
			}
		}
		if _, err := c.spec.Schedule(); err == nil {
			t.Errorf("%q, yet Schedule works", err)
		}
		if _, err := c.spec.Source(); err == nil {
			t.Errorf("%q, yet Source works", err)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want takt.Schedule
	}{
		{Constant(500, time.Minute), takt.Schedule{Profile: "constant", Arrivals: "uniform", RatePerS: 500, Shard: "1/1"}},
		{Constant(math.Inf(1), time.Minute), takt.Schedule{Profile: "closed", Shard: "1/1"}},
		{Spec{Stages: Ramp(100, 2000, 90*time.Second).Stages, Poisson: true, Seed: 7, Shard: 10, Shards: 12},
			takt.Schedule{Profile: "ramp", Arrivals: "poisson", Seed: 7, Shard: "11/12", Stages: []takt.Stage{{DurationS: 90, From: 100, To: 2000}}}},
		{Spec{Stages: []Stage{{time.Second, 1, 1}, {time.Second / 2, 2, 2}}, Seed: 7, Warmup: time.Hour},
			takt.Schedule{Profile: "steps", Arrivals: "uniform", Shard: "1/1", Stages: []takt.Stage{{DurationS: 1, From: 1, To: 1}, {DurationS: 0.5, From: 2, To: 2}}}},
	} {
		if got := c.spec.Describe(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
	}
}

// As many stages as are allowed, with rates that have no short fractions, are
// worked out in reasonable time and do not lose the count.
func TestManyStages(t *testing.T) {
	s := Spec{}
	for i := range MaxStages {
		rate := 100 + 50*math.Sin(float64(i)/100)
		s.Stages = append(s.Stages, Stage{97 * time.Millisecond, rate, rate + 1})
	}
	b := builder{sum: new(big.Rat)}
	for _, g := range s.Stages {
		if b.add(g); b.sum.Denom().BitLen() > 64 {
			t.Fatal("sums grow with every stage: 10 000 take a minute instead of 0.2 s")
		}
	}
	n := len(all(t, s, 1<<20))
	if want := math.Ceil(cumulative(s, math.MaxInt64) - 1e-6); float64(n) != want {
		t.Errorf("%d operations, want %v", n, want)
	}
}
