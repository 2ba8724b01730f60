// Package core is what the commands of takt share: the process they run in, their flags and
// settings, outputs, and exit codes.
package core

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
	"github.com/taktload/takt/internal/fleet"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/live"
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
	Quit           func()                 // ends Interrupt as the first signal does; nil: nothing can

	Main func(Env, []string) int  // runs another command line; Main sets it
	Root func(Env) *cobra.Command // all commands; Main sets it

	StoredRuns func(e Env, store string) []string // for the completion of a shell; Main sets it

	Rows     []driver.Row           // protocols; nil: driver.Table()
	Watchers []func() live.Watcher  // others that follow each run of a load command
	Unstored io.Writer              // for messages that a run could not be stored; nil: Stderr
	Side     Side                   // what the run is a part of; nil: it is a run of its own
	Asking   *Asking                // sends requests of the load in place of the run; nil: the run is made
	MustEnd  bool                   // the run must end by itself: another one follows it
	Fleet    *fleet.Gatherer        // makes the runs of load commands on other machines; nil: they run here
	Programs func(path string) bool // says whether takt may start a program that is a load; nil: it starts none
	Vet      vetter                 // refuses command lines of a stranger before takt does anything that they say; nil: they are the user's
	Session  bool                   // a session of takt server runs the command; it types commands without takt
	Owner    bool                   // who has set the environment is the owner of the session, or of the shard
	Configs  []string               // SHA-256 of the config files of the session that the server has checked
	Confine  confiner               // confines this process to the files below a folder; nil: takt runs no sessions
	Restrict restricter             // confines this process to some machines; nil: takt runs no sessions
	Args     []string               // arguments of Main
	Settings *Settings
	Promises *Promises // files that the command will write; Main sets it
}

// vetter gets the command of a line, and the settings that the line itself gives.
type vetter func(cmd *cobra.Command, given []Setting) error

// confiner is files.Confine, and restricter reach.Confine. refused gets what the process is refused then; nil:
// nobody does.
type (
	confiner   func(dir string, refused func(error)) (free func(), err error)
	restricter func(list []string, refused func(error)) (free func(), err error)
)

// Protocols returns the rows of the driver table.
func (e Env) Protocols() []driver.Row {
	if e.Rows != nil {
		return e.Rows
	}
	return driver.Table()
}

// Side makes a run a part of something larger: one side of a duet, or a shard of a fleet.
type Side interface {
	Source(all takt.Source, warmup time.Duration) (takt.Source, error) // the operations of this side
	Join(p *engine.Plan, known Known)                                  // before the run
	Over(r *takt.Report)                                               // after the run
}

// Asking sends requests of a load one by one, in place of its run.
type Asking struct {
	Run  string // id of the run, which placeholders show; the same one makes the same requests
	With func(ctx context.Context, load Asked) error
}

// Asked is a load whose requests are sent one by one.
type Asked struct {
	Source takt.Source // of the operations
	Asker  driver.Asker
	Hide   func(string) string // removes secrets from a text
}

// Known is what a load command knows of its run before it begins.
type Known struct {
	Head     live.Head
	Settings map[string]string // what shapes the load, by name
}

// The exit codes, the same for every subcommand; docs/exit-codes.md explains them.
const (
	ExitOK           = 0
	ExitFailed       = 1
	ExitUsage        = 2
	ExitAssertion    = 3
	ExitRegression   = 4
	ExitInconclusive = 5
	ExitInvalid      = 6
	ExitBase         = 7
	ExitHead         = 8
	ExitSignal       = 128 // plus the signal's number
)

// Exit prints the error, maps it to the exit code, and writes the error to the files that the command
// promised and did not write.
func (e Env) Exit(err error) int {
	code := e.exit(err)
	if code == ExitOK || code == ExitUsage {
		return code
	}
	why := fmt.Sprintf("ended with exit code %d", code)
	if given := (*ExitError)(nil); !errors.As(err, &given) || given.Err != nil {
		why = OneLine(err)
	}
	e.Promises.fail(commandOf(e.Args), why)
	return code
}

func (e Env) exit(err error) int {
	var code *ExitError
	var usage *UsageError
	var signal *SignalError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		if e.Interrupt != nil && errors.As(context.Cause(e.Interrupt), &signal) {
			return ExitSignal + signal.Number // the signal cut standard input short, which caused the faults
		}
		for _, fault := range usage.Faults {
			fmt.Fprintln(e.Stderr, "takt:", OneLine(fault))
		}
		fmt.Fprintf(e.Stderr, "see '%s --help'\n", usage.command)
		return ExitUsage
	case errors.As(err, &code):
		if code.Err != nil {
			fmt.Fprintln(e.Stderr, "takt:", OneLine(code.Err))
		}
		if errors.As(code.Err, &signal) {
			return ExitSignal + signal.Number
		}
		return code.Code
	}
	fmt.Fprintln(e.Stderr, "takt:", OneLine(err))
	asked := (*stored.UsageError)(nil)
	switch {
	case errors.As(err, &asked):
		return ExitUsage
	case errors.Is(err, context.Canceled) && e.Interrupt != nil && errors.As(context.Cause(e.Interrupt), &signal), errors.As(err, &signal):
		return ExitSignal + signal.Number
	}
	return ExitFailed
}

// Typed reports whether the flag is on the command line itself. The environment and a config
// file serve all commands, so a useless setting there is not a fault.
func (e Env) Typed(name string) bool {
	return slices.ContainsFunc(e.Settings.Given, func(s Setting) bool { return s.Name == name && s.Origin.Kind == FromFlag })
}

// OneLine returns the text of an error for a terminal, without line breaks: it may quote what others sent.
func OneLine(err error) string { return foreign.Text(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// ExitError ends a command with a code; err is nil if there is nothing more to print.
type ExitError struct {
	Code int
	Err  error
}

// WithCode is the error in err that ends a command with this code; nil: there is none.
func WithCode(err error, code int) *ExitError {
	if given := (*ExitError)(nil); errors.As(err, &given) && given.Code == code {
		return given
	}
	return nil
}

// ExitWith is the error that ends a command with a code; err is nil if there is nothing more to
// print.
func ExitWith(code int, err error) error { return &ExitError{code, err} }

// Error implements error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// UsageError contains every fault of a command line.
type UsageError struct {
	command string
	Faults  []error
}

// Error implements error.
func (e *UsageError) Error() string { return errors.Join(e.Faults...).Error() }

// Usage returns a UsageError; nil: there are no faults.
func Usage(cmd *cobra.Command, faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	return &UsageError{cmd.CommandPath(), faults}
}

// NoArgs is cobra.NoArgs as a usage error.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usage(cmd, []error{fmt.Errorf("%q takes no arguments but got %q; flags begin with --", cmd.CommandPath(), args)})
}

// Version of takt; a release sets it with -ldflags -X.
var Version = "0.1.0-dev"

// AppendError appends err to a list of faults, unless err is nil.
func AppendError(list []error, err error) []error {
	if err == nil {
		return list
	}
	return append(list, err)
}

// Unjoin undoes errors.Join.
func Unjoin(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return AppendError(nil, err)
}

// OfBudget says how much of a budget is used, in whole seconds.
func OfBudget(used, budget time.Duration) string {
	return fmt.Sprintf("%v of %v used", used.Round(time.Second), budget)
}

// Counted is a sentence about n runs: one is its end for 1 run, many for several.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 run " + one
	}
	return fmt.Sprintf("%d runs %s", n, many)
}
