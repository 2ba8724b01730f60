package stored

// String is the unit in JSON and tables; "" for a plain number.
func (u Unit) String() string {
	return []string{"", "us", "%", "/s", "B", "B/s", "ratio", "ms"}[u]
}

// MarshalText returns the text of String.
func (u Unit) MarshalText() ([]byte, error) { return []byte(u.String()), nil }
