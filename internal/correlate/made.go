package correlate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// made is what a client makes of itself.
type made struct {
	fill   string // placeholder without its braces
	moment bool   // it is another one at each instant, so several places need one value
}

// near is how far from a request a time may be that is the time of the request.
const near = 5 * time.Minute

// The days before and behind a recording whose dates move with it.
const (
	mostPast   = -31 * 24 * time.Hour
	mostFuture = 400 * 24 * time.Hour
)

// madeBy is the placeholder for a value that the client made at an instant; nil: it is not one.
func madeBy(v string, at time.Time) *made {
	switch {
	case uuidText().MatchString(v):
		return &made{fill: "uuid", moment: true}
	case isHex(v):
		return &made{fill: fmt.Sprintf("randHex %d", len(v)), moment: true}
	}
	return madeTime(v, at)
}

var (
	stamp = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d{4}-\d\d-\d\d)([T ])(\d\d:\d\d(?::\d\d)?)(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?$`)
	})
	// traceContext is the value of a header of W3C Trace Context.
	traceContext = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-0[0-9a-f]$`) })
)

// days are the forms of a day, as strftime and as package time write them.
var days = [][2]string{{"%F", "2006-01-02"}, {"%Y%m%d", "20060102"}, {"%d.%m.%Y", "02.01.2006"}, {"%m/%d/%Y", "01/02/2006"}, {"%d/%m/%Y", "02/01/2006"}}

// isDay reports whether a value is a day without a time.
func isDay(v string) bool {
	_, err := time.Parse(days[0][1], v)
	return err == nil
}

// madeTime is the placeholder for a date or a time.
func madeTime(v string, at time.Time) *made {
	if digits().MatchString(v) {
		if m := madeNumber(v, at); m != nil {
			return m
		}
	}
	for i, d := range days {
		t, err := time.Parse(d[1], v)
		if err != nil {
			continue
		}
		if off, ok := daysFrom(t, at); ok && (i == 0 || off == 0) { // other forms may be something else
			return &made{fill: date(d[0], off)}
		}
	}
	return madeStamp(v, at)
}

// madeNumber is the placeholder for seconds or milliseconds since 1970.
func madeNumber(v string, at time.Time) *made {
	n, err := strconv.ParseInt(v, 10, 64)
	var t time.Time
	format := ""
	switch {
	case err != nil:
		return nil
	case len(v) == 10:
		t, format = time.Unix(n, 0), "%s"
	case len(v) == 13:
		t, format = time.UnixMilli(n), "%s%L"
	default:
		return nil
	}
	off := t.Sub(at)
	switch {
	case off.Abs() <= near && format == "%s":
		return &made{fill: date(format, 0), moment: true}
	case off.Abs() <= near:
		return &made{fill: "unixMilli", moment: true}
	case off > mostPast && off < mostFuture && format == "%s%L": // ten digits may be anything
		return &made{fill: date(format, off.Round(time.Minute)), moment: true}
	}
	return nil
}

// madeStamp is the placeholder for a day and a time. A time that is not now keeps its clock, as a person chose it.
func madeStamp(v string, at time.Time) *made {
	m := stamp().FindStringSubmatch(v)
	if m == nil {
		return nil
	}
	day, err := time.Parse("2006-01-02", m[1])
	clock, err2 := time.Parse("15:04:05", (m[3] + ":00")[:8])
	zone, ok := offsetOf(m[5])
	if err != nil || err2 != nil || !ok {
		return nil
	}
	t := day.Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute + time.Duration(clock.Second())*time.Second - zone)
	off := t.Sub(at)
	if m[5] == "" && off.Abs() > near { // a clock without a zone may be that of this machine
		_, seconds := at.Local().Zone()
		if here := time.Duration(seconds) * time.Second; (off - here).Abs() <= near {
			off, zone = off-here, here
		}
	}
	if off.Abs() <= near {
		format := "%F" + m[2] + "%H:%M"
		if strings.Count(m[3], ":") == 2 {
			format += ":%S"
		}
		if m[4] != "" {
			format += ".%L" + strings.Repeat("0", max(0, len(m[4])-len(".000")))
		}
		return &made{fill: date(format+m[5], zone), moment: true}
	}
	whole, ok := daysFrom(day, at)
	if !ok {
		return nil
	}
	return &made{fill: date("%F"+v[len("2006-01-02"):], whole)}
}

// offsetOf is the distance of a zone from UTC.
func offsetOf(zone string) (time.Duration, bool) {
	if zone == "" || zone == "Z" {
		return 0, true
	}
	t, err := time.Parse("-0700", strings.Replace(zone, ":", "", 1))
	if err != nil {
		return 0, false
	}
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second, true
}

// daysFrom is the distance of a day from that of an instant in UTC, or if that is not the same day, on this machine; false:
// it is too far away to move with the recording.
func daysFrom(day, at time.Time) (time.Duration, bool) {
	today := at.UTC().Truncate(24 * time.Hour)
	off := day.Sub(today)
	if _, seconds := at.Local().Zone(); off != 0 && at.Local().Format(time.DateOnly) == day.Format(time.DateOnly) {
		return time.Duration(seconds) * time.Second, true
	}
	return off, off >= mostPast && off <= mostFuture
}

// date is the placeholder for the time of day in a format, moved.
func date(format string, by time.Duration) string {
	switch {
	case by == 0:
		return fmt.Sprintf("date %q", format)
	case by%time.Hour == 0:
		return fmt.Sprintf("date %q %+dh", format, by/time.Hour)
	}
	return fmt.Sprintf("date %q %+ds", format, by/time.Second)
}
