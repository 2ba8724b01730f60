package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/target"
)

func newTarget(env Env) *cobra.Command {
	var o target.Options
	c := &cobra.Command{
		Use:   "target [flags]",
		Short: "serve HTTP with a known behaviour, for demos, calibration and tests",
		Example: `  takt target --service 1ms --freeze 1s/10s
  takt target --service 'exp(2ms)' --servers 4 --truth truth.json`,
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
		err = s.Serve(cmd.Context())
		var signal *SignalError
		if err == nil && errors.As(context.Cause(cmd.Context()), &signal) {
			return &exitError{code: exitSignal + signal.Number}
		}
		return err
	}
	return c
}
