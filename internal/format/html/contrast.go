package html

import (
	"fmt"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/text"
	"github.com/taktload/takt/pkg/takt"
)

// contrast is the section with what a closed loop says of the same load.
func contrast(r *takt.Report) []section {
	other, ok := r.Extra["contrast"].(map[string]any)
	felt := r.Latency[takt.LatencyResponse]
	if !ok || felt.Count == 0 {
		return nil
	}
	tool := page.Clean(fmt.Sprint(other["tool"]))
	t := &table{Caption: "The same load from a closed loop, and what users felt.", Head: []string{"latency", tool + " says", "users felt"}, Words: 1}
	names, values := text.Statistics()
	for i, name := range names {
		if v, ok := other[name+"_us"].(float64); ok {
			t.Rows = append(t.Rows, []string{name, figure.Micros(v), figure.Micros(values[i](felt))})
		}
	}
	if t.Rows == nil {
		return nil
	}
	return []section{{
		ID: "contrast", Title: "What a closed loop says",
		Lead:   tool + " waits for each answer before it sends the next request, so it does not send the requests that a stall holds up.",
		Blocks: []block{{Table: t}},
	}}
}
