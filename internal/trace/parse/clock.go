package parse

import (
	"bytes"
	"errors"
	"time"
)

var (
	// errTime is the fault of a text that is not a time.
	errTime = errors.New("the time is not understood")
	errDate = errors.New("there is no such date, or it is not between 1970 and 2200")
)

// Clock converts time stamps to instants.
type Clock struct {
	Zone  *time.Location // for stamps without a zone
	local time.Time      // the instant of the last stamp without a zone

	Zoned  bool  // the last stamp had a zone, at Offset
	Offset int32 // seconds east of Greenwich
}

// stamp is a date and a time of day.
type stamp struct {
	year, month, day  int
	hour, minute, sec int
	nanos             int
	whole             bool // without a fraction of a second
}

// parse understands the dates 09/Nov/2017, 09-Nov-2017, 2017-Nov-09, 2017-11-09 and
// 2017/11/09, then one of ':', 'T' and ' ', then 13:12:44 with or without a fraction, then no
// zone, Z, -0500, -05:00 or -05, with or without a blank before it. whole: without a fraction.
func (c *Clock) parse(v []byte) (at time.Time, whole bool, err error) {
	var s stamp
	c.Zoned = false
	rest, ok := s.date(v)
	if !ok || len(rest) < 9 || rest[0] != ':' && rest[0] != 'T' && rest[0] != ' ' {
		return at, false, errTime
	}
	if !s.isDate() {
		return at, false, errDate
	}
	if rest, ok = s.clock(rest[1:]); !ok {
		return at, false, errTime
	}
	if len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return c.inZone(&s), s.whole, nil
	}
	offset, ok := ZoneOffset(rest)
	if !ok {
		return at, false, errTime
	}
	c.Zoned, c.Offset = true, int32(offset)
	return time.Unix(s.unix()-int64(offset), int64(s.nanos)).In(c.Zone), s.whole, nil
}

// date reads one of the five forms of a date.
func (s *stamp) date(v []byte) (rest []byte, ok bool) {
	if len(v) < 10 {
		return nil, false
	}
	if v[2] == '/' || v[2] == '-' { // 09/Nov/2017
		if len(v) < 11 || v[6] != v[2] {
			return nil, false
		}
		s.day, s.month, s.year = Digits(v[:2]), MonthOf(v[3:6]), Digits(v[7:11])
		return v[11:], s.isNumber()
	}
	sep := v[4]
	if sep != '-' && sep != '/' {
		return nil, false
	}
	s.year = Digits(v[:4])
	if v[7] == sep { // 2017-11-09
		s.month, s.day = Digits(v[5:7]), Digits(v[8:10])
		return v[10:], s.isNumber()
	}
	if len(v) < 11 || v[8] != sep { // 2017-Nov-09
		return nil, false
	}
	s.month, s.day = MonthOf(v[5:8]), Digits(v[9:11])
	return v[11:], s.isNumber()
}

// isNumber reports whether year and day are numbers, and the month is a number or a name.
func (s *stamp) isNumber() bool { return s.year >= 0 && s.month >= 0 && s.day >= 0 }

// isDate refuses the 30th of February, and years outside 1970 to 2200: one such line would
// make a replay wait for centuries.
func (s *stamp) isDate() bool {
	return s.year >= 1970 && s.year <= 2200 && s.month >= 1 && s.month <= 12 && s.day >= 1 && s.day <= daysIn(s.year, s.month)
}

