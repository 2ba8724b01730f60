package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
)

// slower are n runs of each side, the head's p50 worse by that share.
func slower(n int, p50 float64, vary ...float64) (base, head []stored.Run) {
	for i := range n {
		by := 1 + vary[i%len(vary)]
		base = append(base, ran(fmt.Sprint("a", i), func(f map[string]float64) { f["p50"] *= by }))
		head = append(head, ran(fmt.Sprint("b", i), func(f map[string]float64) { f["p50"] *= (1 + p50) * (2 - by) }))
	}
	return base, head
}

// What is advised agrees with what can be proved, and with the size of the difference.
func TestAdviceAgreesWithTheDifference(t *testing.T) {
	for _, c := range []struct {
		name         string
		runs         int
		p50          float64
		inPairs      bool
		want, absent string
	}{
		{"two groups, far apart", 4, 0.48, false, "4 runs of each side can prove nothing about 4 metrics at a confidence of 95 %: 5 are the least that can, and enough for a difference as large as that of p50 so far\n1 more run of base: repeat its command with --repeat 1\n1 more run of head: repeat its command with --repeat 1", ": about"},
		{"two groups, equal", 3, 0, false, "3 runs of each side can prove nothing about 4 metrics at a confidence of 95 %: 5 are the least that can\n2 more runs of base", "enough"},
		{"pairs, far apart", 5, 10, true, "5 pairs can prove nothing about 4 metrics at a confidence of 95 %: 8 are the least that can, and enough for a difference as large as that of p50 so far\np50, p99, errors, rate: repeat with --pairs 8", ": about"},
		{"a single pair", 1, 10, true, "1 pair can prove nothing about 4 metrics at a confidence of 95 %: 8 are the least that can\n", "enough"},
	} {
		base, head := slower(c.runs, c.p50, 0.1, -0.05, 0.02, -0.1)
		j, err := Verify(base, head, c.inPairs, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		advice := strings.Join(j.Advice, "\n")
		if !strings.HasPrefix(advice, c.want) || strings.Contains(advice, c.absent) {
			t.Errorf("%s:\n%s\nwant\n%s\nwithout %s", c.name, advice, c.want, c.absent)
		}
		for _, f := range j.Comparisons[0].Findings {
			if !f.Least {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
}

// The forecast of a large difference is small, that of a small one large, at equal spread.
func TestForecastFallsWithTheDifference(t *testing.T) {
	last := mostNeeded + 1
	for _, p99 := range []float64{0.06, 0.15, 0.3, 1, 10} {
		w := seeded(0, 0.3, p99)
		base, head := w.pairs(9)
		g := newGate("p99", match{base: base, head: head, inPairs: true}, DefaultOptions(), false)
		n := g.need(9, Paired, 0.0125).n
		if n > last {
			t.Errorf("%v needs %d pairs, a smaller difference %d", p99, n, last)
		}
		last = n
	}
	if last != leastPairs(0.0125) {
		t.Errorf("11 times slower needs %d pairs", last)
	}
}

// A difference whose sign is not that of the medians has a word; one that agrees has none.
func TestOpposedSigns(t *testing.T) {
	p50 := func(values ...float64) (runs []stored.Run) {
		for i, v := range values {
			runs = append(runs, ran(fmt.Sprint(i, v), func(f map[string]float64) { f["p50"] = v }))
		}
		return runs
	}
	for _, c := range []struct {
		base, head []stored.Run
		inPairs    bool
		want       string
	}{
		{p50(200, 201, 302, 303, 304), p50(298, 299, 297, 450, 460), true, "p50: pairs and medians disagree: the machine changed between pairs; trust the pairs"},
		{p50(200, 201, 302, 303, 304), p50(298, 299, 297, 450, 460), false, "p50: the difference and the medians disagree"},
		{p50(100, 302, 310, 280, 320), p50(140, 320, 330, 290, 470), true, ""},
		{p50(300, 300, 300, 300, 301), p50(301, 300.1, 300.2, 300.3, 299), true, ""},
	} {
		j, err := Verify(c.base, c.head, c.inPairs, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		f := finding(t, j.Comparisons[0], "p50")
		advice := strings.Join(j.Advice, "\n")
		if (c.want == "") == strings.Contains(advice, "disagree") || !strings.Contains(advice, c.want) {
			t.Errorf("%v against %v, %v: %s\nwant %s", f.Head, f.Base, f.Difference, advice, c.want)
		}
	}
}

// Runs of uncommitted changes are not the head of a history, and are named.
func TestDirtyRunsAreNoHead(t *testing.T) {
	base, head := slower(6, 0, 0.1, -0.05)
	for i := range base {
		base[i].Labels = map[string]string{stored.LabelRevision: "a"}
		head[i].Labels = map[string]string{stored.LabelRevision: "b"}
	}
	dirty := ran("dirty", func(map[string]float64) {})
	dirty.Labels = map[string]string{stored.LabelRevision: "b-dirty"}
	dirty.StartedAt = head[5].StartedAt.AddDate(1, 0, 0)
	j, err := History(append(append(base, head...), dirty), DefaultOptions())
	if err != nil || j.Head.Name == "b-dirty" || !strings.Contains(strings.Join(j.Advice, "\n"), "dirty: it is of uncommitted changes, which --head dirty judges") {
		t.Errorf("head %s, %q, %v", j.Head.Name, j.Advice, err)
	}
	if _, err := History([]stored.Run{dirty}, DefaultOptions()); err == nil || !strings.Contains(err.Error(), "uncommitted changes") {
		t.Errorf("only a dirty run: %v", err)
	}
}
