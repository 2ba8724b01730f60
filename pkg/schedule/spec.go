package schedule

import (
	"math"
	"strconv"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Spec describes a schedule completely: equal Specs have equal instants on all machines of
// one architecture. It is plain data.
type Spec struct {
	// Stages follow one another. The last stage may be endless.
	Stages []Stage
	// Warmup is an additional period before the stages, at the rate with which the first
	// stage begins (so a ramp from 0 has no warm-up load). Its operations are due in [0,
	// Warmup), the measured ones from Warmup on. Seq and the spacing continue through both.
	Warmup time.Duration
	// Limit ends the schedule after this many measured operations, unless the stages end
	// earlier; 0: no limit. Warm-up operations do not count. A closed loop has no instants
	// that separate the two, so it cannot have both Limit and Warmup.
	Limit uint64
	// Poisson draws random arrivals instead of spacing them evenly.
	Poisson bool
	// Gamma draws random arrivals with gaps of a gamma distribution, and is their coefficient of
	// variation (standard deviation ÷ mean): below 1 more regular than Poisson, above 1 in
	// bursts, 1 the same instants as Poisson; MinCV to MaxCV, 0: no gamma arrivals. The process
	// is stationary: the time to the first arrival is that of somebody who comes at any instant,
	// so the expected number of operations is that of the rate.
	Gamma float64
	// Like spaces operations like recorded arrivals; nil: it does not. See Pattern.
	Like *Pattern
	// Seed determines all random values of a schedule with Poisson or gamma arrivals.
	Seed uint64
	// Shard and Shards make the Source keep every Shards-th operation, starting with number
	// Shard (from 0). Shards 0 or 1: all operations. All other fields, and End, describe the
	// whole schedule.
	Shard, Shards uint64
}

// Stage is a period in which the rate, in operations per second, changes linearly from From
// to To. Rate 0 is a pause. Duration 0 is endless, for a constant rate in the last stage
// only.
//
// A single stage with both rates +Inf is a closed loop: every operation is due when it is
// taken (takt.Asap).
type Stage struct {
	Duration time.Duration
	From, To float64
}

// Limits of a Spec: at most one operation a nanosecond, which is the clock's resolution; at
// least one in 32 years, so that a gap fits the 292 years of a time.Duration.
const (
	MaxRate   = 1e9  // per second
	MinRate   = 1e-9 // per second
	MaxStages = 10_000
)

// Limits of Spec.Gamma. Below MinCV the gaps differ by less than 1 %, and above MaxCV the bursts have
// 10 000 operations or more at one instant.
const (
	MinCV = 0.01
	MaxCV = 100
)

// Constant is a schedule of rate operations per second for d; endless if d is 0, a closed
// loop if rate is +Inf. At 500/s and 12 s exactly 6000 operations are due: the first at 0,
// none at 12 s.
func Constant(rate float64, d time.Duration) Spec {
	return Spec{Stages: []Stage{{Duration: d, From: rate, To: rate}}}
}

// Ramp is a schedule whose rate, in operations per second, changes linearly from from to to
// within d.
func Ramp(from, to float64, d time.Duration) Spec {
	return Spec{Stages: []Stage{{Duration: d, From: from, To: to}}}
}

// Closed reports whether s is a closed loop.
func (s Spec) Closed() bool {
	return len(s.Stages) == 1 && math.IsInf(s.Stages[0].From, 1) && math.IsInf(s.Stages[0].To, 1)
}

// Source returns the operations of s, or of its shard, numbered by their place in the whole.
// It is a takt.Counter unless s is a closed loop. The error is that of Validate.
//
// A schedule with a Limit and arrivals that are not uniform is drawn once in advance to compute its
// End: 10 to 50 ns an operation. Above 10⁸ operations End is unknown.
func (s Spec) Source() (takt.Source, error) {
	p, err := newPlan(s)
	if err != nil {
		return nil, err
	}
	return Split(Source(p.iterate), s.Shard, s.Shards), nil
}

// Describe is s in the report's terms. Rates are per second, durations seconds. The warm-up
// is not included. A closed loop has no arrivals.
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
	d.Arrivals = s.Arrivals()
	if s.drawn() {
		d.Seed = s.Seed
	}
	if s.Like != nil {
		d.GapCV = s.Like.CV()
	}
	return d
}

// drawn reports whether the arrivals are not uniform.
func (s Spec) drawn() bool { return s.Poisson || s.Gamma != 0 || s.Like != nil }

// Arrivals is the report's name for the arrivals: uniform, poisson, gamma:CV or like:NAME.
func (s Spec) Arrivals() string {
	switch {
	case s.Like != nil:
		return "like:" + s.Like.name
	case s.Gamma != 0:
		return "gamma:" + strconv.FormatFloat(s.Gamma, 'g', -1, 64)
	case s.Poisson:
		return "poisson"
	}
	return "uniform"
}

// profile is the report's name for the shape of the stages.
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

// shard is k/n, counted from 1.
func (s Spec) shard() string {
	return strconv.FormatUint(s.Shard+1, 10) + "/" + strconv.FormatUint(max(s.Shards, 1), 10)
}
