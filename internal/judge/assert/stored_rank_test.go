package assert_test

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
)

// Latencies are compared while both sides have up to 1 % of errors, about as many, hardly any dropped
// operations, and one load. Other metrics always are.
func TestStandingApart(t *testing.T) {
	fails := func(errors float64) stored.Standing { return stored.Standing{Errors: errors} }
	for name, c := range map[string]struct {
		a, b stored.Standing
		want string
	}{
		"none":            {fails(0), fails(0), ""},
		"at the limit":    {fails(0), fails(0.25), ""},
		"beyond it":       {fails(0), fails(0.26), "0 % of the operations of main and 0.26 % of those of mine are errors, which may be fast answers: latencies prove nothing; fix the errors first"},
		"few":             {fails(1), fails(1), ""},
		"many of both":    {fails(1.01), fails(1.01), "1.01 % of the operations of main and 1.01 %"},
		"many of one":     {fails(1.01), fails(1), "are errors"},
		"few dropped":     {stored.Standing{Dropped: 1}, fails(0), ""},
		"many dropped":    {stored.Standing{Dropped: 1.1}, fails(0), "1.1 % of the operations of main and 0 % of those of mine were dropped, so the slowest are missing"},
		"another load":    {stored.Standing{Load: "rate_per_s 100"}, stored.Standing{Load: "rate_per_s 200"}, "main and mine had different loads (rate_per_s 100, rate_per_s 200)"},
		"the same load":   {stored.Standing{Load: "rate_per_s 100"}, stored.Standing{Load: "rate_per_s 100"}, ""},
		"errors and load": {stored.Standing{Errors: 9, Load: "rate_per_s 100"}, stored.Standing{Load: "rate_per_s 200"}, "are errors"},
	} {
		there, back := c.a.Apart(c.b, "main", "mine", "service.p50", 0.25), c.b.Apart(c.a, "main", "mine", "p99", 0.25)
		if !strings.Contains(there, c.want) || (there == "") != (c.want == "") || (back == "") != (c.want == "") {
			t.Errorf("%s: %q, and the other way %q", name, there, back)
		}
		if other := c.a.Apart(c.b, "main", "mine", "efficiency", 0.25); other != "" {
			t.Errorf("%s: efficiency: %q", name, other)
		}
	}
}

// A group that fails cannot be ranked, and one that mostly fails by no metric at all.
func TestStandingBars(t *testing.T) {
	for name, c := range map[string]struct {
		group  stored.Standing
		barred string // metrics
	}{
		"good":           {stored.Standing{Errors: 1, Dropped: 1}, ""},
		"some errors":    {stored.Standing{Errors: 1.1}, "p99 rate"},
		"half errors":    {stored.Standing{Errors: 50}, "p99 rate"},
		"mostly errors":  {stored.Standing{Errors: 94}, "p99 rate efficiency"},
		"dropped":        {stored.Standing{Dropped: 1.1}, "p99"},
		"unfit":          {stored.Standing{Unfit: true}, "p99 rate efficiency"},
		"nothing at all": {stored.Standing{}, ""},
	} {
		var barred []string
		for _, metric := range []string{"p99", "rate", "efficiency"} {
			if c.group.Bars(metric) != "" {
				barred = append(barred, metric)
			}
		}
		if got := strings.Join(barred, " "); got != c.barred {
			t.Errorf("%s: %s, want %s", name, got, c.barred)
		}
	}
	if got, want := (stored.Standing{Errors: 94}).Bars("p99"), "94 % of its operations are errors"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The shares of a group are the means of its runs, and its load is each of theirs.
func TestStandingOf(t *testing.T) {
	run := func(errors, dropped, scheduled, rate float64, unfit string) *stored.Run {
		return &stored.Run{
			Unfit: unfit, Settings: stored.NewSettings(map[string]any{"rate_per_s": rate, "connections": 5}, ""),
			Figures: stored.Figures{Names: []string{"errors", "dropped", "scheduled"}, Values: []float64{errors, dropped, scheduled}},
		}
	}
	got := stored.StandingOf(run(1, 10, 100, 50, ""), run(3, 0, 0, 50, "cancelled"), run(2, 0, 100, 60, ""))
	want := stored.Standing{Unfit: true, Errors: 2, Dropped: 10.0 / 3, Load: "rate_per_s 50 and rate_per_s 60"}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
