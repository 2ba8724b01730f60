// Package scenariocmd is takt scenario: what files of scenarios do, and making them of what other tools have.
package scenariocmd

import (
	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/files"
)

// New returns the command whose subcommands are about files of scenarios.
func New(env core.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "scenario", Short: "explain and try a file for --scenario, and make one", Args: core.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newCheck(env), newFrom(env), newRecord(env))
	return c
}

// read reads a whole file; - is standard input.
func read(env core.Env, name string, most int) ([]byte, error) {
	if name == "-" {
		return files.ReadAll(core.InterruptibleStdin(env), "standard input", most)
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return files.ReadAll(files.Text(f), name, most)
}
