package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/loadcmd"
	"github.com/taktload/takt/internal/cli/shellcmd"
	"github.com/taktload/takt/internal/value"
)

func newConfig(env core.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   core.ConfigCommand + " [--json] COMMAND [flags]",
		Short: "print the settings that a command would run with, as a config file",
		Example: `  takt config http --rate 500/s http://127.0.0.1:8080/ > takt.conf
  takt config --json target --service 1ms`,
	}
	addJSON := func(fs *pflag.FlagSet) { fs.Bool(core.JSONFlag, false, "as JSON") }
	value.Declare(c.Flags(), value.GroupOutput, addJSON)
	loadcmd.Add(c, env)
	c.AddCommand(newTarget(env), shellcmd.New(env))
	for _, sub := range configurables(c) {
		sub.Short = "print the settings of takt " + core.CommandName(sub)
		sub.Long = sub.Short + ", as a config file. It reports the same faults as the command itself."
		sub.Example = ""                              // the command's examples would run it
		if sub.Flags().Lookup(core.JSONFlag) == nil { // takt jms has its own --json, from artemis perf, so its settings are printed as text only
			value.Declare(sub.Flags(), value.GroupOutput, addJSON)
		}
		sub.RunE = func(cmd *cobra.Command, _ []string) error { return env.PrintSettings(cmd) }
	}
	c.RunE = func(*cobra.Command, []string) error { return core.Usage(c, []error{missingCommand(c)}) }
	return c
}

// configurables returns the commands with settings below c.
func configurables(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		if core.IsConfigurable(sub) {
			all = append(all, sub)
		}
		all = append(all, configurables(sub)...)
	}
	return all
}

func missingCommand(c *cobra.Command) error {
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("no command is given; use one of %s", strings.Join(names, ", "))
}
