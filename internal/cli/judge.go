package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/generators"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/trial"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// judgeCommand judges one generator, or takt in every mode.
type judgeCommand struct {
	env     core.Env
	options trial.Options
	reads   []string // rules
	name    string
	from    []string // files with answers
	conns   []string
	outputs core.AnswerOutputs

	generator trial.Command
}

// newJudge returns takt judge.
func newJudge(env core.Env) *cobra.Command {
	k := &judgeCommand{env: env, options: trial.Defaults()}
	c := &cobra.Command{
		Use:   core.JudgeCommand + " [flags] -- COMMAND… | judge",
		Short: "find out whether a load generator tells the truth: exit code 0, 3 (figures are wrong) or 5 (unclear)",
		Long: `takt judge runs a load generator against a target that freezes, starts slowly, is
overloaded, breaks connections …, or stops the generator itself. Then it compares what the
generator says with the target's record, and with what users of the schedule felt.
The words of the command have placeholders: {{.URL}} {{.Host}} {{.Port}} {{.Rate}}
{{.RateEach}} (a connection) {{.Seconds}} {{.Requests}} {{.Connections}} {{.File}} (is read
instead of the output). Without a command, takt judges itself in every mode.
takt can read ` + strings.Join(page.Wrap(strings.Join(generators.Known(), ", ")+".", 69), "\n"),
		Example: `  takt judge -- wrk2 -t1 '-c{{.Connections}}' '-d{{.Seconds}}s' '-R{{.Rate}}' --latency '{{.URL}}'
  takt judge --read 'answered=(\d+) ok' --read 'p99=p99 is (\S+):time' -- ./mine '{{.URL}}'
  takt judge -o html=judge.html -o svg=judge.svg`,
	}
	return core.Define(c, k.addFlags, k.validate, k.run)
}

func (k *judgeCommand) addFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupLoad, func(fs *pflag.FlagSet) {
		fs.Var(value.Plain((*schedule.RateValue)(&k.options.Rate)), "rate", "ask for `RATE`")
		fs.Var(value.Duration(&k.options.Duration), "duration", "run for `TIME` in each trial; with freezes for 6s or more")
		fs.Var(value.List(&k.conns), "connections", "allow the generator `N` connections, in trials of their own for each number; repeatable (default 50 and 5)")
	}, "rate", "duration", "connections")
	value.Declare(fs, value.GroupJudgement, func(fs *pflag.FlagSet) {
		fs.Var(value.Offering(value.List(&k.options.Only), trial.PathologyNames()...), "only", "try `TRIAL` only, and steady: "+strings.Join(trial.PathologyNames(), ", ")+"; repeatable")
		fs.IntVar(&k.options.Repeats, "repeats", k.options.Repeats, "run each trial `N` times, and judge the medians")
	}, "only", "repeats")
	value.Declare(fs, value.GroupGenerator, func(fs *pflag.FlagSet) {
		fs.Var(value.List(&k.reads), "read", "find a figure of the output by `FIGURE=REGEX:UNIT`; += and -= add and subtract all matches; FIGURE is "+strings.Join(generators.Names(), ", ")+", words, invalid, version; UNIT is ns, us, ms, s, time or n; repeatable")
		fs.Var(value.Text(&k.name), "name", "call the generator `NAME` in the answer")
	}, "read")
	value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
		fs.Var(value.Naming(value.List(&k.from), func(text string) []value.Name { return []value.Name{{Kind: value.Reads, Text: text}} }), "from", "show the answer in this `FILE` of -o json again, instead of a judgement; repeatable: several become one table, in which a generator has the runs of all")
	})
	k.outputs.AddFlags(fs, format.Honesties())
}

// validate reports every fault at once.
func (k *judgeCommand) validate(args []string) (faults []error) {
	faults = k.outputs.Validate(k.env, format.Honesties(), format.CheckHonesty)
	if k.conns != nil {
		k.options.Connections = nil
	}
	for _, list := range k.conns {
		for text := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				faults = append(faults, value.Faultf("--connections %q: not a number of connections; give such as 50", text))
				continue
			}
			k.options.Connections = append(k.options.Connections, n)
		}
	}
	if len(faults) == 0 {
		faults = append(faults, k.options.Validate()...)
	}
	if k.reads != nil {
		read, bad := generators.Custom(k.reads)
		k.options.Read = read
		for _, err := range bad {
			faults = append(faults, value.Faultf("--read: %w", err))
		}
	}
	switch {
	case k.from != nil && (len(args) > 0 || k.reads != nil):
		return append(faults, value.Faultf("--from shows existing answers; leave out the command and --read"))
	case len(args) == 0 && k.reads != nil:
		return append(faults, value.Faultf("--read is for the output of a command; write it after --"))
	case len(args) > 0:
		var err error
		k.generator, err = trial.ParseCommand(args)
		faults = core.AppendError(faults, err)
	}
	return faults
}

