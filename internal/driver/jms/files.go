package jms

import (
	"bufio"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/pkg/hist"
)

// lines is a file that is written line by line. It keeps the first error.
type lines struct {
	f     *outfile.File
	w     *bufio.Writer
	begun bool
	err   error
}

func openLines(path, flag string) (lines, error) {
	f, err := outfile.Open(path)
	if err != nil {
		return lines{}, fmt.Errorf("cannot write --%s: %w; name another file", flag, err)
	}
	return lines{f: f, w: bufio.NewWriter(f)}, nil
}

func (l *lines) printf(text string, args ...any) {
	l.begun = true
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, text, args...)
	}
	if l.err == nil {
		l.err = l.w.Flush()
	}
	if l.err == nil {
		l.err = l.f.Show() // so that users can follow the file
	}
}

func (l *lines) discard() { l.f.Discard() }

func (l *lines) end() error {
	if l.err == nil {
		l.err = l.f.Close()
	}
	l.f.Discard()
	return l.err
}

// jsonFile is artemis perf's --json: an array with an object for each interval and one for
// the whole run.
type jsonFile struct {
	lines
	o *Options
}

func openJSON(o *Options) (*jsonFile, error) {
	l, err := openLines(o.JSON, "json")
	if err != nil {
		return nil, err
	}
	return &jsonFile{l, o}, nil
}

func (j *jsonFile) interval(s *sample) {
	var b strings.Builder
	if !j.begun {
		b.WriteString("[\n")
	}
	fmt.Fprintf(&b, `{"sampleType":"interval","warmup":%t,"time":%d`, s.warmup, s.at.UnixMilli())
	for _, f := range j.o.figures(s.counts) {
		name := f.name
		if name == "blocked" {
			name = "delayed" // artemis perf's name here
		}
		fmt.Fprintf(&b, `,"%s":%d`, name, s.perSecond(f.value))
	}
	for _, l := range s.latencies {
		fmt.Fprintf(&b, `,"%s":%s`, strings.ToLower(l.field[:1])+l.field[1:], distribution(l.h))
	}
	j.printf("%s},\n", b.String())
}

func (j *jsonFile) close(s *sample) error {
	var b strings.Builder
	fmt.Fprintf(&b, `{"sampleType":"summary","time":%d,"result":"%s"`, s.at.UnixMilli(), s.result)
	for _, f := range j.o.figures(s.counts) {
		fmt.Fprintf(&b, `,"total%s":%d`, strings.ToUpper(f.name[:1])+f.name[1:], f.value)
	}
	for _, l := range s.latencies {
		fmt.Fprintf(&b, `,"total%s":%s`, l.field, distribution(l.h))
	}
	j.printf("%s}\n]\n", b.String())
	return j.end()
}

// distribution is a latency in whole microseconds; only its mean is a text.
func distribution(h *hist.Histogram) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"mean":"%.2f"`, hist.Micros(h.Mean()))
	for _, q := range quantiles() {
		fmt.Fprintf(&b, `,"%v":%d`, math.Round(q*1e6)/1e4, h.Quantile(q).Microseconds())
	}
	fmt.Fprintf(&b, `,"max":%d,"count":%d}`, h.Max().Microseconds(), h.Count())
	return b.String()
}

// hdrFile is artemis perf's --hdr: a histogram log with values in microseconds and times
// since 1970.
type hdrFile struct {
	lines
	spaces bool
}

func openHDR(o *Options) (*hdrFile, error) {
	l, err := openLines(o.HDR, "hdr")
	if err != nil {
		return nil, err
	}
	return &hdrFile{l, o.HDRSpaces}, nil
}

const hdrHead = "#[Histogram log format version 1.3]\n" + `"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"` + "\n"

func (f *hdrFile) interval(s *sample) {
	if !f.begun {
		f.printf(hdrHead)
	}
	for _, l := range s.latencies {
		tag := l.tag
		if s.warmup {
			tag = "warmup " + tag
		}
		if !f.spaces {
			tag = strings.ReplaceAll(tag, " ", "-")
		}
		begin := s.at.Add(-s.took)
		text, err := encodeMicros(l.h)
		if err != nil && f.err == nil {
			f.err = err
		}
		f.printf("Tag=%s,%.3f,%.3f,%.3f,%s\n", tag, float64(begin.UnixMilli())/1e3, s.took.Seconds(), l.h.Max().Seconds(), text)
	}
}

func (f *hdrFile) close(*sample) error { return f.end() }

// encodeMicros encodes h in microseconds instead of nanoseconds.
func encodeMicros(h *hist.Histogram) ([]byte, error) {
	out := hdrhistogram.New(1, hist.Highest.Microseconds(), hist.Digits)
	for _, b := range h.Buckets() {
		if err := out.RecordValues(int64(b.To/time.Microsecond), int64(b.Count)); err != nil {
			return nil, err
		}
	}
	return out.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
}
