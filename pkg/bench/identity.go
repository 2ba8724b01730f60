package bench

import (
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// complete replaces the words of the report by wrk3's.
func (b Benchmark) complete(rep *takt.Report) {
	v := rep.Variables
	delete(v, "connections")
	delete(v, "max_in_flight")
	v["concurrency"] = b.Concurrency
	rep.ComparabilityKey = engine.ComparabilityKey(v, rep.Generator.HostClass)
}
