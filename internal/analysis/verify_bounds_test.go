package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
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
		if got := (match{base: make([]Run, c.base), head: make([]Run, c.head), inPairs: c.inPairs}).method(); got != c.want {
			t.Errorf("%d and %d runs: %s, want %s", c.base, c.head, got, c.want)
		}
	}
}

// Latencies are judged while both sides have up to 1 % of errors, and about as many.
func TestMuddledBounds(t *testing.T) {
	o := Options{ErrorTolerance: 0.25}
	for errors, want := range map[[2]float64]bool{
		{0, 0}: false, {0, 0.25}: false, {0.25, 0}: false, {0, 0.26}: true, {0.26, 0}: true,
		{1, 1}: false, {0.75, 1}: false, {1.01, 1.01}: true, {1.01, 1}: true, {1, 1.01}: true,
	} {
		if got := muddled(errors[0], errors[1], "base", "head", o); (got != "") != want {
			t.Errorf("%v %% and %v %%: %q", errors[0], errors[1], got)
		}
	}
	const want = "0 % of the operations of main and 2.5 % of those of mine are errors, which may be fast answers: latencies prove nothing; fix the errors first"
	if got := muddled(0, 2.5, "main", "mine", o); got != want {
		t.Errorf("got %s", got)
	}
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

func (k known) estimate() float64 { return k.at }
func (k known) least() float64    { return 0 }
func (k known) p(theta float64) float64 {
	if theta < 0 {
		return k.below
	}
	return k.above
}
func (k known) interval(float64) (low, high float64) { return k.at, k.at }

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
		if g.P = c.s.p(bound); g.word() != c.want {
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
	for method, want := range map[Method]string{Paired: "it compares the two runs of each pair, and", Unpaired: "it compares every base run with every head run, and"} {
		if got := opposedOf(odd, method); len(got) != 1 || !strings.HasPrefix(got[0], "p50, p99: the difference has another sign") || !strings.Contains(got[0], want) {
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

func TestShardNumber(t *testing.T) {
	for s, want := range map[string][2]int{"1/2": {1, 2}, "2/2": {2, 2}, "1/1": {1, 1}, "3/2": {}, "0/2": {}, "-1/2": {}, "x/2": {}, "1/x": {}, "1": {}, "": {}} {
		if k, n := shardNumber(s); [2]int{k, n} != want {
			t.Errorf("%q: %d of %d, want %v", s, k, n, want)
		}
	}
}

// Twenty missing shards are named.
func TestMissingBounds(t *testing.T) {
	for n, more := range map[int]int{20: 0, 21: 0, 22: 1, 30: 9} {
		e := missingShards([]shard{{k: n, n: n}})
		if e == nil || len(e.Shards) != min(n-1, 20) || e.More != more {
			t.Errorf("1 of %d: %+v, want %d more", n, e, more)
		}
	}
	if e := missingShards([]shard{{k: 1, n: 2}, {k: 2, n: 2}}); e != nil {
		t.Errorf("none is missing: %v", e)
	}
}

// ends is a run of 100 s whose shards ended after these times.
func ends(intended bool, seconds ...float64) (*takt.Report, []shard) {
	whole, list := &takt.Report{Verdict: takt.Valid, DurationS: 100}, []shard{}
	if rate := 10.0; intended {
		whole.Rate.Intended = &rate
	}
	for i, s := range seconds {
		list = append(list, shard{Report: &takt.Report{DurationS: s, Schedule: takt.Schedule{Shard: string(rune('1'+i)) + "/9"}}})
	}
	return whole, list
}

// A shard that ends 0.1 s before the others is told, and 1 % makes the run invalid.
func TestEndsBounds(t *testing.T) {
	for _, c := range []struct {
		seconds  float64
		intended bool
		warned   bool
		verdict  takt.Verdict
	}{
		{100, true, false, takt.Valid}, {99.95, true, false, takt.Valid}, {99.875, true, true, takt.Valid}, {99, true, true, takt.Valid}, {98.875, true, true, takt.Invalid},
		{50, false, false, takt.Valid}, // a closed loop ends when it ends
	} {
		whole, list := ends(c.intended, 100, c.seconds)
		if judgeEnds(whole, list); whole.Warned("shards_cut") != c.warned || whole.Verdict != c.verdict {
			t.Errorf("%v s of 100: %s, %+v", c.seconds, whole.Verdict, whole.Warnings)
		}
	}
	for _, code := range []string{"cancelled", "aborted", "broke_off", "recovered"} {
		whole, list := ends(false, 100, 99.99)
		list[1].Warn(code, "ended")
		if judgeEnds(whole, list); whole.Verdict != takt.Invalid {
			t.Errorf("%s: %s", code, whole.Verdict)
		}
	}
	// More than 0.1 s apart at the start is told, and more than 1 % is invalid.
	for apart, want := range map[time.Duration]takt.Verdict{100 * time.Millisecond: "", 101 * time.Millisecond: takt.Valid, time.Second: takt.Valid, 1001 * time.Millisecond: takt.Invalid} {
		whole, _ := ends(true)
		judgeStarts(whole, apart)
		if whole.Warned("shards_apart") != (want != "") || (whole.Verdict == takt.Invalid) != (want == takt.Invalid) {
			t.Errorf("%v apart: %s, %+v", apart, whole.Verdict, whole.Warnings)
		}
	}
}

// The failures at a limit of all hosts together are judged unless a shard was, and said it.
func TestLimitsOfAll(t *testing.T) {
	said := []takt.Warning{{Code: "host_limit"}}
	for _, c := range []struct {
		failed  uint64
		verdict takt.Verdict
		said    []takt.Warning
		warned  bool
		want    takt.Verdict
	}{
		{9, takt.Valid, nil, false, takt.Valid}, {10, takt.Valid, nil, true, takt.Invalid}, {10, takt.Valid, said, true, takt.Invalid},
		{10, takt.Invalid, said, false, takt.Invalid}, {10, takt.Invalid, nil, true, takt.Invalid},
	} {
		whole := &takt.Report{Verdict: c.verdict, Errors: []takt.ErrorClass{{Class: "no_ports", Count: c.failed}}, Counts: takt.Counts{Scheduled: 100}}
		if judgeLimits(whole, c.said); whole.Warned("host_limit") != c.warned || whole.Verdict != c.want {
			t.Errorf("%+v: %s, %+v", c, whole.Verdict, whole.Warnings)
		}
	}
}

// Intervals fit when the longest is so many times as long as each.
func TestDivides(t *testing.T) {
	for _, c := range []struct {
		part, whole float64
		want        bool
	}{{1, 1, true}, {1, 4, true}, {2, 4, true}, {3, 4, false}, {4, 2, false}, {0, 4, false}, {-1, 4, false}, {0.5, 1, true}} {
		if got := divides(c.part, c.whole); got != c.want {
			t.Errorf("%v into %v: %v", c.part, c.whole, got)
		}
	}
}

// At its bound an assertion holds if it has the sign of equality.
func TestAssertionBounds(t *testing.T) {
	r := &takt.Report{Verdict: takt.Valid, Counts: takt.Counts{Scheduled: 200, OK: 190, Failed: 2, Dropped: 4, Unfinished: 4}, Latency: map[string]takt.Latency{"response": {Count: 1, P99: 1000}}}
	for text, want := range map[string]takt.Outcome{
		"p99<1ms": takt.Fail, "p99<=1ms": takt.Pass, "p99==1ms": takt.Pass, "p99>=1ms": takt.Pass, "p99>1ms": takt.Fail,
		"p99<1001us": takt.Pass, "p99<=999us": takt.Fail, "p99==999us": takt.Fail, "p99>=1001us": takt.Fail, "p99>999us": takt.Pass,
		"dropped<=2%": takt.Pass, "dropped<2%": takt.Fail, "unfinished<=4": takt.Pass, "failed<=1%": takt.Pass, "ok>=95%": takt.Pass, "ok>95%": takt.Fail,
	} {
		a, err := ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Check(r); got.Result != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for v, want := range map[float64]string{0: "0", 1: "1", 100: "100", 0.5: "0.5", 0.12344: "0.1234", 0.00004: "0", 1.00005: "1.0001"} {
		if got := decimal(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}
