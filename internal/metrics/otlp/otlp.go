// Package otlp exports figures as OTLP over HTTP, the protocol of OpenTelemetry, with exponential
// histograms. All counts are since the start of the run: a batch that is lost costs no count.
package otlp

import (
	"context"
	"net/http"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/post"
)

// Where is what follows otlp=. Without a path, takt sends to /v1/metrics.
const Where = "URL"

// path is that of a collector, for a URL without one.
const path = "/v1/metrics"

// Parse reads the URL of a receiver.
func Parse(where string) (metrics.Destination, error) {
	a, err := post.Parse(where)
	if err != nil {
		return metrics.Destination{}, err
	}
	return a.Destination(func(run metrics.Run) metrics.Exporter {
		return exporter{post.New(a.At(path), http.Header{
			"Content-Type": {"application/x-protobuf"},
			"User-Agent":   {"takt/" + run.Version},
		})}
	}), nil
}

type exporter struct{ *post.Client }

// Export implements metrics.Exporter.
func (e exporter) Export(ctx context.Context, b *metrics.Batch) error {
	answer, err := e.Ask(ctx, request(b))
	if err != nil {
		return err
	}
	return rejected(answer)
}
