// Package scenariocmd is takt scenario: what files of scenarios do, and making them of what other tools have.
package scenariocmd

import (
	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/cli/core"
)

// New returns the command whose subcommands are about files of scenarios.
func New(env core.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "scenario", Short: "explain and try a file for --scenario, and make one", Args: core.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newRecord(env))
	return c
}
