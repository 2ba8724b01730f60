package core

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/files"
)

// Meant adds the command that the command line leaves out: version, server, or http for a URL.
func Meant(root *cobra.Command, args []string) []string {
	switch {
	case len(args) == 0:
		return args
	case args[0] == "-V" || args[0] == "--version" || args[0] == "-version":
		return append([]string{"version"}, args[1:]...)
	case IsURL(args[0]) || lacksCommand(root, args):
		return append([]string{"http"}, args...)
	}
	return asServer(args)
}

// lacksCommand reports whether a line begins with a flag, has a URL, and names no command.
func lacksCommand(root *cobra.Command, args []string) bool {
	isCommand := func(word string) bool { return Subcommand(root, word) != nil }
	return strings.HasPrefix(args[0], "-") && slices.ContainsFunc(args, IsURL) && !slices.ContainsFunc(asServer(args), isCommand)
}

// IsURL reports whether a word is a URL for takt http, or a host and port, which takt http reads as
// one.
func IsURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://") || httpreq.IsHostPort(word)
}

// IsTarget reports whether a word is a target rather than a stored run. takt server decides by the same
// rule which words must be allowed targets.
func IsTarget(word string) bool { return strings.Contains(word, "://") || httpreq.IsHostPort(word) }

// LoadsTargets reports whether the arguments of a load command, or of the commands of a group, are targets.
// Those of takt jms are queues and topics.
func LoadsTargets(command string) bool { return command != "jms" }

// otherToolsCommands are commands of other load generators that send HTTP requests.
func otherToolsCommands() map[string]string {
	return map[string]string{"attack": "http", "load": "http", "bench": "http", "run": "http", "cloud": "http"}
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

// OtherToolsFile is the fault of the first word that is a file of another load generator; nil: there is
// none.
func OtherToolsFile(words []string) error {
	for _, word := range words {
		for _, f := range driver.OtherToolsFiles() {
			if strings.HasSuffix(word, f.Ends) && isFile(word) {
				return fmt.Errorf("%s is %s; %s", word, f.Is, f.Advice)
			}
		}
	}
	return nil
}

// isFile reports whether a word is rather the name of a file than a host without a scheme: example.com/a.js
// is a host with a path.
func isFile(word string) bool {
	if _, err := files.Stat(word); err == nil {
		return true
	}
	folder, name := filepath.Split(word)
	return strings.Count(name, ".") == 1 && !strings.Contains(strings.TrimLeft(folder, "./"), ".") && !strings.Contains(word, "://")
}
