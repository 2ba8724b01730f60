// Package core is what the commands of takt share: the process they run in, their flags and
// settings, outputs, and exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
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

	main func(Env, []string) int  // runs another command line; Main sets it
	root func(Env) *cobra.Command // all commands; Main sets it

	rows     []driver.Row // protocols; nil: driver.Table()
	unstored io.Writer    // for messages that a run could not be stored; nil: Stderr
	side     side         // the side of a duet that the run is; nil: the run is not in a duet
	args     []string     // arguments of Main
	settings *settings
}

func (e Env) protocols() []driver.Row {
	if e.rows != nil {
		return e.rows
	}
	return driver.Table()
}

// side makes a run one side of a duet.
type side interface {
	Source(all takt.Source, warmup time.Duration) (takt.Source, error) // the operations of this side
	Join(p *engine.Plan)                                               // before the run
	Over(r *takt.Report)                                               // after the run
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

// exitWith is the error that ends a command with a code; err is nil if there is nothing more to
// print.
func exitWith(code int, err error) error { return &exitError{code, err} }

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

// noArgs is cobra.NoArgs as a usage error.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(cmd, []error{fmt.Errorf("%q takes no arguments but got %q; flags begin with --", cmd.CommandPath(), args)})
}

// Version of takt; a release sets it with -ldflags -X.
var version = "0.1.0-dev"

func appendError(list []error, err error) []error {
	if err == nil {
		return list
	}
	return append(list, err)
}

// unjoin undoes errors.Join.
func unjoin(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return appendError(nil, err)
}

// ofBudget says how much of a budget is used, in whole seconds.
func ofBudget(used, budget time.Duration) string {
	return fmt.Sprintf("%v of %v used", used.Round(time.Second), budget)
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// counted is a sentence about n runs: one is its end for 1 run, many for several.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 run " + one
	}
	return fmt.Sprintf("%d runs %s", n, many)
}
