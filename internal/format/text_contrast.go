package format

import (
	"fmt"

	"github.com/taktload/takt/pkg/takt"
)

// contrast compares the figures that a closed loop would report with what users experience.
func contrast(p *page, r *takt.Report) error {
	other, ok := r.Extra["contrast"].(map[string]any)
	felt := r.Latency[takt.LatencyResponse]
	if !ok || felt.Count == 0 {
		return nil
	}
	tool := clean(fmt.Sprint(other["tool"]))
	p.linef("")
	if other["max_us"] != nil { // without a success there are no figures
		contrastTable(p, tool, tableUnit(r), other, felt)
	}
	conns := plural(int(plainNumber(other["connections"])), "request")
	failed := ""
	if n := plainNumber(other["errors"]); n > 0 {
		failed = fmt.Sprintf(", of which %.0f failed,", n)
	}
	p.bullet("", fmt.Sprintf("%s sent %.0f requests%s in %s as a closed loop, which waits for each answer before it sends the next: a stall delays %s, and those that users would have sent meanwhile are in no figure.",
		tool, plainNumber(other["requests"]), failed, span(plainNumber(other["duration_s"])), conns))
	return nil
}

func contrastTable(p *page, tool string, u unit, other map[string]any, felt takt.Latency) {
	const width = 14
	p.linef("%s", p.paint(bold, left("contrast, "+u.name, labelWidth)+right(tool+" says", width)+right("users felt", width)))
	for _, row := range rows() {
		if v, ok := other[row.name+"_us"].(float64); ok {
			p.linef("%s%s%s", left("  "+row.name, labelWidth), right(u.aligned(v), width), right(u.aligned(row.value(felt)), width))
		}
	}
}

// plainNumber is a number of Report.Extra, which JSON decodes as float64; otherwise 0.
func plainNumber(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int:
		return float64(n)
	}
	return 0
}
