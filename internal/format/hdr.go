package format

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

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

// sorted lists the keys of m in alphabetical order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// hgrmWriter writes only the percentile spectrum of the primary latency: readers of the
// format accept no comment above its head.
type hgrmWriter struct{ w io.Writer }

func openHGRM(w io.Writer, _ takt.Report) (Writer, error) { return hgrmWriter{w}, nil }

func (hgrmWriter) Interval(takt.Interval) error { return nil }

func (g hgrmWriter) Close(r *takt.Report) error {
	h, err := hist.Decode(r.Latency[primary(r)].HDR)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := h.WriteSpectrum(&b); err != nil {
		return err
	}
	_, err = g.w.Write(b.Bytes())
	return err
}

// hlogWriter writes a line for each second and tag. A second without an operation has a line
// with an empty histogram: a gap would mean a damaged log.
type hlogWriter struct {
	log  *hist.LogWriter
	from time.Duration // start of the next interval
}

func openHLog(w io.Writer, head takt.Report) (Writer, error) {
	log, err := hist.NewLogWriter(w, head.StartedAt)
	return &hlogWriter{log: log}, err
}

func (l *hlogWriter) Interval(iv takt.Interval) error {
	to := seconds(iv.T)
	for _, line := range []struct{ tag, hdr string }{
		{takt.LatencyResponse, iv.HDR},
		{takt.LatencyService, iv.ServiceHDR},
	} {
		h, err := hist.Decode(line.hdr)
		if err != nil {
			return fmt.Errorf("%s time of the interval that ends at %v: %w", line.tag, to, err)
		}
		if err := l.log.Write(line.tag, l.from, to, h); err != nil {
			return err
		}
	}
	l.from = to
	return nil
}

func (l *hlogWriter) Close(*takt.Report) error { return nil }

// seconds converts a report's seconds to a duration.
func seconds(s float64) time.Duration {
	return time.Duration(math.Round(s * float64(time.Second)))
}
