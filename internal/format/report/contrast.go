package report

import (
	"fmt"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

// contrast compares the figures that a closed loop would report with what users experience.
func contrast(r *run) part.Part {
	other, ok := r.Extra["contrast"].(map[string]any)
	felt := r.Latency[takt.LatencyResponse]
	if !ok || felt.Count == 0 {
		return part.Part{}
	}
	tool := page.Clean(fmt.Sprint(other["tool"]))
	t := &part.Table{Caption: "The same load from a closed loop, and what users felt.", Unit: r.unit, Columns: []part.Column{
		{Title: "contrast", Page: "latency", Words: true, Width: page.LabelWidth}, {Title: tool + " says", Width: 14}, {Title: "users felt", Width: 14},
	}}
	for _, s := range statistics() {
		if v, ok := other[s.name+"_us"].(float64); ok {
			t.Add(part.Words(s.name), part.Latency(v), part.Latency(s.of(felt)))
		}
	}
	conns := page.Plural(int(plainNumber(other["connections"])), "request")
	failed := ""
	if n := plainNumber(other["errors"]); n > 0 {
		failed = fmt.Sprintf(", of which %.0f failed,", n)
	}
	told := part.Block{In: part.Text, Below: []part.Sentence{{Text: fmt.Sprintf(
		"%s sent %.0f requests%s in %s as a closed loop, which waits for each answer before it sends the next: a stall delays %s, and those that users would have sent meanwhile are in no figure.",
		tool, plainNumber(other["requests"]), failed, page.Span(plainNumber(other["duration_s"])), conns)}}}
	var blocks []part.Block
	if t.Rows != nil {
		table := part.Block{In: part.HTML, Table: t}
		if other["max_us"] != nil { // without a success the text has no figures
			table.In, told.Close = part.Text|part.HTML, true
		}
		blocks = append(blocks, table)
	}
	return part.Part{
		ID: "contrast", Title: "What a closed loop says", Blocks: append(blocks, told),
		Lead: tool + " waits for each answer before it sends the next request, so it does not send the requests that a stall holds up.",
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
