package core

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Meant adds the command that the command line leaves out: version, server, or http for a URL.
func Meant(root *cobra.Command, args []string) []string {
	switch {
	case len(args) == 0:
		return args
	case args[0] == "-V" || args[0] == "--version" || args[0] == "-version":
		return append([]string{"version"}, args[1:]...)
	case isURL(args[0]) || lacksCommand(root, args):
		return append([]string{"http"}, args...)
	}
	return asServer(args)
}

// lacksCommand reports whether a line begins with a flag, has a URL, and names no command.
func lacksCommand(root *cobra.Command, args []string) bool {
	isCommand := func(word string) bool { return Subcommand(root, word) != nil }
	return strings.HasPrefix(args[0], "-") && slices.ContainsFunc(args, isURL) && !slices.ContainsFunc(asServer(args), isCommand)
}

// isURL reports whether a word is a URL for takt http.
func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// ServerCommand is the command of the shell. In hey-apm it was a flag, with other names in later
// versions.
const ServerCommand = "server"

// asServer replaces the flag of a predecessor by the command.
func asServer(args []string) []string {
	if len(args) > 0 && slices.Contains([]string{"server", "interactive", "cli"}, strings.TrimLeft(args[0], "-")) && args[0][0] == '-' {
		return append([]string{ServerCommand}, args[1:]...)
	}
	return args
}
