package verify

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
)

// The bounds of the options are what their faults say.
func TestValidateBounds(t *testing.T) {
	for _, c := range []struct {
		tolerance, errors, confidence float64
		faults                        int
	}{
		{0.05, 0.1, 0.95, 0}, {10, 100, 0.5, 0}, {1e-9, 1e-9, 0.999999, 0},
		{0, 0.1, 0.95, 1}, {10.001, 0.1, 0.95, 1}, {math.NaN(), 0.1, 0.95, 1},
		{0.05, 0, 0.95, 1}, {0.05, 100.1, 0.95, 1}, {0.05, math.NaN(), 0.95, 1},
		{0.05, 0.1, 0.4999, 1}, {0.05, 0.1, 1, 1}, {0.05, 0.1, math.NaN(), 1},
		{0, 0, 0, 3},
	} {
		faults := 0
		if err := (Options{Tolerance: c.tolerance, ErrorTolerance: c.errors, Confidence: c.confidence}).Validate(); err != nil {
			faults = strings.Count(err.Error(), "; give one such as")
		}
		if faults != c.faults {
			t.Errorf("%+v: %d faults, want %d", c, faults, c.faults)
		}
	}
}

// A single run is held against ten others, as a prediction, and not against nine.
func TestMethodBounds(t *testing.T) {
	for _, c := range []struct {
		base, head int
		inPairs    bool
		want       Method
	}{{10, 1, false, Prediction}, {9, 1, false, Unpaired}, {10, 2, false, Unpaired}, {10, 10, true, Paired}, {1, 1, true, Paired}} {
		if got := (match{base: make([]stored.Run, c.base), head: make([]stored.Run, c.head), inPairs: c.inPairs}).method(); got != c.want {
			t.Errorf("%d and %d runs: %s, want %s", c.base, c.head, got, c.want)
		}
	}
}

// Latencies become inconclusive for a reason, and no other metric does.
func TestMuddle(t *testing.T) {
	gates := []gate{{Finding: Finding{Metric: "p99", Verdict: OK}}, {Finding: Finding{Metric: "errors", Verdict: OK}}, {Finding: Finding{Metric: "service.p50", Verdict: Regressed}}, {Finding: Finding{Metric: "rate", Verdict: OK}}}
	if got := muddleBy(gates, ""); got != nil || gates[0].Verdict != OK {
		t.Errorf("without a reason %v", got)
	}
	got := muddleBy(gates, "why")
	var words []Word
	for _, g := range gates {
		if words = append(words, g.Verdict); g.muddled != (g.Verdict == Inconclusive) {
			t.Errorf("%s: muddled %v", g.Metric, g.muddled)
		}
	}
	if !slices.Equal(got, []string{"p99, service.p50: why"}) || !slices.Equal(words, []Word{Inconclusive, OK, Inconclusive, OK}) {
		t.Errorf("%q, words %v", got, words)
	}
}

func TestOverall(t *testing.T) {
	for _, c := range []struct {
		words []Word
		want  Word
	}{
		{nil, OK}, {[]Word{OK, Improved}, OK}, {[]Word{Improved, Inconclusive, OK}, Inconclusive}, {[]Word{Inconclusive, Regressed, OK}, Regressed},
	} {
		if got := overall(c.words); got != c.want {
			t.Errorf("%v: %s, want %s", c.words, got, c.want)
		}
	}
}

// known is a shift whose evidence is given.
type known struct{ at, below, above float64 } // the estimate; p below 0 and above

func (k known) Estimate() float64 { return k.at }
func (k known) Least() float64    { return 0 }
func (k known) P(theta float64) float64 {
	if theta < 0 {
		return k.below
	}
	return k.above
}
func (k known) Interval(float64) (low, high float64) { return k.at, k.at }

// A word is said from its level on, and above the tolerance, not at it.
func TestWordBounds(t *testing.T) {
	const bound, level = 0.05, 0.01
	for _, c := range []struct {
		s    known
		want Word
	}{
		{known{at: 0.2, above: level}, Regressed},
		{known{at: 0.2, above: 0.0101}, Inconclusive},
		{known{at: bound, above: level}, OK},
		{known{at: 0.0501, above: level}, Regressed},
		{known{at: 0, above: level}, OK},
		{known{at: -bound, above: level, below: level}, OK},
		{known{at: -0.0501, above: level, below: level}, Improved},
		{known{at: -0.0501, above: level, below: 0.0101}, OK},
		{known{at: -0.2, above: 0.0101, below: 0}, Inconclusive},
	} {
		g := gate{s: c.s, bound: bound, level: level, sign: 1}
		if g.P = c.s.P(bound); g.word() != c.want {
			t.Errorf("%+v: %s, want %s", c.s, g.word(), c.want)
		}
	}
}

