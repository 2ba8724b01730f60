package trace

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		90 * time.Second: "1m30s", 47 * time.Hour: "47h", time.Hour + time.Second: "1h0m1s", 10 * time.Minute: "10m", 20 * time.Millisecond: "20ms", 10 * time.Second: "10s", 49 * time.Hour: "2 days", 226 * (365*24 + 6) * time.Hour: "226 years",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// A file's name has no escapes of terminals.
func TestPlaceOfHostileFile(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for file, want := range map[string]string{"a b.log": "a b.log:3 (2026-11-20 09:00:00)", "a\x1b[2J.log": `"a\x1b[2J.log":3 (2026-11-20 09:00:00)`} {
		if got := (Place{File: file, Line: 3, At: at}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
