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
		Args: noArgs,
	}
	addFlags(c, o.AddFlags)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := usage(cmd, o.Validate()); err != nil {
			return err
		}
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
