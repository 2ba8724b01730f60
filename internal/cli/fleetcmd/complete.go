package fleetcmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// complete offers what the command after -- may be: the commands that a fleet can run, their flags, and
// files.
func (f *fleetCommand) complete(_ *cobra.Command, args []string, begin string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	at := f.env.Root(f.env)
	for _, word := range args {
		next, _, err := at.Find([]string{word})
		if err != nil || next == at {
			break
		}
		at = next
	}
	offer := func(word string) {
		if strings.HasPrefix(word, begin) {
			list = append(list, word)
		}
	}
	switch {
	case at.HasAvailableSubCommands():
		for _, next := range at.Commands() {
			if f.makesRun(next) {
				offer(next.Name())
			}
		}
	case strings.HasPrefix(begin, "-"):
		at.Flags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden && len(flag.Name) > 1 {
				offer("--" + flag.Name)
			}
		})
	default:
		return nil, cobra.ShellCompDirectiveDefault
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// makesRun reports whether a fleet can run a command, or one of its commands.
func (f *fleetCommand) makesRun(c *cobra.Command) bool {
	if c.HasAvailableSubCommands() {
		return slices.ContainsFunc(c.Commands(), f.makesRun)
	}
	return c.IsAvailableCommand() && len(checkCommand(f.env, strings.Fields(c.CommandPath())[1:])) == 0
}
