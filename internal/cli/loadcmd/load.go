// Package loadcmd has the load commands, one for each row of the driver table.
package loadcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/calibratecmd"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/program"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/trace/play"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// load is one load command: a row of the driver table with the flags of all load commands.
type load struct {
	env          core.Env
	row          driver.Row
	engine       engine.Options
	driver       driver.Load
	flags        *pflag.FlagSet
	outputs      core.ReportOutputs
	requirements core.Requirements
	aborts       []string
	until        string
	faultTexts   []string
	labelFlags   labelFlags
	exports      []metrics.Destination
	store        kept.Storing

	progress string
	console  console
	repeat   int
	runGroup engine.RunGroup
	noStore  bool
	debug    debugging

	calibrated    *calibratecmd.Calibration // calibration of this host; nil: none
	conditions    []assert.Assertion        // conditions of --abort-on
	abortOverload bool                      // --abort-on overload
	goal          *goal                     // --until; nil: none
	reached       *goal                     // that of the newest run
	injected      []fault                   // commands of --fault
	abort         context.CancelCauseFunc
	scrub         *core.Scrubber
	group         string
	named         map[string]string // labels of the system under test
	brokeOff      error             // what ended the run early: its list of operations or its driver
	quitByKey     atomic.Bool       // the SIGINT of the run is that of the view's key q
}

// Add adds the load commands. The commands of a protocol such as kafka are subcommands of
// a command with its name.
func Add(root *cobra.Command, env core.Env) {
	groups := map[string]*cobra.Command{"": root}
	for _, row := range env.Protocols() {
		if groups[row.Group] == nil {
			groups[row.Group] = &cobra.Command{
				Use: row.Group, Short: "load " + row.GroupShort, Args: core.NoArgs,
				RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
			}
			root.AddCommand(groups[row.Group])
		}
		_, c := newLoad(env, row)
		groups[row.Group].AddCommand(c)
	}
}

func newLoad(env core.Env, row driver.Row) (*load, *cobra.Command) {
	l := &load{env: env, row: row, engine: engine.Defaults(), driver: row.New(core.InterruptibleStdin(env)), progress: progressAuto, repeat: 1}
	l.engine.ReadLog = play.Spacing
	if l.driver.Defaults != nil {
		l.driver.Defaults(&l.engine)
	}
	c := &cobra.Command{Use: row.Use, Short: row.Short, Example: row.Example}
	c.Annotations = map[string]string{core.LegacyFlags: strings.Join(row.Legacy, " ")}
	for _, f := range row.OtherTools {
		core.ExplainFlags(c, f.Names, f.Value, f.Advice)
	}
	l.flags = core.AddFlags(c, func(fs *pflag.FlagSet) {
		l.engine.AddFlags(fs)
		l.driver.AddFlags(fs)
		l.addFlags(fs)
	})
	core.Alias(c, row.Aliases)
	for _, name := range l.unused() {
		c.Flags().Lookup(name).Hidden = true
	}
	core.Configurable(c)
	c.Args = func(c *cobra.Command, args []string) error {
		if ctx := c.Context(); ctx != nil && l.driver.Attend != nil {
			l.driver.Attend(ctx.Done(), func(text string) { fmt.Fprintf(l.env.Stderr, "takt: %s\n", text) })
		}
		faults := l.faults(args)
		if ctx := c.Context(); len(faults) > 0 && ctx != nil && core.SignalOf(ctx) != nil {
			return l.broken(ctx, errors.Join(faults...))
		}
		return core.Usage(c, faults)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if f := c.Flags().Lookup(core.DumpFlag); f != nil && f.Value.String() == "true" {
			return env.PrintSettings(c)
		}
		return l.run(c.Context(), args)
	}
	return l, c
}

func (l *load) addFlags(fs *pflag.FlagSet) {
	l.outputs.AddFlags(fs, "write `FORMAT=PATH`; repeatable; PATH - is stdout; FORMAT is "+strings.Join(format.Names(), ", ")+"; csv alone is samples, as in hey")
	l.requirements.AddFlags(fs)
	l.labelFlags.addFlags(fs)
	l.store.AddFlags(fs)
	l.store.AddLimit(fs)
	value.Declare(fs, value.GroupAssertions, l.addAbortFlag)
	value.Declare(fs, value.GroupMeasurement, l.addUntilFlag)
	value.Declare(fs, value.GroupOutput, l.addProgressFlag)
	value.Declare(fs, value.GroupOutput, l.addExportFlag)
	if l.driver.Debug != nil {
		value.Declare(fs, value.GroupOutput, l.addDebugFlag)
	}
	value.Declare(fs, value.GroupMeasurement, l.addRepeatFlag)
	value.Declare(fs, value.GroupMeasurement, l.addFaultFlag)
	value.Declare(fs, value.GroupStorage, l.addKeepFlags)
}

