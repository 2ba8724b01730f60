package bench

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// complete adds the benchmark's own fields to the engine's report.
func (b Benchmark) complete(rep *takt.Report, o engine.Options) {
	rep.ID = engine.NewID(time.Now())
	rep.Tool = takt.Tool{Name: "takt", Version: version(), Go: runtime.Version()}
	rep.Command = []string{}
	rep.Variables = b.variables(o)
	rep.Variables["engine"] = rep.Generator.Engine
	rep.ComparabilityKey = engine.ComparabilityKey(rep.Variables, rep.Generator.HostClass)
	for i := range rep.Warnings {
		rep.Warnings[i].Message = inOurWords.Replace(rep.Warnings[i].Message)
	}
	if b.oneCore() {
		rep.Warn("one_core", "GOMAXPROCS is 1, so time was kept with Go's timers, which are up to 1 ms late: set Benchmark.Tune, or GOMAXPROCS=2")
	}
}

// inOurWords replaces advice about takt's flags with advice for a program.
var inOurWords = strings.NewReplacer(
	"give --rate for what users feel", "give a throughput for what users feel",
	"spread the run with --shard", "spread the load over several machines",
)

func (b Benchmark) variables(o engine.Options) map[string]any {
	v := o.Variables()
	delete(v, "connections")
	delete(v, "max_in_flight")
	v["concurrency"] = b.Concurrency
	v["name"] = cmp.Or(b.Name, program())
	return v
}

// program is the path of the main package, so that results of different programs are not
// compared.
func program() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Path
	}
	return ""
}

// version is the version of the module takt in this program.
func version() string {
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
