package query

import (
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// reader reads the operand of a filter as a number in the unit of the field.
type reader struct {
	parse   func(string) (v float64, ok bool)
	example string
}

// reader returns the reader of the field's numbers. The name of a variable ends with its unit.
func (f field) reader() reader {
	if f.from == ofFigures {
		m, _ := stored.MetricOf(f.key)
		return readerOf(m.Unit)
	}
	switch {
	case strings.HasSuffix(f.key, "_per_s"):
		return readerOf(stored.PerSecond)
	case strings.HasSuffix(f.key, "_s"):
		return reader{readSeconds, "a time, such as 30s or 7d; a bare number is seconds"}
	case strings.HasSuffix(f.key, "_us"):
		return readerOf(stored.Microseconds)
	case strings.HasSuffix(f.key, "_bytes"):
		return readerOf(stored.Bytes)
	}
	return readerOf(stored.Number)
}

// readerOf returns the reader of numbers in the unit. It refuses a latency without a unit, as in
// assertions, and a percentage without its sign; 0 needs neither.
func readerOf(u stored.Unit) reader {
	switch u {
	case stored.Microseconds:
		return reader{readTime(time.Microsecond), "a time with its unit, such as 250ms"}
	case stored.Milliseconds:
		return reader{readTime(time.Millisecond), "a time with its unit, such as 250ms"}
	case stored.Percent:
		return reader{readPercent, "a percentage, such as 0.1%"}
	case stored.Ratio:
		return reader{readRatio, "a ratio such as 0.9, or 90%"}
	case stored.PerSecond:
		return reader{readRate, "a rate, such as 500/s; a bare number is per second"}
	case stored.Bytes:
		return reader{value.ParseSize, "a size, such as 1MiB or 4GB; a bare number is bytes"}
	case stored.BytesPerSecond:
		return reader{func(s string) (float64, bool) { return value.ParseSize(strings.TrimSuffix(s, "/s")) }, "a size a second, such as 1MiB/s"}
	}
	return reader{value.ParseNumber, "a number"}
}

func readSeconds(s string) (float64, bool) {
	if v, ok := value.ParseNumber(s); ok {
		return v, true
	}
	d, ok := readDuration(s)
	return d.Seconds(), ok
}

// readDuration reads a time with its unit, or 0.
func readDuration(s string) (time.Duration, bool) {
	if v, bare := value.ParseNumber(s); bare && v != 0 {
		return 0, false
	}
	d, err := schedule.ParseDuration(s)
	return d, err == nil
}

func readTime(unit time.Duration) func(string) (float64, bool) {
	return func(s string) (float64, bool) {
		d, ok := readDuration(s)
		return float64(d) / float64(unit), ok
	}
}

func readPercent(s string) (float64, bool) {
	v, percent, ok := value.ParseShare(s)
	return v, ok && (percent || v == 0)
}

func readRatio(s string) (float64, bool) {
	v, percent, ok := value.ParseShare(s)
	if percent {
		v /= 100
	}
	return v, ok
}

func readRate(s string) (float64, bool) { return value.ParseNumber(strings.TrimSuffix(s, "/s")) }

// period is the time that a date means: 2018-05-18 is that day in UTC; a date with a time of day is
// that minute, second or instant.
type period struct{ from, to time.Time }

func parsePeriod(s string) (p period, ok bool) {
	for _, l := range []struct {
		layout string
		length time.Duration
	}{
		{time.DateOnly, 24 * time.Hour}, {"2006-01-02 15:04", time.Minute}, {"2006-01-02T15:04", time.Minute},
		{time.DateTime, time.Second}, {time.RFC3339, time.Second},
	} {
		t, err := time.Parse(l.layout, s)
		if err != nil {
			continue
		}
		if t.Nanosecond() != 0 { // time.Parse accepts fractions of a second that are not in the layout
			l.length = time.Nanosecond
		}
		return period{t, t.Add(l.length)}, true
	}
	return p, false
}

// compare is −1, 0 or +1 if t is before, in or after the period.
func (p period) compare(t time.Time) int {
	switch {
	case t.Before(p.from):
		return -1
	case t.Before(p.to):
		return 0
	}
	return 1
}
