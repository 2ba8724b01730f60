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
	Higher bool   // higher is better
	Cost   string // what an operation costs, in words, such as "CPU a request"; "": not a cost
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
	return slices.Concat([]Metric{
		{Name: "errors", Unit: Percent},                    // (failed + unfinished) ÷ (ok + failed + unfinished)
		{Name: MetricGoodput, Unit: Percent, Higher: true}, // operations that met all conditions of --slo ÷ scheduled
		{Name: "rate", Unit: PerSecond, Higher: true},
		{Name: "intended", Unit: PerSecond, Higher: true},
		{Name: "scheduled"}, {Name: "ok", Higher: true}, {Name: "failed"}, {Name: "dropped"}, {Name: "unfinished"},
		{Name: "sent_bytes", Unit: Bytes}, {Name: "received_bytes", Unit: Bytes},
		{Name: "cpu", Unit: Microseconds},                        // of the generator, per operation that ended
		{Name: MetricSustainable, Unit: PerSecond, Higher: true}, // the answer of takt capacity
	}, serverMetrics(), []Metric{
		{Name: "request_bytes", Unit: Bytes, Cost: "bytes of a request"}, // sent_bytes ÷ operations that ended
		{Name: "answer_bytes", Unit: Bytes, Cost: "bytes of an answer"},  // received_bytes ÷ operations that ended
	})
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
		{Name: MetricMemory, Unit: Bytes, Cost: "peak memory"}, // of the server's processes
		{Name: "efficiency", Unit: Number, Higher: true},       // accepted bytes a minute ÷ max_rss
		{Name: "accepted_requests", Unit: Number, Higher: true},
		// Of the server's processes, per operation that ended:
		{Name: MetricServerCPU, Unit: Microseconds, Cost: "CPU a request"},
		{Name: MetricSwitches, Cost: "context switches a request"},
		// What the server's runtime counts, per operation that ended:
		{Name: MetricAllocs, Cost: "allocations a request"},
		{Name: MetricAllocated, Unit: Bytes, Cost: "bytes allocated a request"},
		{Name: MetricCollections, Cost: "garbage collections per 1000 requests"},
		{Name: MetricCollecting, Unit: Microseconds, Cost: "time in garbage collections a request"},
	}
}

// Metrics of a server that takt started: of its processes, and of its runtime.
const (
	MetricMemory      = "max_rss"
	MetricServerCPU   = "server_cpu"
	MetricSwitches    = "server_switches"
	MetricAllocs      = "server_allocs"
	MetricAllocated   = "server_alloc_bytes"
	MetricCollections = "server_gc" // per 1000 operations
	MetricCollecting  = "server_gc_time"
)

// Costs are the metrics of what operations cost, in the order of reports.
func Costs() (list []Metric) {
	for _, m := range Metrics() {
		if m.Cost != "" {
			list = append(list, m)
		}
	}
	return list
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
	if n := c.OK + c.Failed; n > 0 {
		for _, of := range []struct {
			name  string
			total float64
		}{{"request_bytes", float64(r.Bytes.Sent)}, {"answer_bytes", float64(r.Bytes.Received)}, {"cpu", r.Generator.CPUS * 1e6}} {
			if of.total > 0 {
				add(of.name, of.total/float64(n))
			}
		}
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
