package bench

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/flaghelp"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/inprocess"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/program"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

// mainSettings are the flags of Main.
type mainSettings struct {
	engine   engine.Options
	outputs  []string
	asserts  assert.Flags
	proof    bool // --prove is on the command line
	labels   []string
	strict   bool
	progress string
}

// define declares the flags. Each of them is a flag of takt's load commands, with the same meaning, or one of
// the program's own.
func (m *mainProgram) define(s *mainSettings) *pflag.FlagSet {
	fs := pflag.NewFlagSet(m.name, pflag.ContinueOnError)
	fs.SortFlags = false
	if m.reserved() == nil {
		value.Declare(fs, value.GroupLoad, func(fs *pflag.FlagSet) { fs.AddGoFlagSet(m.flags) }, program.First(m.own())...)
	}
	s.engine.AddFlags(fs)
	fs.Lookup("drain").Usage = "wait up to `TIME` for open operations after the end of the schedule" // a program has no --timeout
	value.Declare(fs, value.GroupAssertions, func(fs *pflag.FlagSet) {
		s.asserts.Add(fs)
		fs.BoolVar(&s.strict, "strict", false, "exit code 6 if the run is invalid")
	}, "assert")
	value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
		fs.VarP(value.List(&s.outputs), "output", "o", "write the report as `FORMAT=PATH`; repeatable; PATH - is stdout; FORMAT is "+strings.Join(format.WholeNames(), ", "))
		fs.Var(value.Choice(&s.progress, "auto", "full", "line", "none"), "progress", "what stderr shows during the run, `auto|line|none`: a line a second, or nothing")
	}, "output")
	value.Declare(fs, value.GroupStorage, func(fs *pflag.FlagSet) {
		fs.Var(value.List(&s.labels), "label", "`NAME=VALUE` for the report; repeatable")
	})
	flaghelp.Add(fs)
	fs.SetOutput(m.stdout)
	fs.Usage = func() {} // run writes the help: pflag's would be another one
	return fs
}

// own are the flags of the program.
func (m *mainProgram) own() (list []program.Flag) {
	m.flags.VisitAll(func(f *flag.Flag) {
		b, ok := f.Value.(interface{ IsBoolFlag() bool })
		list = append(list, program.Flag{
			Name: f.Name, Usage: f.Usage, Default: f.DefValue, Type: pflag.PFlagFromGoFlag(f).Value.Type(), Bool: ok && b.IsBoolFlag(),
		})
	})
	return list
}

// help writes the flags, and reports whether that was asked for.
func (m *mainProgram) help(fs *pflag.FlagSet) bool {
	short, _ := fs.GetBool("help")
	all, _ := fs.GetBool(flaghelp.All)
	if !short && !all {
		return false
	}
	fmt.Fprintf(m.stdout, "Usage:\n  %[1]s [flags] [ARG...]\n\ntakt ./%[1]s [flags] also stores and compares runs.\n", m.name)
	list := flaghelp.Of(fs)
	list.Write(m.stdout, m.name, all || list.Short())
	return true
}

// environment sets the flags that the command line does not set, by the variables of takt's commands.
func (m *mainProgram) environment(fs *pflag.FlagSet) error {
	known := []string{value.Variable("config"), engine.ShardsVariable}
	for _, name := range program.Taken() {
		known = append(known, value.Variable(name))
	}
	var faults []error
	fs.VisitAll(func(f *pflag.Flag) {
		known = append(known, value.Variable(f.Name))
		text, variable := value.InEnvironment(f.Name, m.getenv)
		if text == "" || f.Changed || f.Name == "help" || f.Name == flaghelp.All {
			return
		}
		f.Changed = true
		if err := f.Value.Set(text); err != nil {
			if own := m.flags.Lookup(f.Name); own != nil {
				err = wanted(own, err)
			}
			faults = append(faults, bad(variable, f.Name, text, err))
		}
	})
	for _, text := range value.Misspelt(m.environ, known) {
		fmt.Fprintf(m.stderr, "%s: warning: %s\n", m.name, text)
	}
	if path, variable := value.InEnvironment("config", m.getenv); path != "" {
		fmt.Fprintf(m.stderr, "%[1]s: warning: %[2]s is not read here; takt ./%[1]s reads the file\n", m.name, variable)
	}
	return errors.Join(faults...)
}

// bad is the fault of a flag that refuses its text. It does not quote secrets.
func bad(given, name, text string, err error) error {
	if program.Secret(name) {
		return fmt.Errorf("bad %s: %w", given, err)
	}
	return fmt.Errorf("bad %s %q: %w", given, text, err)
}

func (s *mainSettings) validate() error {
	s.engine.End()
	if len(s.engine.Validate()) == 0 && s.engine.Closed() && s.engine.Connections == 0 {
		s.engine.Connections = program.DefaultWorkers
	}
	faults := s.engine.Validate()
	for _, f := range []struct {
		name string
		n    int
	}{{"connections", s.engine.Connections}, {"max-in-flight", s.engine.MaxInFlight}} {
		if f.n > load.MaxWorkers {
			faults = append(faults, fmt.Errorf("--%s is %d; give at most %d", f.name, f.n, load.MaxWorkers))
		}
	}
	for _, l := range s.labels {
		if name, _, ok := strings.Cut(l, "="); !ok || name == "" {
			faults = append(faults, fmt.Errorf("bad --label %q; write NAME=VALUE", l))
		}
	}
	return errors.Join(faults...)
}

// plan is the plan that the flags describe, without its driver.
func (m *mainProgram) plan(s *mainSettings) (*inprocess.Plan, error) {
	p := inprocess.Plan{Options: s.engine, Labels: map[string]string{}, Tune: true}
	list, faults := s.asserts.Read(s.proof)
	p.Assertions, faults = list, append(faults, s.engine.StartAt.Passed())
	outputs := s.outputs
	if !slices.ContainsFunc(outputs, toStdout) {
		outputs = append([]string{"text=-"}, outputs...)
	}
	for _, text := range outputs {
		faults = append(faults, p.Outputs.Set(text))
	}
	faults = append(faults, p.Outputs.Validate())
	for _, l := range s.labels {
		name, text, _ := strings.Cut(l, "=")
		p.Labels[name] = text
	}
	p.Variables = m.variables()
	if s.progress != "none" {
		p.OnSecond = func(iv takt.Interval) {
			fmt.Fprintf(m.stderr, "%6.0fs  %d ok  %d failed  p50 %s  p99 %s\n", iv.T, iv.OK, iv.Failed, figure.Micros(iv.ResponseP50), figure.Micros(iv.ResponseP99))
		}
	}
	return &p, errors.Join(faults...)
}

// toStdout reports whether an output goes to standard output.
func toStdout(text string) bool {
	_, path, given := strings.Cut(text, "=")
	return !given || path == "-"
}
