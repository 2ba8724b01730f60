package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// completeFlags lets a shell complete the values of all flags. Only when a shell asks: cobra
// keeps what is registered for as long as the process lives, and a server parses many lines.
func completeFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := completion(f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag is there, and has none yet
		}
	})
	for _, c := range cmd.Commands() {
		completeFlags(c)
	}
}

// completion is what a shell offers for the value of a flag: the words that it takes, or
// nothing. nil: files.
func completion(f *pflag.Flag) cobra.CompletionFunc {
	if c, ok := f.Value.(value.Chooser); ok {
		return cobra.FixedCompletions(c.Choices(), cobra.ShellCompDirectiveNoFileComp)
	}
	if v, ok := f.Value.(value.Flag); ok {
		for _, n := range v.Names("x=./x") { // of a format, too
			if n.Kind == value.Reads || n.Kind == value.Writes {
				return nil
			}
		}
	}
	return cobra.NoFileCompletions
}
