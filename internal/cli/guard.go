package cli

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/screen"
)

// newGuard returns the hidden command of the process that guards a terminal.
func newGuard(env core.Env) *cobra.Command {
	return &cobra.Command{
		Use: core.GuardCommand, Hidden: true, Args: core.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			tty := core.Terminal(env)
			if tty == nil {
				return errors.New("standard error is not a terminal; takt starts this command itself")
			}
			return screen.Guard(env.Stdin, tty)
		},
	}
}
