package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// capacity is the command that finds the highest rate at which a target meets an SLO.
type capacityCommand struct {
	env     core.Env
	store   kept.Storing
	search  capacity.Search
	outputs core.ReportOutputs
	noStore bool

	slos  []string
	need  perSecond
	spare float64 // headroom of each planned machine
	from  []string
	climb climb

	slo capacity.SLO
}

// newCapacity returns takt capacity.
func newCapacity(env core.Env) *cobra.Command {
	k := &capacityCommand{env: env, search: capacity.DefaultSearch(), spare: capacity.DefaultHeadroom, climb: defaultClimb()}
	c := &cobra.Command{
		Use:   "capacity --slo SLO -- COMMAND… | capacity --slo SLO --from RUN|FILE…",
		Short: "find the highest rate at which a target meets an SLO, and how many machines a rate needs",
		Long: `takt runs the load command after -- at one rate after the other until the SLO breaks;
then it repeats the rates on both sides of the limit. Each step is a stored run.
--from answers from existing data instead: a ramp, steps, runs at several rates, a
load file, or the output of takt trace seconds.`,
		Example: `  takt capacity --slo 'p95<300ms,errors<0.1%' --need 800/s -- http http://127.0.0.1:8080/
  takt capacity --slo 'p99<50ms' --start 100/s --step 100/s --max 2k/s -- http http://127.0.0.1:8080/
  takt capacity --slo 'p95<300ms' --from @-1 -o svg=curve.svg
  takt capacity --slo 'p95<300ms' --need 200/s --from raw.csv`,
	}
	return core.Define(c, func(fs *pflag.FlagSet) {
		k.addFlags(fs)
		value.Declare(fs, value.GroupLoad, k.climb.addFlags, "duration")
		k.store.AddFlags(fs)
		k.store.AddLimit(fs)
	}, k.validate, k.run)
}

func (k *capacityCommand) addFlags(fs *pflag.FlagSet) {
	k.outputs.AddFlags(fs, "write `FORMAT=PATH`; repeatable; PATH - is stdout; FORMAT is svg (the curve), "+strings.Join(format.Names(), ", "))
	value.Declare(fs, value.GroupStorage, func(fs *pflag.FlagSet) {
		fs.BoolVar(&k.noStore, "no-store", false, "store neither the steps nor the answer")
	})
	value.Declare(fs, value.GroupGoal, k.addGoalFlags, "slo", "need", "from")
	value.Declare(fs, value.GroupSearch, k.addSearchFlags, "start", "max", "budget")
}

func (k *capacityCommand) addGoalFlags(fs *pflag.FlagSet) {
	fs.Var(value.List(&k.slos), "slo", "the SLO: comma-separated `CONDITIONS` as in --assert: p95<300ms,errors<0.1%; repeatable; errors<1% and dropped<1% apply unless you give others")
	fs.Var(value.Plain(&k.need), "need", "say how many machines `RATE` needs, such as 800/s")
	fs.Var(value.Percent(&k.spare), "headroom", "plan machines with `PERCENT` of their limit unused; one more machine is planned for a failure")
	fs.Var(value.Runs(&k.from), "from", "use this stored `RUN|FILE`, report or load file, instead of a command; repeatable")
}

func (k *capacityCommand) addSearchFlags(fs *pflag.FlagSet) {
	fs.Var(value.Plain((*perSecond)(&k.search.Start)), "start", "start at `RATE`")
	fs.Var(value.Plain((*perSecond)(&k.search.Step)), "step", "raise the rate by `RATE` at each step, instead of doubling and bisecting")
	fs.Var(value.Plain((*perSecond)(&k.search.Max)), "max", "offer `RATE` at most")
	fs.Var(value.Percent(&k.search.Precision), "precision", "bisect until the rates on both sides of the limit are within `PERCENT`")
	fs.IntVar(&k.search.Repeats, "repeats", k.search.Repeats, "measure the rates on both sides of the limit `N` times, and up to three times as often while the interval is wide")
	fs.IntVar(&k.search.Steps, "max-steps", k.search.Steps, "at most `N` steps")
	fs.Var(value.Duration(&k.climb.budget), "budget", "limit the whole search to `TIME`, and replace disturbed steps within it; the search ends earlier with an answer, or when more time would not help (default: no budget)")
}

// validate reports every fault at once.
func (k *capacityCommand) validate(args []string) (faults []error) {
	var err error
	switch {
	case len(k.slos) > 0:
		k.slo, err = capacity.ParseSLO(k.slos...)
		faults = append(faults, core.Unjoin(err)...)
	case len(k.from) == 0:
		faults = append(faults, errors.New("takt capacity needs --slo, as in --slo 'p95<300ms,errors<0.1%'"))
	}
	faults = append(faults, core.Unjoin(k.search.Validate())...)
	if k.spare < 0 || k.spare > 0.9 {
		faults = append(faults, value.Faultf("--headroom is %s; give a percentage from 0%% to 90%%", value.Percent(&k.spare)))
	}
	faults = append(faults, k.outputs.Validate(k.env, parseCurve)...)
	faults = core.AppendError(faults, k.store.CheckLimit())
	switch {
	case len(k.from) == 0:
		return append(faults, k.climb.validate(k.env, args)...)
	case len(args) > 0:
		return append(faults, value.Faultf("--from reads existing runs, and %q is a command; leave one of them out", strings.Join(args, " ")))
	}
	return faults
}