func (l *load) addAbortFlag(fs *pflag.FlagSet) {
	fs.Var(value.List(&l.aborts), "abort-on", "end the run with exit code 3 after the first second in which `CONDITION` is true, such as errors>50%,p99>2s,ok==0,overload; repeatable; the exit code is 1 instead if nothing succeeded, and 6 if the run is invalid")
}

func (l *load) addUntilFlag(fs *pflag.FlagSet) {
	fs.Var(value.Text(&l.until), "until", "end the run, before the time of --duration, when `PERCENTILE±PERCENT` of the response time is known with 95 % confidence: p99±5%, or p99+-5%")
}

func (l *load) addProgressFlag(fs *pflag.FlagSet) {
	fs.Var(value.Offering(value.Text(&l.progress), l.progressNames()...), "progress", "what stderr shows during the run, `"+strings.Join(l.progressNames(), "|")+"`: the full view of a terminal, or a line a second; auto takes the view if the terminal has 80x24 and the run 5 s or more"+l.stepUsage())
}

func (l *load) addRepeatFlag(fs *pflag.FlagSet) {
	fs.IntVar(&l.repeat, "repeat", l.repeat, "run `N` times, one report each")
}

func (l *load) addKeepFlags(fs *pflag.FlagSet) {
	fs.Var(value.Auto(&l.runGroup), "run-group", "`NAME` that all shards of a run have in common, or auto: the id of the job in Slurm or AWS Batch; without it, that id with --shard auto, or the instant of --start-at")
	fs.BoolVar(&l.noStore, "no-store", false, "do not keep the run in the store")
}

// plan prints what the run would do.
func (l *load) plan(ctx context.Context) error {
	source, err := l.source(ctx)
	if err == nil {
		err = l.driver.Plan(ctx, l.env.Stdout, source)
	}
	if err != nil {
		return l.broken(ctx, err)
	}
	return nil
}

// ask lets Env.Asking send requests of the load.
func (l *load) ask(ctx context.Context) error {
	if l.driver.Asker == nil {
		return core.ExitWith(core.ExitUsage, fmt.Errorf("--answers compares answers of HTTP, and this command has none; use http or replay, or leave --answers out"))
	}
	ctx, cancel := context.WithCancel(ctx) // ends the reading of lists
	defer cancel()
	source, err := l.source(ctx)
	if err != nil {
		return l.broken(ctx, err)
	}
	if l.driver.Identify != nil {
		l.driver.Identify(l.env.Asking.Run)
	}
	asker, err := l.driver.Asker()
	if err != nil {
		return core.ExitWith(core.ExitUsage, l.clean(err))
	}
	err = l.env.Asking.With(ctx, core.Asked{Source: source, Asker: asker, Hide: l.hide})
	return errors.Join(err, asker.Close())
}

