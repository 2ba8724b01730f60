package trace

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// BenchmarkReplay is what an operation of a replay costs, all stages together, at
// one line a second of the log.
func BenchmarkReplay(b *testing.B) {
	text := []byte(accessLog(100_000))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		r, err := NewReader("log", bytes.NewReader(text), Options{Format: "combined"})
		if err != nil {
			b.Fatal(err)
		}
		n += drain(NewSource(Timed(Rewrite(Select(r, Rules{}), Rewriting{}), Timing{}), 1))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/operation")
}

// The whole line of stages allocates nothing once its buffers have grown.
func TestReplayDoesNotAllocate(t *testing.T) {
	text := accessLog(30_000)
	r, err := NewReader("log", strings.NewReader(text), Options{Format: "combined"})
	if err != nil {
		t.Fatal(err)
	}
	src := NewSource(Timed(Rewrite(Select(r, Rules{Share: 0.9}), Rewriting{Strip: "x"}), Timing{Window: 10 * time.Second}), 10)
	var op takt.Op
	for range 1000 {
		src.Next(&op)
	}
	if n := testing.AllocsPerRun(10_000, func() { src.Next(&op) }); n != 0 {
		t.Errorf("%v allocations an operation", n)
	}
}
