package hist

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// WriteSpectrum writes the percentile spectrum (.hgrm) that hdrhistogram.org
// plots: five ticks per half distance, values in milliseconds.
func (h *Histogram) WriteSpectrum(w io.Writer) error {
	_, err := h.h.PercentilesPrint(w, 5, float64(time.Millisecond))
	return err
}

// LogWriter writes a histogram log (.hlog, format 1.3) with times relative to
// the start of the run.
type LogWriter struct {
	lw *hdrhistogram.HistogramLogWriter
}

// NewLogWriter writes the head of a log for a run that started at start.
func NewLogWriter(w io.Writer, start time.Time) (*LogWriter, error) {
	l := &LogWriter{hdrhistogram.NewHistogramLogWriter(w)}
	for _, step := range []func() error{
		func() error { return l.lw.OutputComment("[Logged with takt]") },
		l.lw.OutputLogFormatVersion,
		func() error { return l.lw.OutputComment(startTime(start)) },
		l.lw.OutputLegend,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// startTime is the line of the start, to the millisecond: OutputStartTime of the
// library cuts it to the second, which shifts every interval for a reader.
func startTime(start time.Time) string {
	seconds := strconv.FormatFloat(float64(start.UnixMilli())/1e3, 'f', -1, 64)
	return fmt.Sprintf("[StartTime: %s (seconds since epoch), %s]", seconds, start.UTC().Format(time.RFC3339))
}

// Write adds the line of one interval, from and to counted from the start of the
// run. The tag may hold no comma, space or line break; "" means none.
func (l *LogWriter) Write(tag string, from, to time.Duration, h *Histogram) error {
	h.h.SetTag(tag)
	// The writer subtracts its base time, 0, and takes the stamps as milliseconds.
	h.h.SetStartTimeMs(from.Milliseconds())
	h.h.SetEndTimeMs(to.Milliseconds())
	return l.lw.OutputIntervalHistogram(h.h)
}
