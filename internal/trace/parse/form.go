package parse

import (
	"fmt"
	"strings"
	"time"
)

// units are the names of units in formats and field maps.
var units = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond}

// unitOf returns the unit of a name: s, ms, us or ns.
func unitOf(name string) (unit time.Duration, ok bool) {
	unit, ok = units[name]
	return unit, ok
}

// inForm returns the setter of a time in a form: "" for all times that takt recognises, the unit of a
// number since 1970, UTC for a time without a zone, or a strftime format. set is Start or End.
func inForm(form string, set Setter) (Setter, error) {
	if unit, ok := unitOf(strings.TrimPrefix(form, "%")); ok {
		return epoch(unit, set), nil
	}
	switch {
	case form == "":
		return set, nil
	case form == "UTC":
		return func(f *Line, v []byte) error { return set(f, f.Rec.Join(v, "Z", nil)) }, nil
	case !strings.Contains(form, "%"):
		return nil, fmt.Errorf("the time has the unknown form %.40q; write s, ms, us or ns for a number since 1970, UTC for a time without a zone, or strftime's letters as in %%Y-%%m-%%d %%H:%%M:%%S", form)
	}
	layout, err := LayoutOf(form)
	if err == nil {
		err = CheckLayout(layout)
	}
	if err != nil {
		return nil, err
	}
	return Layout(layout, set), nil
}

// epoch reads a number of units since 1970. It calls set with a form that Clock reads as one.
func epoch(unit time.Duration, set Setter) Setter {
	return func(f *Line, v []byte) error {
		d, ok := Decimal(v, unit)
		if !ok {
			return errTime
		}
		whole := unit == time.Second && Digits(v) >= 0
		form := "2006-01-02T15:04:05.000000000Z"
		if whole {
			form = "2006-01-02T15:04:05Z"
		}
		from := len(f.Rec.Memory)
		f.Rec.Memory = time.Unix(0, int64(d)).UTC().AppendFormat(f.Rec.Memory, form)
		err := set(f, f.Rec.Memory[from:])
		f.Rec.Zoned = false
		return err
	}
}
