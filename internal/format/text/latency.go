package text

import (
	"slices"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/pkg/takt"
)

// row is a line of the percentile table.
type row struct {
	name  string
	value func(takt.Latency) float64
}

func rows() []row {
	return []row{
		{"min", func(l takt.Latency) float64 { return l.Min }},
		{"mean", func(l takt.Latency) float64 { return l.Mean }},
		{"p50", func(l takt.Latency) float64 { return l.P50 }},
		{"p75", func(l takt.Latency) float64 { return l.P75 }},
		{"p90", func(l takt.Latency) float64 { return l.P90 }},
		{"p95", func(l takt.Latency) float64 { return l.P95 }},
		{"p99", func(l takt.Latency) float64 { return l.P99 }},
		{"p99.9", func(l takt.Latency) float64 { return l.P99_9 }},
		{"p99.99", func(l takt.Latency) float64 { return l.P99_99 }},
		{"max", func(l takt.Latency) float64 { return l.Max }},
	}
}

// Primary is the name of a report's main latency: the response time, or the send time without
// answers, or the transfer time without own operations; "" without measurements.
func Primary(r *takt.Report) string {
	for _, name := range append([]string{takt.LatencyResponse, takt.LatencySend, "transfer"}, page.Sorted(r.Latency)...) {
		if r.Latency[name].Count > 0 {
			return name
		}
	}
	return ""
}

// tableColumns are the latencies with all percentiles. The ok responses have their own column
// if other responses exist.
func tableColumns(r *takt.Report) []string {
	first := Primary(r)
	if first != takt.LatencyResponse {
		return slices.DeleteFunc([]string{first}, func(s string) bool { return s == "" })
	}
	columns := []string{first, takt.LatencyService}
	if ok := r.Latency[takt.LatencyResponseOK].Count; ok > 0 && ok < r.Latency[first].Count {
		columns = append(columns, takt.LatencyResponseOK)
	}
	return slices.DeleteFunc(columns, func(s string) bool { return r.Latency[s].Count == 0 })
}

// tableUnit is the unit of all latencies in a text report.
func tableUnit(r *takt.Report) page.Unit {
	l := r.Latency[Primary(r)]
	return page.UnitFor(l.P50, l.Max)
}

func percentiles(p *page.Page, r *takt.Report) {
	const width = 14
	names, u := tableColumns(r), tableUnit(r)
	if len(names) == 0 {
		return
	}
	own := OwnOf(r)
	line := func(name string, cell func(takt.Latency) string) {
		s := page.Left("  "+name, page.LabelWidth)
		over := 0 // a mark is beside its column, so that the digits remain below each other
		for i, column := range names {
			mark := own.Mark(i, name)
			s += page.Right(cell(r.Latency[column])+mark, width-over+len(mark))
			over = len(mark)
		}
		p.Linef("%s", s)
	}
	p.Linef("")
	head := page.Left("latency, "+u.Name, page.LabelWidth)
	for _, name := range names {
		head += page.Right(page.Words(name), width)
	}
	p.Linef("%s", p.Paint(page.Bold, head))
	line("count", func(l takt.Latency) string { return page.AlignedCount(l.Count) })
	for _, row := range rows() {
		line(row.name, func(l takt.Latency) string { return u.Aligned(row.value(l)) })
	}
	if len(own) > 0 {
		p.Bullet("", p.Paint(page.Yellow, own.String()))
	}
	if overload.Of(r) != nil {
		p.Bullet("", p.Paint(page.Yellow, overload.Mark))
	}
	truncated(p, r)
	if floor := r.Generator.NoiseFloorUS; floor > 0 {
		p.Bullet("", "noise floor of the generator: "+figure.Micros(floor))
	}
}

func truncated(p *page.Page, r *takt.Report) {
	if n := r.Counts.Dropped; n > 0 {
		p.Bullet("", p.Paint(page.Yellow, "truncated: "+page.Count(n)+" dropped operations are in no percentile"))
	}
}

// parts writes a table of the components: the generator's lag, and the driver's phases.
func parts(p *page.Page, r *takt.Report) {
	names, u := partNames(r), tableUnit(r)
	if len(names) == 0 {
		return
	}
	p.Linef("")
	p.Linef("%s", p.Paint(page.Bold, page.Left("parts, "+u.Name, 15)+page.Right("count", 8)+page.Right("p50", 12)+page.Right("p99", 12)+page.Right("max", 12)))
	for _, name := range names {
		l := r.Latency[name]
		p.Linef("  %s%s%s%s%s   %s", page.Left(page.Words(name), 13), page.Right(page.Count(l.Count), 8),
			page.Right(u.Aligned(l.P50), 12), page.Right(u.Aligned(l.P99), 12), page.Right(u.Aligned(l.Max), 12), meaning(name))
	}
}

// partNames lists the latencies with values but without a column, in the order of occurrence.
func partNames(r *takt.Report) []string {
	known := []string{takt.LatencySendDelay, takt.LatencyScheduleLag, "dns", "connect", "tls", "first_byte"}
	shown := append(tableColumns(r), takt.LatencyResponse, takt.LatencyResponseOK, takt.LatencyService, takt.LatencyOnTime)
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
	default:
		return ""
	}
}
