package analysis

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// curveSteps is about how many steps a ramp becomes: more of them hold too few seconds
// each to have a p95.
const curveSteps = 24

// Stretch is an interval of a run whose rate rose, with its length and the rate that was
// offered in it.
type Stretch struct {
	takt.Interval
	Seconds float64
	Offered float64 // per second
	Late    bool    // the generator, not the target, shaped it
}

// StepsOf makes steps of stored runs: one of a run at a constant rate, and of a ramp, of
// steps and of a replay one of all seconds with about the same rate. A closed loop has no
// offered rate, which is an error.
func StepsOf(reports []*takt.Report, slo SLO) (steps []CapacityStep, err error) {
	for _, r := range reports {
		list, err := stepsOfRun(r, slo)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", r.ID, err)
		}
		steps = append(steps, list...)
	}
	return steps, nil
}

func stepsOfRun(r *takt.Report, slo SLO) ([]CapacityStep, error) {
	switch {
	case r.Rate.Intended == nil:
		return nil, errors.New("a closed loop offers no rate; give a run with --rate or --stages")
	case r.Schedule.Profile == "constant":
		step, err := StepOf(r, r.Schedule.RatePerS, slo)
		return []CapacityStep{step}, err
	}
	return StepsOfStretches(stretches(r), slo, r.ID)
}

// stretches are the measured intervals of r up to the end of its schedule, but for pauses.
func stretches(r *takt.Report) (all []Stretch) {
	before := 0.0
	// Of other causes than lateness no second says whether it had them.
	spoiled := r.Verdict == takt.Invalid && !r.Warned("generator_bottleneck")
	for _, iv := range r.Intervals {
		s := Stretch{Interval: iv, Seconds: iv.T - before}
		middle := before + s.Seconds/2 - r.WarmupS
		before = iv.T
		if iv.Warmup || middle < 0 || iv.T > r.WarmupS+r.DurationS+1e-6 || s.Seconds <= 0 {
			continue
		}
		s.Offered = rateAt(r.Schedule.Stages, middle)
		if r.Schedule.Stages == nil {
			s.Offered = float64(iv.Scheduled) / s.Seconds
		}
		// The rule that makes a whole run invalid (record.judgeLag), held to its seconds.
		s.Late = spoiled || r.Verdict == takt.Invalid && iv.ScheduleLagP99 > max(1e3, 0.1*iv.ResponseP99)
		if s.Offered > 0 {
			all = append(all, s)
		}
	}
	return all
}

// rateAt is the rate t seconds after the warm-up.
func rateAt(stages []takt.Stage, t float64) float64 {
	for _, g := range stages {
		if t < g.DurationS {
			return g.From + (g.To-g.From)*t/g.DurationS
		}
		t -= g.DurationS
	}
	return 0
}

// StepsOfStretches puts stretches of about the same rate together and judges each: their
// histograms are merged and their counts added. id is the run's. Operations of a ramp
// count in the second in which they ended, so a ramp that rises faster than the target's
// queue follows shows a limit that is too high.
func StepsOfStretches(all []Stretch, slo SLO, id string) (steps []CapacityStep, err error) {
	if len(all) == 0 {
		return nil, errors.New("no second of it has a rate; a curve takes a run of several seconds")
	}
	for _, group := range byRate(all) {
		r, rate, late := pool(group)
		r.ID = id
		step, err := StepOf(r, rate, slo)
		if err != nil {
			return nil, err
		}
		if step.Verdict = takt.Valid; 2*late > len(group) {
			step.Verdict = takt.Invalid
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// byRate groups stretches of equal rate, or when these are too many, of about equal rate:
// the range is cut into curveSteps equal parts.
func byRate(all []Stretch) (groups [][]Stretch) {
	rates := map[float64]bool{}
	low, high := math.Inf(1), 0.0
	for _, s := range all {
		rates[s.Offered], low, high = true, min(low, s.Offered), max(high, s.Offered)
	}
	part := func(s Stretch) float64 { return s.Offered }
	if len(rates) > curveSteps {
		part = func(s Stretch) float64 { return math.Floor((s.Offered - low) / (high - low) * (curveSteps - 1e-9)) }
	}
	found := map[float64][]Stretch{}
	var order []float64
	for _, s := range all {
		p := part(s)
		if found[p] == nil {
			order = append(order, p)
		}
		found[p] = append(found[p], s)
	}
	slices.Sort(order)
	for _, p := range order {
		groups = append(groups, found[p])
	}
	return groups
}

// pool makes a report of the stretches of a group with the mean of their rates, and how
// many of them were late.
func pool(group []Stretch) (r *takt.Report, rate float64, late int) {
	response, service := hist.New(), hist.New()
	var whole takt.Interval
	var seconds float64
	for _, s := range group {
		seconds, rate = seconds+s.Seconds, rate+s.Offered*s.Seconds
		whole.Scheduled += s.Scheduled
		whole.OK += s.OK
		whole.Failed += s.Failed
		whole.Dropped += s.Dropped
		// A histogram that cannot be read is missing from the report, which says so.
		_ = response.MergeEncoded(s.HDR)
		_ = service.MergeEncoded(s.ServiceHDR)
		if s.Late {
			late++
		}
	}
	whole.HDR, whole.ServiceHDR = response.Encode(), service.Encode()
	return OfInterval(whole, seconds), round4(rate / seconds), late
}
