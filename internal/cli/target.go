package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/target"
)

func newTarget(env Env) *cobra.Command {
	var o target.Options
	c := &cobra.Command{
		Use:   "target [flags]",
		Short: "serve HTTP with a known behaviour, for demos, calibration and tests",
		Example: `  takt target --service 1ms --freeze 1s/10s
  takt target --service 'exp(2ms)' --servers 4 --truth truth.json
  takt target --null`,
	}
	addFlags(c, o.AddFlags)
	configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error {
		var faults []error
		if err := noArgs(cmd, args); err != nil {
			faults = append(faults, err)
		}
		return usage(cmd, append(faults, o.Validate()...))
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := target.Listen(o)
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Stderr, "takt target: %s\n", s.URL())
		if o.Null {
			defer oneMoreP()()
		}
		err = s.Serve(cmd.Context())
		if n := s.Truth().Counts.AcceptErrors; n > 0 {
			fmt.Fprintf(env.Stderr, "takt target: connections could not be taken %d times, for want of file descriptors as a rule; raise the limit (ulimit -n)\n", n)
		}
		var signal *SignalError
		if err == nil && errors.As(context.Cause(cmd.Context()), &signal) {
			return &exitError{code: exitSignal + signal.Number}
		}
		return err
	}
	return c
}

// oneMoreP gives the Go scheduler a P for the thread of the null server, which keeps
// one while it waits: with GOMAXPROCS=1 a signal would be seen only every 10 ms.
func oneMoreP() (undo func()) {
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	return func() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) - 1) }
}
