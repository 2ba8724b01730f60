package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Overlay is one latency of two sides at the same quantiles. Each side is one histogram, merged from
// its runs.
type Overlay struct {
	Latency string         `json:"latency"` // response, service, …
	Points  []OverlayPoint `json:"points"`  // ascending
}

// OverlayPoint is one quantile of both sides.
type OverlayPoint struct {
	Quantile float64 `json:"quantile"` // in [0, 1]
	Base     float64 `json:"base_us"`
	Head     float64 `json:"head_us"`
}

// overlayQuantiles halve the rest about three times for each nine up to 99.9 %, like the axis of a
// percentile plot.
func overlayQuantiles() []float64 {
	return []float64{0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 1}
}

// Overlays returns an overlay of each latency that all reports have, sorted by name. It fails if a
// histogram cannot be read.
func Overlays(base, head []*takt.Report) ([]Overlay, error) {
	list := []Overlay{}
	if len(base) == 0 || len(head) == 0 {
		return list, nil
	}
	for _, name := range slices.Sorted(maps.Keys(base[0].Latency)) {
		b, errBase := mergedOf(name, base)
		h, errHead := mergedOf(name, head)
		for _, err := range []error{errBase, errHead} {
			if err != nil {
				return nil, err
			}
		}
		if b == nil || h == nil {
			continue
		}
		o := Overlay{Latency: name}
		for _, q := range overlayQuantiles() {
			o.Points = append(o.Points, OverlayPoint{q, hist.Micros(b.Quantile(q)), hist.Micros(h.Quantile(q))})
		}
		list = append(list, o)
	}
	return list, nil
}

// mergedOf merges the histograms of the latency name; nil if a report has none.
func mergedOf(name string, reports []*takt.Report) (*hist.Histogram, error) {
	if slices.ContainsFunc(reports, func(r *takt.Report) bool { return r.Latency[name].HDR == "" }) {
		return nil, nil
	}
	h := hist.New()
	for _, r := range reports {
		if err := h.MergeEncoded(r.Latency[name].HDR); err != nil {
			return nil, fmt.Errorf("the %s histogram of run %s: %w", name, r.ID, err)
		}
	}
	return h, nil
}
