package loadcmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// faults returns the faults of validate, without secrets.
func (l *load) faults(args []string) []error {
	faults := l.validate(args)
	l.scrub = core.NewScrubber(l.flags, l.words(), l.driver.Options)
	for i, err := range faults {
		faults[i] = l.clean(err)
	}
	return faults
}

// validate reports every fault at once and prepares the run.
func (l *load) validate(args []string) []error {
	if fault := core.OtherToolsFile(args); fault != nil && l.row.Group == "" { // a destination of JMS may have any name
		return []error{fault}
	}
	if step := l.driver.Predecessor.Step; step != nil && step(l.progress) {
		l.progress = progressAuto
	}
	unknown := l.resolveShard()
	l.single()
	l.driver.Shape(&l.engine)
	faults := l.driver.Validate(args)
	faults = core.AppendError(append(faults, l.engine.Validate()...), unknown)
	faults = append(faults, l.checkZeros()...)
	faults = core.AppendError(faults, l.checkProgress())
	if l.repeat < 1 {
		faults = append(faults, value.Faultf("--repeat is %d; give a number above 0", l.repeat))
	}
	if l.repeat > 1 && !time.Time(l.engine.StartAt).IsZero() {
		faults = append(faults, value.Faultf("--repeat is %d, but --start-at is the instant of one run; run takt once for each instant", l.repeat))
	}
	faults = core.AppendError(faults, l.labelFlags.validate())
	faults = core.AppendError(faults, l.store.CheckLimit())
	faults = append(faults, l.checkStdin()...)
	faults = append(faults, l.requirements.Validate(l.env)...)
	faults = append(faults, l.checkFaults()...)
	conditions, onOverload, bad := parseConditions(l.aborts, l.engine.Closed(), l.timed())
	l.conditions, l.abortOverload, faults = conditions, onOverload, append(faults, bad...)
	faults = core.AppendError(faults, l.checkOverload())
	faults = core.AppendError(faults, l.checkUntil())
	faults = append(append(faults, l.checkLatencies()...), l.checkGoal()...)
	if len(faults) == 0 { // else the steps are not known
		faults = l.checkSteps()
	}
	faults = append(faults, l.checkAnswers()...)
	faults = append(faults, l.checkUnused()...)
	if slices.Contains(l.unused(), "shard") {
		l.engine.Shard = engine.Shard{} // TAKT_SHARD is for other commands
	}
	rows := l.driver.Predecessor.Rows
	l.outputs.RowsFirst = rows != nil && rows()
	faults = append(faults, l.outputs.Validate(l.env, format.Parse)...)
	faults = append(append(faults, l.checkFleet()...), l.checkDebug()...)
	faults = core.AppendError(faults, l.checkEnd())
	for _, d := range l.outputs.Opened {
		faults = core.AppendError(faults, overwrites(d, args))
		if d.Format.Asked && l.driver.Look == nil {
			faults = append(faults, value.Faultf("-o %s needs the request of each row, which only takt replay has; use -o samples=%s", d.Format.Name, d.Path))
		}
	}
	return faults
}

// checkZeros refuses a length of 0 on the command line: nobody asks for a run without operations, and as a default 0
// means no limit.
func (l *load) checkZeros() (faults []error) {
	if l.env.Settings == nil {
		return nil
	}
	what := map[string]string{"requests": "a number of operations", "duration": "a time"}
	for _, s := range l.env.Settings.Given {
		time, err := schedule.ParseDuration(s.Value) // as it was given: the flag may have a default by now
		if known := what[s.Name]; known != "" && s.Origin.Kind == core.FromFlag && err == nil && time == 0 {
			faults = append(faults, value.Faultf("--%s is 0; give %s above 0, or leave it out", s.Name, known))
		}
	}
	return faults
}

// checkEnd refuses a run without an end where another run is to follow.
func (l *load) checkEnd() error {
	if !l.env.MustEnd || !l.engine.Endless() || l.driver.Ends != nil && l.driver.Ends() {
		return nil
	}
	return errors.New("the load has no end, so the next run would never begin; give its length with --duration, or its number of operations with -n")
}

// resolveShard replaces --shard auto and --run-group auto by what the environment says, for commands
// that have shards.
func (l *load) resolveShard() error {
	if slices.Contains(l.unused(), "shard") {
		return nil
	}
	return l.engine.Shard.Resolve(l.env.Getenv, &l.runGroup)
}

// unused returns the flags that the driver does not use.
func (l *load) unused() []string {
	if l.driver.Unused == nil {
		return nil
	}
	names, _ := l.driver.Unused()
	return names
}

