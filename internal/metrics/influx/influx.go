// Package influx sends the figures of a run in InfluxDB's line protocol: to InfluxDB's own interface, as UDP
// packets, or into a file.
package influx

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/post"
	"github.com/taktload/takt/internal/value"
)

// Where is what follows influx=.
const Where = "URL, udp://HOST:PORT or FILE"

// Parse reads a URL, udp://HOST:PORT, or a file.
func Parse(where string) (metrics.Destination, error) {
	switch scheme, rest, isURL := strings.Cut(where, "://"); {
	case isURL && scheme == "udp":
		return parseUDP(where, rest)
	case isURL:
		return parseURL(where)
	case where == value.Stdio:
		return metrics.Destination{}, errors.New("standard output is for reports; give a file")
	}
	return metrics.Destination{
		Shown: where,
		Names: []value.Name{{Kind: value.Writes, Text: where}},
		Open:  func(metrics.Run) (metrics.Exporter, error) { return openFile(where) },
	}, nil
}

func parseUDP(where, address string) (metrics.Destination, error) {
	if to, err := value.ParseHostPort(address); err != nil || to.Host == "" {
		return metrics.Destination{}, fmt.Errorf("%.60q is not an address; write udp://HOST:PORT", where)
	}
	return metrics.Destination{
		Shown: where,
		Names: []value.Name{{Kind: value.Loads, Text: address}},
		Open:  func(metrics.Run) (metrics.Exporter, error) { return &packets{address: address}, nil },
	}, nil
}

// parseURL reads the URL of InfluxDB: with ?db=NAME that of version 1, with ?org=NAME&bucket=NAME&token=TOKEN
// that of version 2. A URL with a path is used as it is.
func parseURL(where string) (metrics.Destination, error) {
	a, err := post.Parse(where)
	if err != nil {
		return metrics.Destination{}, err
	}
	query := a.Query()
	header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	if token := query.Get("token"); token != "" {
		header.Set("Authorization", "Token "+token)
		query.Del("token")
	}
	to := *a.URL
	if to.Path == "" || to.Path == "/" {
		switch {
		case query.Get("bucket") != "":
			to.Path = "/api/v2/write"
		case query.Get("db") != "":
			to.Path = "/write"
		default:
			return metrics.Destination{}, errors.New("the URL names no database; add ?db=NAME, or ?org=NAME&bucket=NAME&token=TOKEN for InfluxDB 2")
		}
	}
	query.Set("precision", "ns")
	to.RawQuery, to.Fragment = query.Encode(), ""
	return a.Destination(func(metrics.Run) metrics.Exporter { return &sender{post.New(to.String(), header)} }), nil
}

// sender posts lines to InfluxDB.
type sender struct{ *post.Client }

// Export implements metrics.Exporter.
func (s *sender) Export(ctx context.Context, b *metrics.Batch) error { return s.Send(ctx, lines(b)) }
