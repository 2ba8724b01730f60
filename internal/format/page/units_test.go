package page

import (
	"slices"
	"testing"
)

func TestAlignedPointsStandBelowEachOther(t *testing.T) {
	u := Unit{"ms", 1e3}
	for us, want := range map[float64]string{0: "0.000", 1234.56: "1.235", 9999.6: "10.00 ", 99_996: "100.0  ", 250_040: "250.0  ", 999_960: "1000    ", 12_345_678: "12346    "} {
		if got := u.Aligned(us); got != want {
			t.Errorf("%v µs: %q, want %q", us, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	for v, want := range map[float64]string{1.0 / 3600: "0.000278/s", 0.0123: "0.0123/s", 0.05: "0.05/s", 0: "0/s", 0.5: "0.5/s", 33.33333: "33.333/s", 999.8: "999.8/s", 1000: "1000/s", 152345.6: "152346/s", 2e6: "2000000/s"} {
		if got := Rate(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// 100 % means all of it, and 0 % nothing.
func TestPercent(t *testing.T) {
	for _, c := range []struct {
		part, whole float64
		want        string
	}{{1, 1, "100.00 %"}, {999_999, 1_000_000, "99.99 %"}, {1, 1_000_000, "< 0.01 %"}, {0, 5, "0.00 %"}, {0, 0, "0.00 %"}, {29, 100, "29.00 %"}, {68, 3600, "1.89 %"}, {2, 3, "66.67 %"}} {
		if got := Percent(c.part, c.whole); got != c.want {
			t.Errorf("%v of %v: %s, want %s", c.part, c.whole, got, c.want)
		}
	}
}

func TestSpanAndSize(t *testing.T) {
	for s, want := range map[float64]string{0: "0s", 0.5: "500ms", 30: "30s", 60: "1m", 90: "1m30s", 3600: "1h", 3660: "1h1m", 36000: "10h"} {
		if got := Span(s); got != want {
			t.Errorf("%v s: %s, want %s", s, got, want)
		}
	}
	for n, want := range map[float64]string{0: "0", 1023: "1023", 1536: "1.5", 24 << 20: "24", 5 << 50: "5120"} {
		if got, units := Size(n), []string{"B", "KiB", "MiB", "TiB"}; !slices.ContainsFunc(units, func(u string) bool { return got == want+NoBreak+u }) {
			t.Errorf("%v bytes: %q, want %s", n, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for s, want := range map[string][]string{
		"":                    nil,
		"aaa bb cc":           {"aaa bb", "cc"},
		"a-word-too-long b":   {"a-word-too-long", "b"},
		"aa\u00a0bb\u00a0c d": {"aa bb c", "d"},
		"a -z 3s":             {"a", "-z 3s"},
		"a - bb c -z":         {"a - bb", "c -z"},
	} {
		if got := Wrap(s, 6); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	if got := Clean("a\x1b[2J\r\n  b\u202ec\xff\t"); got != "a·[2J b·c·" {
		t.Errorf("clean: %q", got)
	}
}
