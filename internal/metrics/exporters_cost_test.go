package metrics_test

import (
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/exporters"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Each second of a run costs one of these, in threads of the lowest priority: a second of 10 000
// operations, in some 1000 buckets.
func BenchmarkSecond(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}
	}()
	rnd := rand.New(rand.NewPCG(1, 2))
	h := hist.New()
	for range 10_000 {
		h.Record(time.Duration((1 + rnd.ExpFloat64()) * float64(300*time.Microsecond)))
	}
	iv := takt.Interval{Scheduled: 10_000, OK: 10_000, HDR: h.Encode(), ServiceHDR: h.Encode()}
	var last timeline.Histogram
	b.Run("batch", func(b *testing.B) {
		b.ReportAllocs()
		var d hist.Decoder
		var total timeline.Histogram
		for b.Loop() {
			for range 2 {
				last, _ = timeline.Decode(&d, iv.HDR)
				total = total.Plus(last)
			}
		}
	})
	for _, text := range []string{"openmetrics=" + b.TempDir() + "/takt.prom", "influx=" + b.TempDir() + "/takt.lp", "graphite=" + l.Addr().String()} {
		d, err := exporters.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		run := metrics.Run{ID: "01KB", Kind: "http", Labels: map[string]string{"revision": "abc"}}
		e, err := d.Open(run)
		if err != nil {
			b.Fatal(err)
		}
		f := metrics.Figures{Scheduled: 10_000, OK: 10_000, Response: last, Service: last}
		b.Run(text[:8], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := e.Export(b.Context(), &metrics.Batch{Run: &run, Started: time.Now(), To: time.Now(), Last: f, Total: f}); err != nil {
					b.Fatal(err)
				}
			}
		})
		_ = e.Close(b.Context())
	}
}
