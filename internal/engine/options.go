package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// Options say when operations are due and what bounds a run. Every load command
// has them.
type Options struct {
	Rate        Rate   // "500/s", "100/s..2k/s" or "max"; "": closed loop
	Stages      Stages // "30s@100/s,1m@100/s..2k/s"; instead of Rate
	Arrivals    Arrivals
	Seed        uint64        // of everything random
	Duration    time.Duration // of the measured window; 0: not bounded
	Requests    uint64        // measured operations; 0: not bounded
	Warmup      time.Duration // before Duration, in addition
	MaxInFlight int           // bound of the pool that grows on demand
	Connections int           // fixes the pool; 0: it grows on demand
	Overflow    string        // queue or drop
	Drain       Drain         // how long what is open may take after the schedule's end
	Shard       Shard         // k/n, from 1
	StartAt     StartAt       // wall-clock instant of the start; zero: now
	CPUs        int           // cores to use; 0: all
	Engine      string        // auto, loop or worker; "": auto
	Loops       int           // threads of the loop mode; 0: one less than there are cores
	Pacing      string        // default, precise or economy, of the loop and async modes; "": default
	MaxLag      time.Duration // schedule lag that the loop and async modes may take; 0: as Pacing says
	Recorded    bool          // operations bring their instants along; instead of a rate

	ReadLog   ReadLog    // for Arrivals of like:LOG; nil: logs cannot be read
	recording *recording // of Arrivals; nil: no log, or not read yet
}

// The names of Options.Overflow and Options.Arrivals.
const (
	overflowQueue = "queue"
	overflowDrop  = "drop"
	uniform       = "uniform"
	poisson       = "poisson"
	gamma         = "gamma:"   // with a coefficient of variation
	like          = "like:"    // with a log
	recorded      = "recorded" // of Options.Recorded
)

// The names of Options.Pacing.
const (
	pacingDefault = "default"
	pacingPrecise = "precise"
	pacingEconomy = "economy"
)

// economyGrid is the largest lag of an operation with the economy pacing.
const economyGrid = time.Millisecond

// maxLoops bounds Options.Loops: each has a core of its own or it is no use.
const maxLoops = 256

// DefaultInFlight bounds a pool that grows on demand.
const DefaultInFlight = 10_000

// Defaults are the options of a command that says nothing else.
func Defaults() Options {
	return Options{
		Seed: 1, MaxInFlight: DefaultInFlight, Overflow: overflowQueue,
		Drain:  Drain{fallback: 20 * time.Second},
		Engine: engineAuto, Pacing: pacingDefault,
	}
}

// Single are the options of a run that sends requests one by one, at least one: what o says of rates and times is left out.
func (o *Options) Single() Options {
	s := Defaults()
	s.Seed, s.Engine, s.Drain, s.ReadLog = o.Seed, o.Engine, o.Drain, o.ReadLog
	s.Connections, s.Requests = 1, max(1, o.Requests)
	return s
}

// AddFlags declares the options on fs with their present values as defaults.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupLoad, o.addLoadFlags, "rate", "duration", "requests")
	value.Declare(fs, value.GroupConnections, o.addPoolFlags, "connections")
	value.Declare(fs, value.GroupMeasurement, o.addWindowFlags)
	value.Declare(fs, value.GroupGenerator, o.addGeneratorFlags)
}

func (o *Options) addLoadFlags(fs *pflag.FlagSet) {
	fs.VarP(value.Plain(&o.Rate), "rate", "q", "operations per second in all: `RATE` is 500/s, 30/m, 2k/s, a ramp 100/s..2k/s, or max (closed loop)")
	fs.Var(value.Plain(&o.Stages), "stages", "`LIST` of stages instead of --rate and --duration: 30s@100/s,1m@100/s..2k/s")
	fs.VarP(value.Duration(&o.Duration), "duration", "z", "measure for `TIME`, such as 30s or 1m30s; a bare number means seconds")
	fs.Uint64VarP(&o.Requests, "requests", "n", o.Requests, "stop after `N` operations; with --duration, whichever comes first")
	fs.Var(&o.Arrivals, "arrivals", "spacing of the operations, `uniform|poisson|gamma:CV|like:LOG`: even, random, random in bursts (CV is the coefficient of variation of the gaps; 1 is poisson), or with the bursts of an access log at the rate of --rate")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "seed `N` for everything random: the same N sends the same values again, also those of {{uuid}}")
	fs.Var(value.Auto(&o.Shard), "shard", "send only every n-th operation, from the k-th on: `k/n`, or auto: as Kubernetes, Slurm, AWS Batch or GNU parallel numbers this process")
	fs.Var(value.Plain(&o.StartAt), "start-at", "start at `TIME`, RFC 3339 or seconds since 1970")
}