func daysIn(year, month int) int {
	switch leap := year%4 == 0 && (year%100 != 0 || year%400 == 0); {
	case month == 2 && leap:
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}

// clock reads 13:12:44 and a fraction after a point or comma. Second 60 is a leap second.
func (s *stamp) clock(v []byte) (rest []byte, ok bool) {
	if len(v) < 8 || v[2] != ':' || v[5] != ':' {
		return nil, false
	}
	s.hour, s.minute, s.sec, s.whole = Digits(v[:2]), Digits(v[3:5]), Digits(v[6:8]), true
	if s.hour < 0 || s.hour > 24 || s.hour == 24 && s.minute+s.sec > 0 || s.minute < 0 || s.minute > 59 || s.sec < 0 || s.sec > 60 {
		return nil, false
	}
	if v = v[8:]; len(v) < 2 || v[0] != '.' && v[0] != ',' {
		return v, true
	}
	n, unit := 1, int(time.Second)
	for ; n < len(v) && IsDigit(v[n]); n++ {
		unit /= 10
		s.nanos += int(v[n]-'0') * unit
	}
	s.whole = false
	return v[n:], n > 1
}

// unix is the stamp in seconds since 1970, read as UTC.
func (s *stamp) unix() int64 {
	y, m := s.year, s.month
	if m <= 2 { // the year begins in March, so that the leap day is its last
		y, m = y-1, m+12
	}
	days := 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + s.day - 1 - 719468 // days from March 1 of year 0 to 1970
	return int64(days)*86400 + int64(s.hour*3600+s.minute*60+s.sec)
}

// inZone returns the instant of a stamp in the clock's zone. A stamp in the hour that is
// repeated in autumn is of the first hour, until the stamps step back by more than 5
// minutes: then it is of the second. For an hour skipped in spring, time.Date decides.
func (c *Clock) inZone(s *stamp) time.Time {
	at := time.Date(s.year, time.Month(s.month), s.day, s.hour, s.minute, s.sec, s.nanos, c.Zone)
	_, before := at.Add(-3 * time.Hour).Zone()
	_, after := at.Add(3 * time.Hour).Zone()
	if before > after {
		at = c.repeated(s, at, before, after)
	}
	c.local = at
	return at
}

// repeated chooses between the two instants of a stamp near the end of summer time.
func (c *Clock) repeated(s *stamp, at time.Time, before, after int) time.Time {
	first := time.Unix(s.unix()-int64(before), int64(s.nanos)).In(c.Zone)
	second := time.Unix(s.unix()-int64(after), int64(s.nanos)).In(c.Zone)
	_, one := first.Zone()
	_, two := second.Zone()
	if one != before || two != after {
		return at // not in the repeated hour
	}
	if c.local.Sub(first) > 5*time.Minute {
		return second
	}
	return first
}

// ZoneOffset reads Z, -0500, -05:00 or -05 in seconds east of Greenwich.
func ZoneOffset(v []byte) (seconds int, ok bool) {
	if len(v) == 1 && v[0] == 'Z' {
		return 0, true
	}
	if len(v) < 3 || v[0] != '+' && v[0] != '-' {
		return 0, false
	}
	hours, minutes := Digits(v[1:3]), 0
	rest := bytes.TrimPrefix(v[3:], []byte(":"))
	if len(rest) > 0 {
		minutes = Digits(rest)
	}
	if hours < 0 || hours > 23 || len(rest) > 2 || minutes < 0 || minutes > 59 {
		return 0, false
	}
	if seconds = hours*3600 + minutes*60; v[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// number reads a time since 1970 with or without a fraction. The number of digits tells the
// unit: up to 11 are s, up to 14 ms, up to 17 µs, more ns.
func (c *Clock) number(v []byte) (at time.Time, whole bool, err error) {
	n := 0
	for n < len(v) && IsDigit(v[n]) {
		n++
	}
	unit := time.Second
	switch {
	case n > 17:
		unit = time.Nanosecond
	case n > 14:
		unit = time.Microsecond
	case n > 11:
		unit = time.Millisecond
	}
	d, ok := Decimal(v, unit)
	if n == 0 || !ok {
		return at, false, errTime
	}
	return time.Unix(0, int64(d)).In(c.Zone), unit == time.Second && n == len(v), nil
}

// Any reads what parse or number can read.
func (c *Clock) Any(v []byte) (at time.Time, whole bool, err error) {
	if at, whole, err = c.parse(v); err != errTime {
		return at, whole, err
	}
	return c.number(v)
}
