package fleetcmd

import (
	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/cli/core"
)

// New returns takt fleet.
func New(env core.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "make one run of several machines",
		Args:  core.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(NewManifest(env))
	return c
}