// A difference with another sign than that of the medians is explained from a fifth of the
// tolerance on.
func TestOpposedBounds(t *testing.T) {
	for _, c := range []struct {
		f    Finding
		want bool
	}{
		{Finding{Base: 1000, Head: 989, Difference: 0.001}, true},
		{Finding{Base: 1000, Head: 991, Difference: 0.001}, false},
		{Finding{Base: 1000, Head: 999, Difference: 0.0101}, true},
		{Finding{Base: 1000, Head: 999, Difference: 0.0099}, false},
		{Finding{Base: 1000, Head: 900, Difference: -0.1}, false},
		{Finding{Base: 1000, Head: 1000, Difference: 0.1}, false},
		{Finding{Base: 0, Head: 10, Difference: -0.1}, false},
		{Finding{Base: 0, Head: 0.001, Difference: -0.001, Absolute: true}, true},
		{Finding{Base: 0.001, Head: 0, Difference: -0.001, Absolute: true}, false},
	} {
		if got := c.f.opposed(); got != c.want {
			t.Errorf("%v → %v with %v: %v", c.f.Base, c.f.Head, c.f.Difference, got)
		}
	}
	odd := []Finding{{Metric: "p50", Base: 10, Head: 11, Difference: -0.1}, {Metric: "p90", Base: 10, Head: 11, Difference: 0.1}, {Metric: "p99", Base: 10, Head: 9, Difference: 0.1}}
	for method, want := range map[Method]string{Paired: "pairs and medians disagree", Unpaired: "the difference and the medians disagree"} {
		if got := opposedOf(odd, method); len(got) != 1 || !strings.HasPrefix(got[0], "p50, p99: ") || !strings.Contains(got[0], want) {
			t.Errorf("%s: %q", method, got)
		}
	}
	if got := opposedOf(odd, Prediction); got != nil {
		t.Errorf("a prediction: %q", got)
	}
}

// The least numbers are those of the tests' smallest p: 2 ÷ 2ⁿ, and 2 ÷ (2n over n).
func TestLeastNumbers(t *testing.T) {
	for alpha, want := range map[float64][2]int{1: {1, 1}, 0.5: {2, 2}, 0.1: {5, 3}, 0.05: {6, 4}, 1.0 / 32: {6, 4}, 0.0312: {7, 4}, 0.0125: {8, 5}, 2.0 / 70: {7, 4}, 0.0285: {7, 5}} {
		if pairs, runs := leastPairs(alpha), leastRuns(alpha); pairs != want[0] || runs != want[1] {
			t.Errorf("at %v: %d pairs, %d runs, want %v", alpha, pairs, runs, want)
		}
	}
}

// A series looks two thirds of the way earlier each time, as long as that can prove anything.
func TestPlanOfPairs(t *testing.T) {
	o := DefaultOptions()
	o.Metrics = []string{"p99"} // and errors: each at 2.5 %
	for most, want := range map[int][]int{7: {7}, 11: {11}, 12: {8, 12}, 20: {8, 13, 20}, 40: {11, 17, 26, 40}, 90: {26, 40, 60, 90}} {
		p, err := NewPairs(most, true, "http", o)
		if err != nil || !slices.Equal(p.Looks, want) {
			t.Errorf("%d pairs: looks %v, %v, want %v", most, p.Looks, err, want)
		}
		p, err = NewPairs(most, false, "http", o)
		if err != nil || !slices.Equal(p.Looks, []int{most}) || p.share() > 0.0501 || p.share() < 0.0499 {
			t.Errorf("%d pairs at once: looks %v, %v", most, p.Looks, err)
		}
	}
	if _, err := NewPairs(6, true, "http", o); err == nil || err.Error() != "6 pairs can prove nothing about 2 metrics (p99, errors) at a confidence of 95 %; make 7 pairs or more, or gate fewer metrics" {
		t.Error(err)
	}
	p := Pairs{Looks: []int{6, 9, 14}}
	for n, want := range map[int]int{1: 6, 6: 6, 7: 9, 9: 9, 14: 14, 15: 15} {
		if got := p.lookFor(n); got != want {
			t.Errorf("%d pairs end at %d, want %d", n, got, want)
		}
	}
	if got := (Pairs{Looks: []int{9}}).lookFor(5); got != 5 {
		t.Errorf("with one look 5 pairs end at %d", got)
	}
}

// Disturbed pairs are replaced up to their bound; when each is disturbed a series ends earlier.
func TestGiveUpBounds(t *testing.T) {
	for _, c := range []struct {
		d    Disturbed
		fit  int
		used float64
		want string // how it begins
	}{
		{Disturbed{Base: 2, Head: 3, Most: 20}, 0, 0, ""},
		{Disturbed{Base: 3, Head: 3, Most: 20}, 0, 0, "all of the first 6 pairs were disturbed (base 3, head 3)"},
		{Disturbed{Base: 3, Head: 3, Most: 20}, 1, 0, ""},
		{Disturbed{Base: 10, Head: 10, Most: 20}, 1, 0, ""},
		{Disturbed{Base: 10, Head: 11, Most: 20}, 1, 0, "21 pairs were disturbed (base 10, head 11) beside 1 good ones, and at most 20 are replaced"},
		{Disturbed{Base: 1, Most: 0}, 5, 0, "1 pair was disturbed (base 1, head 0) beside 5 good ones"},
		{Disturbed{Base: 50, BudgetS: 100}, 1, 99, ""},
		{Disturbed{Base: 50, BudgetS: 100, Most: 49}, 1, 99, "50 pairs were disturbed"},
		{Disturbed{Base: 6, BudgetS: 100}, 0, 24.9, ""},
		{Disturbed{Base: 6, BudgetS: 100}, 0, 25, "all of the first 6 pairs"},
	} {
		if got := c.d.GiveUp(c.fit, c.used); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v, %d fit, %v s: %q, want %q", c.d, c.fit, c.used, got, c.want)
		}
	}
	if MayDisturb(8) != 24 {
		t.Errorf("of 8 pairs %d are replaced", MayDisturb(8))
	}
}
