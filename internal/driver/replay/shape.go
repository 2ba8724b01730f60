package replay

import (
	"math"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// stepLength is the length of a ramp's step without --duration.
const stepLength = 10 * time.Second

// closedConnections is the number of connections of a closed loop without -c, as in takt http.
const closedConnections = 50

// SetStep is driver.Predecessor.Step: it accepts a rate, the height of a step.
func (o *Options) SetStep(text string) bool {
	step, err := schedule.ParseRate(text)
	if err != nil || math.IsInf(step, 1) {
		return false
	}
	o.Seed.Step = step
	return true
}

// Shape turns the predecessor's flags into a schedule. Without any rate the recorded times are the
// schedule.
func (o *Options) Shape(e *engine.Options) {
	o.engine, o.faults = e, nil
	s := &o.Seed
	if s.Serialize {
		e.Connections = 1
	}
	switch given := e.Stages.Given() && e.Stages.String() != o.made || e.Rate.Given() && e.Rate.String() != o.made; {
	case !isRate(s.TPS) || !isRate(s.StartTPS):
		o.fault("--tps and --start-tps are requests per second; give a number above 0")
	case given && s.TPS > 0:
		o.fault("both --tps and --rate or --stages are given; keep one, --tps 100 is --rate 100/s")
	case s.TPS == 0 && (s.Step > 0 || s.StartTPS > 0):
		o.fault("--progress %v and --start-tps %v begin a ramp without an end; give its highest rate with --tps", s.Step, s.StartTPS)
	case s.Step > 0:
		o.ramp(e)
	case s.StartTPS > 0:
		o.fault("--start-tps is given without --progress; give the height of a step with --progress, too")
	case s.TPS > 0:
		e.Rate = engine.PerSecond(s.TPS)
		o.made = e.Rate.String()
	}
	e.Recorded = !e.Rate.Given() && !e.Stages.Given() && s.TPS == 0
	if e.Closed() && e.Connections == 0 {
		e.Connections = closedConnections
	}
	e.Drain.SetFallback(o.HTTP.Timeout)
	o.stages, o.shard, o.shards = nil, 0, 1
	if spec, err := e.Spec(); err == nil {
		o.shard, o.shards = spec.Shard, max(1, spec.Shards)
		if !e.Recorded && !e.Closed() {
			o.stages = spec.Stages
		}
	}
}

// Ends is driver.Load.Ends: a log ends, unless it is followed or begins again.
func (o *Options) Ends() bool { return !o.Seed.Tail && !o.Seed.Rewind }

// isRate reports whether a flag is a rate, or 0 for no rate. NaN must be refused: --tps NaN would
// replay at the recorded times.
func isRate(n float64) bool { return n >= 0 && !math.IsInf(n, 1) }

func (o *Options) fault(format string, args ...any) {
	o.faults = append(o.faults, value.Faultf(format, args...))
}

// ramp makes stages of the steps; the last one is the highest that is not above --tps.
func (o *Options) ramp(e *engine.Options) {
	s := &o.Seed
	first, length := s.StartTPS, e.Duration
	if first == 0 {
		first = s.Step
	}
	if length == 0 {
		length = stepLength
	}
	steps := int((s.TPS-first)/s.Step+1e-9) + 1
	if s.TPS < first || steps > schedule.MaxStages {
		o.fault("a ramp from %v to %v by %v has no step, or more than %d; change --tps, --start-tps or --progress", first, s.TPS, s.Step, schedule.MaxStages)
		return
	}
	if e.Stages.Given() && e.Stages.String() == o.made {
		return // an earlier call of Shape has set the stages
	}
	var list []string
	for i := range steps {
		list = append(list, length.String()+"@"+schedule.FormatRate(math.Round((first+float64(i)*s.Step)*1e9)/1e9))
	}
	o.made = strings.Join(list, ",")
	if err := e.Stages.Set(o.made); err != nil {
		o.faults = append(o.faults, err)
	}
	e.Duration = 0
}

// rateAt is the offered rate at the instant due; 0 with the recorded times. A linear search is fast
// enough, because there are few stages.
func (o *Options) rateAt(due time.Duration) float64 {
	due -= o.engine.Warmup
	for i, g := range o.stages {
		if due < g.Duration || i == len(o.stages)-1 {
			if g.Duration == 0 || due < 0 {
				return g.From
			}
			return g.From + (g.To-g.From)*min(1, due.Seconds()/g.Duration.Seconds())
		}
		due -= g.Duration
	}
	return 0
}
