package schedule

import (
	"fmt"
	"strings"
)

// ParseRamp accepts "100/s..2k/s": from one rate to another. Each is a rate of ParseRate
// except max, or 0, but not both 0. Errors are *InputError.
func ParseRamp(s string) (from, to float64, err error) {
	if !strings.Contains(s, "..") {
		return 0, 0, &InputError{What: "ramp", Input: s, Cause: "no .. between two rates", Hint: "give a ramp such as 100/s..2k/s"}
	}
	g, err := parseSpan("ramp", s)
	if err == nil && g.From == 0 && g.To == 0 {
		err = &InputError{What: "ramp", Input: s, Cause: "at rate 0 no operation is ever due", Hint: "give a ramp such as 0/s..2k/s"}
	}
	if err != nil {
		return 0, 0, err
	}
	return g.From, g.To, nil
}

// parseSpan reads one rate or a ramp, as a Stage without a duration.
func parseSpan(what, s string) (Stage, error) {
	a, b, two := strings.Cut(s, "..")
	if !two {
		b = a
	}
	from, unitA, err := parseRate(strings.TrimSpace(a))
	if err != nil {
		return Stage{}, err
	}
	to, unitB, err := parseRate(strings.TrimSpace(b))
	if err != nil {
		return Stage{}, err
	}
	if bare := unitA == "" || unitB == ""; bare && unitA+unitB != "" && unitA+unitB != "s" && from != 0 && to != 0 {
		return Stage{}, &InputError{What: what, Input: s, Cause: "only one of the two rates has a unit", Hint: "give both theirs, such as 10/m..600/m"}
	}
	for _, r := range []float64{from, to} {
		if cause, hint := rateFault(r); cause != "" && r != 0 {
			return Stage{}, &InputError{What: what, Input: s, Cause: cause, Hint: hint}
		}
	}
	return Stage{From: from, To: to}, nil
}

// ParseStages accepts "30s@100/s,1m@100/s..2k/s,10s@0,30s@2k/s": durations above 0, each with
// a rate, 0 for a pause, or a ramp; at most MaxStages. Errors wrap an *InputError.
func ParseStages(s string) ([]Stage, error) {
	var stages []Stage
	for text := range strings.SplitSeq(s, ",") {
		if len(stages) == MaxStages {
			return nil, &InputError{What: "stages", Input: s, Cause: fmt.Sprintf("more than %d stages", MaxStages), Hint: "give fewer and longer ones"}
		}
		g, err := parseStage(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("stage %d: %w", len(stages)+1, err)
		}
		stages = append(stages, g)
	}
	if err := (Spec{Stages: stages}).Validate(); err != nil {
		return nil, &InputError{What: "stages", Input: s, Cause: err.Error(), Hint: stageHint}
	}
	return stages, nil
}

const stageHint = "give stages such as 30s@100/s,1m@100/s..2k/s"

// parseStage reads "1m@100/s" or "1m@100/s..2k/s".
func parseStage(s string) (Stage, error) {
	length, rates, ok := strings.Cut(s, "@")
	if !ok {
		return Stage{}, &InputError{What: "stage", Input: s, Cause: "no @ between a duration and a rate", Hint: stageHint}
	}
	d, err := ParseDuration(strings.TrimSpace(length))
	if err != nil {
		return Stage{}, err
	}
	if d == 0 {
		return Stage{}, &InputError{What: "stage", Input: s, Cause: "the duration is 0", Hint: stageHint}
	}
	g, err := parseSpan("stage", rates)
	g.Duration = d
	return g, err
}
