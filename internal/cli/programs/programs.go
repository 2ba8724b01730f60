// Package programs makes load commands of programs that call bench.Main.
package programs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/embedded"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/program"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// With returns env with a load command for each program that args name where a command belongs. It
// starts each program once, which greets and ends.
func With(env core.Env, args []string) (core.Env, error) {
	rows := env.Protocols()
	for _, path := range named(args) {
		if slices.ContainsFunc(rows, func(r driver.Row) bool { return strings.HasPrefix(r.Use, path+" ") }) {
			continue
		}
		if env.Programs == nil || !env.Programs(path) {
			return env, core.ExitWith(core.ExitUsage, fmt.Errorf("takt may not start the program %s here; on a shard of a fleet, allow it with --program %s", path, path))
		}
		if strings.ContainsAny(path, " \t\n") {
			return env, core.ExitWith(core.ExitUsage, fmt.Errorf("the path %q has a space, which takt's commands cannot have; give the program another name", path))
		}
		ctx := env.Interrupt
		if ctx == nil {
			ctx = context.Background()
		}
		p, err := program.Ask(ctx, path)
		if err != nil {
			return env, core.ExitWith(core.ExitUsage, err)
		}
		rows = append(slices.Clip(rows), row(p))
	}
	env.Rows = rows
	return env, nil
}

// judged reports whether words before a -- are those of takt judge, whose command is another load generator: it is
// not asked what it is.
func judged(words []string) bool {
	i := slices.Index(words, core.JudgeCommand)
	return i == 0 || i > 0 && !strings.HasPrefix(words[i-1], "-") // else it may be the value of a flag
}

// named are the programs in args: the first word, that of takt config and the one after each --, and
// those of --base and --head.
func named(args []string) (paths []string) {
	command := true // a command belongs here
	for i, word := range args {
		switch {
		case word == "--":
			command = !judged(args[:i])
			continue
		case command && program.Is(word) && !(i > 0 && args[i-1] == "--" && isData(word)):
			paths = append(paths, word)
		case command && (word == core.ConfigCommand || word == "--"+core.JSONFlag):
			continue
		case i > 0 && (args[i-1] == "--base" || args[i-1] == "--head") && Executable(word):
			paths = append(paths, word)
		}
		for _, flag := range []string{"--base=", "--head="} {
			if path, ok := strings.CutPrefix(word, flag); ok && Executable(path) {
				paths = append(paths, path)
			}
		}
		command = false
	}
	return paths
}

// Meant refuses a command that takt lacks, but that is a program in this folder.
func Meant(env core.Env, root *cobra.Command, args []string) error {
	for len(args) > 0 && (args[0] == core.ConfigCommand || args[0] == "--"+core.JSONFlag) {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "" || core.Subcommand(root, args[0]) != nil {
		return nil
	}
	if path := "./" + args[0]; env.Programs != nil && env.Programs(path) && Executable(path) {
		return core.Usage(root, []error{fmt.Errorf("unknown command %q; did you mean takt %s?", args[0], path)})
	}
	return nil
}

// isData reports whether a word is the path of a file that cannot be started: a command that reads files
// may have it after --.
func isData(word string) bool {
	info, err := files.Stat(word)
	return err == nil && info.Mode().IsRegular() && !Executable(word)
}

// Executable reports whether a word is the path of a file that can be started. Reports are files, too.
func Executable(word string) bool {
	info, err := files.Stat(word)
	return program.Is(word) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func row(p *program.Program) driver.Row {
	return driver.Row{
		Use:   p.Path + " [flags] [ARG...]",
		Short: "load by the program " + p.Path,
		Kind:  embedded.Kind,
		New: func(io.Reader) driver.Load {
			o := &options{program: p}
			return driver.Load{Options: o, Run: o.run}
		},
	}
}

// options are the flags of a program.
type options struct {
	program *program.Program
	flags   []*own
	args    []string
}

// own is a flag of the program. The program itself reads the value.
type own struct {
	program.Flag
	values []string
	secret takt.Secret // instead of values
	on     bool
}

// byDefault is the default of a truth value.
func (f *own) byDefault() bool { return f.Default == "true" }

func (o *options) AddFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupLoad, func(fs *pflag.FlagSet) {
		for _, f := range o.program.Hello.Flags {
			one := &own{Flag: f}
			o.flags = append(o.flags, one)
			if f.Bool {
				one.on = one.byDefault()
				fs.BoolVar(&one.on, f.Name, one.on, f.Usage)
				continue
			}
			if program.Secret(f.Name) {
				fs.Var(value.Secret(&one.secret), f.Name, f.Usage)
				continue
			}
			usage := f.Usage
			if f.Default != "" {
				usage += " (default " + f.Default + ")"
			}
			fs.Var(typed{value.List(&one.values), cmp.Or(f.Type, "value")}, f.Name, usage)
		}
	}, program.First(o.program.Hello.Flags)...)
}

// typed is a repeatable flag with the name that the program's own help has for its values.
type typed struct {
	value.Flag
	name string
}

func (t typed) Type() string { return t.name }
func (typed) Repeats()       {}

func (o *options) Shape(e *engine.Options) {
	e.End()
	if e.Closed() && e.Connections == 0 {
		e.Connections = program.DefaultWorkers
	}
}

func (o *options) Validate(args []string) []error {
	o.args = args
	return o.program.Check(context.Background(), o.load())
}

func (o *options) load() program.Load {
	l := program.Load{Args: o.args}
	for _, f := range o.flags {
		for _, v := range f.values {
			l.Flags = append(l.Flags, "--"+f.Name+"="+v)
		}
		if f.secret != "" {
			l.Flags = append(l.Flags, "--"+f.Name+"="+string(f.secret))
		}
		if f.Bool && f.on != f.byDefault() {
			l.Flags = append(l.Flags, fmt.Sprintf("--%s=%v", f.Name, f.on))
		}
	}
	return l
}

// Variables are the flags that were given, and the arguments of the program. A default is not among them:
// of two compared programs, the newer one may have another flag.
func (o *options) Variables() map[string]any {
	v := map[string]any{"name": o.program.Hello.Name}
	for _, f := range o.flags {
		switch name := program.Variable(f.Name); {
		case program.Secret(f.Name):
		case f.Bool && f.on != f.byDefault():
			v[name] = f.on
		case len(f.values) > 1:
			v[name] = value.HidePassword(strings.Join(f.values, ","))
		case len(f.values) == 1:
			v[name] = f.Value(f.values[0])
		}
	}
	program.DescribeArgs(v, o.args)
	return v
}

// Open is not called: the driver is in the program.
func (o *options) Open(context.Context, int) (*takt.Driver, error) {
	return nil, errors.ErrUnsupported
}

// Secrets implements takt.Secretive.
func (o *options) Secrets() (all []string) {
	for _, f := range o.flags {
		all = append(all, f.secret.Secrets()...)
	}
	return all
}

func (o *options) run(ctx context.Context, p engine.Plan, stderr io.Writer) (*takt.Report, error) {
	return o.program.Run(ctx, p, o.load(), stderr)
}
