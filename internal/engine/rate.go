package engine

import (
	"math"
	"strings"
	"time"

	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// Rate is the value of --rate: a constant rate, a ramp, or a closed loop. The zero Rate was
// not given. Rates are comparable.
type Rate struct {
	text     string
	from, to float64 // per second; +Inf: a closed loop
	ramp     bool    // from one rate to another, which may be equal
	refused  bool    // the text is not a rate
	each     int     // operations of each round that the rate counts; 0: it counts operations
}

// PerSecond is a constant rate; +Inf is a closed loop.
func PerSecond(rate float64) Rate {
	return Rate{text: schedule.FormatRate(rate), from: rate, to: rate}
}

// MustRate reads a rate that is known to be good, and panics at another one.
func MustRate(text string) (r Rate) {
	if err := r.Set(text); err != nil {
		panic(err)
	}
	return r
}

// Set implements flag.Value: 500/s, 100/s..2k/s or max; "" is a rate that was not given.
func (r *Rate) Set(text string) (err error) {
	n := Rate{text: text, ramp: strings.Contains(text, "..")}
	switch {
	case text == "":
	case n.ramp:
		n.from, n.to, err = schedule.ParseRamp(text)
	default:
		n.from, err = schedule.ParseRate(text)
		n.to = n.from
	}
	n.refused = err != nil // and given all the same: other faults may depend on that
	*r = n
	return err
}

// String is the rate as it was written.
func (r Rate) String() string { return r.text }

// Given reports whether there is a rate.
func (r Rate) Given() bool { return r.text != "" }

// closed reports whether the rate is that of a closed loop, as it is without one.
func (r Rate) closed() bool { return !r.Given() || math.IsInf(r.from, 1) }

// OfRounds is the rate of rounds that have so many operations each, at least one.
func (r Rate) OfRounds(operations int) Rate {
	r.each = max(1, operations)
	return r
}

// CountsRounds reports whether the rate is one of rounds.
func (r Rate) CountsRounds() bool { return r.each > 0 }

// Constant is the rate as it was written, per second; false: it is a ramp.
func (r Rate) Constant() (perSecond float64, ok bool) { return r.from, !r.ramp }

// operations is how many begin for n that the rate counts.
func (r Rate) operations(n float64) float64 { return n * float64(max(1, r.each)) }

// stage is the load at this rate for d; 0: without an end.
func (r Rate) stage(d time.Duration) (schedule.Stage, error) {
	switch {
	case r.closed():
		return schedule.Stage{Duration: d, From: math.Inf(1), To: math.Inf(1)}, nil
	case r.ramp && d == 0:
		return schedule.Stage{}, value.Faultf("--rate %s is a ramp without an end; say with --duration how long it takes", r)
	}
	return schedule.Stage{Duration: d, From: r.operations(r.from), To: r.operations(r.to)}, nil
}

// Stages is the value of --stages. The zero value was not given.
type Stages struct {
	text    string
	list    []schedule.Stage
	refused bool // the text is not a list of stages
}

// MustStages reads stages that are known to be good, and panics at others.
func MustStages(text string) (s Stages) {
	if err := s.Set(text); err != nil {
		panic(err)
	}
	return s
}

// Set implements flag.Value: 30s@100/s,1m@100/s..2k/s; "" are stages that were not given.
func (s *Stages) Set(text string) (err error) {
	n := Stages{text: text}
	if text != "" {
		n.list, err = schedule.ParseStages(text)
	}
	n.refused = err != nil
	*s = n
	return err
}

// String is the list as it was written.
func (s Stages) String() string { return s.text }

// Given reports whether there are stages.
func (s Stages) Given() bool { return s.text != "" }

// Follow sets the options of the load to a schedule: when operations are due, and which of them this
// run sends.
func (o *Options) Follow(s schedule.Spec) {
	o.Rate, o.Stages, o.Duration = Rate{}, Stages{}, 0
	if len(s.Stages) == 1 {
		one := s.Stages[0]
		o.Rate, o.Duration = PerSecond(one.From), one.Duration
		if one.From != one.To {
			o.Rate = Rate{text: span(one), from: one.From, to: one.To, ramp: true}
		}
	} else {
		o.Stages = stagesOf(s.Stages)
	}
	o.Arrivals, o.recording = arrivalsOf(s), nil
	if s.Like != nil {
		o.recording = &recording{pattern: s.Like, given: true}
	}
	o.Warmup, o.Requests, o.Seed = s.Warmup, s.Limit, s.Seed
	o.Shard = Shard{}
	if s.Shards > 1 {
		o.Shard = Shard{k: s.Shard + 1, n: s.Shards}
	}
}

// stagesOf is the value of --stages for a list.
func stagesOf(list []schedule.Stage) Stages {
	var texts []string
	for _, one := range list {
		rate := span(one)
		if one.From == one.To {
			rate = schedule.FormatRate(one.From)
		}
		texts = append(texts, one.Duration.String()+"@"+rate)
	}
	return Stages{text: strings.Join(texts, ","), list: list}
}

// span is a ramp as --rate accepts it.
func span(s schedule.Stage) string {
	return schedule.FormatRate(s.From) + ".." + schedule.FormatRate(s.To)
}
