package bench

import (
	"cmp"
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
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/embedded"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/inprocess"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/program"
	"github.com/taktload/takt/internal/stop"
	"github.com/taktload/takt/internal/trace/play"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// The further exit codes of Main, equal to those of takt's commands.
const (
	exitAssertion    = 3
	exitInconclusive = 5
	exitInvalid      = 6
)

// Main is the main function of a program that loads something with takt's own flags: --rate, --stages,
// --arrivals, --duration, --warmup, -c, --max-in-flight, --output, --assert, --strict and the other
// flags that -h lists. open makes the driver, from the arguments that are not flags:
//
//	func main() {
//		addr := flag.String("addr", "127.0.0.1:6379", "the server")
//		bench.Main(func(args []string) (*takt.Driver, error) {
//			return load.Workers(connect(*addr)), nil
//		})
//	}
//
// Flags that the program defined on flag.CommandLine are read with the others; Main calls flag.Parse
// itself. Their names must have two letters or more, and not be names of takt's load commands. Without
// --duration, --stages and -n the load has an end as that of takt http has: 200 operations, or 10 s at
// a rate. A flag that is not given has the value of its variable TAKT_NAME, as with takt's commands.
//
// takt runs such a program as one of its own loads, with everything that it has:
//
//	takt ./mybench --rate 500/s -z 10s
//	takt capacity --slo 'p99<50ms' -- ./mybench
//	takt verify --pairs 8 --base ./old --head ./new -- --rate 500/s -z 5s
//	takt fleet --shards 2 -- ./mybench --rate 1k/s -z 30s
//
// Main ends the program. Its exit codes: 0, all is well; 1, the run could not start, no operation
// succeeded, or an output could not be written; 2, wrong flags or arguments, also an error of open that
// is a [Usage]; 3, an assertion failed; 5, an assertion is met and not proven, and --prove or a level requires
// that; 6, an assertion or --strict, and the run is invalid; after a signal 128 plus its number. The first signal
// ends the load and drains, the second ends the run at once.
func Main(open func(args []string) (*takt.Driver, error)) {
	m := mainProgram{
		open: open, flags: flag.CommandLine, name: filepath.Base(os.Args[0]), path: os.Args[0], stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, environ: os.Environ(),
	}
	if len(os.Args) == 2 && os.Args[1] == program.Greeting {
		os.Exit(m.serve(os.Stdin))
	}
	os.Exit(m.command(os.Args[1:]))
}

// mainProgram is Main without its effects on the process.
type mainProgram struct {
	open           func(args []string) (*takt.Driver, error)
	flags          *flag.FlagSet // those of the program
	name           string
	path           string // as it was called
	stdout, stderr *os.File
	getenv         func(string) string
	environ        []string
}

// serve is a run for takt, on standard input and output. What the program prints goes to standard
// error: it would not be a line of the protocol.
func (m *mainProgram) serve(in io.Reader) int {
	out := os.Stdout
	os.Stdout = os.Stderr
	signal.Ignore(os.Interrupt) // of the terminal: takt gets it, too, and says what to do
	if err := m.reserved(); err != nil {
		return m.complain(exitUsage, err)
	}
	h := program.Hello{Version: embedded.Version(), Name: embedded.Program(), Flags: m.own()}
	err := program.Serve(in, out, program.Served{
		Hello: h, Set: m.set, Open: m.open,
	})
	if err != nil {
		return m.complain(exitFailed, err)
	}
	return exitOK
}

// set sets flags of the program, given as --name=value.
func (m *mainProgram) set(flags []string) error {
	var faults []error
	for _, word := range flags {
		name, text, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if err := m.flags.Set(name, text); err != nil {
			faults = append(faults, bad("--"+name, name, text, wanted(m.flags.Lookup(name), err)))
		}
	}
	_ = m.flags.Parse(nil) // for flag.Parsed; there is nothing to parse
	return errors.Join(faults...)
}

// wanted is the fault of a flag that refuses its text with err: package flag says only that it does.
func wanted(f *flag.Flag, err error) error {
	v, ok := f.Value.(flag.Getter)
	if !ok || err.Error() != "parse error" && err.Error() != "value out of range" {
		return err
	}
	what := ""
	switch v.Get().(type) {
	case time.Duration:
		what = "give a time such as 1ms"
	case bool:
		what = "give true or false"
	case int, int64:
		what = "give a whole number"
	case uint, uint64:
		what = "give a whole number, 0 or more"
	case float64:
		what = "give a number such as 1.5"
	default:
		return err
	}
	if err.Error() != "parse error" {
		return fmt.Errorf("%w; %s", err, what)
	}
	return errors.New(what)
}

// reserved refuses flags of the program that takt's would hide.
func (m *mainProgram) reserved() error {
	var faults []error
	m.flags.VisitAll(func(f *flag.Flag) { faults = append(faults, program.Clash(f.Name)) })
	return errors.Join(faults...)
}

func (m *mainProgram) complain(code int, err error) int {
	for fault := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(m.stderr, "%s: %s\n", m.name, fault)
	}
	return code
}