func (k *judgeCommand) run(ctx context.Context, args []string) error {
	answer, err := k.answer(ctx, args)
	if signal := core.SignalOf(ctx); signal != nil {
		return core.ExitBy(signal, errors.New("stopped before the end, so there is no answer"))
	}
	if err != nil {
		return err
	}
	err = k.outputs.Write(k.env, func(w io.Writer, name string, color bool) error { return format.Honesty(w, answer, name, color) })
	switch {
	case err != nil:
		return err
	case answer.Lies() > 0:
		return core.ExitWith(core.ExitAssertion, nil)
	case answer.Unclear() > 0:
		return core.ExitWith(core.ExitInconclusive, nil)
	}
	return nil
}

// answer judges, or reads earlier answers.
func (k *judgeCommand) answer(ctx context.Context, args []string) (generators.Answer, error) {
	if k.from != nil {
		return k.earlier()
	}
	a := generators.Answer{
		SchemaVersion: generators.Schema, Takt: core.Version, StartedAt: time.Now().UTC().Truncate(time.Second), Host: proc.HostClass(),
		Rate: k.options.Rate, Duration: k.options.Duration.Seconds(), Repeats: k.options.Repeats,
	}
	dir, err := os.MkdirTemp("", "takt-judge-")
	if err != nil {
		return a, fmt.Errorf("cannot create a folder for the files of the generator: %w; set TMPDIR", err)
	}
	defer os.RemoveAll(dir)
	o := k.options
	o.Dir = dir
	if k.env.Environ != nil {
		o.Env = proc.WithoutSettings(k.env.Environ())
	}
	list := []mode{{name: k.name, command: k.generator}}
	if len(args) == 0 {
		if list, err = modes(k.env); err != nil {
			return a, err
		}
	}
	fmt.Fprintf(k.env.Stderr, "takt judge: about %v; leave the machine alone meanwhile\n", (time.Duration(len(list)) * o.Time()).Round(time.Second))
	for _, m := range list {
		o.H2 = m.h2
		o.Told = func(line string) { fmt.Fprintf(k.env.Stderr, "takt judge: %s\n", strings.TrimSpace(m.name+" "+line)) }
		g, err := trial.Judge(ctx, o, m.name, m.command)
		if err != nil {
			return a, err
		}
		a.Generators = append(a.Generators, g)
	}
	return a, nil
}

// earlier reads answers of other runs.
func (k *judgeCommand) earlier() (all generators.Answer, err error) {
	for i, path := range k.from {
		var a generators.Answer
		text, err := files.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &a)
		}
		if err == nil && (a.SchemaVersion != generators.Schema || a.Generators == nil) {
			err = errors.New("it is not an answer of this version of takt judge")
		}
		if err != nil {
			return all, core.ExitWith(core.ExitUsage, fmt.Errorf("cannot read %s: %w; give a file of takt judge -o json=FILE", path, err))
		}
		if i == 0 {
			all = a
			continue
		}
		all.Join(a)
	}
	return all, nil
}

// mode is a command with a name; h2: it speaks HTTP/2.
type mode struct {
	name    string
	command trial.Command
	h2      bool
}

// modes are takt's own ways to send load.
func modes(env core.Env) (list []mode, err error) {
	if env.Executable == nil {
		return nil, errors.New("takt does not know its own program; give a command after --")
	}
	self, err := env.Executable()
	if err != nil {
		return nil, fmt.Errorf("takt does not know its own program: %w; give a command after --", err)
	}
	for _, m := range []struct {
		name  string
		words []string
	}{
		{"takt loop", nil},
		{"takt worker", []string{"--engine", "worker"}},
		{"takt net", []string{"--client", "net"}},
		{"takt pool", []string{"-c", "{{.Connections}}"}},
		{"takt h2", []string{"--h2"}},
	} {
		words := append([]string{self, "http", "--rate", "{{.Rate}}/s", "-z", "{{.Seconds}}s", "--no-store", "--progress", "none", "-o", "json"}, m.words...)
		c, err := trial.ParseCommand(append(words, "{{.URL}}"))
		if err != nil {
			return nil, err
		}
		list = append(list, mode{m.name, c, m.name == "takt h2"})
	}
	return list, nil
}
