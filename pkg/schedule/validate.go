package schedule

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Validate reports all faults of s at once, joined as by errors.Join; nil: s can run.
func (s Spec) Validate() error {
	errs := []error{s.validateWhole()}
	if s.Closed() {
		return errors.Join(append(errs, s.validateClosed())...)
	}
	busy := false
	for i, g := range s.Stages[:min(len(s.Stages), MaxStages)] {
		if err := g.validate(i == len(s.Stages)-1); err != nil {
			errs = append(errs, fmt.Errorf("stage %d: %w", i+1, err))
		}
		busy = busy || g.From != 0 || g.To != 0
	}
	if !busy && len(s.Stages) > 0 {
		errs = append(errs, errors.New("no operation is ever due: every stage has the rate 0; give one of them a rate"))
	}
	return errors.Join(errs...)
}

// validateWhole checks the fields that do not depend on the rates.
func (s Spec) validateWhole() error {
	var errs []error
	fault := func(bad bool, text string) {
		if bad {
			errs = append(errs, errors.New(text))
		}
	}
	fault(len(s.Stages) == 0, "the schedule has no stage; give a rate, a ramp or stages")
	fault(len(s.Stages) > MaxStages, fmt.Sprintf("%d stages are too many; at most %d", len(s.Stages), MaxStages))
	fault(s.Warmup < 0, fmt.Sprintf("warm-up %v is negative; give 0 for none", s.Warmup))
	fault(s.Shard >= max(s.Shards, 1), fmt.Sprintf("shard %d of %d does not exist; they are numbered from 1", s.Shard+1, max(s.Shards, 1)))
	fault(s.Gamma != 0 && !(s.Gamma >= MinCV && s.Gamma <= MaxCV), fmt.Sprintf("a coefficient of variation of %v is not possible for gamma arrivals; give one from %v to %v", s.Gamma, MinCV, MaxCV))
	fault(s.Like != nil && s.Like.Len() < 2, "the recorded arrivals are fewer than two, so they have no spacing; give a longer log")
	fault(s.Like != nil && s.Like.Len() > 1 && s.Like.span() == 0, "the recorded arrivals are all at one instant, so they have no spacing; give another log")
	fault(s.Poisson && (s.Gamma != 0 || s.Like != nil) || s.Gamma != 0 && s.Like != nil, "more than one kind of arrivals is given; keep one of poisson, gamma and recorded ones")
	fault(s.tooLong(), "warm-up and stages together exceed 292 years; shorten them")
	return errors.Join(errs...)
}

// tooLong reports whether the end overflows a time.Duration.
func (s Spec) tooLong() bool {
	left := time.Duration(math.MaxInt64) - max(s.Warmup, 0)
	for _, g := range s.Stages {
		if left -= max(g.Duration, 0); left <= 0 {
			return true
		}
	}
	return false
}

// validateClosed checks that a closed loop has no conflicting fields.
func (s Spec) validateClosed() error {
	var errs []error
	if s.Stages[0].Duration < 0 {
		errs = append(errs, fmt.Errorf("duration %v is negative", s.Stages[0].Duration))
	}
	if s.drawn() {
		errs = append(errs, fmt.Errorf("a closed loop has no arrivals that could be %s; give a rate other than max", s.Arrivals()))
	}
	if s.Warmup > 0 && s.Limit > 0 {
		errs = append(errs, errors.New("a closed loop cannot count operations from the end of a warm-up on, its operations have no instants; give a duration instead of a number, or no warm-up"))
	}
	return errors.Join(errs...)
}

// validate checks one stage; last: the stage may be endless.
func (g Stage) validate(last bool) error {
	var errs []error
	if g.Duration < 0 {
		errs = append(errs, fmt.Errorf("duration %v is negative", g.Duration))
	}
	if g.Duration == 0 && (!last || g.From != g.To || g.From == 0) {
		errs = append(errs, errors.New("the duration is 0; only the last stage can be endless, and only at a constant rate above 0"))
	}
	errs = append(errs, validateRate(g.From))
	if g.To != g.From {
		errs = append(errs, validateRate(g.To))
	}
	return errors.Join(errs...)
}

// validateRate checks a rate per second; 0 is a pause.
func validateRate(r float64) error {
	cause, hint := rateFault(r)
	if cause == "" || r == 0 {
		return nil
	}
	return fmt.Errorf("rate %v: %s; %s", r, cause, hint)
}

// rateFault says why r cannot be the rate of a schedule, or "".
func rateFault(r float64) (cause, hint string) {
	switch {
	case math.IsInf(r, 1):
		return "the rate max is a closed loop, which has no stages and no ramp", "give it alone, or a number"
	case math.IsNaN(r), math.IsInf(r, -1):
		return "not a number", "give a rate such as 500/s"
	case r < 0:
		return "the rate is negative", "give a rate above 0 such as 500/s"
	case r == 0:
		return "at rate 0 no operation is ever due", "give a rate above 0 such as 500/s, or max for as fast as possible"
	case r > MaxRate:
		return "more than one operation a nanosecond, the clock's resolution", "at most 1000M/s"
	case r < MinRate:
		return "less than one operation in 32 years", "give a higher rate"
	}
	return "", ""
}
