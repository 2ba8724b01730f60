package hist

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/taktload/takt/pkg/takt"
)

// Micros is d in microseconds, for reports.
func Micros(d time.Duration) float64 { return float64(d) / 1e3 }

// Summary is h in a report: figures in microseconds, and the histogram itself.
func (h *Histogram) Summary() takt.Latency {
	l := h.Figures()
	l.HDR = h.Encode()
	return l
}

// Figures is Summary without the histogram, whose encoding takes a hundred times as long.
func (h *Histogram) Figures() takt.Latency {
	if !isOurs(h.h) {
		return figures(h.h)
	}
	var l takt.Latency
	h.use(func(p *hdrhistogram.PackedHistogram) { l = figures(p) })
	return l
}

// counted is a histogram of the library.
type counted interface {
	TotalCount() int64
	Min() int64
	Mean() float64
	StdDev() float64
	ValueAtPercentile(percentile float64) int64
}

func figures(h counted) takt.Latency {
	q := func(q float64) float64 { return Micros(quantile(h, q)) }
	return takt.Latency{
		Count:  uint64(h.TotalCount()),
		Min:    Micros(time.Duration(h.Min())),
		Mean:   h.Mean() / 1e3,
		Stdev:  h.StdDev() / 1e3,
		P50:    q(0.5),
		P75:    q(0.75),
		P90:    q(0.9),
		P95:    q(0.95),
		P99:    q(0.99),
		P99_9:  q(0.999),
		P99_99: q(0.9999),
		Max:    Micros(highest(h)),
	}
}
