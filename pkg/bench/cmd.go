package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/taktload/takt/internal/program"
	"github.com/taktload/takt/internal/stop"
)

// The exit codes of BenchmarkCmd, equal to those of takt's commands.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitSignal = 128 // plus the signal's number
)

// BenchmarkCmd is the main function of a benchmark: it runs h as the flags say and
// prints the result. The flags are --concurrency, --throughput and --duration, and
// the other flags of DefineBenchmarkFlags. BenchmarkCmd defines and parses the flags
// unless the program has done so.
//
// SIGINT, SIGTERM, SIGHUP or SIGQUIT stops the run: no more requests are sent, and
// requests in flight or due have --drain to end. Then the report is printed. A second
// signal prints the report at once.
//
// BenchmarkCmd returns after a successful run. Otherwise it ends the program: with
// exit code 1 if the run could not start, the report could not be written or no request
// succeeded; with 2 if the flags or arguments are wrong; and after a signal with 128
// plus its number: 130 after SIGINT. A program that needs another behaviour calls
// Benchmark.Run.
func BenchmarkCmd(h RequestHandler) {
	if len(os.Args) == 2 && os.Args[1] == program.Greeting { // otherwise takt would quote the usage
		fmt.Fprintln(os.Stderr, "the program calls bench.BenchmarkCmd, which takt cannot run")
		os.Exit(exitUsage)
	}
	s, theirs := define(flag.CommandLine), flag.Parsed()
	if !theirs {
		flag.Parse()
	}
	c := command{
		settings: s, name: filepath.Base(os.Args[0]), given: given(flag.CommandLine),
		stray: stray(flag.CommandLine, theirs), stdout: os.Stdout, stderr: os.Stderr,
	}
	c.Handler, c.Tune = h, true
	steps := stop.Catch().Steps(c.stopping)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // otherwise the signal would end the program before its files are written
	code := c.run(steps.Interrupt, steps.Abort)
	steps.Restore()
	signal.Stop(pipe)
	if code != exitOK {
		os.Exit(code)
	}
}

// command is BenchmarkCmd without its effects on the process.
type command struct {
	*settings
	name           string   // name of the program
	given          []string // given flags, for the report
	stray          error    // error of its arguments
	stdout, stderr io.Writer
}

// run does one run, writes its report and returns the exit code.
func (c *command) run(interrupt context.Context, abort <-chan struct{}) int {
	defer c.outputs.Discard()
	err := errors.Join(c.stray, c.Validate(), c.outputs.Validate())
	if err == nil {
		err = c.outputs.Open()
	}
	if err != nil {
		c.complain(err)
		return exitUsage
	}
	text := c.stdout
	if c.outputs.ToStdout() {
		text = c.stderr // standard output is for the report only
	}
	fmt.Fprint(text, announcement(c.Benchmark))
	r, err := c.Benchmark.run(interrupt, abort)
	if err != nil {
		c.outputs.Fail(c.name, err)
		c.complain(err)
		return exitFailed
	}
	r.Report.Command = append([]string{c.name}, c.given...)
	err = errors.Join(PrintResult(text, r), c.outputs.Write(c.stdout, r.Report))
	return c.outcome(interrupt, r, err)
}

// outcome is the exit code of a run.
func (c *command) outcome(interrupt context.Context, r *Result, written error) int {
	var signal *stop.SignalError
	switch {
	case written != nil:
		c.complain(written)
	case errors.As(context.Cause(interrupt), &signal):
		return exitSignal + signal.Number
	case r.failed():
		c.complain(errors.New("not one request succeeded: " + r.reason()))
	default:
		return exitOK
	}
	return exitFailed
}

// complain writes each fault of err on its own line.
func (c *command) complain(err error) {
	for fault := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(c.stderr, "%s: %s\n", c.name, fault)
	}
}

// stopping explains the first signal.
func (c *command) stopping() {
	fmt.Fprintf(c.stderr, "stopping: what is open may take %v more; a second signal ends the run at once\n", c.drain())
}
