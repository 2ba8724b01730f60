package parse

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// LayoutOf converts a strftime format to a layout of package time.
func LayoutOf(format string) (string, error) {
	names := map[byte]string{
		'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "_2", 'b': "Jan", 'h': "Jan", 'B': "January", 'a': "Mon", 'A': "Monday",
		'H': "15", 'I': "03", 'p': "PM", 'M': "04", 'S': "05", 'z': "-0700", 'Z': "MST",
		'T': "15:04:05", 'R': "15:04", 'F': "2006-01-02", 'D': "01/02/06", '%': "%",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			if c := format[i]; IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' && c != 'T' {
				return "", fmt.Errorf("%q is between the parts of the time; only T and signs are allowed there", c)
			}
			b.WriteByte(format[i])
			continue
		}
		i++
		if i < len(format) && strings.IndexByte("fLN", format[i]) >= 0 { // digits after a point or comma
			if s := b.String(); s == "" || s[len(s)-1] != '.' && s[len(s)-1] != ',' {
				return "", fmt.Errorf("%%%c needs a point or a comma before it, as in %%S.%%%c", format[i], format[i])
			}
			b.WriteString("999999999")
			continue
		}
		if i == len(format) || names[format[i]] == "" {
			return "", fmt.Errorf("%.20q has a part that is not understood; known are %%Y %%m %%d %%b %%H %%M %%S %%T %%F %%z and their like", format)
		}
		b.WriteString(names[format[i]])
	}
	return b.String(), nil
}

// CheckLayout refuses a layout that lacks a part of date or time of day.
func CheckLayout(layout string) error {
	probe := time.Date(2002, 3, 4, 17, 6, 7, 0, time.UTC)
	if back, err := time.Parse(layout, probe.Format(layout)); err != nil || !back.Equal(probe) {
		return errors.New("the time lacks its year, month, day, hour, minute or second; put them into the log")
	}
	return nil
}
