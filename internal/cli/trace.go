package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/trace"
)

// newTrace is the command with the subcommands that read logs and send nothing.
func newTrace(env Env) *cobra.Command {
	c := &cobra.Command{
		Use: "trace", Short: "look into access logs, and convert them", Args: noArgs,
		Long: "A LOG is an access log, a load file, HAR or JMeter's results, compressed or not; - is stdin.\nSeveral are merged in the order of their stamps.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newTraceConvert(env), newTraceStats(env), newTraceSeconds(env), newTraceFiles(env))
	return c
}

// tracing is what the subcommands share: the logs, and what of them is read.
type tracing struct {
	env     Env
	reading trace.Reading
}

// newTracing takes all methods: what sends nothing needs no caution.
func newTracing(env Env) tracing {
	return tracing{env: env, reading: trace.Reading{Rules: trace.Rules{Methods: []string{"*"}}}}
}

// command finishes a subcommand. faults are those of its own flags.
func (t *tracing) command(c *cobra.Command, flags func(*pflag.FlagSet), faults func() []error, run func(trace.Stream) error) *cobra.Command {
	addFlags(c, func(fs *pflag.FlagSet) {
		flags(fs)
		t.reading.AddFlags(fs)
	})
	configurable(c)
	c.Args = func(cmd *cobra.Command, logs []string) error {
		all := append(faults(), t.reading.Validate()...)
		if len(logs) == 0 {
			all = append(all, fmt.Errorf("%s takes a log at least; - is standard input", cmd.CommandPath()))
		}
		return usage(cmd, all)
	}
	c.RunE = func(cmd *cobra.Command, logs []string) error { return t.run(cmd.Context(), logs, run) }
	return c
}

// run reads the logs, and says on stderr what was in them. A signal ends them; what
// was read by then is used. Of a log without a single request nothing can be made.
func (t *tracing) run(ctx context.Context, logs []string, use func(trace.Stream) error) error {
	l, err := t.reading.Open(ctx, logs, interruptible{t.env})
	var n uint64
	if err == nil {
		defer l.Close()
		src := &ending{ctx: ctx, src: l}
		err = use(src)
		fmt.Fprint(t.env.Stderr, "takt trace: ")
		_ = l.WriteText(t.env.Stderr) // nobody is left to be told
		n = src.n
	}
	var signal *SignalError
	switch {
	case errors.As(context.Cause(ctx), &signal):
		return &exitError{code: exitSignal + signal.Number}
	case err == nil && n == 0:
		return fmt.Errorf("not one request was taken of %s; check --format and the filters", strings.Join(logs, ", "))
	}
	return err
}

// ending is a stream that the first signal ends; it counts.
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
	if e.ctx.Err() != nil { // standard input was waited for
		return io.EOF
	}
	if err == nil {
		e.n++
	}
	return err
}
