package loadcmd

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/pkg/hist"
)

func TestParseUntil(t *testing.T) {
	for text, want := range map[string]goal{
		"p99±5%": {name: "p99", p: 0.99, part: 0.05}, "p50+-0.5%": {name: "p50", p: 0.5, part: 0.005}, " p99.9 ± 100 % ": {name: "p99.9", p: 0.999, part: 1},
	} {
		if g, err := parseUntil(text); err != nil || *g != want {
			t.Errorf("%q: %+v, %v", text, g, err)
		}
	}
	for _, text := range []string{"p99", "p99±5", "p99±0%", "p99±101%", "p98±5%", "max±5%", "±5%", "p99±x%", "p99±NaN%", "p99<5%"} {
		if g, err := parseUntil(text); err == nil || !strings.Contains(err.Error(), "--until") {
			t.Errorf("%q: %+v, %v", text, g, err)
		}
	}
}

// A run ends at the first look at which its percentile is known well enough, and never between looks.
func TestGoal(t *testing.T) {
	h, c := hist.New(), proof.New(-1)
	g := goal{name: "p50", p: 0.5, part: 0.05}
	told := 0
	look := g.look(func() { told++ })
	looks, n := 0, uint64(0)
	for ; n < 20_000; n++ {
		took := time.Duration(n*7919%1000) * time.Millisecond // spread evenly
		h.Record(took)
		c.Add(time.Duration(n)*time.Millisecond, took, 1)
		if look(n+1, func() *proof.Sample { looks++; return proof.NewSample(h, c) }) {
			break
		}
	}
	if n < 1000 || n > 10_000 || told != 1 || looks > 8 || g.ended != n+1 || g.known > 0.05 || g.exact() == "no interval" {
		t.Errorf("%d operations, %d looks, told %d times: %+v", n, looks, told, g)
	}
	if g := (goal{part: 0.05}); g.look(nil)(1e6, func() *proof.Sample { return nil }) || g.exact() != "no interval" {
		t.Error("a run without a sample ends")
	}
}