func (l *load) run(ctx context.Context, args []string) error {
	if l.driver.Plans != nil && l.driver.Plans() {
		return l.plan(ctx)
	}
	if l.debug.on {
		return l.debugRun(ctx)
	}
	if l.env.Asking != nil {
		return l.ask(ctx)
	}
	if err := l.engine.StartAt.Passed(); err != nil {
		return core.ExitWith(core.ExitUsage, err)
	}
	l.group = engine.NewID(time.Now())
	l.console = console{terminal: core.Terminal(l.env), colours: core.ErrorColours(l.env), busy: l.fillsTerminal()}
	l.env = l.env.Serial()
	l.console.messages.w = l.env.Stderr
	l.env.Stderr = &l.console.messages
	ctx, l.abort = context.WithCancelCause(ctx)
	defer l.abort(nil)
	var unread error
	if l.calibrated, unread = calibratecmd.KeptCalibration(l.env); unread != nil {
		fmt.Fprintf(l.env.Stderr, "takt: warning: %v\n", unread)
	}
	var err error
	if l.named, err = l.labelFlags.values(ctx, l.env); err != nil {
		return err
	}
	var worst error
	for i := range l.repeat {
		err := l.once(ctx, i+1, args)
		if worst == nil {
			worst = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return worst
}

// learn asks the target before a run, and checks again what the flags ask of its answers.
func (l *load) learn(ctx context.Context) error {
	if l.driver.Learn == nil || l.env.Fleet != nil {
		return nil
	}
	if err := l.driver.Learn(ctx); err != nil {
		return l.unopened(err)
	}
	_, _, faults := parseConditions(l.aborts, l.engine.Closed(), l.timed())
	if faults = append(faults, l.checkLatencies()...); len(faults) > 0 {
		return core.ExitWith(core.ExitUsage, errors.Join(faults...))
	}
	return nil
}

// shown is head with what outputs show besides that of all runs, without the latencies that but allows to leave out.
func (l *load) shown(head takt.Report, but func(name string) bool) takt.Report {
	a := l.announced()
	if but != nil {
		a.Timed = slices.DeleteFunc(slices.Clone(a.Timed), func(t takt.Timed) bool { return but(t.Name) })
	}
	head.Extra = a.Announce(steps.Named(l.steps()))
	return head
}

// once makes one run and its report, and returns the error for its exit code.
func (l *load) once(ctx context.Context, number int, args []string) error {
	head := l.head()
	if err := l.learn(ctx); err != nil {
		return err
	}
	out, err := core.OpenOutputs(l.env, l.outputs.Opened, number, l.repeat, l.shown(head, nil))
	if err != nil {
		return err
	}
	defer out.Discard()
	pump, err := l.openPump(&head)
	if err != nil {
		return err
	}
	defer pump.Close()
	l.brokeOff = nil
	var report *takt.Report
	var journal *journal
	if l.env.Fleet != nil {
		report, journal, err = l.remote(ctx, out, pump, head, number, args)
	} else {
		report, journal, err = l.local(ctx, out, pump, head, number)
	}
	if err != nil {
		return err
	}
	l.contrast(ctx, report)
	l.requirements.Judge(report)
	if l.env.Side != nil {
		l.env.Side.Over(report)
	}
	written := out.Close(report)
	if !l.noStore && l.store.Keep(l.env, report) {
		l.tellStored(report)
	}
	journal.end()
	l.requirements.Show(l.env, report)
	return l.outcome(ctx, report, written)
}

// local makes the run in this process.
func (l *load) local(ctx context.Context, out core.Outputs, pump *metrics.Pump, head takt.Report, number int) (*takt.Report, *journal, error) {
	look := l.look(ctx)
	source, err := l.source(ctx)
	if err != nil {
		return nil, nil, l.broken(ctx, err)
	}
	words := l.narration()
	if l.driver.Identify != nil {
		l.driver.Identify(head.ID)
	}
	d, err := l.open(ctx)
	if err != nil {
		return nil, nil, l.unopened(err)
	}
	known := l.liveHead(head.ID, source.End(), d)
	f := l.follow(ctx, out, pump, words, source)
	f.outage = d.Outage
	plan := engine.Plan{
		Options: l.engine, Kind: l.row.Kind, Source: source, Driver: d,
		OnStart: func(at time.Time) { f.Begin(known, at) },
		OnSecond: func(iv takt.Interval, failures []takt.ErrorClass) {
			f.Second(live.Snapshot{Interval: iv, Errors: failures})
		},
		Enough:    l.enough(),
		OnSamples: out.OnSamples(look), Abort: l.env.Abort, Scrub: l.hide,
	}
	journal := l.journal(head, number)
	if journal != nil {
		plan.Journal = journal
	}
	if l.env.Side != nil {
		l.env.Side.Join(&plan, core.Known{Head: known, Settings: l.settings(head)})
	}
	report, err := l.make(ctx, plan)
	if err != nil {
		f.End(nil)
		journal.end()
		return nil, nil, l.broken(ctx, err)
	}
	l.complete(report, head, number)
	l.keepUntil(report)
	f.End(report)
	l.tellUntil()
	return report, journal, nil
}

// open opens the driver. That of a program is in the program.
func (l *load) open(ctx context.Context) (*takt.Driver, error) {
	if l.driver.Run != nil {
		return &takt.Driver{Worker: func(int) (takt.Worker, error) { return nil, engine.ErrNothingToDo }}, nil
	}
	return l.driver.Open(ctx, l.connections())
}

// make makes the run of a plan.
func (l *load) make(ctx context.Context, plan engine.Plan) (*takt.Report, error) {
	if l.driver.Run != nil {
		return l.driver.Run(ctx, plan, l.env.Stderr)
	}
	return engine.Run(ctx, plan)
}

// tellStored says how to see the run again.
func (l *load) tellStored(r *takt.Report) {
	if l.progress != progressNone {
		fmt.Fprintf(l.env.Stderr, "takt: the run is stored; to see it again: %s\n", l.store.ShowCommand(l.env, r.ID))
	}
}

// source makes the source of operations, with the data of each if they come from a list.
func (l *load) source(ctx context.Context) (takt.Source, error) {
	if err := l.engine.ReadArrivals(ctx); err != nil {
		return nil, err
	}
	source, err := l.engine.Source()
	if l.env.Side != nil && err == nil {
		source, err = l.env.Side.Source(source, l.engine.Warmup)
	}
	if l.driver.Source != nil && err == nil {
		return l.driver.Source(ctx, source)
	}
	return source, err
}

// listFault adds a warning if the list of operations ended early.
func (l *load) listFault(source takt.Source, r *takt.Report) {
	feed, ok := source.(engine.Feed)
	if !ok {
		return
	}
	if feed.EndedEarly() {
		r.Warn(warn.ListEnded, "the list of operations ended after %d operations, before the schedule did; the measurement ended there", takt.Number("operations", r.Counts.Scheduled+r.WarmupCounts.Scheduled))
	}
	var signal *core.SignalError
	if err := feed.Err(); err != nil && !errors.As(err, &signal) {
		l.brokeOff = l.clean(fmt.Errorf("the run ended with its list of operations: %w", err))
		r.Warn(warn.BrokeOff, "%v", l.brokeOff)
	}
}

// driverFault sets brokeOff if the driver could not continue, which it reports by a warning.
func (l *load) driverFault(r *takt.Report) {
	for _, w := range r.Warnings {
		if w.Code == warn.BrokeOff && l.brokeOff == nil {
			l.brokeOff = l.clean(errors.New(w.Message))
		}
	}
}

// contrast runs the same load in a closed loop, for comparison.
func (l *load) contrast(ctx context.Context, r *takt.Report) {
	c := l.driver
	if c.Contrast == nil || c.Contrasts() <= 0 || ctx.Err() != nil {
		return
	}
	if l.progress != progressNone {
		fmt.Fprintf(l.env.Stderr, "contrast: the same load from a closed loop, for %v\n", c.Contrasts())
	}
	if err := c.Contrast(ctx, r); err != nil {
		r.Warn(warn.Contrast, "%v", l.clean(err))
	}
}

// connections is the number of connections that the run opens in any case; a pool that grows on
// demand starts with one.
func (l *load) connections() int { return max(1, l.engine.Opens()) }

// unopened is the error of a driver that does not open. A file that cannot be written is a fault of
// usage, as with the outputs of a report.
func (l *load) unopened(err error) error {
	var fault *value.Fault
	if err = l.clean(err); errors.As(err, &fault) && slices.ContainsFunc(fault.Flags, l.writes) {
		return core.ExitWith(core.ExitUsage, err)
	}
	return err
}

// writes reports whether the value of a flag is a file that takt writes.
func (l *load) writes(name string) bool {
	f := l.flags.Lookup(name)
	return f != nil && core.WritesFiles(f, f.Value.String())
}

// broken is the error of a run that could not be made, or its signal if one came.
func (l *load) broken(ctx context.Context, err error) error {
	if signal := core.SignalOf(ctx); signal != nil {
		return core.ExitBy(signal, signal)
	}
	if passed := (*engine.StartPassedError)(nil); errors.Is(err, engine.ErrNoLoop) || errors.As(err, &passed) {
		return core.ExitWith(core.ExitUsage, err)
	}
	var fault *value.Fault
	unread := errors.As(err, &fault) && slices.Contains(fault.Flags, "arrivals") // a log that is none, as those of takt replay
	if unread || errors.As(err, new(*program.Misuse)) {
		return core.ExitWith(core.ExitUsage, l.clean(err))
	}
	return l.clean(err)
}

// clean removes secrets from an error, and says how to trust the certificate that it names.
func (l *load) clean(err error) error {
	s := reach(l.identify(l.trust(value.HidePassword(l.scrub.Replace(err.Error())))))
	var fault *value.Fault
	switch {
	case s == err.Error():
		return err
	case errors.As(err, &fault):
		return fault.Reworded(s)
	}
	return errors.New(s)
}

// head is the part of the report that is known before the run.
func (l *load) head() takt.Report {
	start := time.Now()
	if at := time.Time(l.engine.StartAt); at.After(start) {
		start = at
	}
	r := takt.Report{
		SchemaVersion: takt.SchemaVersion,
		ID:            engine.NewID(time.Now()),
		Tool:          takt.Tool{Name: "takt", Version: core.Version, Go: runtime.Version()},
		Kind:          l.row.Kind,
		Command:       l.command(),
		Labels:        l.named,
		Variables:     l.engine.Variables(),
		StartedAt:     start.UTC(),
		WarmupS:       l.engine.Warmup.Seconds(),
	}
	for name, v := range l.driver.Variables() {
		r.Variables[name] = v
	}
	if l.until != "" {
		r.Variables["until"] = l.until
	}
	l.scrub.HideIn(&r)
	return r
}

// command is the command line without secrets.
func (l *load) command() []string {
	words := []string{"takt"}
	for _, w := range l.words() {
		words = append(words, l.scrub.Replace(w))
	}
	return words
}

// words is the command line without the values of secret flags and the passwords in URLs.
func (l *load) words() []string {
	words := slices.Clone(l.env.Args)
	for _, s := range l.env.Settings.Given {
		f, at := l.flags.Lookup(s.Name), len(words)-1-s.After // nil: --config
		if f == nil || s.Origin.Kind != core.FromFlag || at < 0 {
			continue
		}
		if before, found := strings.CutSuffix(words[at], s.Value); found {
			words[at] = before + core.Hidden(f.Value, s.Value)
		}
	}
	for i, w := range words {
		words[i] = value.HidePassword(w)
	}
	return words
}

// complete adds to the engine's report what only the command knows.
func (l *load) complete(r *takt.Report, head takt.Report, number int) {
	r.ID, r.Tool, r.Command = head.ID, head.Tool, head.Command
	r.Labels, r.Variables = head.Labels, head.Variables
	r.Variables["engine"] = r.Generator.Engine
	r.ComparabilityKey = engine.ComparabilityKey(r.Variables, r.Generator.HostClass)
	r.Overload = overload.Find(r)
	l.calibrated.NoteFloor(r)
	l.joinGroup(r, number)
	l.scrub.HideIn(r)
}

// joinGroup sets the run group, which the runs of --repeat, or the shards of one run, have in
// common. Shards are separate processes, so they share only what the user gives to all of them:
// --run-group, or the instant of --start-at.
func (l *load) joinGroup(r *takt.Report, number int) {
	shard, name := r.Schedule.Shard != takt.WholeShard, l.runGroup.String()
	if !shard && l.repeat == 1 && name == "" {
		return
	}
	at := time.Time(l.engine.StartAt)
	r.Schedule.RunGroup = cmp.Or(name, l.group)
	switch {
	case shard && name == "" && at.IsZero():
		r.Warn(warn.NoRunGroup, "takt merge cannot tell which other shards belong to this one; %s", takt.Advice("give all of them the same --run-group or --start-at"))
	case shard && name == "":
		r.Schedule.RunGroup = "start-at " + at.UTC().Format(time.RFC3339Nano)
	}
	if shard && l.repeat > 1 {
		r.Schedule.RunGroup += fmt.Sprintf(" repeat %d", number)
	}
}

// outcome maps a run to its exit code.
func (l *load) outcome(ctx context.Context, r *takt.Report, written error) error {
	switch signal := core.SignalOf(ctx); {
	case written != nil:
		return core.ExitWith(core.ExitFailed, written)
	case signal != nil:
		return core.ExitBy(signal, nil)
	case l.brokeOff != nil:
		return core.ExitWith(core.ExitFailed, l.brokeOff)
	case crashed(ctx):
		return core.ExitWith(core.ExitAssertion, nil)
	}
	err := l.requirements.Outcome(r, len(l.aborts) > 0)
	if code := (*core.ExitError)(nil); errors.As(err, &code) && code.Err != nil {
		code.Err = errors.New(l.trust(code.Err.Error()))
	}
	if err == nil && aborted(ctx) != nil {
		return core.ExitWith(core.ExitAssertion, nil)
	}
	return err
}
