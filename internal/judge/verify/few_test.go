package verify

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// open is a shift that proves nothing.
func open(by float64) known { return known{at: 0.05 + by, below: 1, above: 1} }

// A look that does not conclude says what is needed, and ends the duet if the rest would not help.
func TestDuetLook(t *testing.T) {
	d := duetOf(9, 18, 36)
	g := apart("p50", 0.1, 0.2)
	g.s = open(0.1)
	all := make([]duetSlice, 18)
	step := d.look([]gate{g}, all, false)
	if f := step.Judgement.Comparisons[0].Findings[0]; step.Done || step.Forecast == "" || step.Judgement.Futile || f.Needed != d.need(g, 18).n || len(step.Judgement.Advice) != 1 {
		t.Errorf("it may conclude: %+v, needed %d", step, f.Needed)
	}
	if step := d.look([]gate{g}, all, true); !step.Done || step.Forecast != "" || step.Judgement.Futile {
		t.Errorf("the last: %+v", step)
	}
	near := apart("p50", -0.001, 0.2)
	near.s = open(-0.001)
	step = d.look([]gate{near}, all, false)
	const want = "ended after 18s of load, because even the 36s of --budget would most probably not conclude about p50"
	if !step.Done || !step.Judgement.Futile || step.Judgement.Advice[0] != want {
		t.Errorf("it will not conclude: %+v, %q", step, step.Judgement.Advice)
	}
	clear := apart("p50", 10, 0.1)
	clear.s = open(10)
	if f := d.look([]gate{clear}, all, true).Judgement.Comparisons[0].Findings[0]; f.Needed != 19 {
		t.Errorf("18 slices were not enough, but %d are needed", f.Needed)
	}
}

// A duet ends with its last slice, and rates are those of a side's own blocks.
func TestDuetEnds(t *testing.T) {
	d := duetOf(9)
	for i := range 90 {
		v := []float64{6, 15}[i/10%2] // µs of head in this slice
		block := func(v float64) duetBlock {
			return duetBlock{response: []float64{v, v}, achieved: 2, guarded: 1}
		}
		d.pairs = append(d.pairs, duetPair{block(10), block(v)})
		d.pairs[i][DuetHead].dropped = 1
	}
	step := d.Next(false)
	if !step.Done || step.Judgement == nil || step.Judgement.Futile || step.Judgement.Verdict != Regressed {
		t.Fatalf("%+v", step)
	}
	p50, rate := finding(t, step.Judgement.Comparisons[0], "p50"), finding(t, step.Judgement.Comparisons[0], "rate")
	if p50.Verdict != Inconclusive || p50.Base != 10 || rate.Base != 60 || math.Abs(rate.Head-2.0/3*80) > 1e-9 {
		t.Errorf("p50 %+v, rate %+v", p50, rate)
	}
	d.Options.Metrics, d.looked = []string{"p50"}, 0
	if step := d.Next(false); !step.Done || step.Judgement.Verdict != Inconclusive || step.Judgement.Futile {
		t.Errorf("with its last slice: %+v", step)
	}
	d.Looks, d.looked = []int{9, 18}, 1
	if step := d.Next(false); step.Done || step.Judgement != nil {
		t.Errorf("between two looks: %+v", step)
	}
	d.Looks, d.looked = []int{10, 20}, 0
	if step := d.Next(false); step.Done || step.Judgement != nil || step.Forecast != "" {
		t.Errorf("before the first look: %+v", step)
	}
}

// A high percentile has the evidence of its windows, too, if there are two.
func TestDuetGateOfATail(t *testing.T) {
	d := duetOf(9)
	block := duetBlock{response: slices.Repeat([]float64{10}, 75)}
	slice := duetSlice{{block, block}}
	for n, want := range map[int]bool{1: false, 2: true} {
		if _, tail := d.gate("p99", slices.Repeat([]duetSlice{slice}, n)).s.(stats.Tail); tail != want {
			t.Errorf("%d windows: tail %v", n, tail)
		}
	}
	if _, tail := d.gate("p50", []duetSlice{slice, slice}).s.(stats.Tail); tail {
		t.Error("a median has a tail")
	}
}

