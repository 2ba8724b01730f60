package engine_test

import (
	"os"
	"testing"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/target"
)

// BenchmarkModes is a closed loop over 50 connections, a request an iteration, with
// all recording on. TAKT_BENCH_ADDR names a server that is cheaper than takt's own,
// which answers in this process.
func BenchmarkModes(b *testing.B) {
	addr := os.Getenv("TAKT_BENCH_ADDR")
	if addr == "" {
		addr, _ = serve(b, target.Options{})
	}
	for _, mode := range modes {
		b.Run(mode, func(b *testing.B) {
			b.ReportAllocs()
			r := load(b, mode, httpLoop(b, addr), func(o *engine.Options) { o.Requests, o.Connections = uint64(b.N), 50 })
			if r.Counts.OK != uint64(b.N) {
				b.Errorf("%+v %+v", r.Counts, r.Errors)
			}
			b.ReportMetric(r.Generator.CPUS*1e9/float64(b.N), "cpu-ns/op")
		})
	}
}
