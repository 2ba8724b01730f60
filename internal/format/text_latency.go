package format

import (
	"slices"
	"strings"

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

// primary is the name of a report's main latency: the response time, or the send time without
// answers, or the transfer time without own operations; "" without measurements.
func primary(r *takt.Report) string {
	for _, name := range append([]string{takt.LatencyResponse, takt.LatencySend, "transfer"}, sorted(r.Latency)...) {
		if r.Latency[name].Count > 0 {
			return name
		}
	}
	return ""
}

// tableColumns are the latencies with all percentiles. The ok responses have their own column
// if other responses exist.
func tableColumns(r *takt.Report) []string {
	first := primary(r)
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
func tableUnit(r *takt.Report) unit {
	l := r.Latency[primary(r)]
	return unitFor(l.P50, l.Max)
}

// words is the name of a latency with spaces.
func words(name string) string { return strings.ReplaceAll(clean(name), "_", " ") }

func percentiles(p *page, r *takt.Report) error {
	const width = 14
	names, u := tableColumns(r), tableUnit(r)
	if len(names) == 0 {
		return nil
	}
	line := func(name string, cell func(takt.Latency) string) {
		s := left("  "+name, labelWidth)
		for _, column := range names {
			s += right(cell(r.Latency[column]), width)
		}
		p.linef("%s", s)
	}
	p.linef("")
	head := left("latency, "+u.name, labelWidth)
	for _, name := range names {
		head += right(words(name), width)
	}
	p.linef("%s", p.paint(bold, head))
	line("count", func(l takt.Latency) string { return alignedCount(l.Count) })
	for _, row := range rows() {
		line(row.name, func(l takt.Latency) string { return u.aligned(row.value(l)) })
	}
	truncated(p, r)
	if floor := r.Generator.NoiseFloorUS; floor > 0 {
		p.bullet("", "noise floor of the generator: "+human(floor))
	}
	return nil
}

func truncated(p *page, r *takt.Report) {
	if n := r.Counts.Dropped; n > 0 {
		p.bullet("", p.paint(yellow, "truncated: "+count(n)+" dropped operations are in no percentile"))
	}
}

// parts writes a table of the components: the generator's lag, and the driver's phases.
func parts(p *page, r *takt.Report) error {
	names, u := partNames(r), tableUnit(r)
	if len(names) == 0 {
		return nil
	}
	p.linef("")
	p.linef("%s", p.paint(bold, left("parts, "+u.name, 15)+right("count", 8)+right("p50", 12)+right("p99", 12)+right("max", 12)))
	for _, name := range names {
		l := r.Latency[name]
		p.linef("  %s%s%s%s%s   %s", left(words(name), 13), right(count(l.Count), 8),
			right(u.aligned(l.P50), 12), right(u.aligned(l.P99), 12), right(u.aligned(l.Max), 12), meaning(name))
	}
	return nil
}

// partNames lists the latencies with values but without a column, in the order of occurrence.
func partNames(r *takt.Report) []string {
	known := []string{takt.LatencySendDelay, takt.LatencyScheduleLag, "dns", "connect", "tls", "first_byte"}
	shown := append(tableColumns(r), takt.LatencyResponse, takt.LatencyResponseOK, takt.LatencyService)
	var names []string
	for _, name := range append(known, sorted(r.Latency)...) {
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
