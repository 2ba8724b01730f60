package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// Type is the type of a family, by the words of OpenMetrics.
type Type string

// The types.
const (
	Counter       Type = "counter" // since the start of the run
	Gauge         Type = "gauge"
	HistogramType Type = "histogram" // since the start of the run
	Info          Type = "info"
)

// Family is a metric as Prometheus and OpenTelemetry know it. Its name has no suffix such as _total.
type Family struct {
	Name, Help string
	Type       Type
	Unit       string // seconds or bytes, also at the end of the name; "": it has none
	Points     []Point
}

// Point is the value of one series of a family.
type Point struct {
	Labels    []Label // without those of Run.Identity; of Info all of them
	Value     float64
	Histogram timeline.Histogram // instead of Value, of a histogram
}

// Stats are the statistics of an interval, by their names.
func Stats() []Stat {
	return []Stat{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}}
}

// Stat is a statistic of a distribution.
type Stat struct {
	Name     string
	Quantile float64
}

// Families are the figures of a batch. A family without points is left out.
func Families(b *Batch) []Family {
	list := []Family{
		{"takt_run", "the run and the system under test", Info, "", []Point{{Labels: b.Run.Info(), Value: 1}}},
		{"takt_operations_scheduled", "operations that were due", Counter, "", one(float64(b.Total.Scheduled))},
		{"takt_operations", "operations by their end", Counter, "", outcomes(b)},
		{"takt_good_operations", "operations that met all conditions of --slo, without the warm-up", Counter, "", count(b.Total.Good)},
		{"takt_failures", "failed operations by class, without the warm-up", Counter, "", failures(b.Total.Errors)},
		{"takt_sent_bytes", "bytes sent on the wire", Counter, "bytes", bytes(b, func(n *takt.Bytes) int64 { return n.Sent })},
		{"takt_received_bytes", "bytes received from the wire", Counter, "bytes", bytes(b, func(n *takt.Bytes) int64 { return n.Received })},
		{"takt_response_seconds", "response time, from the instant at which an operation was due", HistogramType, "seconds", distribution(b.Total.Response)},
		{"takt_service_seconds", "service time, from the instant at which an operation was sent", HistogramType, "seconds", distribution(b.Total.Service)},
		{"takt_latency_seconds", "latencies of parts of answers by name, without the warm-up", HistogramType, "seconds", distributions(b.Total.timed())},
		{"takt_cpu_seconds", "CPU time of the generator", Counter, "seconds", cpu(b)},
		{"takt_start_time_seconds", "start of the run, in seconds since 1970", Gauge, "seconds", one(instant(b.Started))},
	}
	if b.Over {
		list = append(list,
			Family{"takt_end_time_seconds", "end of the run, in seconds since 1970", Gauge, "seconds", one(instant(b.To))},
			Family{"takt_valid", "1: the run is valid; 0: the generator shaped its figures", Gauge, "", one(flag(b.Verdict == takt.Valid))})
	} else {
		list = append(list, recent(b)...)
	}
	return slices.DeleteFunc(list, func(f Family) bool { return len(f.Points) == 0 })
}

// recent are the families of the newest interval.
func recent(b *Batch) []Family {
	return []Family{
		{"takt_response_recent_seconds", "response time in the newest second", Gauge, "seconds", stats(b.Last.Response)},
		{"takt_service_recent_seconds", "service time in the newest second", Gauge, "seconds", stats(b.Last.Service)},
		{"takt_latency_recent_seconds", "latencies of parts of answers in the newest second, by name", Gauge, "seconds", recents(b.Last.timed())},
		{"takt_schedule_lag_recent_seconds", "lateness of the generator in the newest second", Gauge, "seconds", []Point{{Labels: []Label{{"stat", "p99"}}, Value: b.ScheduleLagP99.Seconds()}}},
		{"takt_in_flight", "most operations in flight in the newest second", Gauge, "", one(float64(b.InFlight))},
		{"takt_unread_messages", "messages that the consumer has not read", Gauge, "", unread(b)},
		{"takt_warmup", "1: the newest second is a part of the warm-up", Gauge, "", one(flag(b.Warmup))},
	}
}

func one(v float64) []Point { return []Point{{Value: v}} }

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func outcomes(b *Batch) (list []Point) {
	for _, o := range []struct {
		name string
		n    uint64
	}{{"ok", b.Total.OK}, {"failed", b.Total.Failed}, {"dropped", b.Total.Dropped}, {"unfinished", b.Total.Unfinished}} {
		list = append(list, Point{Labels: []Label{{"outcome", o.name}}, Value: float64(o.n)})
	}
	return list
}

func failures(classes map[string]uint64) (list []Point) {
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		list = append(list, Point{Labels: []Label{{"class", class}}, Value: float64(classes[class])})
	}
	return list
}

func bytes(b *Batch, of func(*takt.Bytes) int64) []Point {
	if b.Total.Bytes == nil {
		return nil
	}
	return one(float64(of(b.Total.Bytes)))
}

func distribution(h timeline.Histogram) []Point {
	if h.Count() == 0 {
		return nil
	}
	return []Point{{Histogram: h}}
}

func stats(h timeline.Histogram) (list []Point) {
	if h.Count() == 0 {
		return nil
	}
	for _, s := range Stats() {
		list = append(list, Point{Labels: []Label{{"stat", s.Name}}, Value: h.Quantile(s.Quantile).Seconds()})
	}
	return list
}

// distributions and recents are those of latencies, by name.
func distributions(list []Named) (all []Point) {
	for _, n := range list {
		all = append(all, Point{Labels: []Label{{"latency", n.Name}}, Histogram: n.Histogram})
	}
	return all
}

func recents(list []Named) (all []Point) {
	for _, n := range list {
		for _, p := range stats(n.Histogram) {
			all = append(all, Point{Labels: append([]Label{{"latency", n.Name}}, p.Labels...), Value: p.Value})
		}
	}
	return all
}

func count(n *uint64) []Point {
	if n == nil {
		return nil
	}
	return one(float64(*n))
}

func unread(b *Batch) []Point {
	if b.Unread == nil {
		return nil
	}
	return one(float64(*b.Unread))
}

func cpu(b *Batch) []Point {
	if b.CPU == nil {
		return nil
	}
	return one(b.CPU.Seconds())
}

func instant(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }
