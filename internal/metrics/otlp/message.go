package otlp

import (
	"strings"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/post"
)

// The numbers are those of the fields of OTLP 1: ExportMetricsServiceRequest and the messages in it.

// cumulative is the temporality of values that count from the start of the run.
const cumulative = 2

// units are OpenTelemetry's names of units. Prometheus adds the names of takt to those of metrics.
var units = map[string]string{"seconds": "s", "bytes": "By"}

// name is that of a family in OpenTelemetry, from which Prometheus makes the name of the family again:
// takt.response, with the unit s, is takt_response_seconds.
func name(f metrics.Family) string {
	text := strings.Replace(strings.TrimSuffix(f.Name, "_"+f.Unit), "_", ".", 1)
	if f.Type == metrics.Info {
		text += "_info"
	}
	return text
}

func request(b *metrics.Batch) (m post.Message) {
	m.Nested(1, func(m *post.Message) { // ResourceMetrics
		m.Nested(1, func(m *post.Message) { attributes(m, 1, resource(b.Run)) })
		m.Nested(2, func(m *post.Message) { // ScopeMetrics
			m.Nested(1, func(m *post.Message) {
				m.Text(1, "takt")
				m.Text(2, b.Run.Version)
			})
			for _, f := range metrics.Families(b) {
				m.Nested(2, func(m *post.Message) { metric(m, b, f) })
			}
		})
	})
	return m
}

// resource is takt itself. The instance is a run, or one shard of it: receivers such as Prometheus add
// only this attribute to the labels of series.
func resource(r *metrics.Run) []metrics.Label {
	instance := r.ID
	if r.Shard != "" {
		instance += "/" + r.Shard
	}
	return []metrics.Label{
		{Name: "service.name", Value: "takt"},
		{Name: "service.version", Value: r.Version},
		{Name: "service.instance.id", Value: instance},
	}
}

func attributes(m *post.Message, field post.Field, list []metrics.Label) {
	for _, l := range list {
		m.Nested(field, func(m *post.Message) {
			m.Text(1, l.Name)
			m.Nested(2, func(m *post.Message) { m.Text(1, l.Value) })
		})
	}
}

func metric(m *post.Message, b *metrics.Batch, f metrics.Family) {
	m.Text(1, name(f))
	m.Text(2, f.Help)
	m.Text(3, units[f.Unit])
	switch f.Type {
	case metrics.Counter:
		m.Nested(7, func(m *post.Message) {
			numbers(m, b, f)
			m.Varint(2, cumulative)
			m.Bool(3, true) // it never falls
		})
	case metrics.HistogramType:
		m.Nested(10, func(m *post.Message) {
			for _, p := range f.Points {
				m.Nested(1, func(m *post.Message) { distribution(m, b, p) })
			}
			m.Varint(2, cumulative)
		})
	default:
		m.Nested(5, func(m *post.Message) { numbers(m, b, f) })
	}
}

// numbers adds NumberDataPoints.
func numbers(m *post.Message, b *metrics.Batch, f metrics.Family) {
	for _, p := range f.Points {
		m.Nested(1, func(m *post.Message) {
			if f.Type == metrics.Info {
				attributes(m, 7, p.Labels)
			} else {
				attributes(m, 7, append(b.Run.Identity(), p.Labels...))
			}
			times(m, b)
			m.Double(4, p.Value)
		})
	}
}

// distribution is an ExponentialHistogramDataPoint.
func distribution(m *post.Message, b *metrics.Batch, p metrics.Point) {
	attributes(m, 1, append(b.Run.Identity(), p.Labels...))
	times(m, b)
	m.Fixed(4, p.Histogram.Count())
	m.Double(5, p.Histogram.Sum())
	m.Zigzag(6, post.Scale)
	m.Nested(8, func(m *post.Message) {
		e := post.ExponentialOf(p.Histogram)
		m.Zigzag(1, int64(e.First))
		m.Varints(2, e.Counts)
	})
	m.Double(13, p.Histogram.Max().Seconds())
}

func times(m *post.Message, b *metrics.Batch) {
	m.Fixed(2, uint64(b.Started.UnixNano()))
	m.Fixed(3, uint64(b.Instant().UnixNano()))
}
