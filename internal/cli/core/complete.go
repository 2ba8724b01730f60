package core

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// completeFlags lets a shell complete the values of all flags. Call it only for a completion:
// cobra never releases what is registered, and takt server parses many lines.
func completeFlags(cmd *cobra.Command) {
	addHelpFlags(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := completion(f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // cannot fail: the flag exists, without a completion
		}
	})
	for _, c := range cmd.Commands() {
		completeFlags(c)
	}
}

// completion is what a shell offers for the value of a flag: its allowed words, or nothing.
// nil: files.
func completion(f *pflag.Flag) cobra.CompletionFunc {
	if c, ok := f.Value.(value.Chooser); ok {
		return cobra.FixedCompletions(c.Choices(), cobra.ShellCompDirectiveNoFileComp)
	}
	if v, ok := f.Value.(value.Flag); ok {
		for _, n := range v.Names("x=./x") { // the = is for flags of FORMAT=PATH
			if n.Kind == value.Reads || n.Kind == value.Writes {
				return nil
			}
		}
	}
	return cobra.NoFileCompletions
}
