// Package remotewrite exports figures by Prometheus' remote write, with native histograms.
package remotewrite

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/post"
)

// Where is what follows remote-write=. Without a path, takt sends to /api/v1/write.
const Where = "URL"

// path is that of Prometheus, for a URL without one.
const path = "/api/v1/write"

// Parse reads the URL of a receiver.
func Parse(where string) (metrics.Destination, error) {
	a, err := post.Parse(where)
	if err != nil {
		return metrics.Destination{}, err
	}
	return a.Destination(func(run metrics.Run) metrics.Exporter {
		return &exporter{Client: post.New(a.At(path), http.Header{
			"Content-Type":                      {"application/x-protobuf"},
			"Content-Encoding":                  {"snappy"},
			"X-Prometheus-Remote-Write-Version": {"0.1.0"}, // as version 1.0 of the protocol wants
			"User-Agent":                        {"takt/" + run.Version},
		})}
	}), nil
}

type exporter struct {
	*post.Client
	live []series // those of the newest batch that the receiver got
}

// Export implements metrics.Exporter. A series without a value in b ends: without a mark, Prometheus
// would show its last value for 5 minutes. The last values of a run stay for that time.
func (e *exporter) Export(ctx context.Context, b *metrics.Batch) error {
	list := all(b)
	ends := gone(e.live, list)
	body := s2.EncodeSnappy(nil, request(append(ends, list...), b.Instant().UnixMilli()))
	if err := e.Send(ctx, body); err != nil {
		return err
	}
	e.live = list
	return nil
}

// all are the series of a batch.
func all(b *metrics.Batch) (list []series) {
	identity := b.Run.Identity()
	for _, f := range metrics.Families(b) {
		for _, p := range f.Points {
			s := series{labels: labels(f, identity, p), value: p.Value}
			if f.Type == metrics.HistogramType {
				s.histogram = &histogram{post.ExponentialOf(p.Histogram), p.Histogram.Count(), p.Histogram.Sum()}
			}
			list = append(list, s)
		}
	}
	return list
}

// suffix is what names of series add to the name of their family.
var suffix = map[metrics.Type]string{metrics.Counter: "_total", metrics.Info: "_info"}

func labels(f metrics.Family, identity []metrics.Label, p metrics.Point) []metrics.Label {
	list := p.Labels
	if f.Type != metrics.Info {
		list = slices.Concat(identity, list)
	}
	list = append(metrics.Plain(list), metrics.Label{Name: "__name__", Value: f.Name + suffix[f.Type]})
	slices.SortFunc(list, func(a, b metrics.Label) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// gone are the series of before that list lacks, with the value that ends a series.
func gone(before, list []series) (ends []series) {
	have := map[string]bool{}
	for _, s := range list {
		have[s.key()] = true
	}
	for _, s := range before {
		if !have[s.key()] {
			ends = append(ends, series{labels: s.labels, value: stale})
		}
	}
	return ends
}

func (s *series) key() string {
	var b strings.Builder
	for _, l := range s.labels {
		b.WriteString(l.Name + "\x00" + l.Value + "\x00")
	}
	return b.String()
}
