package text

import (
	"fmt"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/pkg/takt"
)

// contrast compares the figures that a closed loop would report with what users experience.
func contrast(p *page.Page, r *takt.Report) {
	other, ok := r.Extra["contrast"].(map[string]any)
	felt := r.Latency[takt.LatencyResponse]
	if !ok || felt.Count == 0 {
		return
	}
	tool := page.Clean(fmt.Sprint(other["tool"]))
	p.Linef("")
	if other["max_us"] != nil { // without a success there are no figures
		contrastTable(p, tool, tableUnit(r), other, felt)
	}
	conns := page.Plural(int(plainNumber(other["connections"])), "request")
	failed := ""
	if n := plainNumber(other["errors"]); n > 0 {
		failed = fmt.Sprintf(", of which %.0f failed,", n)
	}
	p.Bullet("", fmt.Sprintf("%s sent %.0f requests%s in %s as a closed loop, which waits for each answer before it sends the next: a stall delays %s, and those that users would have sent meanwhile are in no figure.",
		tool, plainNumber(other["requests"]), failed, page.Span(plainNumber(other["duration_s"])), conns))
}

func contrastTable(p *page.Page, tool string, u page.Unit, other map[string]any, felt takt.Latency) {
	const width = 14
	p.Linef("%s", p.Paint(page.Bold, page.Left("contrast, "+u.Name, page.LabelWidth)+page.Right(tool+" says", width)+page.Right("users felt", width)))
	for _, row := range rows() {
		if v, ok := other[row.name+"_us"].(float64); ok {
			p.Linef("%s%s%s", page.Left("  "+row.name, page.LabelWidth), page.Right(u.Aligned(v), width), page.Right(u.Aligned(row.value(felt)), width))
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
	case uint64:
		return float64(n)
	}
	return 0
}
