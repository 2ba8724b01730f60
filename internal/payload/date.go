package payload

import (
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/schedule"
)

// date is {{date FORMAT OFFSET}}: the time of day in UTC, moved by the offset, in the format of strftime.
type date struct {
	format string
	by     time.Duration
}

// dateFields are the fields of a format, and their form in package time. %s, the seconds since 1970, has none.
var dateFields = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'L': "000", 'y': "06", 'j': "002", 'e': "_2",
	'F': "2006-01-02", 'T': "15:04:05", 'b': "Jan", 'B': "January", 'a': "Mon", 'A': "Monday", 'z': "+0000", 'I': "03", 'p': "PM", 's': "",
}

func makeDate(_ *parser, args []token) (part, error) {
	if len(args) < 1 || len(args) > 2 || !args[0].quoted {
		return nil, errArguments
	}
	d := date{format: args[0].text}
	for i := 0; i < len(d.format); i++ {
		if d.format[i] != '%' {
			continue
		}
		i++
		if i == len(d.format) {
			return nil, fmt.Errorf("%.40q ends with %%; write %%%% for the character", d.format)
		}
		if _, known := dateFields[d.format[i]]; !known && d.format[i] != '%' {
			return nil, fmt.Errorf("%%%c is no field of a date that takt knows; it knows those of strftime %%Y %%m %%d %%H %%M %%S %%F %%T %%y %%j %%b %%B %%a %%A %%e %%I %%p %%z %%s, and %%L for milliseconds", d.format[i])
		}
	}
	if len(args) == 2 {
		sign, text := time.Duration(1), strings.TrimPrefix(args[1].text, "+")
		if after, minus := strings.CutPrefix(text, "-"); minus {
			sign, text = -1, after
		}
		by, err := schedule.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("offset %.40q: %w", args[1].text, err)
		}
		d.by = sign * by
	}
	return d, nil
}

func (d date) append(dst []byte, _ uint64) []byte { return d.at(dst, time.Now()) }

// at appends the date of the instant t.
func (d date) at(dst []byte, t time.Time) []byte {
	t = t.UTC().Add(d.by)
	for i := 0; i < len(d.format); i++ {
		c := d.format[i]
		if c != '%' {
			dst = append(dst, c)
			continue
		}
		i++
		switch c = d.format[i]; c {
		case '%':
			dst = append(dst, '%')
		case 's':
			dst = fmt.Appendf(dst, "%d", t.Unix())
		case 'L':
			dst = fmt.Appendf(dst, "%03d", t.Nanosecond()/1e6)
		case 'z':
			dst = append(dst, "+0000"...)
		default:
			dst = t.AppendFormat(dst, dateFields[c])
		}
	}
	return dst
}

// longest is at most that of names of months for each field.
func (d date) longest() int { return len(d.format) + 20*strings.Count(d.format, "%") }
