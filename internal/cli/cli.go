// Package cli is takt as a command: subcommands, flags, exit codes. Main takes arguments,
// streams and signals from its parameters, so it may run several times at once in one process.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/judge/stored"
)

// Env is what a command sees of its process.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        func() []string        // all variables, as NAME=VALUE; nil: takt does not search them
	Executable     func() (string, error) // path of takt's program; nil: takt cannot start itself again
	Interrupt      context.Context        // ends with the first signal; its cause is a SignalError
	Abort          <-chan struct{}        // closed by the second signal

	rows     []driver.Row // protocols; nil: driver.Table()
	unstored io.Writer    // for messages that a run could not be stored; nil: Stderr
	duet     *duetSide    // the side of a duet that the run is; nil: the run is not in a duet
	args     []string     // arguments of Main
	settings *settings
}

func (e Env) protocols() []driver.Row {
	if e.rows != nil {
		return e.rows
	}
	return driver.Table()
}

// The exit codes, the same for every subcommand; docs/exit-codes.md explains them.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitAssertion    = 3
	exitRegression   = 4
	exitInconclusive = 5
	exitInvalid      = 6
	exitSignal       = 128 // plus the signal's number
)

// Main runs the command that args name and returns the process's exit code.
func Main(env Env, args []string) int {
	env.args, env.settings = args, &settings{}
	root := newRoot(env)
	args, err := parseFlags(env, root, args)
	if err == nil {
		root.SetArgs(args)
		err = root.ExecuteContext(env.Interrupt)
	}
	return env.exit(err)
}

// exit prints the error and maps it to the exit code.
func (e Env) exit(err error) int {
	var code *exitError
	var usage *usageError
	var signal *SignalError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		if e.Interrupt != nil && errors.As(context.Cause(e.Interrupt), &signal) {
			return exitSignal + signal.Number // the signal cut standard input short, which caused the faults
		}
		for _, fault := range usage.faults {
			fmt.Fprintln(e.Stderr, "takt:", oneLine(fault))
		}
		fmt.Fprintf(e.Stderr, "see '%s --help'\n", usage.command)
		return exitUsage
	case errors.As(err, &code):
		if code.err != nil {
			fmt.Fprintln(e.Stderr, "takt:", oneLine(code.err))
		}
		return code.code
	}
	fmt.Fprintln(e.Stderr, "takt:", oneLine(err))
	asked := (*stored.UsageError)(nil)
	switch {
	case errors.As(err, &asked):
		return exitUsage
	case errors.Is(err, context.Canceled) && e.Interrupt != nil && errors.As(context.Cause(e.Interrupt), &signal), errors.As(err, &signal):
		return exitSignal + signal.Number
	}
	return exitFailed
}

// typed reports whether the flag is on the command line itself. The environment and a config
// file serve all commands, so a useless setting there is not a fault.
func (e Env) typed(name string) bool {
	return slices.ContainsFunc(e.settings.given, func(s setting) bool { return s.name == name && s.origin.kind == fromFlag })
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// exitError ends a command with a code; err is nil if there is nothing more to print.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError contains every fault of a command line.
type usageError struct {
	command string
	faults  []error
}

func (e *usageError) Error() string { return errors.Join(e.faults...).Error() }

// usage returns a usageError; nil: there are no faults.
func usage(cmd *cobra.Command, faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	return &usageError{cmd.CommandPath(), faults}
}

func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "takt",
		Short: "a load generator that tells the truth about what users feel",
		Long: `takt sends load on a schedule, measures every latency from the instant at which
the operation was due, and warns when takt itself was the bottleneck.
takt URL is takt http URL; takt --version (-V) is takt version.`,
		Example: `  takt http --rate 1000/s --duration 30s http://127.0.0.1:8080/
  takt target --service 1ms --freeze 1s/10s`,
		SilenceErrors: true, SilenceUsage: true,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.AddCommand(newVersion(env), newTarget(env), newCalibrate(env), newSelftest(env), newConfig(env),
		newRuns(env), newShow(env), newStore(env), newMerge(env), newCollate(env), newCompare(env), newVerify(env), newCapacity(env), newTrace(env))
	root.AddCommand(newServer(env), newJob(env))
	addLoads(root, env)
	// cobra would add these in Execute, which is after parseFlags searches the commands
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// noArgs is cobra.NoArgs as a usage error.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(cmd, []error{fmt.Errorf("%q takes no arguments but got %q; flags begin with --", cmd.CommandPath(), args)})
}

// Version of takt; a release sets it with -ldflags -X.
var version = "0.1.0-dev"

func newVersion(env Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "print the version", Args: noArgs,
		Example: "  takt version --json",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				_, err := fmt.Fprintf(env.Stdout, "{\"name\":\"takt\",\"version\":%q,\"go\":%q,\"revision\":%q}\n", version, runtime.Version(), revision())
				return err
			}
			_, err := fmt.Fprintf(env.Stdout, "takt %s (%s)\n", version, runtime.Version())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

// revision is the commit that the binary was built from; "": unknown.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
