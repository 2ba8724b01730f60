// Package embedded is what takt knows of the program that uses it as a library.
package embedded

import (
	"cmp"
	"runtime/debug"

	"github.com/taktload/takt/pkg/takt"
)

// Kind is Report.Kind of the runs of such programs.
const Kind = "bench"

// Words are those of a program that has no flags of takt. own are the program's own ones.
func Words(own takt.Words) takt.Words {
	return takt.Words{
		GiveRate:   cmp.Or(own.GiveRate, "give the load a rate"),
		SpreadLoad: cmp.Or(own.SpreadLoad, "spread the load over several machines"),
	}
}

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