func (o *Options) addPoolFlags(fs *pflag.FlagSet) {
	fs.IntVarP(&o.Connections, "connections", "c", o.Connections, "fix the pool at `N` connections")
	fs.IntVar(&o.MaxInFlight, "max-in-flight", o.MaxInFlight, "at most `N` operations in flight; the connection pool grows on demand up to N")
	fs.Var(value.Choice(&o.Overflow, overflowQueue, overflowDrop), "overflow", "when --max-in-flight is reached: `queue|drop`; queued operations wait, which counts as response time; dropped ones are never sent, and counted")
}

func (o *Options) addWindowFlags(fs *pflag.FlagSet) {
	fs.Var(value.Duration(&o.Warmup), "warmup", "warm up for `TIME` before measuring")
	fs.Var(value.Plain(&o.Drain), "drain", "wait up to `TIME` for open operations after the end of the schedule (default: the time limit of --timeout, or 20s)")
}

func (o *Options) addGeneratorFlags(fs *pflag.FlagSet) {
	fs.Var(value.Choice(&o.Engine, engineAuto, engineLoop, engineWorker), "engine", "`auto|loop|worker`: a thread that serves many connections, or a goroutine for each; auto takes the loop for http and https on Linux")
	fs.Var(value.Choice(&o.Pacing, pacingDefault, pacingPrecise, pacingEconomy), "pacing", "pacing, `default|precise|economy`: schedule lag p99 of about 100 µs, almost none (the loop spins a core for it), or up to 1 ms with the least CPU")
	fs.Var(value.Duration(&o.MaxLag), "max-lag", "instead of --pacing, the schedule lag that takt may have, `TIME` such as 250us: more lag costs less CPU")
	fs.IntVar(&o.Loops, "loops", o.Loops, "`N` threads of the loop; 0: one less than there are cores")
	fs.IntVar(&o.CPUs, "cpus", o.CPUs, "use `N` cores; 0 means all")
}

// LoopFlags are the flags about a pool of connections, and the threads that serve it. Clients with
// connections of their own have no use for them.
func LoopFlags() []string { return []string{"connections", "engine", "loops"} }

// SendFlags are the flags that say how operations are sent. Who only receives has no use
// for them.
func SendFlags() []string {
	return append(LoopFlags(), "pacing", "max-lag", "rate", "stages", "arrivals", "seed", "max-in-flight", "overflow", "drain", "shard")
}

// Validate reports every fault at once.
func (o *Options) Validate() []error {
	var faults value.Faults
	faults.If(o.Rate.Given() && o.Stages.Given(), "both --rate and --stages are given; keep one, or write the rate as a stage: 30s@%s", o.Rate)
	faults.If(o.Stages.Given() && o.Duration > 0, "both --stages and --duration are given; the stages have durations of their own")
	faults.If(o.Loops < 0 || o.Loops > maxLoops, "--loops is %d; give a number from 1 to %d, or leave it out for one less than there are cores", o.Loops, maxLoops)
	faults.If(o.MaxLag < 0, "--max-lag is %v; give a time above 0, or leave it out", o.MaxLag)
	faults.If(o.MaxLag > 0 && o.Pacing != "" && o.Pacing != pacingDefault, "both --pacing %s and --max-lag are given; keep one, each says how late the loop may be", o.Pacing)
	faults.If(o.MaxInFlight < 1, "--max-in-flight is %d; at least 1 is needed to send anything", o.MaxInFlight)
	faults.If(o.Connections < 0, "--connections is %d; give a number above 0, or leave it out for a pool that grows on demand", o.Connections)
	faults.If(o.CPUs < 0, "--cpus is %d; give a number above 0, or leave it out for all cores", o.CPUs)
	spec, err := o.Spec()
	faults.Add(err)
	if len(faults) > 0 || o.Rate.refused || o.Stages.refused {
		return faults
	}
	faults.Add(spec.Validate())
	return faults
}

// Spec makes the schedule that o describes.
func (o *Options) Spec() (schedule.Spec, error) {
	s := schedule.Spec{Warmup: o.Warmup, Limit: o.Limit(), Seed: o.Seed}
	o.take(&s)
	var err error
	if s.Stages, err = o.stages(); err != nil {
		return s, err
	}
	if s.Closed() {
		// Its operations bring no instants, so the schedule cannot tell which are
		// measured ones: the engine counts them.
		s.Poisson, s.Gamma, s.Like, s.Limit = false, 0, nil, 0
	}
	s.Shard, s.Shards = o.Shard.index(), o.Shard.parts()
	return s, nil
}

// Limit is the largest number of measured operations; 0: not bounded.
func (o *Options) Limit() uint64 {
	over, n := bits.Mul64(o.Requests, uint64(max(1, o.Rate.each)))
	if over > 0 {
		return math.MaxUint64
	}
	return n
}

// Span is the length of the schedule, with the warm-up; not above 0: unknown before the run, as of a closed loop
// with a number of operations, or of a log.
func (o *Options) Span() time.Duration {
	spec, err := o.Spec()
	if err != nil || spec.Limit > 0 && o.unread() { // its arrivals decide when the last one is due
		return -1
	}
	s, err := spec.Schedule()
	if err != nil {
		return -1
	}
	return s.End()
}

