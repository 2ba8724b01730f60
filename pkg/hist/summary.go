package hist

import (
	"time"

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
	q := func(q float64) float64 { return Micros(h.Quantile(q)) }
	return takt.Latency{
		Count:  h.Count(),
		Min:    Micros(h.Min()),
		Mean:   h.h.Mean() / 1e3,
		Stdev:  h.h.StdDev() / 1e3,
		P50:    q(0.5),
		P75:    q(0.75),
		P90:    q(0.9),
		P95:    q(0.95),
		P99:    q(0.99),
		P99_9:  q(0.999),
		P99_99: q(0.9999),
		Max:    Micros(h.Max()),
	}
}
