package capacity

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// lateReport is a step of 1000 operations in which the generator was late.
func lateReport(p95 float64, c takt.Counts, errors ...takt.ErrorClass) *takt.Report {
	c.Scheduled = c.OK + c.Failed + c.Unfinished + c.Dropped
	l := takt.Latency{Count: c.OK + c.Failed, Mean: p95, P50: p95, P95: p95, P99: p95, P99_9: p95}
	r := &takt.Report{Counts: c, Errors: errors, Latency: map[string]takt.Latency{takt.LatencyResponse: l, takt.LatencyService: l}}
	verdict.Invalidate(r, "generator_bottleneck", "late")
	return r
}

// A step in which takt was late proves that the SLO is met, and that the target's own answers break
// it, and nothing else.
func TestLateStepsProve(t *testing.T) {
	for name, c := range map[string]struct {
		report *takt.Report
		change func(*takt.Report)
		met    bool
		proven bool
	}{
		"met":                          {lateReport(40e3, takt.Counts{OK: 1000}), nil, true, true},
		"met with few unfinished":      {lateReport(40e3, takt.Counts{OK: 990, Unfinished: 10}), nil, false, false}, // errors<1%
		"met, but many dropped":        {lateReport(40e3, takt.Counts{OK: 950, Dropped: 50}), nil, false, false},
		"slow":                         {lateReport(60e3, takt.Counts{OK: 1000}), nil, false, false},
		"refused":                      {lateReport(40e3, takt.Counts{OK: 900, Failed: 100}, takt.ErrorClass{Class: "503", Count: 100}), nil, false, true},
		"all refused":                  {lateReport(40e3, takt.Counts{Failed: 1000}, takt.ErrorClass{Class: "503", Count: 1000}), nil, false, true},
		"refused and slow":             {lateReport(60e3, takt.Counts{OK: 900, Failed: 100}, takt.ErrorClass{Class: "503", Count: 100}), nil, false, true},
		"timeouts":                     {lateReport(40e3, takt.Counts{OK: 900, Failed: 100}, takt.ErrorClass{Class: "timeout", Count: 100}), nil, false, false},
		"few refused, many timeouts":   {lateReport(40e3, takt.Counts{OK: 895, Failed: 105}, takt.ErrorClass{Class: "timeout", Count: 100}, takt.ErrorClass{Class: "503", Count: 5}), nil, false, false},
		"met, but ports were missing":  {lateReport(40e3, takt.Counts{OK: 1000}), func(r *takt.Report) { verdict.Invalidate(r, "host_limit", "ports") }, true, false},
		"met, and valid":               {lateReport(40e3, takt.Counts{OK: 1000}), func(r *takt.Report) { r.Verdict, r.Warnings = takt.Valid, nil }, true, false},
		"met, and invalid without why": {lateReport(40e3, takt.Counts{OK: 1000}), func(r *takt.Report) { r.Warnings = nil }, true, false},
	} {
		if c.change != nil {
			c.change(c.report)
		}
		s, err := StepOf(c.report, 100, slo(t, "p95<50ms"))
		if err != nil || s.Met != c.met || s.Proven != c.proven {
			t.Errorf("%s: met %v, proven %v (%v); want %v and %v", name, s.Met, s.Proven, err, c.met, c.proven)
		}
	}
}

// behind is until, but takt is late from wall on, which proves that the SLO is met.
func behind(limit, wall float64) func(float64, int) Step {
	good := until(limit, wall)
	return func(rate float64, i int) Step {
		s := good(rate, i)
		s.Proven = s.Verdict == takt.Invalid && s.Met
		return s
	}
}

// Late steps that meet the SLO move the search up, and the answer rests on them, without an interval.
// Where they broke it, nothing is known.
func TestSearchWithLateSteps(t *testing.T) {
	capped := DefaultSearch()
	capped.Max = 80
	for _, c := range []struct {
		name   string
		search Search
		target func(float64, int) Step
		ended  Ending
		rate   float64
	}{
		{"all late, up to the highest", capped, behind(1e6, 0), EndMax, 80},
		{"late from 40 on, up to the highest", capped, behind(1e6, 40), EndMax, 80},
		{"a limit above, where breaches prove nothing", DefaultSearch(), behind(100, 40), EndInvalid, 99.78},
		{"without proof", capped, until(1e6, 40), EndInvalid, 38.3},
	} {
		all, ended := searched(t, c.search, c.target)
		a := Conclude(all, nil, ended, 1000)
		if a.Ended != c.ended || math.Abs(a.Sustainable/c.rate-1) > 0.03 || a.Confidence != 0 {
			t.Errorf("%s: %s at %v (confidence %v) after %v", c.name, a.Ended, a.Sustainable, a.Confidence, offered(all))
		}
		if planned := a.Machines != nil && a.Machines.Planned > 0; planned != (c.ended == EndMax) {
			t.Errorf("%s: machines %+v", c.name, a.Machines)
		}
		if got := fmt.Sprint(offered(all)); c.ended == EndMax && got != "[10 20 40 80]" { // one step a rate is enough
			t.Errorf("%s: %s", c.name, got)
		}
	}
	refusing := func(rate float64, i int) Step { // takt is always late; the target refuses above 33/s
		s := until(33, 0)(rate, i)
		s.Proven = true
		return s
	}
	all, ended := searched(t, DefaultSearch(), refusing)
	a := Conclude(all, nil, ended, 1000)
	if a.Ended != EndFound || a.Confidence != 0 || *a.Interval.Low > 33 || *a.Interval.High < 33 || *a.Interval.High > 1.06**a.Interval.Low || !a.Late() {
		t.Errorf("%s, %v to %v, late %v after %v", a.Ended, *a.Interval.Low, *a.Interval.High, a.Late(), offered(all))
	}
}

