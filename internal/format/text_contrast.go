package format

import (
	"fmt"

	"github.com/taktload/takt/pkg/takt"
)

// contrast is the same load as a closed loop reports it, beside what users felt.
func contrast(p *page, r *takt.Report) error {
	other, ok := r.Extra["contrast"].(map[string]any)
	felt := r.Latency[takt.LatencyResponse]
	if !ok || felt.Count == 0 {
		return nil
	}
	const width = 14
	u := tableUnit(r)
	tool := clean(fmt.Sprint(other["tool"]))
	p.linef("")
	p.linef("%s", p.paint(bold, left("contrast, "+u.name, labelWidth)+right(tool+" says", width)+right("users felt", width)))
	for _, row := range rows() {
		if v, ok := other[row.name+"_us"].(float64); ok {
			p.linef("%s%s%s", left("  "+row.name, labelWidth), right(u.aligned(v), width), right(u.aligned(row.value(felt)), width))
		}
	}
	conns := plural(int(plainNumber(other["connections"])), "request")
	p.bullet("", fmt.Sprintf("%s sent %.0f requests in %s as a closed loop, which waits for each answer before it sends the next: a stall delays %s, and those that users would have sent meanwhile are in no figure.",
		tool, plainNumber(other["requests"]), span(plainNumber(other["duration_s"])), conns))
	return nil
}

// plainNumber is a number of Report.Extra, which JSON makes a float64; else 0.
func plainNumber(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int:
		return float64(n)
	}
	return 0
}