// A forecast of pairs is that of all metrics, or that of the clearest of those that seem worse.
func TestPairsSayWhatTheyNeed(t *testing.T) {
	o := DefaultOptions()
	o.Metrics = []string{"p50", "p99", "errors", "rate"}
	p := Pairs{Options: o, Looks: []int{13, 20, 30}}
	least := func(at float64) gate { return gate{s: fewPairs{known{at: at}}, bound: 0.05, sd: 0.01} }
	for name, c := range map[string]struct {
		gates []gate
		have  int
		want  string
	}{
		"nothing can be proved":    {[]gate{least(0.06), least(0)}, 3, "at least 13 pairs are needed to prove anything"},
		"but one is clear":         {[]gate{least(0), least(9)}, 4, "13 pairs are the least that can prove anything, and enough for a difference like this"},
		"the clear one is first":   {[]gate{least(9), least(0)}, 4, "13 pairs are the least that can prove anything, and enough for a difference like this"},
		"far":                      {[]gate{apart("p50", 9, 0.1)}, 12, "about 13 pairs are needed"},
		"these were not enough":    {[]gate{apart("p50", 9, 0.1)}, 13, "about 20 pairs are needed"},
		"more than the plan":       {[]gate{apart("p50", 9, 0.1)}, 30, "about 31 pairs are needed"},
		"the largest":              {[]gate{apart("p50", -9, 0.1), apart("p99", -0.1, 0.15)}, 13, "likely 45 pairs are needed, perhaps 81"},
		"the largest is first":     {[]gate{apart("p50", -0.1, 0.15), apart("p99", -9, 0.1)}, 13, "likely 45 pairs are needed, perhaps 81"},
		"the clearest that is bad": {[]gate{apart("p50", 9, 0.1), apart("p99", 0.1, 0.15)}, 13, "about 20 pairs are needed"},
		"the clearest is last":     {[]gate{apart("p50", 0.1, 0.15), apart("p99", 9, 0.1)}, 13, "about 20 pairs are needed"},
		"nothing is known":         {[]gate{apart("p50", 0, 0.6)}, 13, ""},
		"one is not known":         {[]gate{apart("p50", -9, 0.1), apart("p99", 0, 0.6)}, 13, ""},
		"the clearest is known":    {[]gate{apart("p50", 9, 0.1), apart("p99", 0, 0.6)}, 13, "about 20 pairs are needed"},
		"it cannot be told":        {[]gate{apart("p50", 0, 0)}, 13, ""},
		"it can hardly be told":    {[]gate{apart("p50", 0.1, 0.6)}, 400, "likely 653 pairs are needed, but it may also be more than 999"},
	} {
		if got := p.forecast(c.gates, c.have); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The forecasts of one series only narrow: one that contradicts those before is not said.
func TestPairsNarrowTheirForecast(t *testing.T) {
	p, err := NewPairs(60, false, "http", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		have int
		g    gate
		want string
	}{
		{12, apart("p50", 0, 0.6), ""},
		{13, apart("p50", -0.1, 0.15), "likely 37 pairs are needed, perhaps 68"},
		{14, apart("p50", 9, 0.1), ""},
		{15, apart("p50", 0, 0.6), ""},
		{16, apart("p50", -0.1, 0.15), "likely 37 pairs are needed, perhaps 65"},
		{17, apart("p50", -0.1, 0.16), "likely 42 pairs are needed, perhaps 65"},
	} {
		if got := p.forecast([]gate{c.g}, c.have); got != c.want {
			t.Errorf("%d pairs: %q, want %q", c.have, got, c.want)
		}
	}
}

// fewPairs is a shift that cannot prove anything.
type fewPairs struct{ known }

func (fewPairs) Least() float64 { return 1 }

// What a gate needs follows from the larger one of the distance and its standard error.
func TestNeeds(t *testing.T) {
	const alpha = 0.0125
	for name, c := range map[string]struct {
		g      gate
		method Method
		want   need
	}{
		"all equal the tolerance": {apart("p50", 0, 0), Paired, need{n: mostNeeded, likely: mostNeeded}},
		"runs near it":            {apart("p50", 0, 0.2), Unpaired, need{n: runsNeeded(2, alpha), likely: runsNeeded(2, alpha)}},
		"runs far from it":        {apart("p50", 0.3, 0.2), Unpaired, need{n: runsNeeded(0.2/0.3, alpha), likely: runsNeeded(0.2/0.3, alpha)}},
		"a distance of 1":         {apart("p50", 1, 0.5), Unpaired, need{n: runsNeeded(0.5, alpha), likely: runsNeeded(0.5, alpha)}},
	} {
		if got := c.g.need(8, c.method, alpha); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	for _, c := range []struct{ got, want int }{
		{pairsNeeded(1.8, 0.05), 38}, {byPower(4, 0.05, 2, surePower), 57}, {byPower(4, 0.05, 2, needPower), 46}, {runsNeeded(2, 0.05), 89}, {runsNeeded(1.4, 0.05), 45}, {byPower(1e6, 0.05, 2, surePower), 999},
	} {
		if c.got != c.want {
			t.Errorf("%d are needed, want %d", c.got, c.want)
		}
	}
}

// The spread of the evidence, by each method.
func TestSpreadOfRuns(t *testing.T) {
	for method, want := range map[Method]float64{Paired: math.Sqrt(8), Prediction: math.Sqrt2, Unpaired: math.Sqrt(10)} {
		if _, sd := shiftOf(method, []float64{1, 3}, []float64{2, 8}); math.Abs(sd-want) > 1e-15 {
			t.Errorf("%s: %v, want %v", method, sd, want)
		}
	}
}

func TestAdviceBounds(t *testing.T) {
	for k, want := range map[int]string{1: "1 more run of main: repeat its command with --repeat 1", 498: "498 more runs of main: repeat its command with --repeat 498", 499: "runs of main: they vary too much"} {
		if got := moreRuns(k, "main"); !strings.HasPrefix(got, want) {
			t.Errorf("%d: %s, want %s", k, got, want)
		}
	}
	for n, want := range map[int]string{998: "p50: perhaps 998 pairs are needed; repeat with --pairs 998", 999: "p50: not even 999 pairs would be enough"} {
		if got := morePairs(&Comparison{Findings: []Finding{{Metric: "p50", Needed: n}}}); !strings.HasPrefix(got, want) {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	blind := morePairs(&Comparison{Findings: []Finding{{Metric: "p50", Needed: 130, Unknown: true}, {Metric: "p99", Needed: 20}}})
	if want := "p50, p99: these pairs cannot tell how many are needed, and it may be more than 130; quieten"; !strings.HasPrefix(blind, want) || strings.Contains(blind, "repeat") {
		t.Errorf("%s, want %s", blind, want)
	}
	for want, e := range map[string]UnfitError{
		"it broke":                         {Why: "it broke"},
		"it broke; the last one: a (late)": {Why: "it broke", Runs: []stored.Run{{ID: "a", Unfit: "late"}}},
		"nothing can be concluded from these runs: a (late); repeat them or leave them out": {Runs: []stored.Run{{ID: "a", Unfit: "late"}}},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A figure of 0 has no logarithm, and a figure of 1 has one. A run by itself differs from nothing.
func TestFewFigures(t *testing.T) {
	o := DefaultOptions()
	for rate, want := range map[float64]bool{0: true, 0.5: false, 1: false} {
		r := ran("a", func(f map[string]float64) { f["rate"] = rate })
		if err := o.Check(r); (err != nil) != want || want && !strings.Contains(err.Error(), "rate is 0 in these runs") {
			t.Errorf("a rate of %v: %v", rate, err)
		}
	}
	if got := differing([]stored.Run{ran("a", nil)}); len(got) != 0 {
		t.Errorf("a run differs in %q", got)
	}
	bare := stored.Run{Kind: "http"}
	bare.Figures.Names, bare.Figures.Values = []string{"errors"}, []float64{0}
	if got := o.gated("http", bare); !slices.Equal(got, []string{"errors"}) {
		t.Errorf("a run with errors only is judged by %q", got)
	}
	zero := match{base: []stored.Run{ran("a", func(f map[string]float64) { f["rate"] = 0 })}, head: []stored.Run{ran("b", nil)}}
	if f := contrast("rate", zero, o); f.P != 1 || f.Verdict != Inconclusive || !f.Absolute {
		t.Errorf("a rate of 0: %+v", f)
	}
	g := gate{sign: -1, Finding: Finding{Absolute: true}}
	if v, _ := g.shown(0); math.Signbit(v) {
		t.Error("0 is shown as −0")
	}
}

// One report of each side is enough for an overlay.
func TestOverlayOfTwo(t *testing.T) {
	h := hist.New()
	h.Record(time.Millisecond)
	one := []*takt.Report{{Latency: map[string]takt.Latency{"response": h.Summary()}}}
	for _, c := range []struct {
		base, head []*takt.Report
		want       int
	}{{one, one, 1}, {nil, one, 0}, {one, nil, 0}} {
		if got, err := Overlays(c.base, c.head); err != nil || len(got) != c.want || got == nil {
			t.Errorf("%v, %v, want %d", got, err, c.want)
		} else if c.want == 1 && (len(got[0].Points) != 13 || got[0].Points[12].Quantile != 1) {
			t.Errorf("%+v", got[0].Points)
		}
	}
}

// Too few pairs may prove anything; with more, the upper end of what they show decides.
func TestMayLieAboveOfFew(t *testing.T) {
	if !mayLieAbove(stats.Paired{-1}, 0, 20, 0.05) {
		t.Error("a single pair decides")
	}
	even := stats.Paired{-1.1, 1, -1.2, 1.2, -0.9, 1.1, -1, 0.9, -0.8, 0.8}
	if !mayLieAbove(even, 0, 40, 0.05) || mayLieAbove(even, 3, 40, 0.05) {
		t.Errorf("above 0: %v, above 3: %v", mayLieAbove(even, 0, 40, 0.05), mayLieAbove(even, 3, 40, 0.05))
	}
}

// Labels must be equal in all runs of a history, the first one included.
func TestHistoryLabels(t *testing.T) {
	with := func(id string, labels ...string) stored.Run {
		r := ran(id, nil)
		for _, l := range labels {
			r.Labels[l] = "x"
		}
		return r
	}
	o := DefaultOptions()
	for name, c := range map[string]struct {
		runs []stored.Run
		want bool
	}{
		"equal":           {[]stored.Run{with("a", "rack"), with("b", "rack"), with("c", "rack")}, true},
		"only in the 1st": {[]stored.Run{with("a", "rack"), with("b"), with("c")}, false},
		"only in the 2nd": {[]stored.Run{with("a"), with("b", "rack"), with("c")}, false},
	} {
		if err := o.checkHistory(c.runs); (err == nil) != c.want || err != nil && !strings.Contains(err.Error(), "these variables differ among the selected runs: rack;") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A single run is compared with ten earlier ones together.
func TestHistoryOfTen(t *testing.T) {
	for n, want := range map[int]int{9: 2, 10: 1} { // comparisons: with each revision, or with all
		var runs []stored.Run
		for i := range n + 1 {
			r := ran(fmt.Sprint("r", i), nil)
			r.Labels[stored.LabelRevision] = map[bool]string{false: []string{"old", "older"}[i%2], true: "new"}[i == n]
			r.StartedAt = time.Unix(int64(i), 0)
			runs = append(runs, r)
		}
		if j, err := History(runs, DefaultOptions()); err != nil || len(j.Comparisons) != want || (j.Comparisons[0].Method == Prediction) != (want == 1) {
			t.Errorf("%d earlier runs: %+v, %v", n, j.Comparisons, err)
		}
	}
}

// Between two looks a series has a forecast; when its time is over, it is judged by the plan.
func TestPairsBetweenLooks(t *testing.T) {
	p, err := NewPairs(20, true, "http", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	base, head := times("a", 9, 5000), times("b", 9, 5000)
	if s, err := p.Next(base, head); err != nil || s.Done || s.Judgement != nil || s.Forecast == "" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := p.Next(base, head[:7]); err != nil || s != (Step{}) {
		t.Errorf("half a pair: %+v, %v", s, err)
	}
	if j, err := p.Finish(base, head); err != nil || j.Confidence != 0.95 || j.Looks != len(p.Looks) {
		t.Errorf("%+v, %v", j, err)
	}
	var unfit *UnfitError
	head[0].Unfit = "it broke"
	if _, err := p.Next(base, head); !errors.As(err, &unfit) {
		t.Errorf("an unfit run: %v", err)
	}
}

// What is needed is more than what did not suffice.
func TestNeededIsMore(t *testing.T) {
	c := Comparison{Method: Paired, Findings: []Finding{{Metric: "p50", Verdict: Inconclusive}}}
	if fill(&c, []gate{apart("p50", 9, 0.1)}, 20, 0.05); c.Findings[0].Needed != 21 || c.Findings[0].Least {
		t.Errorf("20 pairs did not suffice: %+v", c.Findings[0])
	}
}

// One verdict replaces those of all metrics only if none of them says anything.
func TestContrastOfTooFew(t *testing.T) {
	end := 0.1
	for name, c := range map[string]struct {
		f    Finding
		want Word
	}{
		"nothing is known": {Finding{Verdict: Inconclusive}, Inconclusive}, "a lower end": {Finding{Verdict: Inconclusive, Low: &end}, ""},
		"an upper end": {Finding{Verdict: Inconclusive, High: &end}, ""}, "a word": {Finding{Verdict: OK}, ""},
	} {
		got := Contrast{Findings: []Finding{{Verdict: Inconclusive}, c.f}}
		if got.tooFew(match{base: make([]stored.Run, 1), head: make([]stored.Run, 1)}); got.Verdict != c.want || len(got.Advice) == 1 != (c.want != "") {
			t.Errorf("%s: %q, %q", name, got.Verdict, got.Advice)
		}
	}
}

// A duet judges late blocks itself, and no other fault of a run.
func TestDuetRunOf(t *testing.T) {
	for codes, unfit := range map[string]bool{"": true, "generator_bottleneck": false, "generator_bottleneck host_limit": true, "generator_held": true} {
		r := &takt.Report{Verdict: takt.Invalid, Counts: takt.Counts{Scheduled: 9, Sent: 9, OK: 9}}
		for _, code := range strings.Fields(codes) {
			r.Warn(takt.WarningCode(code), "why")
		}
		if got := DuetRunOf(r).Unfit; (got != "") != unfit || r.Verdict != takt.Invalid {
			t.Errorf("%q: %q, %s", codes, got, r.Verdict)
		}
	}
}
