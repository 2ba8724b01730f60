package analysis

// String is the unit as JSON and tables write it; "" of a plain number.
func (u Unit) String() string {
	return []string{"", "us", "%", "/s", "B", "B/s", "ratio", "ms"}[u]
}

// MarshalText is String.
func (u Unit) MarshalText() ([]byte, error) { return []byte(u.String()), nil }
