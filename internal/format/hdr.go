package format

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"sync"
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
	more []string        // names of further latencies of the intervals
}

// nothing is an empty histogram.
var nothing = sync.OnceValue(func() string { return hist.New().Encode() })

func openHLog(w io.Writer, head takt.Report) (Writer, error) {
	log, err := hist.NewLogWriter(w, head.StartedAt)
	return &hlogWriter{log: log, h: hist.New(), more: timeline.AnnouncedIn(&head).Courses()}, err
}

func (l *hlogWriter) Interval(iv takt.Interval, lent timeline.Lent) error {
	to := page.Seconds(iv.T)
	h, err := lent.Of(&iv)
	if err != nil {
		return fmt.Errorf("interval that ends at %v: %w", to, err)
	}
	type line struct {
		tag, hdr string
		times    timeline.Histogram
	}
	lines := []line{
		{takt.LatencyResponse, iv.HDR, h.Response},
		{takt.LatencyService, iv.ServiceHDR, h.Service},
	}
	for _, name := range l.more {
		lines = append(lines, line{plainName(name), cmp.Or(iv.Latency[name].HDR, nothing()), h.Timed[name]})
	}
	for _, line := range lines {
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
