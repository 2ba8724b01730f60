package hist

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// WriteSpectrum writes the percentile spectrum (.hgrm) for the plotter at hdrhistogram.org:
// five ticks per half distance, values in milliseconds.
func (h *Histogram) WriteSpectrum(w io.Writer) error {
	_, err := h.h.PercentilesPrint(w, 5, float64(time.Millisecond))
	return err
}

// LogWriter writes a histogram log (.hlog, format 1.3) with times relative to
// the start of the run.
type LogWriter struct {
	w       io.Writer
	encoder Encoder
}

// NewLogWriter writes the head of a log for a run that started at start.
func NewLogWriter(w io.Writer, start time.Time) (*LogWriter, error) {
	lw := hdrhistogram.NewHistogramLogWriter(w)
	for _, step := range []func() error{
		func() error { return lw.OutputComment("[Logged with takt]") },
		lw.OutputLogFormatVersion,
		func() error { return lw.OutputComment(startTime(start)) },
		lw.OutputLegend,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &LogWriter{w: w}, nil
}

// startTime is the line with the start, to the millisecond. The library's OutputStartTime
// cuts it to the second, which shifts every interval for a reader.
func startTime(start time.Time) string {
	seconds := strconv.FormatFloat(float64(start.UnixMilli())/1e3, 'f', -1, 64)
	return fmt.Sprintf("[StartTime: %s (seconds since epoch), %s]", seconds, start.UTC().Format(time.RFC3339))
}

// Write adds the line of one interval; from and to count from the start of the run. The tag
// must not contain a comma, space or line break; "": no tag.
func (l *LogWriter) Write(tag string, from, to time.Duration, h *Histogram) error {
	return l.WriteEncoded(tag, from, to, h, "")
}

// WriteEncoded is Write for a histogram whose encoding, as of Encode, is known already; "": it
// is not.
func (l *LogWriter) WriteEncoded(tag string, from, to time.Duration, h *Histogram, encoded string) error {
	if encoded == "" {
		encoded = l.encoder.encode(h.h)
	}
	if strings.ContainsAny(tag, ", \r\n") {
		return fmt.Errorf("tag %q has a comma, a space or a line break, which the format takes for its end", tag)
	}
	if tag != "" {
		tag = "Tag=" + tag + ","
	}
	// The library's line: the library's own writer encodes with 800 KiB of garbage. Times are
	// whole milliseconds in seconds, the maximum is in milliseconds.
	begin, end := float64(from.Milliseconds())/1e3, float64(to.Milliseconds())/1e3
	_, err := fmt.Fprintf(l.w, "%s%f,%f,%f,%s\n", tag, begin, end-begin, float64(h.h.Max())/1e6, encoded)
	return err
}
