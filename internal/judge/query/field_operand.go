package query

import (
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
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
		return reader{readBytes, "a size, such as 1MiB or 4GB; a bare number is bytes"}
	case stored.BytesPerSecond:
		return reader{func(s string) (float64, bool) { return readBytes(strings.TrimSuffix(s, "/s")) }, "a size a second, such as 1MiB/s"}
	}
	return reader{readNumber, "a number"}
}

// readNumber reads 1, -1, 0.5 or 1e3, but neither NaN nor infinity nor 0x10.
func readNumber(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && strings.Trim(s, "+-.eE0123456789") == ""
}

func readSeconds(s string) (float64, bool) {
	if v, ok := readNumber(s); ok {
		return v, true
	}
	d, ok := readDuration(s)
	return d.Seconds(), ok
}

// readDuration reads a time with its unit, or 0.
func readDuration(s string) (time.Duration, bool) {
	if v, bare := readNumber(s); bare && v != 0 {
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
	digits, signed := strings.CutSuffix(s, "%")
	v, ok := readNumber(strings.TrimSpace(digits))
	return v, ok && (signed || v == 0)
}

func readRatio(s string) (float64, bool) {
	if v, ok := readPercent(s); ok {
		return v / 100, true
	}
	return readNumber(s)
}

func readRate(s string) (float64, bool) { return readNumber(strings.TrimSuffix(s, "/s")) }

// readBytes reads a size. kB, MB, GB and TB or k, M, G and T are decimal, as in hey-apm; KiB, MiB, GiB
// and TiB or Ki, Mi, Gi and Ti are binary.
func readBytes(s string) (float64, bool) {
	s = strings.TrimSuffix(strings.TrimSuffix(s, "B"), "b")
	for _, u := range []struct {
		suffix string
		bytes  float64
	}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"m", 1e6}, {"G", 1e9}, {"g", 1e9}, {"T", 1e12}} {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			v, ok := readNumber(strings.TrimSpace(digits))
			return v * u.bytes, ok
		}
	}
	return readNumber(strings.TrimSpace(s))
}

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