// parseCurve is core.ParseReplayed with the additional format svg.
func parseCurve(s string) (format.Format, string, error) {
	name, path, given := strings.Cut(s, "=")
	switch {
	case name != "svg":
		return core.ParseReplayed(s)
	case !given:
		path = format.Stdout
	case path == "":
		return format.Format{}, "", fmt.Errorf("output %q has no path; write svg=FILE, or svg=- for standard output", s)
	}
	return format.CapacitySVG(), path, nil
}

func (k *capacityCommand) run(ctx context.Context, args []string) error {
	if len(k.from) > 0 {
		return k.draw(ctx)
	}
	id := engine.NewID(time.Now())
	out, err := core.OpenOutputs(k.env, k.outputs.Opened, 1, 1, takt.Report{SchemaVersion: takt.SchemaVersion, ID: id, Kind: capacity.Kind})
	if err != nil {
		return err
	}
	defer out.Discard()
	steps, runs, ended, failed := k.climb.run(ctx, k, id, args)
	if len(steps) == 0 {
		return k.outcome(ctx, capacity.Answer{}, failed)
	}
	answer := capacity.Conclude(steps, k.slo, ended, 0)
	answer.Plan(float64(k.need), k.spare)
	r, err := k.report(answer, runs, id)
	if err == nil {
		err = out.Close(r)
		k.keep(r)
	}
	return k.outcome(ctx, answer, cmp.Or(err, failed))
}

// keep stores the report.
func (k *capacityCommand) keep(r *takt.Report) {
	if !k.noStore {
		k.store.Keep(k.env, r)
	}
}

// report makes the report that contains the answer.
func (k *capacityCommand) report(answer capacity.Answer, runs []*takt.Report, id string) (*takt.Report, error) {
	r, err := capacity.Report(answer, runs, k.settings())
	if err != nil {
		return nil, err
	}
	r.ID, r.Schedule.RunGroup = id, id
	load := len(k.env.Args) - slices.Index(k.env.Args, "--") // the step's report has words that takt added
	r.Command = k.env.CommandLine(runs[0].Command[:min(len(runs[0].Command), load)])
	r.Tool = runs[0].Tool
	r.StartedAt = time.Now().UTC() // after every step, so that @-1 names the answer
	r.ComparabilityKey = engine.ComparabilityKey(r.Variables, r.Generator.HostClass)
	return r, nil
}

// settings returns the settings that influence the answer.
func (k *capacityCommand) settings() map[string]any {
	if len(k.from) > 0 {
		return map[string]any{"slo": k.slo.String()}
	}
	s := map[string]any{
		"slo": k.slo.String(), "start_per_s": k.search.Start, "precision": k.search.Precision, "repeats": k.search.Repeats,
		"step_duration_s": k.climb.duration.Seconds(), "step_warmup_s": k.climb.warmup.Seconds(), "pause_s": k.climb.pause.Seconds(),
	}
	if k.search.Step > 0 {
		s["step_per_s"] = k.search.Step
	}
	if k.climb.budget > 0 {
		s["budget_s"] = k.climb.budget.Seconds()
	}
	if k.search.Max > 0 {
		s["max_per_s"] = k.search.Max
	}
	return s
}

// outcome maps the answer to the exit code. failed is the error that ended the search early.
func (k *capacityCommand) outcome(ctx context.Context, c capacity.Answer, failed error) error {
	switch signal := core.SignalOf(ctx); {
	case signal != nil:
		return core.ExitBy(signal, nil)
	case failed != nil:
		return core.ExitWith(core.ExitFailed, failed)
	case c.Ended == capacity.EndInvalid:
		return core.ExitWith(core.ExitInvalid, errors.New("the generator was the bottleneck, so the limit of the target is unknown; see the warnings"))
	case c.Ended == capacity.EndBudget && c.Confidence == 0:
		return core.ExitWith(core.ExitInconclusive, errors.New("the budget was used up before the limit was found; raise --budget, or shorten the steps with --duration"))
	case c.Ended == capacity.EndFutile && c.Confidence == 0:
		return core.ExitWith(core.ExitInconclusive, errors.New("the steps vary too much to find the limit, and the rest of the budget would most probably not help; make the steps longer with --duration, or quieten the machine"))
	case c.Sustainable == 0:
		return core.ExitWith(core.ExitAssertion, errors.New("no rate met the SLO"))
	}
	return nil
}

// perSecond is the value of a flag for a rate; 0: not given.
type perSecond float64

func (p *perSecond) Set(s string) error {
	err := (*schedule.RateValue)(p).Set(s)
	if err == nil && float64(*p) > schedule.MaxRate {
		err = fmt.Errorf("rate %q has no number; give one such as 500/s", s)
	}
	return err
}

func (p *perSecond) String() string { return (*schedule.RateValue)(p).String() }
