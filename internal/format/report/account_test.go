package report

import (
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// The intended rate is what was asked for, and what was due stands beside it where it differs.
func TestRates(t *testing.T) {
	for want, c := range map[string]struct {
		schedule      takt.Schedule
		due, achieved float64
	}{
		"1000/s intended (constant, uniform), 1000/s achieved (100.00 %)":                   {takt.Schedule{Profile: "constant", Arrivals: "uniform", RatePerS: 1000, Shard: "1/1"}, 1000, 1000},
		"1000/s intended (constant, poisson), 953.333/s due, 953.333/s achieved (100.00 %)": {takt.Schedule{Profile: "constant", Arrivals: "poisson", RatePerS: 1000, Shard: "1/1"}, 953.3333, 953.3333},
		"250/s intended (constant, uniform), 250/s achieved (100.00 %)":                     {takt.Schedule{Profile: "constant", Arrivals: "uniform", RatePerS: 1000, Shard: "1/4"}, 250, 250},
		"168.7/s intended (replay, recorded), 84.35/s achieved (50.00 %)":                   {takt.Schedule{Profile: "replay", Arrivals: "recorded", Shard: "1/1"}, 168.7, 84.35},
		"100/s intended, 10/s due, 10/s achieved (100.00 %)":                                {takt.Schedule{RatePerS: 100}, 10, 10},
	} {
		r := &takt.Report{Schedule: c.schedule, Rate: takt.Rate{Intended: &c.due, Achieved: c.achieved}}
		if got := rates(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Users of -c do not end the rounds in which they are when the run ends.
func TestRoundsLine(t *testing.T) {
	for want, rounds := range map[string]map[string]any{
		"223 rounds, 203 completed, 3 failed, 17 unfinished; requests: 303.7/s achieved":   {"begun": 223.0, "completed": 203.0, "failed": 3.0},
		"160 rounds at 20/s intended, 159 completed, 1 failed; requests: 303.7/s achieved": {"begun": 160.0, "completed": 159.0, "failed": 1.0, "intended_per_s": 20.0},
		"9 rounds, 10 completed, 0 failed, 2 dropped; requests: 303.7/s achieved":          {"begun": 9.0, "completed": 10.0, "failed": 0.0, "dropped": 2.0}, // one began in the warm-up
	} {
		due := 20.0
		r := &takt.Report{Rate: takt.Rate{Intended: &due, Achieved: 303.7}, Extra: map[string]any{"rounds": rounds}}
		if got := rates(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A schedule is not called measured if the run was over long before its end.
func TestMeasured(t *testing.T) {
	for want, r := range map[string]*takt.Report{
		"1h scheduled, over after 3ms":                   {DurationS: 3600, Intervals: []takt.Interval{{T: 0.003}}},
		"1s measured":                                    {DurationS: 1, Intervals: []takt.Interval{{T: 0.91}}},
		"10s measured after 5s of warm-up":               {DurationS: 10, WarmupS: 5, Intervals: []takt.Interval{{T: 14.9}}},
		"3s measured":                                    {DurationS: 3},
		"over after 1.4s of 5s of warm-up":               {WarmupS: 5, Intervals: []takt.Interval{{T: 1.4}}},
		"1m scheduled, over after 7s with 5s of warm-up": {DurationS: 60, WarmupS: 5, Intervals: []takt.Interval{{T: 1}, {T: 7}}},
	} {
		if got := Measured(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
