package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
)

func newTarget(env core.Env) *cobra.Command {
	var o target.Options
	c := &cobra.Command{
		Use:   "target [flags]",
		Short: "serve HTTP and gRPC with a known behaviour, for demos, calibration and tests",
		Example: `  takt target --service 1ms --freeze 1s/10s
  takt target --service 'exp(2ms)' --servers 4 --truth truth.json
  takt target --tls --h2
  takt target --grpc --service 1ms
  takt target --null`,
	}
	core.AddFlags(c, o.AddFlags)
	core.Configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error {
		var faults []error
		if err := core.NoArgs(cmd, args); err != nil {
			faults = append(faults, err)
		}
		return core.Usage(cmd, append(faults, o.Validate()...))
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
			fmt.Fprintf(env.Stderr, "takt target: could not accept a connection %d times, usually because of too few file descriptors; raise the limit (ulimit -n)\n", n)
		}
		if signal := core.SignalOf(cmd.Context()); err == nil && signal != nil {
			return core.ExitBy(signal, nil)
		}
		return err
	}
	return c
}

// oneMoreP raises GOMAXPROCS by one for a thread that occupies a P of the Go scheduler while it
// waits, such as the null server's. With GOMAXPROCS=1, takt would otherwise see a signal only
// every 10 ms.
func oneMoreP() (undo func()) {
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	return func() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) - 1) }
}
