package load

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/taktload/takt/internal/embedded"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/inprocess"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// The defaults of a Plan.
const (
	DefaultMaxInFlight = engine.DefaultInFlight
	DefaultDrain       = 20 * time.Second
)

// MaxWorkers limits Plan.Workers and Plan.MaxInFlight: a million workers take 3.3 GB.
const MaxWorkers = 1_000_000

// Plan describes one run. Driver and Schedule are needed; the zero value of every other field is
// its default.
type Plan struct {
	// Driver performs the operations. Run closes it, also if the run cannot start, unless the
	// plan itself is wrong.
	Driver *takt.Driver
	// Schedule says when operations are due, with the warm-up, the number of operations and the
	// seed. A last stage without a duration and without a Limit ends with the context.
	Schedule schedule.Spec
	// Name is what is measured, in Report.Variables; "": the path of the program's main package.
	Name string

	// Workers is the number of workers, all ready from the start; 0: as many as are needed, up
	// to MaxInFlight. A closed loop needs a number.
	Workers int
	// MaxInFlight is the largest number of operations in flight; 0: DefaultMaxInFlight, or Workers.
	MaxInFlight int
	// Drop drops an operation that is due when MaxInFlight is reached, and counts it. Without
	// Drop the operation waits, and the wait is part of its response time.
	Drop bool
	// Drain is how long open operations may take after the end of the schedule, before their
	// context ends and they count as unfinished; 0: DefaultDrain, negative: none.
	Drain time.Duration
	// StartAt is when the schedule begins; zero: now.
	StartAt time.Time

	// Labels name the thing under test, such as its version.
	Labels map[string]string
	// Variables are further settings that shape the load. Only runs with equal variables are
	// compared.
	Variables map[string]any
	// Assert are conditions such as "p99<250ms" or "errors<0.1%", as takt's flag --assert accepts
	// them. Report.Assertions has the results.
	Assert []string
	// Outputs are files for the report, written as FORMAT=PATH, such as "json=report.json".
	// PATH - is standard output.
	Outputs []string
	// Store stores the report, for example keep.In("runs.db"); nil: the report is not stored.
	Store func(*takt.Report) error

	// OnSecond is called once a second while the run goes on.
	OnSecond func(takt.Interval)
	// OnSamples is called with batches of operations in the order in which they ended, and with
	// the names of their phases. The slice is reused. Rows without room while a call blocks
	// are skipped.
	OnSamples func(phases []string, list []takt.Sample)
	// Abort ends the run at once when it is closed, without a drain; nil: nothing does.
	Abort <-chan struct{}
	// Words are how warnings call the settings of this program; "": in the words of this package.
	Words takt.Words
	// Tune lets the run raise GOMAXPROCS by one, for the goroutine that keeps time, and restore
	// it afterwards. Without Tune, Run leaves the process alone.
	Tune bool
}

// Validate reports all faults of p at once.
func (p *Plan) Validate() error {
	_, err := p.prepare()
	return err
}

// prepare is the plan as the run needs it.
func (p *Plan) prepare() (*inprocess.Plan, error) {
	k := inprocess.Plan{
		Driver: p.Driver, Name: p.Name, Labels: p.Labels, Variables: p.Variables, Store: p.Store,
		OnSecond: p.OnSecond, OnSamples: p.OnSamples, Abort: p.Abort, Tune: p.Tune, Words: embedded.Words(p.Words),
	}
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(p.Driver == nil, "there is no driver; set Plan.Driver, for example to load.Handler(f)")
	fault(len(p.Schedule.Stages) == 0, "there is no schedule; set Plan.Schedule, for example to schedule.Constant(500, 10*time.Second)")
	fault(p.Workers < 0 || p.Workers > MaxWorkers, "Plan.Workers is %d; give a number from 1 to %d, or 0 for as many as are needed", p.Workers, MaxWorkers)
	fault(p.MaxInFlight < 0 || p.MaxInFlight > MaxWorkers, "Plan.MaxInFlight is %d; give a number from 1 to %d, or 0 for %d", p.MaxInFlight, MaxWorkers, DefaultMaxInFlight)
	fault(p.Schedule.Closed() && p.Workers == 0 && p.MaxInFlight == 0, "a closed loop needs a number of workers; set Plan.Workers")
	if len(p.Schedule.Stages) > 0 {
		if err := p.Schedule.Validate(); err != nil {
			faults = append(faults, err)
		}
	}
	for _, text := range p.Assert {
		list, bad := assert.ParseAssertions(text)
		k.Assertions, faults = append(k.Assertions, list...), append(faults, bad...)
	}
	for _, text := range p.Outputs {
		if err := k.Outputs.Set(text); err != nil {
			faults = append(faults, err)
		}
	}
	if err := k.Outputs.Validate(); err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	k.Options = p.options()
	if err := errors.Join(k.Options.Validate()...); err != nil {
		return nil, err
	}
	return &k, k.Options.StartAt.Passed()
}

// options are those of the engine.
func (p *Plan) options() engine.Options {
	o := engine.Defaults()
	o.Follow(p.Schedule)
	o.Connections = p.Workers
	if p.Workers > 0 {
		o.MaxInFlight = p.Workers
	}
	if p.MaxInFlight > 0 {
		o.MaxInFlight = p.MaxInFlight
	}
	if p.Drop {
		o.Overflow = "drop"
	}
	o.Drain = engine.DrainOf(p.drain())
	o.StartAt = engine.StartAt(p.StartAt)
	return o
}

func (p *Plan) drain() time.Duration {
	if p.Drain == 0 {
		return DefaultDrain
	}
	return max(0, p.Drain)
}

// Closed is the schedule of a closed loop: each worker performs one operation after the other for
// the duration d. A closed loop hides the waits of users, so the report has a warning.
func Closed(d time.Duration) schedule.Spec { return schedule.Constant(math.Inf(1), d) }
