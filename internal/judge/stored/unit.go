package stored

import (
	"fmt"
	"slices"
)

// unitTexts are the units in JSON and tables, in the order of the constants; "" is a plain number.
func unitTexts() []string { return []string{"", "us", "%", "/s", "B", "B/s", "ratio", "ms"} }

// String is the unit in JSON and tables; "" for a plain number.
func (u Unit) String() string { return unitTexts()[u] }

// MarshalText returns the text of String.
func (u Unit) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads the text of String.
func (u *Unit) UnmarshalText(text []byte) error {
	i := slices.Index(unitTexts(), string(text))
	if i < 0 {
		return fmt.Errorf("unknown unit %q of a metric", text)
	}
	*u = Unit(i)
	return nil
}