// command reads the command line, makes the run, and returns the exit code.
func (m *mainProgram) command(args []string) int {
	s := mainSettings{engine: engine.Defaults(), progress: "auto"}
	s.engine.ReadLog = play.Spacing
	fs := m.define(&s)
	err := cmp.Or(m.reserved(), m.parse(fs, args))
	if err == nil && m.help(fs) {
		return exitOK
	}
	if err == nil {
		s.proof = fs.Changed("prove") // environment counts as a change, too
		err = errors.Join(m.environment(fs), s.engine.Shard.Resolve(m.getenv, new(engine.RunGroup)), s.validate())
	}
	if err != nil {
		return m.misused(err)
	}
	p, err := m.plan(&s)
	if err != nil { // before open, which may set up a server
		return m.complain(exitUsage, err)
	}
	_ = m.flags.Parse(nil) // for flag.Parsed; the values are set
	program.DescribeArgs(p.Variables, fs.Args())
	p.Command = program.Command(append([]string{m.path}, args...))
	p.Driver, err = m.open(fs.Args())
	switch {
	case errors.As(err, new(*program.Misuse)):
		return m.misused(err)
	case err == nil && p.Driver == nil:
		err = errors.New("the program has no driver: the function that it gave to bench.Main returned nil without an error")
	}
	if err != nil {
		p.Outputs.Fail(m.name, err)
		return m.complain(exitFailed, err)
	}
	return m.run(&s, p)
}

// parse reads the command line. An error about a flag of the program says what to give instead, and does
// not quote a secret.
func (m *mainProgram) parse(fs *pflag.FlagSet, args []string) error {
	err := fs.ParseAll(args, func(f *pflag.Flag, text string) error {
		if value.IsFlag(text) && apart(args, f, text) {
			return value.Lacking("--"+f.Name, "another flag")
		}
		return fs.Set(f.Name, text)
	})
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	name := invalid.GetFlag().Name
	if own := m.flags.Lookup(name); own != nil {
		return bad("--"+name, name, invalid.GetValue(), wanted(own, invalid.Unwrap()))
	}
	return err
}

// apart reports whether the text is a word of its own behind the flag, and not --flag=text.
func apart(args []string, f *pflag.Flag, text string) bool {
	for i := range max(0, len(args)-1) {
		if args[i+1] == text && (args[i] == "--"+f.Name || f.Shorthand != "" && args[i] == "-"+f.Shorthand) {
			return true
		}
	}
	return false
}

// misused complains about the command line.
func (m *mainProgram) misused(err error) int {
	return m.complain(exitUsage, fmt.Errorf("%w\nsee '%s --help'", err, m.name))
}

// run makes the run, prints it, and returns the exit code.
func (m *mainProgram) run(s *mainSettings, p *inprocess.Plan) int {
	steps := stop.Catch().Steps(func() {
		fmt.Fprintf(m.stderr, "stopping: what is open may take %v more; a second signal ends the run at once\n", s.engine.Drain.Duration())
	})
	defer steps.Restore()
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // otherwise the signal would end the program before its files are written
	defer signal.Stop(pipe)
	p.Abort = steps.Abort
	r, err := inprocess.Run(steps.Interrupt, p)
	switch {
	case errors.Is(err, engine.ErrNoLoop):
		return m.complain(exitUsage, err)
	case r == nil:
		return m.complain(exitFailed, err)
	}
	for _, a := range r.Assertions {
		fmt.Fprintln(m.stderr, a)
	}
	var stopped *stop.SignalError
	switch {
	case err != nil:
		return m.complain(exitFailed, err)
	case errors.As(context.Cause(steps.Interrupt), &stopped):
		return exitSignal + stopped.Number
	}
	return m.outcome(s, r)
}

func (m *mainProgram) outcome(s *mainSettings, r *takt.Report) int {
	switch {
	case r.Counts.Scheduled > 0 && r.Counts.OK == 0:
		why := "none ended"
		if len(r.Errors) > 0 {
			why = cmp.Or(r.Errors[0].Sample, r.Errors[0].Class)
		}
		return m.complain(exitFailed, errors.New("not one operation succeeded: "+why))
	case r.Verdict == takt.Invalid && s.strict:
		return m.complain(exitInvalid, errors.New(verdict.Headline(r.Warnings)))
	}
	switch assert.Outcome(r) {
	case takt.Fail:
		return exitAssertion
	case takt.Void:
		return m.complain(exitInvalid, errors.New(assert.VoidWords(r)))
	case takt.Unproven:
		return m.complain(exitInconclusive, errors.New(assert.UnprovenWords))
	}
	return exitOK
}