// However a search ends, its answer is invalid if every step on one side of the limit is.
func TestInvalidWhateverEnded(t *testing.T) {
	good := Step{Offered: 50, Achieved: 50, Verdict: takt.Valid, Met: true, Margin: -1}
	bad := Step{Offered: 100, Achieved: 99, Verdict: takt.Invalid, Margin: worst}
	broke := Step{Offered: 200, Achieved: 99, Verdict: takt.Valid, Margin: worst}
	for _, ended := range []Ending{EndSteps, EndBudget, EndFutile, EndInvalid, EndFound} {
		for name, c := range map[string]struct {
			steps []Step
			want  Ending
			plan  bool
		}{
			"above":   {[]Step{good, good, bad, bad}, EndInvalid, false},
			"below":   {[]Step{bad, broke}, EndInvalid, false},
			"all":     {[]Step{bad, bad}, EndInvalid, false},
			"between": {[]Step{good, bad, broke}, ended, true}, // the limit is between two valid rates
		} {
			want := c.want
			if want == EndFound {
				want = EndInvalid
			}
			a := Conclude(c.steps, nil, ended, 6000)
			if a.Ended != want {
				t.Errorf("%s, %s: %s, want %s", ended, name, a.Ended, want)
			}
			if planned := a.Machines != nil && a.Machines.Planned > 0; planned != c.plan {
				t.Errorf("%s, %s: machines %+v", ended, name, a.Machines)
			}
		}
	}
	if a := Conclude([]Step{good, bad}, nil, EndBroken, 0); a.Ended != EndBroken {
		t.Errorf("broken: %s", a.Ended)
	}
}

// A target that warms up while the search goes down, as a JVM does, meets the SLO when the lowest rate is
// repeated. Its cold steps do not count, and the search goes up again.
func TestSearchOfAWarmingTarget(t *testing.T) {
	for cold := range 8 {
		warm := until(33, math.Inf(1))
		all, ended := searched(t, DefaultSearch(), func(rate float64, i int) Step {
			s := warm(rate, i)
			if i < cold {
				s.Margin, s.Met = worst, false
			}
			return s
		})
		a := Conclude(all, nil, ended, 0)
		bottom := cold >= 4 // 10, 5, 2.5 and 1.25/s were cold
		switch {
		case bottom && cold < 6:
			if marked := slices.IndexFunc(a.Steps, func(s Step) bool { return !s.Warming }); marked != cold || a.Ended != EndFound || math.Abs(a.Sustainable-33) > 0.5 {
				t.Errorf("%d cold: %s at %v, %d marked, after %v", cold, a.Ended, a.Sustainable, marked, offered(all))
			}
		case bottom:
			if got := fmt.Sprint(offered(all)); a.Ended != EndNone || got != "[10 5 2.5 1.25 1.25 1.25]" {
				t.Errorf("%d cold: %s after %s", cold, a.Ended, got)
			}
		case a.Ended == EndNone:
			t.Errorf("%d cold: %s after %v", cold, a.Ended, offered(all))
		}
	}
}

// A target that meets the SLO once by chance, and breaks it again at that rate, did not warm up.
func TestSearchOfALuckyTarget(t *testing.T) {
	all, ended := searched(t, DefaultSearch(), func(rate float64, i int) Step {
		s := until(0.1, math.Inf(1))(rate, i)
		if i == 5 { // the lowest rate, repeated
			s.Margin, s.Met = -1, true
		}
		return s
	})
	if a := Conclude(all, nil, ended, 0); a.Ended != EndNone || slices.ContainsFunc(a.Steps, func(s Step) bool { return s.Warming }) {
		t.Errorf("%s after %v: %+v", a.Ended, offered(all), a.Steps)
	}
}

// What a search says it will do is what it does.
func TestOutlook(t *testing.T) {
	capped := DefaultSearch()
	capped.Max = 100
	stepped := DefaultSearch()
	stepped.Step, stepped.Max, stepped.Repeats = 30, 90, 2
	few := DefaultSearch()
	few.Steps = 5
	for name, s := range map[string]Search{"default": DefaultSearch(), "capped": capped, "stepped": stepped, "few": few} {
		o := s.Outlook()
		all, _ := searched(t, s, until(0.98*o.Limit, math.Inf(1)))
		if got := offered(all)[:len(o.Rates)]; !slices.Equal(got, o.Rates) || math.Abs(float64(len(all)-o.Steps)) > 2 {
			t.Errorf("%s: %+v, but the search made %v", name, o, offered(all))
		}
	}
}
