package format_test

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/history"
)

// historyOf is a history whose p99 and errors depend on the revision.
func historyOf(t *testing.T, revisions int, p99 func(i int) float64, errors func(i int) float64, name string) history.History {
	t.Helper()
	c := history.NewCollector(history.DefaultOptions())
	for i := range revisions {
		r := runOf(fmt.Sprint("01RUN", i), fmt.Sprintf(name, i), 900, p99(i)*(1+float64(i*7%5)/100), errors(i), 500+float64(i%2), 1<<20)
		r.StartedAt = time.Date(2026, 8, 1+i, 12, 0, 0, 0, time.UTC)
		c.Add(&r)
	}
	h, err := c.History()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func step(from int, size float64) func(int) float64 {
	return func(i int) float64 {
		if i < from {
			return 1
		}
		return size
	}
}

// histories are one of each verdict, and one whose names are up to mischief.
func histories(t *testing.T) map[string]history.History {
	const hash = "%08xb0d3a5c0e5b0a0a6f2c7a3d6b1f4e58a"
	slow := func(i int) float64 { return 4000 * step(60, 1.24)(i) }
	back := func(i int) float64 { return 4000 * step(30, 1.5)(i) / step(50, 1.5)(i) }
	wild := func(i int) float64 { return 4000 * math.Exp(math.Sin(float64(i*i))) }
	none := func(int) float64 { return 0 }
	hostile := historyOf(t, 40, func(i int) float64 { return 4000 * step(20, 1.4)(i) }, none, "<b>|@everyone\x1b[31m ]]>\n%d")
	hostile.Advice = []string{"see #1 | <script>"}
	return map[string]history.History{
		"regressed":    historyOf(t, 90, slow, func(i int) float64 { return step(70, 1.5)(i) - 1 }, hash),
		"ok":           historyOf(t, 90, back, none, hash),
		"inconclusive": historyOf(t, 20, wild, none, hash),
		"one":          historyOf(t, 1, wild, none, hash),
		"hostile":      hostile,
		"dirty":        historyOf(t, 40, func(i int) float64 { return 4000 * step(20, 1.4)(i) }, none, "%07xabc-; reboot"),
	}
}

func TestHistories(t *testing.T) {
	for name, h := range histories(t) {
		for _, kind := range []string{"text", "markdown"} {
			var b bytes.Buffer
			if err := format.History(&b, h, kind, false); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata/history", name+"."+kind), b.String())
			for line := range strings.Lines(b.String()) {
				if kind == "text" && utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
					t.Errorf("%s: more than 80 columns: %s", name, line)
				}
				if strings.ContainsRune(line, '\x1b') {
					t.Errorf("%s, %s: %q", name, kind, line)
				}
			}
		}
		if want := map[string]history.Word{"one": history.Inconclusive, "hostile": history.Regressed, "dirty": history.Regressed}[name]; string(h.Verdict) != name && h.Verdict != want {
			t.Errorf("%s: %s", name, h.Verdict)
		}
	}
}
