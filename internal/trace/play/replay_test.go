package play

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/reader"
	"github.com/taktload/takt/pkg/takt"
)

// BenchmarkReplay is what an operation of a replay costs, all stages together, at
// one line a second of the log.
func BenchmarkReplay(b *testing.B) {
	text := []byte(tracetest.AccessLog(100_000))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		r, err := reader.New("log", bytes.NewReader(text), reader.Options{Format: "combined"})
		if err != nil {
			b.Fatal(err)
		}
		n += tracetest.Drain(NewSource(trace.Timed(trace.Rewrite(trace.Select(r, trace.Rules{}), trace.Rewriting{}), trace.Timing{}), 1))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/operation")
}

// The whole line of stages allocates nothing once its buffers have grown.
func TestReplayDoesNotAllocate(t *testing.T) {
	text := tracetest.AccessLog(30_000)
	r, err := reader.New("log", strings.NewReader(text), reader.Options{Format: "combined"})
	if err != nil {
		t.Fatal(err)
	}
	src := NewSource(trace.Timed(trace.Rewrite(trace.Select(r, trace.Rules{Share: 0.9}), trace.Rewriting{Strip: "x"}), trace.Timing{Window: 10 * time.Second}), 10)
	var op takt.Op
	for range 1000 {
		src.Next(&op)
	}
	if n := testing.AllocsPerRun(10_000, func() { src.Next(&op) }); n != 0 {
		t.Errorf("%v allocations an operation", n)
	}
}
