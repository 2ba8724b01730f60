package capacity

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// curveSteps is the largest number of steps that a ramp becomes. With more steps, each would contain
// too few seconds for a p95.
const curveSteps = 24

// Stretch is an interval of a run whose rate rose, with its length and its offered rate.
type Stretch struct {
	takt.Interval
	Seconds float64
	Offered float64 // per second
	Late    bool    // the generator was late, or may have been
	Spoiled bool    // not lateness alone made the run invalid, in all its seconds
}

// StepsOf turns stored runs into steps. A run at a constant rate is one step. In a ramp, a staircase
// or a replay, all seconds with about the same rate are one step. A closed loop is an error, since
// it has no offered rate.
func StepsOf(reports []*takt.Report, slo SLO) (steps []Step, err error) {
	for _, r := range reports {
		list, err := stepsOfRun(r, slo)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", r.ID, err)
		}
		steps = append(steps, list...)
	}
	return steps, nil
}

func stepsOfRun(r *takt.Report, slo SLO) ([]Step, error) {
	switch {
	case r.Rate.Intended == nil:
		return nil, errors.New("a closed loop has no offered rate; give a run with --rate or --stages")
	case r.Schedule.Profile == "constant":
		step, err := StepOf(r, r.Schedule.RatePerS, slo)
		return []Step{step}, err
	}
	steps, err := StepsOfStretches(stretches(r), slo, r.ID)
	for i := range steps {
		steps[i].inRounds(r)
	}
	return steps, err
}

// stretches returns the measured intervals of r up to the end of its schedule, without pauses.
func stretches(r *takt.Report) (all []Stretch) {
	before := 0.0
	late := verdict.ByLateness(r)
	// A second shows which operations were sent late, and not which ones waited behind them.
	hidden := r.Warned(warn.GeneratorBacklog)
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
		s.Spoiled = r.Verdict == takt.Invalid && !late
		s.Late = late && (hidden || verdict.LateSecond(&iv))
		if s.Offered > 0 {
			all = append(all, s)
		}
	}
	return all
}

// rateAt is the rate of the schedule t seconds after the warm-up.
func rateAt(stages []takt.Stage, t float64) float64 {
	for _, g := range stages {
		if t < g.DurationS {
			return g.From + (g.To-g.From)*t/g.DurationS
		}
		t -= g.DurationS
	}
	return 0
}

// StepsOfStretches groups stretches of about the same rate, merges their histograms, adds their
// counts, and judges each group by the SLO. id is the run's. An operation of a ramp counts in the
// second in which it ended. So if a ramp rises faster than the target's queue grows, the limit
// looks too high.
func StepsOfStretches(all []Stretch, slo SLO, id string) (steps []Step, err error) {
	if len(all) == 0 {
		return nil, errors.New("no second of the run has a rate; a curve needs a run of several seconds")
	}
	for _, group := range byRate(all) {
		r, rate, late := pool(group)
		r.ID, r.Verdict = id, takt.Valid
		switch {
		case group[0].Spoiled:
			r.Verdict = takt.Invalid
		case 2*late > len(group):
			verdict.Invalidate(r, warn.GeneratorBottleneck, "the generator was late in %d of %d intervals", takt.Number("late", late), takt.Number("intervals", len(group)))
		}
		step, err := StepOf(r, rate, slo)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// byRate groups stretches of equal rate. If there are more than curveSteps rates, it divides their
// range into curveSteps equal parts.
func byRate(all []Stretch) (groups [][]Stretch) {
	rates := map[float64]bool{}
	low, high := math.Inf(1), 0.0
	for _, s := range all {
		rates[s.Offered], low, high = true, min(low, s.Offered), max(high, s.Offered)
	}
	key := func(s Stretch) float64 { return s.Offered }
	if len(rates) > curveSteps {
		key = func(s Stretch) float64 { return math.Floor((s.Offered - low) / (high - low) * (curveSteps - 1e-9)) }
	}
	found := map[float64][]Stretch{}
	var order []float64
	for _, s := range all {
		p := key(s)
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

// pool merges the stretches of a group into a report. It also returns their mean rate and the number
// of late stretches.
func pool(group []Stretch) (r *takt.Report, rate float64, late int) {
	sums := timeline.NewSums()
	var whole takt.Interval
	var seconds float64
	for _, s := range group {
		seconds, rate = seconds+s.Seconds, rate+s.Offered*s.Seconds
		whole.Scheduled += s.Scheduled
		whole.OK += s.OK
		whole.Failed += s.Failed
		whole.Dropped += s.Dropped
		whole.Good = timeline.PlusGood(whole.Good, s.Good)
		// A histogram that cannot be read is left out; if all are, StepOf reports the missing latency.
		_ = sums.Add(&s.Interval)
		if s.Late {
			late++
		}
	}
	sums.Summarize(&whole, new(hist.Encoder))
	return assert.OfInterval(whole, nil, seconds), round4(rate / seconds), late
}
