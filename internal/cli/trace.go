package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/reader"
)

// newTrace returns takt trace, whose subcommands read logs and send nothing.
func newTrace(env core.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "trace", Short: "inspect access logs, and convert them", Args: core.NoArgs,
		Long: "A LOG is an access log, a load file, HAR or JMeter's results, compressed or not; - is stdin.\nSeveral logs are merged in the order of their timestamps.\n\n" + traceFormats(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newTraceConvert(env), newTraceStats(env), newTraceSeconds(env), newTraceFiles(env))
	return c
}

// traceFormats lists the names that --format accepts.
func traceFormats() string {
	var names []string
	for _, f := range reader.Formats() {
		names = append(names, f[0])
	}
	return strings.Join(page.Wrap("Formats: "+strings.Join(names, ", ")+"; docs/traces.md explains each.", page.Width), "\n")
}

// tracing is the shared part of the subcommands: which logs and which of their requests to read.
type tracing struct {
	env     core.Env
	reading reader.Settings
	log     *reader.Log // the open logs; nil before run
}

// newTracing accepts all methods: without sending, even POST and DELETE are harmless.
func newTracing(env core.Env) tracing {
	return tracing{env: env, reading: reader.Settings{Rules: trace.Rules{Methods: []string{"*"}}}}
}

// traceCommand completes the subcommand c. faults checks its own flags.
func (t *tracing) command(c *cobra.Command, flags func(*pflag.FlagSet), faults func() []error, run func(trace.Stream) error) *cobra.Command {
	core.AddFlags(c, func(fs *pflag.FlagSet) {
		flags(fs)
		t.reading.AddFlags(fs)
	})
	core.Configurable(c)
	c.Args = func(cmd *cobra.Command, logs []string) error {
		all := append(faults(), t.reading.Validate()...)
		if len(logs) == 0 {
			all = append(all, fmt.Errorf("%s needs at least one log; - is standard input", cmd.CommandPath()))
		}
		return core.Usage(cmd, all)
	}
	c.RunE = func(cmd *cobra.Command, logs []string) error { return t.run(cmd.Context(), logs, run) }
	return c
}

// run passes the logs to use, and prints a summary of them on stderr. A signal ends the logs
// early, and use gets what was read by then. Logs without a single request are an error.
func (t *tracing) run(ctx context.Context, logs []string, use func(trace.Stream) error) error {
	l, err := t.reading.Open(ctx, logs, core.InterruptibleStdin(t.env))
	var n uint64
	if err == nil {
		defer l.Close()
		t.log = l
		src := &ending{ctx: ctx, src: l}
		err = use(src)
		fmt.Fprint(t.env.Stderr, "takt trace: ")
		_ = l.WriteText(t.env.Stderr) // without stderr, there is no way to report an error
		n = src.n
	}
	switch signal := core.SignalOf(ctx); {
	case signal != nil:
		return core.ExitBy(signal, nil)
	case err == nil && n == 0:
		left := l.Left()
		return l.Nothing(logs, &left)
	}
	return err
}

// ending is a stream that ends with the first signal, and counts its records.
type ending struct {
	ctx context.Context
	src trace.Stream
	n   uint64
}

// Next implements trace.Stream.
func (e *ending) Next(rec *trace.Record) error {
	if e.ctx.Err() != nil {
		return io.EOF
	}
	err := e.src.Next(rec)
	if e.ctx.Err() != nil { // the signal ended a wait for standard input
		return io.EOF
	}
	if err == nil {
		e.n++
	}
	return err
}
