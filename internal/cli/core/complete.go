package core

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// runArguments is the annotation of a command whose arguments are stored runs.
const runArguments = "takt-runs"

// TakesRuns are the annotations of a command whose arguments are stored runs.
func TakesRuns() map[string]string { return map[string]string{runArguments: ""} }

// completeFlags lets a shell complete the values of all flags, and arguments that are stored runs.
// Call it only for a completion: cobra never releases what is registered, and takt server parses
// many lines.
func completeFlags(env Env, cmd *cobra.Command) {
	AddHelpFlags(cmd)
	if _, ok := cmd.Annotations[runArguments]; ok {
		cmd.ValidArgsFunction = env.completeRuns
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := env.completion(f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // cannot fail: the flag exists, without a completion
		}
	})
	for _, c := range cmd.Commands() {
		completeFlags(env, c)
	}
}

// completeRuns offers the newest stored runs, and files.
func (e Env) completeRuns(cmd *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if e.StoredRuns == nil || strings.ContainsAny(begin, "/.") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	store := e.Getenv(value.Variable("store"))
	if f := cmd.Flags().Lookup("store"); f != nil && f.Changed {
		store = f.Value.String()
	}
	return beginning(e.StoredRuns(e, store), begin), cobra.ShellCompDirectiveKeepOrder
}

// completion is what a shell offers for the value of a flag: the words that its type offers, runs,
// files, or nothing. nil: files.
func (e Env) completion(f *pflag.Flag) cobra.CompletionFunc {
	files := namesFiles(f)
	if c, ok := f.Value.(value.Chooser); ok {
		return func(_ *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return beginning(c.Choices(), begin), offered(c.Choices(), files)
		}
	}
	if _, ok := f.Value.(value.RunTaker); ok {
		return e.completeRuns
	}
	if files {
		return nil
	}
	return cobra.NoFileCompletions
}

func beginning(words []string, begin string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, begin) })
}

// offered says whether files may also follow, and whether a word is only the beginning of a value.
func offered(words []string, files bool) cobra.ShellCompDirective {
	directive := cobra.ShellCompDirectiveNoFileComp
	if files {
		directive = cobra.ShellCompDirectiveDefault
	}
	if slices.ContainsFunc(words, begins) {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return directive
}

// begins reports whether an offered word is only the beginning of a value.
func begins(word string) bool {
	return strings.HasSuffix(word, "=") || strings.HasSuffix(word, ":") || strings.HasSuffix(word, "://")
}

// namesFiles reports whether the value of a flag may be a file, or end with one.
func namesFiles(f *pflag.Flag) bool {
	v, ok := f.Value.(value.Flag)
	texts := []string{"x=./x"} // the = is for flags of FORMAT=PATH
	if c, offers := f.Value.(value.Chooser); offers {
		for _, word := range c.Choices() {
			if begins(word) {
				texts = append(texts, word+"./x")
			}
		}
	}
	return ok && slices.ContainsFunc(texts, func(text string) bool {
		return slices.ContainsFunc(v.Names(text), func(n value.Name) bool { return n.Kind == value.Reads || n.Kind == value.Writes })
	})
}
