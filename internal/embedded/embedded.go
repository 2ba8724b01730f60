// Package embedded is what takt knows of the program that uses it as a library.
package embedded

import (
	"runtime/debug"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// Kind is Report.Kind of the runs of such programs.
const Kind = "bench"

// Reword replaces advice about takt's flags with advice for a program.
func Reword(list []takt.Warning) {
	for i := range list {
		list[i].Message = inOurWords.Replace(list[i].Message)
	}
}

// inOurWords replaces advice about takt's flags with advice for a program.
var inOurWords = strings.NewReplacer(
	"give --rate for what users feel", "give the load a rate for what users feel",
	"spread the run with --shard", "spread the load over several machines",
)

// Program is the path of the main package, so that results of different programs are not
// compared.
func Program() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Path
	}
	return ""
}

// Version is the version of the module takt in this program.
func Version() string {
	const path = "github.com/taktload/takt"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == path && m.Version != "" {
			return m.Version
		}
	}
	return "unknown"
}
