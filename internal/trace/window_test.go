package trace

import (
	"strings"
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		parsed, err := time.ParseInLocation("2006-01-02 15:04:05", text, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, c := range []struct{ window, first, from, to string }{
		{"5m..1h", "2026-11-20 09:30:00", "2026-11-20 09:35:00", "2026-11-20 10:30:00"},
		{"10:00..12:30", "2026-11-20 09:30:00", "2026-11-20 10:00:00", "2026-11-20 12:30:00"},
		{"09:00..10:00", "2026-11-20 09:30:00", "2026-11-20 09:00:00", "2026-11-20 10:00:00"},
		{"01:00..02:00", "2026-11-20 23:30:00", "2026-11-21 01:00:00", "2026-11-21 02:00:00"},
		{"23:45..00:15", "2026-11-20 23:30:00", "2026-11-20 23:45:00", "2026-11-21 00:15:00"},
		{"..00:15", "2026-11-20 23:30:00", "", "2026-11-21 00:15:00"},
		{"23:45..", "2026-11-20 23:30:00", "2026-11-20 23:45:00", ""},
		{"2026-11-21T10:00..11:00:30", "2026-11-20 23:30:00", "2026-11-21 10:00:00", "2026-11-21 11:00:30"},
		{"2026-11-21..2026-11-22", "2026-11-20 23:30:00", "2026-11-21 00:00:00", "2026-11-22 00:00:00"},
		{"2026-11-21 10:00..", "2026-11-20 23:30:00", "2026-11-21 10:00:00", ""},
		{"04:00..05:00", "2026-03-29 01:30:00", "2026-03-29 04:00:00", "2026-03-29 05:00:00"}, // the clocks go forward at 2
	} {
		var w Window
		if err := w.Set(c.window); err != nil {
			t.Errorf("%s: %v", c.window, err)
			continue
		}
		from, to := w.bounds(at(c.first))
		for _, edge := range []struct {
			got  time.Time
			want string
		}{{from, c.from}, {to, c.to}} {
			if edge.want == "" != edge.got.IsZero() || edge.want != "" && !edge.got.Equal(at(edge.want)) {
				t.Errorf("%s of a log from %s: %v, want %q", c.window, c.first, edge.got, edge.want)
			}
		}
	}
	for text, want := range map[string]string{
		"": "not a window", "..": "not a window", "30s": "--other", "1h..5m": "ends before it begins", "x..": "not an edge", "25:00..": "not an edge",
		"2026-11-21T..": "not an edge", "2026-11-22..2026-11-21": "ends before it begins", "-5m..": "not an edge", "2026-11-21T5m..": "not an edge",
	} {
		w := new(Window)
		w.Beside("a time is --other")
		if err := w.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