// checkUnused refuses flags that the driver does not use. It accepts their default values, as
// in a file that takt config wrote, and variables of the environment, which may be for other
// commands.
func (l *load) checkUnused() (faults []error) {
	if l.driver.Unused == nil || l.env.Settings == nil {
		return nil
	}
	names, why := l.driver.Unused()
	for _, s := range l.env.Settings.Given {
		f := l.flags.Lookup(s.Name) // nil: --config
		given := f != nil && s.Origin.Kind != core.FromEnvironment && f.Value.String() != f.DefValue
		if given && why != "" && slices.Contains(names, s.Name) {
			faults = append(faults, value.Faultf("--%s has no use here: %s", s.Name, why))
		}
	}
	return faults
}

// checkSteps refuses assertions on steps that the load does not have.
func (l *load) checkSteps() (faults []error) {
	for _, a := range l.requirements.Assertions {
		faults = core.AppendError(faults, value.About(a.InSteps(l.steps()), "assert"))
	}
	return faults
}

// steps are the names of the steps that the load has; nil: it has none.
func (l *load) steps() []string {
	if l.driver.Steps == nil {
		return nil
	}
	return l.driver.Steps()
}

// checkLatencies refuses assertions on times that the load does not have.
func (l *load) checkLatencies() (faults []error) {
	if l.driver.Latencies == nil {
		return nil
	}
	names := l.driver.Latencies()
	for _, t := range l.timed() {
		names = append(slices.Clone(names), t.Name)
	}
	for _, a := range l.requirements.Assertions {
		faults = core.AppendError(faults, value.About(a.InRun(names), "assert"))
	}
	return faults
}

// timed are latencies of the load that are recorded when they happen.
func (l *load) timed() []takt.Timed {
	if l.driver.Timed == nil {
		return nil
	}
	return l.driver.Timed()
}

// slo are the conditions of each operation; "": there are none.
func (l *load) slo() string {
	if l.driver.Goal == nil {
		return ""
	}
	return l.driver.Goal()
}

// announced is what intervals and rows will have besides what all runs have.
func (l *load) announced() timeline.Announced {
	return timeline.Announced{Timed: l.timed(), Goal: l.slo()}
}

// checkGoal refuses conditions on the goodput of a load whose operations have no conditions.
func (l *load) checkGoal() (faults []error) {
	if l.slo() != "" {
		return nil
	}
	for _, a := range l.requirements.Assertions {
		faults = core.AppendError(faults, value.About(a.WithoutGoal("assertion"), "assert"))
	}
	for _, a := range l.conditions {
		faults = core.AppendError(faults, value.About(a.WithoutGoal("condition"), "abort-on"))
	}
	return faults
}

// checkAnswers refuses conditions on times that the run will not measure.
func (l *load) checkAnswers() (faults []error) {
	if l.driver.NoAnswer == nil {
		return nil
	}
	why, instead := l.driver.NoAnswer()
	if why == "" {
		return nil
	}
	for _, a := range l.requirements.Assertions {
		if a.NeedsAnswer() {
			faults = append(faults, value.About(fmt.Errorf("assertion %q cannot be judged: %s; assert %s", a.Text, why, instead), "assert"))
		}
	}
	for _, a := range l.conditions {
		if a.NeedsAnswer() {
			faults = append(faults, value.Faultf("condition %q of --abort-on cannot be judged: %s; use ok, failed, errors or rate", a.Text, why))
		}
	}
	return faults
}

// overwrites returns an error if the output would overwrite a file that is also an argument,
// such as the log to replay.
func overwrites(d core.Destination, args []string) error {
	out, err := files.Stat(d.Path)
	if err != nil || d.Path == format.Stdout || !out.Mode().IsRegular() {
		return nil
	}
	for _, name := range args {
		if in, err := files.Stat(name); err == nil && os.SameFile(in, out) {
			return value.Faultf("-o %s=%s would overwrite %s, which takt reads; write to another file", d.Format.Name, d.Path, name)
		}
	}
	return nil
}

// checkStdin counts the readers of standard input: a second reader would find it empty.
func (l *load) checkStdin() (faults []error) {
	var before, during []string
	if l.driver.Stdin != nil {
		before, during = l.driver.Stdin()
	}
	if s := l.env.Settings; s != nil && s.Stdin != "" {
		before = append([]string{s.Stdin}, before...)
	}
	if all := append(before, during...); len(all) > 1 {
		faults = append(faults, value.About(fmt.Errorf("%s read standard input, which can be read once; give all but one a file", strings.Join(all, " and ")), all...))
	}
	if len(during) > 0 && l.repeat > 1 {
		faults = append(faults, value.Faultf("--repeat is %d, but only the first run would find data in standard input; give %s a file", l.repeat, strings.Join(during, " and ")))
	}
	return faults
}
