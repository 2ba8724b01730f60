package report

import (
	"slices"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

// components has the generator's lag and the driver's phases.
func components(r *run) part.Part {
	const width = 12
	t := &part.Table{Caption: "Components of the response time, and the generator's lateness.", Unit: r.unit, Columns: []part.Column{
		{Title: "parts", Page: "part", Words: true, Width: 15}, {Title: "count", Width: 8}, {Title: "p50", Width: width}, {Title: "p99", Width: width},
		{Title: "max", Width: width}, {Page: "meaning", Words: true, Gap: 3},
	}}
	for _, name := range componentNames(r.Report) {
		l := r.Latency[name]
		t.Add(part.Words(page.Words(name)), part.Count(l.Count), part.Latency(l.P50), part.Latency(l.P99), part.Latency(l.Max), part.Words(meaning(name)))
	}
	if t.Rows == nil {
		return part.Part{}
	}
	return part.Part{Within: "percentiles", Blocks: []part.Block{{In: part.Text | part.HTML, Fold: "Parts of the time", Table: t}}}
}

// componentNames lists the latencies with values but without a column, in the order of occurrence.
func componentNames(r *takt.Report) []string {
	known := []string{takt.LatencySendDelay, takt.LatencyScheduleLag, "dns", "connect", "tls", "first_byte", "first_part", "first_part_due", "first_part_unknown", "ttft", "ttft_sent", "ttft_unknown", "ttfo", "tpot", "maxgap", "gap", "gap_unknown"}
	shown := append(Columns(r), takt.LatencyResponse, takt.LatencyResponseOK, takt.LatencyService, takt.LatencyOnTime)
	var names []string
	for _, name := range append(known, page.Sorted(r.Latency)...) {
		if r.Latency[name].Count > 0 && !slices.Contains(shown, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func meaning(name string) string {
	switch name {
	case takt.LatencySendDelay:
		return "sent − due"
	case takt.LatencyScheduleLag:
		return "generator lateness"
	case "first_part", "ttft_sent":
		return "since sent"
	case "first_part_due", "ttft":
		return "since due"
	case "ttft_first":
		return "of first turns, since due"
	case "ttft_later":
		return "of later turns, since due"
	case "ttfo":
		return "content, since due"
	case "tpot":
		return "time per output token"
	case "first_part_unknown", "ttft_unknown", "gap_unknown":
		return "at most: read late"
	case "maxgap":
		return "of each operation"
	case "gap":
		return "between two parts"
	default:
		return ""
	}
}