func (o *Options) stages() ([]schedule.Stage, error) {
	if o.Stages.Given() {
		return o.Stages.list, nil
	}
	one, err := o.Rate.stage(o.Duration)
	return []schedule.Stage{one}, err
}

// Source makes the operations that o schedules, without data.
func (o *Options) Source() (takt.Source, error) {
	if err := o.ReadArrivals(context.Background()); err != nil {
		return nil, err
	}
	s, err := o.Spec()
	if err != nil {
		return nil, err
	}
	return s.Source()
}

// Variables are the settings that shape the load, for Report.Variables. Those of
// the warm-up and the shard are left out: they change no figure's meaning.
func (o *Options) Variables() map[string]any {
	v := map[string]any{"arrivals": o.Arrivals.String(), "overflow": o.Overflow, "max_in_flight": o.InFlight()}
	if o.Duration > 0 {
		v["duration_s"] = o.Duration.Seconds()
	}
	if o.Requests > 0 {
		v["requests"] = o.Limit()
	}
	if o.Connections > 0 {
		v["connections"] = o.Connections
	}
	if o.paced() {
		v["pacing"] = cmp.Or(o.Pacing, pacingDefault)
		if o.MaxLag > 0 {
			v["max_lag_s"] = o.MaxLag.Seconds()
		}
	}
	if o.Loops > 0 {
		v["loops"] = o.Loops
	}
	switch {
	case o.Recorded:
		v["arrivals"] = recorded
	case o.Stages.Given():
		v["stages"] = o.Stages.String()
	case o.Rate.closed():
		v["rate"], v["arrivals"] = "max", "closed"
	case o.Rate.ramp:
		v["rate"] = o.Rate.String()
		if one, err := o.Rate.stage(1); err == nil && o.Rate.each > 1 {
			v["rate"] = span(one)
		}
	default:
		v["rate_per_s"] = o.Rate.operations(o.Rate.from)
	}
	return v
}

// paced reports whether the loop mode is to pace in another way than by default.
func (o *Options) paced() bool {
	return o.MaxLag > 0 || o.Pacing != "" && o.Pacing != pacingDefault
}

// Endless reports whether the run has no end but a signal, or that of its list.
func (o *Options) Endless() bool { return o.Duration == 0 && !o.Stages.Given() && o.Requests == 0 }

// End gives a load without an end the one that hey has: 200 operations in a closed loop, or 10 s at a
// given rate.
func (o *Options) End() {
	switch {
	case !o.Endless():
	case o.Closed():
		o.Requests = 200
	default:
		o.Duration = 10 * time.Second
	}
}

// Closed reports whether o asks for a closed loop.
func (o *Options) Closed() bool {
	return !o.Recorded && !o.Stages.Given() && o.Rate.closed()
}

// CanLoop reports whether the loop mode is there and not refused.
func (o *Options) CanLoop() bool { return sock.Available && o.Engine != engineWorker }

// InFlight is the bound that holds on operations in flight.
func (o *Options) InFlight() int {
	if o.Connections > 0 {
		return min(o.Connections, o.MaxInFlight)
	}
	return o.MaxInFlight
}

// Opens is how many connections a pool of Connections opens, at most one for each operation; 0: the pool grows on
// demand.
func (o *Options) Opens() int {
	if o.Requests > 0 && o.Warmup == 0 && uint64(o.Connections) > o.Requests {
		return int(o.Requests)
	}
	return o.Connections
}

// Drain is a duration that is the operation's timeout unless it was given.
type Drain struct {
	given    bool
	d        time.Duration
	fallback time.Duration
}

// DrainOf is a drain time of exactly d.
func DrainOf(d time.Duration) Drain { return Drain{given: true, d: d} }

// SetFallback says what holds when nothing was given.
func (d *Drain) SetFallback(t time.Duration) { d.fallback = t }

// Duration is the drain time that holds.
func (d Drain) Duration() time.Duration {
	if d.given {
		return d.d
	}
	return d.fallback
}

// Set implements flag.Value.
func (d *Drain) Set(s string) error {
	t, err := schedule.ParseDuration(s)
	d.given, d.d = true, t
	return err
}

// String implements flag.Value.
func (d *Drain) String() string {
	if d == nil || !d.given && d.fallback == 0 {
		return ""
	}
	return d.Duration().String()
}

// StartAt is a wall-clock instant given as a flag.
type StartAt time.Time

// Set implements flag.Value.
func (t *StartAt) Set(s string) error {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		*t = StartAt(at)
		return nil
	}
	sec, err := strconv.ParseFloat(s, 64)
	if err != nil || sec < 0 || sec > 1e11 {
		return fmt.Errorf("not an instant: %q; use RFC 3339 (2026-11-21T10:00:00Z) or seconds since 1970", s)
	}
	*t = StartAt(time.UnixMicro(int64(sec * 1e6)))
	return nil
}

// String implements flag.Value.
func (t *StartAt) String() string {
	if t == nil || time.Time(*t).IsZero() {
		return ""
	}
	return time.Time(*t).Format(time.RFC3339Nano)
}
