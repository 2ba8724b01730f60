package schedule

import (
	"math"
	"strconv"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Spec describes a schedule completely: equal Specs give equal instants, on every
// machine of one architecture. It is plain data and does nothing until asked for
// a Schedule or a Source.
type Spec struct {
	// Stages follow one another. The last may be endless.
	Stages []Stage
	// Warmup precedes the stages, in addition to them, at the rate with which the
	// first one begins (a ramp from 0 hence warms up nothing). Its operations are
	// due in [0, Warmup), the measured ones from Warmup on; Seq and the spacing run
	// on through both.
	Warmup time.Duration
	// Limit ends the schedule after that many measured operations, if the stages do
	// not end it earlier; warm-up operations do not count. 0: no limit.
	// A closed loop has no instants to tell them apart, hence not both.
	Limit uint64
	// Poisson draws the arrivals at random instead of spacing them evenly.
	Poisson bool
	// Seed determines all of a Poisson schedule's randomness.
	Seed uint64
	// Shard and Shards have the Source keep every Shards-th operation from number
	// Shard (from 0) on. 0 or 1 Shards: all. Everything else in the Spec, and End,
	// is about the whole.
	Shard, Shards uint64
}

// Stage is a stretch of time over which the rate, operations per second, goes
// linearly from From to To. Rate 0 is a pause. Duration 0 is endless, at a
// constant rate and in the last place only.
//
// A single stage with both rates +Inf is a closed loop: every operation is due
// when it is taken (takt.Asap).
type Stage struct {
	Duration time.Duration
	From, To float64
}

// Bounds of what a Spec may ask for. At most one operation a nanosecond, the
// clock's resolution; at least one in 32 years, which keeps a gap within the
// 292 years of a time.Duration.
const (
	MaxRate   = 1e9  // per second
	MinRate   = 1e-9 // per second
	MaxStages = 10_000
)

// Constant is a schedule of rate operations per second for d; endless when d is
// 0, a closed loop when rate is +Inf. At 500/s and 12 s exactly 6000 operations
// are due: the first at 0, none at 12 s.
func Constant(rate float64, d time.Duration) Spec {
	return Spec{Stages: []Stage{{Duration: d, From: rate, To: rate}}}
}

// Ramp is a schedule whose rate goes linearly from from to to, operations per
// second, within d.
func Ramp(from, to float64, d time.Duration) Spec {
	return Spec{Stages: []Stage{{Duration: d, From: from, To: to}}}
}

// Closed reports whether s is a closed loop.
func (s Spec) Closed() bool {
	return len(s.Stages) == 1 && math.IsInf(s.Stages[0].From, 1) && math.IsInf(s.Stages[0].To, 1)
}

// Source gives the operations of s, or of its shard, numbered by their place in
// the whole. Unless s is a closed loop it is a takt.Counter. The error is that of
// Validate.
//
// A Poisson schedule with a Limit is drawn once beforehand to learn its End: 10 ns
// an operation, and not beyond 10⁸ operations (End is then not known).
func (s Spec) Source() (takt.Source, error) {
	p, err := newPlan(s)
	if err != nil {
		return nil, err
	}
	return Split(Source(p.iterate), s.Shard, s.Shards), nil
}

// Describe says in the report's words what s is. Rates are per second, durations
// seconds; the warm-up is not part of it. A closed loop has no arrivals.
func (s Spec) Describe() takt.Schedule {
	d := takt.Schedule{Profile: s.profile(), Shard: s.shard()}
	switch d.Profile {
	case "closed":
		return d
	case "constant":
		d.RatePerS = s.Stages[0].From
	default:
		for _, g := range s.Stages {
			d.Stages = append(d.Stages, takt.Stage{DurationS: g.Duration.Seconds(), From: g.From, To: g.To})
		}
	}
	d.Arrivals = "uniform"
	if s.Poisson {
		d.Arrivals, d.Seed = "poisson", s.Seed
	}
	return d
}

// profile names the shape of the stages as the report does.
func (s Spec) profile() string {
	switch {
	case s.Closed():
		return "closed"
	case len(s.Stages) != 1:
		return "steps"
	case s.Stages[0].From == s.Stages[0].To:
		return "constant"
	}
	return "ramp"
}

// shard is k/n as people count: from 1.
func (s Spec) shard() string {
	return strconv.FormatUint(s.Shard+1, 10) + "/" + strconv.FormatUint(max(s.Shards, 1), 10)
}
