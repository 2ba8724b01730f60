package capacity

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

func slo(t *testing.T, text string) SLO {
	t.Helper()
	s, err := ParseSLO(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseSLO(t *testing.T) {
	for in, want := range map[string]string{
		"p95<300ms":                       "p95<300ms,errors<1%,dropped<1%",
		"p95 < 300ms, errors<0.1%":        "p95<300ms,errors<0.1%,dropped<1%",
		"service.p99.9<=1s,rate>=99%":     "service.p99.9<=1s,rate>=99%,errors<1%",
		"max<1s,ok>=99%":                  "max<1s,ok>=99%",
		"goodput>=99%":                    "goodput>=99%",
		"p50<1ms,failed==0,dropped==0":    "p50<1ms,failed==0,dropped==0",
		"errors==0,unfinished<1%,p99<1ms": "errors==0,unfinished<1%,p99<1ms,dropped<1%",
	} {
		got, err := ParseSLO(in)
		if err != nil || got.String() != want {
			t.Errorf("%s: %s (%v), want %s", in, got, err, want)
		}
	}
	if got, err := ParseSLO("p95<300ms", "errors<0.1%,dropped==0"); err != nil || got.String() != "p95<300ms,errors<0.1%,dropped==0" {
		t.Error(got, err)
	}
	for in, want := range map[string]string{
		"":                   "is not of the form",
		"p95<300":            "write a time with its unit",
		"p95>300ms":          "does not break when the load rises",
		"rate<99%":           "does not break when the load rises",
		"rate>=500/s":        "share of the offered rate",
		"goodput<99%":        "does not break when the load rises",
		"goodput>40/s":       "share of the offered rate, as in goodput>=99%",
		"failed<10":          "write a share, as in failed<1%",
		"p95==0,p50<1ms,x<1": `unknown metric "x"`,
	} {
		if _, err := ParseSLO(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// stepRun is the report of a step with these figures, µs.
func stepRun(p50, p95 float64, ok, failed, dropped uint64) *takt.Report {
	intended := 100.0
	return &takt.Report{
		ID: "01", Verdict: takt.Valid, Rate: takt.Rate{Intended: &intended, Achieved: 99},
		Schedule: takt.Schedule{Profile: "constant", RatePerS: 100},
		Counts:   takt.Counts{Scheduled: ok + failed + dropped, Sent: ok + failed, OK: ok, Failed: failed, Dropped: dropped},
		Latency:  map[string]takt.Latency{takt.LatencyResponse: {Count: ok + failed, P50: p50, P95: p95, Mean: p50}},
	}
}

func step(t *testing.T, r *takt.Report) Step {
	t.Helper()
	s, err := StepOf(r, 100, slo(t, "p95<300ms"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A rate of rounds is compared with rates of rounds: else a generator that lags behind its rate would seem to be ahead of it.
func TestStepOfRounds(t *testing.T) {
	r := stepRun(1e3, 2e3, 900, 0, 0) // of 300 rounds
	r.Rate.Achieved = 270
	r.Extra = map[string]any{"rounds": map[string]any{"begun": 300.0}}
	s := step(t, r)
	if s.PerRound != 3 || s.Achieved != 90 || s.Throughput() != 90 || (Answer{Steps: []Step{s, s}}).PerRound() != 3 {
		t.Errorf("%+v", s)
	}
	if s.Verdict = takt.Invalid; s.noisy() {
		t.Error("a generator that achieved 90 of 100 rounds/s counts as noisy")
	}
	rising := ramp(100)
	rising.Extra = r.Extra
	rising.Counts.Scheduled = 1200
	steps, err := StepsOf([]*takt.Report{rising}, slo(t, "p95<100ms"))
	if err != nil || steps[0].PerRound != 4 {
		t.Errorf("%+v, %v", steps, err)
	}
}

func TestStepOf(t *testing.T) {
	aborted := stepRun(1e3, 2e3, 100, 0, 0)
	aborted.Warnings = []takt.Warning{{Code: "aborted", Message: "errors>50% was true"}}
	for _, c := range []struct {
		name    string
		report  *takt.Report
		slo     string
		met     bool
		margin  float64
		nearest string
	}{
		{"half the bound", stepRun(1e3, 150e3, 100, 0, 0), "p95<300ms,errors<100%", true, -1, "p95<300ms"},
		{"at the bound, which < excludes", stepRun(1e3, 300e3, 100, 0, 0), "p95<300ms", false, 0, "p95<300ms"},
		{"twice the bound", stepRun(1e3, 600e3, 100, 0, 0), "p95<300ms", false, 0.5, "p95<300ms"},
		{"far beyond is four times", stepRun(1e3, 9e9, 100, 0, 0), "p95<300ms", false, 0.75, "p95<300ms"},
		{"nothing is a quarter", stepRun(1e3, 1, 100, 0, 0), "p95<300ms", true, -3, "p95<300ms"},
		{"the worst part decides", stepRun(1e3, 150e3, 98, 2, 0), "p95<300ms,errors<0.5%", false, 0.75, "errors<0.5%"},
		{"fast failures", stepRun(1e3, 1e3, 50, 50, 0), "p95<300ms", false, 0.75, "errors<1%"},
		{"what was never sent", stepRun(1e3, 1e3, 50, 0, 50), "p95<300ms", false, 0.75, "dropped<1%"},
		{"a lower bound", stepRun(1e3, 1e3, 100, 0, 0), "rate>=99.5%", false, 1 - 99/99.5, "rate>=99.5%"},
		{"no success", stepRun(1e3, 1e3, 0, 9, 0), "p95<300ms,errors<=100%", false, 0.75, ""},
		{"ended early", aborted, "p95<300ms", false, 0.75, ""},
	} {
		s, err := StepOf(c.report, 100, slo(t, c.slo))
		if err != nil || s.Met != c.met || math.Abs(s.Margin-c.margin) > 1e-9 || s.Nearest != c.nearest {
			t.Errorf("%s: met %v, margin %v, %q %s (%v); want %v, %v, %q", c.name, s.Met, s.Margin, s.Nearest, s.Reason, err, c.met, c.margin, c.nearest)
		}
	}
	if step, err := StepOf(stepRun(0, 0, 0, 0, 0), 100, slo(t, "p95<1s")); err == nil {
		t.Errorf("a step without operations was judged: %+v", step)
	}
	stolen := stepRun(1e3, 2e3, 9, 0, 0)
	if stolen.Generator.Stolen = 5.1; !step(t, stolen).Disturbed() {
		t.Error("with 5.1 % stolen the step is not disturbed")
	}
	if stolen.Generator.Stolen = 5; step(t, stolen).Disturbed() {
		t.Error("with 5 % stolen the step is disturbed")
	}
	for _, s := range []string{"p99<1s", "service.p50<1s"} { // which the report does not have
		if step, err := StepOf(stepRun(1e3, 2e3, 9, 0, 0), 100, slo(t, s)); err == nil {
			t.Errorf("%s was judged: %+v", s, step)
		}
	}
}

// queueSteps are steps of M/M/1 in theory: mean response 1 ÷ (μ − λ), p95 = ln 20 times that.
func queueSteps(mu, bound float64, rates ...float64) (steps []Step) {
	for _, rate := range rates {
		mean := 1e6 / (mu - rate)
		s := Step{Offered: rate, Achieved: rate, Verdict: takt.Valid, Nearest: "p95<x", Response: StepLatency{Mean: mean, P95: mean * math.Log(20)}}
		s.Margin = margin(assert.Assertion{Op: "<", Bound: bound}, s.Response.P95)
		s.Met = s.Margin < 0
		steps = append(steps, s)
	}
	return steps
}

// Without noise the line through the margins of M/M/1 is exact, and so is the law: σ is ½,
// κ is 0. The rate that is approached, μ, lies beyond what was measured, so the law does not name
// it. Power is highest at half of it.
func TestCapacityOfTheory(t *testing.T) {
	const mu, bound = 100.0, 100e3
	want := mu - math.Log(20)/bound*1e6
	a := Conclude(queueSteps(mu, bound, 10, 20, 30, 40, 50, 60, 65, 68, 72, 75), nil, EndFound, 500)
	if math.Abs(a.Sustainable-want) > 1e-6 || *a.Interval.Low != 68 || *a.Interval.High != 72 {
		t.Errorf("%v in %v–%v, want %v", a.Sustainable, *a.Interval.Low, *a.Interval.High, want)
	}
	if m := *a.Machines; m != (Machines{8, 7, 8, 11}) {
		t.Errorf("machines %+v", m)
	}
	if u := a.USL; math.Abs(u.Gamma-mu/2) > 1e-6 || math.Abs(u.Sigma-0.5) > 1e-6 || u.Kappa > 1e-9 || u.Peak != nil || u.PeakAt != nil || u.Achieved != 75 || u.Deviation > 1e-9 {
		t.Errorf("law %+v", u)
	}
	if *a.Knee != mu/2 || *a.KneeRange.Low != 40 || *a.KneeRange.High != 60 {
		t.Errorf("knee %v in %v–%v", *a.Knee, *a.KneeRange.Low, *a.KneeRange.High)
	}
}

// lawSteps are steps of a target that follows the law, with so many operations at once.
func lawSteps(law USL, concurrency ...float64) (steps []Step) {
	for _, n := range concurrency {
		x := law.At(n)
		steps = append(steps, Step{Offered: x, Achieved: x, Verdict: takt.Valid, Margin: -1, Met: true, Response: StepLatency{Mean: n / x * 1e6}})
	}
	return steps
}

// The law is found again from its own figures. Its peak has a figure only when the steps reach
// beyond it: everything else is extrapolation.
func TestUSL(t *testing.T) {
	want := USL{Gamma: 120, Sigma: 0.03, Kappa: 0.0005}
	peak := math.Sqrt(0.97 / 0.0005) // 44 at once
	reached := Conclude(lawSteps(want, 1, 2, 4, 8, 16, 32, 48, 64), nil, EndMax, 0).USL
	if math.Abs(reached.Gamma-120) > 1e-6 || math.Abs(reached.Sigma-0.03) > 1e-9 || math.Abs(reached.Kappa-0.0005) > 1e-9 || reached.PeakAt == nil || math.Abs(*reached.PeakAt-peak) > 1e-4 || math.Abs(*reached.Peak-want.At(peak)) > 1e-6 || math.Abs(reached.Measured-64) > 1e-9 {
		t.Errorf("%+v, peak at %v", reached, peak)
	}
	short := Conclude(lawSteps(want, 1, 2, 4, 8, 12, 16, 20), nil, EndMax, 0).USL
	if math.Abs(short.Kappa-0.0005) > 1e-9 || short.Peak != nil || short.PeakAt != nil || math.Abs(short.Achieved-want.At(20)) > 1e-9 {
		t.Errorf("not reached: %+v", short)
	}
	if few := Conclude(lawSteps(want, 1, 2, 4), nil, EndMax, 0).USL; few != nil {
		t.Errorf("three rates make the law %+v", few)
	}
}

// The law is fitted to all steps that count: repeats, and those at which the SLO breaks. Steps
// whose operations failed did no work, and invalid ones say nothing.
func TestUSLOfAllSteps(t *testing.T) {
	want := USL{Gamma: 120, Sigma: 0.03, Kappa: 0.0005}
	steps := lawSteps(want, 1, 2, 4, 8, 16, 32, 64, 100, 100)
	for i := 6; i < 9; i++ {
		steps[i].Met, steps[i].Margin = false, worst
	}
	steps[8].Offered = 1000
	failed, invalid := steps[8], steps[8]
	failed.Offered, failed.Achieved, failed.Errors = 2000, 2000, 50
	invalid.Offered, invalid.Achieved, invalid.Verdict = 1500, 10, takt.Invalid
	u := Conclude(append(steps, failed, invalid), nil, EndFound, 0).USL
	if u == nil || math.Abs(u.Measured-100) > 1e-9 || math.Abs(u.Kappa-0.0005) > 1e-9 || u.Peak == nil {
		t.Fatalf("%+v", u)
	}
	steps[0].Achieved *= 1.2 // a repeat that differs widens the interval
	if v := Conclude(steps, nil, EndFound, 0).USL; v.Peak != nil && *v.Interval.High-*v.Interval.Low <= *u.Interval.High-*u.Interval.Low {
		t.Errorf("%v–%v is no wider than %v–%v", *v.Interval.Low, *v.Interval.High, *u.Interval.Low, *u.Interval.High)
	}
}

// With σ = 1 the formula of the peak gives 0 operations at once: the peak is at one then.
func TestUSLOfOneAtATime(t *testing.T) {
	u := USL{Gamma: 100, Sigma: 1, Kappa: 0.1}
	u.peak()
	if u.Peak == nil || *u.Peak != 100 || *u.PeakAt != 1 {
		t.Errorf("%+v", u)
	}
}

// The line of the blade is that of most points: one outlier, or two beside each other at
// the right edge, do not move it by 1 %.
func TestLimitLineOfOutliers(t *testing.T) {
	const rate, slope = 380.0, 1e-5
	r := rand.New(rand.NewPCG(3, 4))
	var steps []Step
	for i := range 60 {
		us := 1000 + r.Float64()*100
		x := 50 + 5*float64(i)
		if i >= 40 {
			us = float64(i-38) * 50e3
			x = rate + slope*us + r.NormFloat64()
		}
		steps = append(steps, Step{Offered: float64(i), Achieved: x, Verdict: takt.Valid, Response: StepLatency{P95: us}})
	}
	check := func(what string, steps []Step) {
		if l := limitLine(steps, "p95"); math.Abs(l.Rate/rate-1) > 0.01 {
			t.Errorf("%s: %+v, want about %v", what, l, rate)
		}
	}
	check("clean", steps)
	outlier := func(x, us float64) Step {
		return Step{Offered: x, Achieved: x, Verdict: takt.Valid, Response: StepLatency{P95: us}}
	}
	check("one", append(steps, outlier(900, 100e3)))
	check("two neighbours", append(steps, outlier(494, 10e3), outlier(495, 3.6e6)))
	if l := limitLine(steps[:40], "p95"); l != nil {
		t.Errorf("a flat curve has the line %+v", l)
	}
}

// What the fit takes for the margin at each rate never falls, and keeps the weighted mean.
func TestRising(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var levels []*level
		var sum, want float64
		for range 1 + r.IntN(12) {
			l := &level{margin: r.NormFloat64(), n: 1 + r.IntN(4)}
			levels, sum = append(levels, l), sum+l.margin*float64(l.n)
		}
		fitted := rising(levels)
		for i, v := range fitted {
			want += v * float64(levels[i].n)
			if i > 0 && v < fitted[i-1] {
				t.Fatalf("%v falls", fitted)
			}
		}
		if len(fitted) != len(levels) || math.Abs(sum-want) > 1e-9 {
			t.Fatalf("%v of %d levels, sum %v, want %v", fitted, len(levels), want, sum)
		}
	}
}

// A second does not show which operations waited behind late ones. They were only slower for it: what met
// the SLO is evidence, and what broke it may be takt's own doing.
func TestStepsOfABackloggedRamp(t *testing.T) {
	s := slo(t, "p95<100ms")
	r := ramp(100)
	r.Verdict, r.Warnings = takt.Invalid, []takt.Warning{{Code: "generator_backlog"}}
	steps, err := StepsOf([]*takt.Report{r}, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if step.Verdict != takt.Invalid || step.Proven != step.Met {
			t.Errorf("at %v/s: %s, met %v, proven %v", step.Offered, step.Verdict, step.Met, step.Proven)
		}
	}
	if first, last := steps[0], steps[len(steps)-1]; !first.Met || last.Met {
		t.Errorf("the first step met %v, the last one %v", first.Met, last.Met)
	}
}

// A ramp from 0 to 100/s within 100 s against M/M/1 in theory gives its limit.
func TestStepsOfRamp(t *testing.T) {
	const mu = 100.0
	s := slo(t, "p95<100ms")
	r := ramp(mu)
	steps, err := StepsOf([]*takt.Report{r}, s)
	if err != nil {
		t.Fatal(err)
	}
	want := mu - math.Log(20)/0.1
	a := Conclude(steps, s, EndFound, 0)
	if len(steps) != curveSteps || math.Abs(a.Sustainable/want-1) > 0.03 || a.LimitedBy != "p95<100ms" || a.Interval.Low == nil {
		t.Errorf("%d steps, %v limited by %q, want %v", len(steps), a.Sustainable, a.LimitedBy, want)
	}
	r.Verdict, r.Warnings = takt.Invalid, []takt.Warning{{Code: "generator_saturated"}}
	if steps, err = StepsOf([]*takt.Report{r}, s); err != nil || steps[0].Verdict != takt.Invalid {
		t.Errorf("%v of a run that is invalid for no single second (%v)", steps[0].Verdict, err)
	}
	r.Warnings = []takt.Warning{{Code: "generator_bottleneck"}} // of which only the last 19 s were late
	for i := range r.Intervals {
		if i > 90 {
			r.Intervals[i].ScheduleLagP99 = 1e7
		}
	}
	steps, err = StepsOf([]*takt.Report{r}, s)
	if err != nil || steps[0].Verdict != takt.Valid || steps[len(steps)-1].Verdict != takt.Invalid {
		t.Errorf("first %s, last %s (%v)", steps[0].Verdict, steps[len(steps)-1].Verdict, err)
	}
	if a := Conclude(steps, s, EndFound, 0); a.Ended != EndFound {
		t.Errorf("late seconds beyond the limit make it %q", a.Ended)
	}
	for i := range r.Intervals {
		if i > 70 {
			r.Intervals[i].ScheduleLagP99 = 1e7
		}
	}
	steps, err = StepsOf([]*takt.Report{r}, s)
	if a := Conclude(steps, s, EndFound, 0); err != nil || a.Ended != EndInvalid || a.Sustainable >= want {
		t.Errorf("late seconds at the limit make it %q at %v (%v)", a.Ended, a.Sustainable, err)
	}
	r.Warn("generator_behind", "a second does not show it")
	if steps, err = StepsOf([]*takt.Report{r}, s); err != nil || steps[0].Verdict != takt.Invalid || steps[0].Proven {
		t.Errorf("%+v of a run that is not invalid for lateness alone (%v)", steps[0], err)
	}
	closed := stepRun(1, 1, 1, 0, 0)
	closed.Rate.Intended = nil
	if _, err := StepsOf([]*takt.Report{closed}, s); err == nil {
		t.Error("a closed loop has a curve")
	}
	one, err := StepsOf([]*takt.Report{stepRun(1e3, 2e3, 9, 0, 0)}, s)
	if err != nil || len(one) != 1 || one[0].Offered != 100 || one[0].ReportID != "01" {
		t.Errorf("a run at a constant rate is %+v (%v)", one, err)
	}
}

// The goodput of the seconds of a ramp is that of their operations: M/M/1 meets 100 ms with the probability 1 − e^(−0.1 (μ−λ)).
func TestStepsOfGoodput(t *testing.T) {
	const mu = 100.0
	s := slo(t, "goodput>=99%")
	r := ramp(mu)
	for i := range r.Intervals {
		good := uint64(0)
		h, err := hist.Decode(r.Intervals[i].HDR)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range h.Buckets() {
			if b.To < 100*time.Millisecond {
				good += b.Count
			}
		}
		r.Intervals[i].Good = &good
	}
	steps, err := StepsOf([]*takt.Report{r}, s)
	if err != nil {
		t.Fatal(err)
	}
	want := mu - math.Log(100)/0.1
	if a := Conclude(steps, s, EndFound, 0); math.Abs(a.Sustainable/want-1) > 0.05 || a.LimitedBy != "goodput>=99%" {
		t.Errorf("%v limited by %q, want %v", a.Sustainable, a.LimitedBy, want)
	}
	if _, err := StepOf(r, 100, s); err == nil {
		t.Error("a run without conditions has a goodput")
	}
	late := stepRun(1e3, 2e3, 100, 0, 0)
	late.Verdict, late.Warnings, late.Goodput = takt.Invalid, []takt.Warning{{Code: "generator_bottleneck"}}, &takt.Goodput{Good: 50}
	if one, err := StepOf(late, 100, s); err != nil || one.Met || one.Proven {
		t.Errorf("takt was late, and proves that goodput is low: %+v, %v", one, err)
	}
}

// ramp is 10 s of warm-up and 100 s of a ramp to mu, and a second of drain.
func ramp(mu float64) *takt.Report {
	random := rand.New(rand.NewPCG(8, 9))
	r := &takt.Report{
		ID: "01R", Verdict: takt.Valid, DurationS: 100, WarmupS: 10, Rate: takt.Rate{Intended: new(float64)},
		Schedule: takt.Schedule{Profile: "ramp", Stages: []takt.Stage{{DurationS: 100, To: mu}}},
	}
	for t := 1.0; t <= 111; t++ {
		h := hist.New()
		rate := min(mu-0.5, max(0, t-10.5))
		for range 2000 {
			h.Record(time.Duration(random.ExpFloat64() / (mu - rate) * 1e9))
		}
		iv := takt.Interval{T: t, Warmup: t <= 10, Scheduled: uint64(rate), OK: 2000, HDR: h.Encode(), ResponseP99: 1}
		if t > 110 {
			iv.Scheduled = 0
		}
		r.Intervals = append(r.Intervals, iv)
	}
	return r
}

// The answer is the same after a way through JSON, and the report obeys its laws.
func TestCapacityReport(t *testing.T) {
	a := Conclude(queueSteps(100, 100e3, 10, 20, 40, 68, 72, 80), slo(t, "p95<100ms"), EndInvalid, 500)
	a.Steps[5].Verdict = takt.Invalid
	one, two := stepRun(1, 2, 90, 10, 0), stepRun(1, 2, 40, 0, 10)
	for i, r := range []*takt.Report{one, two} {
		r.DurationS, r.Status = float64(i+1), map[string]uint64{"200": r.Counts.OK}
		r.Variables = map[string]any{"rate_per_s": 100.0, "method": "GET"}
	}
	r, err := Report(a, []*takt.Report{one, two}, map[string]any{"slo": a.SLO})
	if err != nil {
		t.Fatal(err)
	}
	want := takt.Counts{Scheduled: 150, Sent: 140, OK: 130, Failed: 10, Dropped: 10}
	if r.Counts != want || r.DurationS != 3 || r.Rate.Achieved != 140.0/3 || r.Status["200"] != 130 || len(r.Schedule.Stages) != 2 {
		t.Errorf("%+v, %v s, %+v, %v, %v", r.Counts, r.DurationS, r.Rate, r.Status, r.Schedule.Stages)
	}
	if fmt.Sprint(r.Variables) != "map[method:GET slo:p95<100ms,errors<1%,dropped<1%]" || len(one.Variables) != 2 {
		t.Errorf("variables %v, of the step %v", r.Variables, one.Variables)
	}
	if r.Verdict != takt.Invalid || len(r.Warnings) != 2 || !strings.HasPrefix(r.Warnings[0].Message, "1 of 6 steps") {
		t.Errorf("%s %+v", r.Verdict, r.Warnings)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back takt.Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if b, err := In(&back); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("came back as %+v (%v), want %+v", b, err, a)
	}
}

// A target that breaks at a wall, as one behind a limiter does: the limit is between the last
// rate that held and the first that broke, and rates far from it do not move it.
func TestLimitAtAWall(t *testing.T) {
	s := slo(t, "p95<300ms")
	var steps []Step
	for _, at := range []struct{ rate, p95 float64 }{{200, 3e3}, {225, 4e3}, {250, 6e3}, {300, 575e3}, {350, 1746e3}, {360, 3517e3}} {
		step, err := StepOf(stepRun(at.p95, at.p95, 100, 0, 0), at.rate, s)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if a := Conclude(steps, s, EndFound, 0); a.Sustainable != 250 || *a.Interval.High != 300 || a.Confidence != 0 {
		t.Errorf("the limit between 250/s and 300/s is %v/s, %v", a.Sustainable, a.Interval)
	}
}

// Where the rates below one that broke were all spoiled by the generator, it is not known
// that the SLO holds at none.
func TestNoneIsNotInvalid(t *testing.T) {
	s := slo(t, "p95<300ms")
	broke, err := StepOf(stepRun(400e3, 400e3, 100, 0, 0), 50, s)
	if err != nil {
		t.Fatal(err)
	}
	spoiled := broke
	spoiled.Offered, spoiled.Verdict = 25, takt.Invalid
	if a := Conclude([]Step{broke, spoiled}, s, EndNone, 0); a.Ended != EndInvalid || a.Sustainable != 0 {
		t.Errorf("%s at %v", a.Ended, a.Sustainable)
	}
	if a := Conclude([]Step{broke}, s, EndNone, 0); a.Ended != EndNone {
		t.Errorf("%s", a.Ended)
	}
}

// A search that used up its budget, or was invalid, has an answer only with an interval.
func TestKnown(t *testing.T) {
	for _, c := range []struct {
		a    Answer
		want bool
	}{
		{Answer{Ended: EndFound, Sustainable: 10}, true}, {Answer{Ended: EndMax, Sustainable: 10}, true}, {Answer{Ended: EndNone}, true},
		{Answer{Ended: EndBudget, Sustainable: 10}, false}, {Answer{Ended: EndBudget, Sustainable: 10, Confidence: 0.95}, true}, {Answer{Ended: EndFutile, Sustainable: 10}, false},
		{Answer{Ended: EndInvalid, Sustainable: 10, Confidence: 0.95}, false}, {Answer{Ended: EndBroken, Sustainable: 10}, false}, {Answer{Ended: EndSteps, Sustainable: 10}, false}, {Answer{Ended: EndFound}, false},
	} {
		if c.a.Known() != c.want {
			t.Errorf("%+v: %v", c.a, !c.want)
		}
	}
}
