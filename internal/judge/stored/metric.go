package stored

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// Metric is a measured value of a run.
type Metric struct {
	Name   string // in filters, --sort and --metric
	Unit   Unit
	Higher bool // higher is better
}

// MetricSustainable is the metric of the answer of takt capacity: the highest rate that meets its SLO.
const MetricSustainable = "sustainable"

// MetricGoodput is the metric of takt.Goodput.
const MetricGoodput = "goodput"

// Unit is the unit of a metric.
type Unit int

// The units. Tables show a ratio of 1 as 100 %.
const (
	Number Unit = iota
	Microseconds
	Percent
	PerSecond
	Bytes
	BytesPerSecond
	Ratio
	Milliseconds
)

// Metrics lists all metrics except latencies, to which drivers add their own. A latency's metric is
// NAME.STATISTIC, or just STATISTIC for the response time.
func Metrics() []Metric {
	return append([]Metric{
		{Name: "errors", Unit: Percent},                    // (failed + unfinished) ÷ (ok + failed + unfinished)
		{Name: MetricGoodput, Unit: Percent, Higher: true}, // operations that met all conditions of --slo ÷ scheduled
		{Name: "rate", Unit: PerSecond, Higher: true},
		{Name: "intended", Unit: PerSecond, Higher: true},
		{Name: "scheduled"}, {Name: "ok", Higher: true}, {Name: "failed"}, {Name: "dropped"}, {Name: "unfinished"},
		{Name: "sent_bytes", Unit: Bytes}, {Name: "received_bytes", Unit: Bytes},
		{Name: "cpu", Unit: Microseconds},                        // of the generator, per operation that ended
		{Name: MetricSustainable, Unit: PerSecond, Higher: true}, // the answer of takt capacity
	}, serverMetrics()...)
}

// MetricNames lists the names of metrics that users judge most: those of Metrics, and statistics of
// the response time.
func MetricNames() []string {
	names := []string{"p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean"}
	for _, m := range Metrics() {
		names = append(names, m.Name)
	}
	return names
}

// serverMetrics are the metrics of a server under test. A report's extra section contains them by
// these names.
func serverMetrics() []Metric {
	return []Metric{
		{Name: "pushed", Unit: BytesPerSecond, Higher: true},   // sent to the server, uncompressed
		{Name: "accepted", Unit: BytesPerSecond, Higher: true}, // part of pushed that was answered with 202
		{Name: "throughput", Unit: PerSecond, Higher: true},    // documents indexed
		{Name: "latency", Unit: Milliseconds},                  // 1000 ÷ accepted requests a second, hey-apm's "ms / request"
		{Name: "index", Unit: Ratio, Higher: true},             // documents indexed ÷ expected
		{Name: "max_rss", Unit: Bytes},                         // of the server's processes
		{Name: "efficiency", Unit: Number, Higher: true},       // accepted bytes a minute ÷ max_rss
		{Name: "accepted_requests", Unit: Number, Higher: true},
		{Name: "server_cpu", Unit: Microseconds}, // of the server's processes, per operation that ended
	}
}

// MetricOf describes the metric of that name, which may be a latency's.
func MetricOf(name string) (m Metric, ok bool) {
	for _, m := range Metrics() {
		if m.Name == name {
			return m, true
		}
	}
	if of, statistic := SplitName(name); of != "" && statistic != "" {
		return Metric{Name: name, Unit: Microseconds}, true
	}
	return Metric{}, false
}

// FiguresOf returns the figures that a report has, without infinities and NaN, which JSON cannot
// represent.
func FiguresOf(r *takt.Report) Figures {
	var f Figures
	add := func(name string, v float64) {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			f.Names, f.Values = append(f.Names, name), append(f.Values, v)
		}
	}
	c := r.Counts
	if v, missing := Share(c.Failed+c.Unfinished, c.OK+c.Failed+c.Unfinished, "none"); missing == "" {
		add("errors", v)
	}
	if r.Goodput != nil {
		add(MetricGoodput, r.Goodput.Percent)
	}
	add("rate", r.Rate.Achieved)
	if r.Rate.Intended != nil {
		add("intended", *r.Rate.Intended)
	}
	for _, count := range []struct {
		name string
		n    uint64
	}{{"scheduled", c.Scheduled}, {"ok", c.OK}, {"failed", c.Failed}, {"dropped", c.Dropped}, {"unfinished", c.Unfinished}} {
		add(count.name, float64(count.n))
	}
	add("sent_bytes", float64(r.Bytes.Sent))
	add("received_bytes", float64(r.Bytes.Received))
	if n := c.OK + c.Failed; n > 0 && r.Generator.CPUS > 0 {
		add("cpu", r.Generator.CPUS*1e6/float64(n))
	}
	if v, ok := r.Extra["sustainable_per_s"].(float64); ok && r.Kind == KindCapacity {
		add(MetricSustainable, v)
	}
	for _, m := range serverMetrics() {
		if v, ok := r.Extra[m.Name].(float64); ok {
			add(m.Name, v)
		}
	}
	for _, of := range slices.Sorted(maps.Keys(r.Latency)) {
		for _, statistic := range Statistics() {
			if v, missing := LatencyOf(r, of, statistic); missing == "" {
				add(strings.TrimPrefix(of+"."+statistic, takt.LatencyResponse+"."), v)
			}
		}
	}
	return f
}
