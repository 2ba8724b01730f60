package format

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// writeHGRM writes only the percentile spectrum of the primary latency: readers of the format
// accept no comment above its head.
func writeHGRM(w io.Writer, r *takt.Report) error {
	h, err := hist.Decode(r.Latency[report.Primary(r)].HDR)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := h.WriteSpectrum(&b); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// hlogWriter writes a line for each second and tag. A second without an operation has a line
// with an empty histogram: a gap would mean a damaged log.
type hlogWriter struct {
	log  *hist.LogWriter
	from time.Duration   // start of the next interval
	h    *hist.Histogram // of the line that is being written
}

func openHLog(w io.Writer, head takt.Report) (Writer, error) {
	log, err := hist.NewLogWriter(w, head.StartedAt)
	return &hlogWriter{log: log, h: hist.New()}, err
}

func (l *hlogWriter) Interval(iv takt.Interval, lent timeline.Lent) error {
	to := page.Seconds(iv.T)
	h, err := lent.Of(&iv)
	if err != nil {
		return fmt.Errorf("interval that ends at %v: %w", to, err)
	}
	for _, line := range []struct {
		tag, hdr string
		times    timeline.Histogram
	}{
		{takt.LatencyResponse, iv.HDR, h.Response},
		{takt.LatencyService, iv.ServiceHDR, h.Service},
	} {
		l.h.Reset()
		line.times.RecordIn(l.h)
		if err := l.log.WriteEncoded(line.tag, l.from, to, l.h, line.hdr); err != nil {
			return err
		}
	}
	l.from = to
	return nil
}

func (l *hlogWriter) Close(*takt.Report) error { return nil }
