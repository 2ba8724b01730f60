package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
)

// ran makes a run with these figures: p50, p99, errors, rate, of 1000, 5000, 0 and 500
// when they are not given.
func ran(id string, change func(f map[string]float64)) stored.Run {
	f := map[string]float64{"p50": 1000, "p99": 5000, "errors": 0, "rate": 500}
	if change != nil {
		change(f)
	}
	r := stored.Run{ID: id, Kind: "http", Settings: nothing, Labels: map[string]string{}}
	for _, name := range []string{"p50", "p99", "errors", "rate", "failed", "max_rss"} {
		if v, ok := f[name]; ok {
			r.Figures.Names, r.Figures.Values = append(r.Figures.Names, name), append(r.Figures.Values, v)
		}
	}
	return r
}

// times makes n runs whose p99 is that, a thousandth more from each to the next.
func times(name string, n int, p99 float64) []stored.Run {
	var runs []stored.Run
	for i := range n {
		runs = append(runs, ran(fmt.Sprintf("%s%d", name, i), func(f map[string]float64) { f["p99"] = p99 * (1 + float64(i)/1000) }))
	}
	return runs
}

func finding(t *testing.T, c Comparison, name string) Finding {
	t.Helper()
	for _, f := range c.Findings {
		if f.Metric == name {
			return f
		}
	}
	t.Fatalf("there is no finding of %s", name)
	return Finding{}
}

// What must come of clear cases, by every method.
func TestVerifyWords(t *testing.T) {
	set := func(name string, v float64) func(map[string]float64) {
		return func(f map[string]float64) { f[name] = v }
	}
	for _, c := range []struct {
		name    string
		change  func(map[string]float64)
		metric  string
		word    Word
		overall Word
	}{
		{"nothing", nil, "p99", OK, OK},
		{"slower", set("p99", 5600), "p99", Regressed, Regressed},
		{"a bit slower", set("p99", 5200), "p99", OK, OK},
		{"faster", set("p50", 900), "p50", Improved, OK},
		{"less", set("rate", 450), "rate", Regressed, Regressed},
		{"more", set("rate", 600), "rate", Improved, OK},
		{"errors", set("errors", 0.5), "errors", Regressed, Regressed},
		{"few errors", set("errors", 0.05), "errors", OK, OK},
	} {
		for _, m := range []struct {
			method     Method
			base, head int
		}{{Paired, 8, 8}, {Unpaired, 5, 5}, {Prediction, 10, 1}} {
			base, head := times("a", m.base, 5000), times("b", m.head, 5000)
			for i := range head {
				head[i] = ran(head[i].ID, c.change)
			}
			j, err := Verify(base, head, m.method == Paired, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			f := finding(t, j.Comparisons[0], c.metric)
			if f.Verdict != c.word || j.Verdict != c.overall || j.Comparisons[0].Method != m.method {
				t.Errorf("%s, %s: %s, overall %s by %s: %+v", c.name, m.method, f.Verdict, j.Verdict, j.Comparisons[0].Method, f)
			}
		}
	}
}

// The numbers that people see, of a case that can be reckoned by hand.
func TestFindingIsShownAsOfHead(t *testing.T) {
	var base, head []stored.Run
	for i := range 8 {
		base = append(base, ran(fmt.Sprint("a", i), nil))
		head = append(head, ran(fmt.Sprint("b", i), func(f map[string]float64) {
			f["rate"], f["p99"], f["errors"] = 400, 6000, 0.02
		}))
	}
	j, err := Verify(base, head, true, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		metric, better         string
		base, head, difference float64
	}{
		{"p50", "lower", 1000, 1000, 0},
		{"p99", "lower", 5000, 6000, 0.2},
		{"rate", "higher", 500, 400, -0.2},
		{"errors", "lower", 0, 0.02, 0.02},
	} {
		f := finding(t, j.Comparisons[0], c.metric)
		near(t, c.metric, f.Difference, c.difference)
		near(t, c.metric+" low", *f.Low, c.difference)
		near(t, c.metric+" high", *f.High, c.difference)
		if len(f.Pairs) != 8 {
			t.Errorf("%s has %d pairs", c.metric, len(f.Pairs))
		}
		for _, d := range f.Pairs {
			near(t, c.metric+" of a pair", d, c.difference)
		}
		if f.Better != c.better || f.Base != c.base || f.Head != c.head || f.P != 2.0/256 || f.Absolute != (c.metric == "errors") {
			t.Errorf("%s: %+v", c.metric, f)
		}
	}
	if j.Advice[0] != "base outperforms head: p99, rate" {
		t.Errorf("advice %q", j.Advice)
	}
}

// Words follow intervals: regressed above the tolerance, improved below its inverse.
func TestWordsAgreeWithIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 100 {
		w := world{drift: 0.2, sd: 0.005 + 0.04*r.Float64(), change: 0.15*r.Float64() - 0.06, r: r}
		base, head := w.pairs(6 + r.IntN(10))
		inPairs := r.IntN(2) == 0
		if r.IntN(3) == 0 {
			head, inPairs = head[:1], false
		}
		j, err := Verify(base, head, inPairs, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		told := slices.DeleteFunc(slices.Clone(j.Advice), func(s string) bool { return strings.Contains(s, "disagree") })
		if (j.Verdict == OK) != (len(told) == 0) {
			t.Errorf("%s with the advice %q", j.Verdict, j.Advice)
		}
		for _, f := range j.Comparisons[0].Findings {
			if want := wordOf(f, j); f.Verdict != want {
				t.Errorf("%+v is called %s, want %s", f, f.Verdict, want)
			}
			if (f.Verdict == Inconclusive) != (f.Needed > min(len(base), len(head))) {
				t.Errorf("with %d and %d runs: %+v", len(base), len(head), f)
			}
		}
	}
}

func wordOf(f Finding, j Judgement) Word {
	low, high := math.Inf(-1), math.Inf(1)
	scale := func(v float64) float64 {
		if f.Absolute {
			return v / j.ErrorTolerance
		}
		return math.Log1p(v) / math.Log1p(j.Tolerance)
	}
	if f.Low != nil {
		low = scale(*f.Low)
	}
	if f.High != nil {
		high = scale(*f.High)
	}
	if f.Better == "higher" {
		low, high = -high, -low
	}
	switch {
	case low > 1:
		return Regressed
	case high < -1:
		return Improved
	case high < 1:
		return OK
	}
	return Inconclusive
}

func TestVerifyRefuses(t *testing.T) {
	with := func(change func(r *stored.Run)) []stored.Run {
		r := ran("x1", nil)
		change(&r)
		return []stored.Run{r, ran("x2", nil)}
	}
	variables := func(kv ...any) *stored.Settings {
		return stored.NewSettings(map[string]any{"rate_per_s": kv[0], "flags": map[string]any{"mode": kv[1]}}, "host")
	}
	fine, other := []stored.Run{ran("a1", nil), ran("a2", nil)}, []stored.Run{ran("b1", nil), ran("b2", nil)}
	o := DefaultOptions()
	for _, c := range []struct {
		name       string
		base, head []stored.Run
		inPairs    bool
		change     func(o *Options)
		want       []string
	}{
		{"no runs", nil, fine, false, nil, []string{"0 base runs and 2 head runs"}},
		{"no pairs", fine, fine[:1], true, nil, []string{"2 base runs and 1 head runs are not pairs"}},
		{"metric", fine, other, true, func(o *Options) { o.Metrics = []string{"p98"} }, []string{`unknown metric "p98"`}},
		{"all options", fine, other, true, func(o *Options) { *o = Options{Tolerance: math.NaN(), Confidence: 1} },
			[]string{"the tolerance NaN % is not above 0 % and at most 1000 %", "the error tolerance 0 % ", "the confidence 100 % is not from 50 % to below 100 %"}},
		{"missing", fine, other, true, func(o *Options) { o.Metrics = []string{"p99.9"} }, []string{"there is no p99.9 in these runs: a1, a2, b1, b2"}},
		{"on both sides", fine, fine, true, nil, []string{"these runs are given more than once: a1, a2; give each once"}},
		{"twice on one", fine, []stored.Run{other[0], other[0], other[0]}, false, nil, []string{"these runs are given more than once: b1; give each once"}},
		{"to vary", with(func(r *stored.Run) { r.Settings = variables(1, "x") }), with(func(r *stored.Run) { r.ID = "y1" })[:1], false, func(o *Options) { o.Lift = []string{"rate_per_", "mode", "rate_per_s", "host_class", "path"} },
			[]string{"--vary rate_per_: no run has such a variable, label or flag; use one of rate_per_s mode"}},
		{"zero", fine, with(func(r *stored.Run) { *r = ran("x1", func(f map[string]float64) { f["p50"] = 0 }) }), true, nil, []string{"p50 is 0 in these runs, so there is no ratio: x1"}},
		{"unfit and settings", fine, with(func(r *stored.Run) { r.Unfit, r.Settings, r.Kind = "it broke", variables(1, "x"), "apm" }), true, func(o *Options) { o.Metrics = []string{"p50"} },
			[]string{"x1 (it broke)", "these variables differ among the selected runs: host_class, kind, mode, rate_per_s; add filters, or let one differ with --vary NAME"}},
		{"apm", with(func(r *stored.Run) { r.Kind = "apm" }), with(func(r *stored.Run) { r.Kind = "apm" }), true,
			func(o *Options) { o.Metrics = []string{"accepted", "index", "efficiency", "max_rss"} },
			[]string{"differ among the selected runs: kind", "there is no accepted", "there is no index", "there is no efficiency", "there is no max_rss"}},
	} {
		options := o
		if c.change != nil {
			c.change(&options)
		}
		_, err := Verify(c.base, c.head, c.inPairs, options)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nlacks %q", c.name, err, want)
			}
		}
		var unfit *UnfitError
		if errors.As(err, &unfit) != strings.Contains(c.name, "unfit") {
			t.Errorf("%s: UnfitError in %v", c.name, err)
		}
		var asked *stored.UsageError
		if wants := []string{"missing", "zero", "on both sides", "twice on one", "to vary", "apm"}; errors.As(err, &asked) != slices.Contains(wants, c.name) {
			t.Errorf("%s: UsageError in %v", c.name, err)
		}
	}
}

// Numbers of any type are equal, and what is lifted may differ.
func TestDiffering(t *testing.T) {
	run := func(host string, flag, rate any) stored.Run {
		return stored.Run{Kind: "http", Settings: stored.NewSettings(map[string]any{"rate_per_s": rate, "flags": map[string]any{"f": flag}}, host)}
	}
	list := []stored.Run{run("h", "on", 5), run("h", "on", 5.0), run("h", "off", 5), run("h2", "on", 5)}
	if got := fmt.Sprint(differing(list)); got != "[f host_class]" {
		t.Errorf("differing %s", got)
	}
	if got := differing(list, "f", "host_class"); len(got) != 0 {
		t.Errorf("lifted, but differing %v", got)
	}
	if got := differing(list[:2]); len(got) != 0 {
		t.Errorf("5 and 5.0 differ: %v", got)
	}
}

// revisionRuns are n runs of a revision of that day.
func revisionRuns(name string, day, n int, p99 float64) []stored.Run {
	runs := times(name, n, p99)
	for i := range runs {
		runs[i].Labels = map[string]string{"revision": name}
		runs[i].StartedAt = time.Date(2026, 1, day, i, 0, 0, 0, time.UTC)
	}
	return runs
}

func join(groups ...[]stored.Run) []stored.Run {
	var all []stored.Run
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

func TestVerifyHistory(t *testing.T) {
	for _, c := range []struct {
		name   string
		runs   []stored.Run
		word   Word
		method Method
		bases  string
		advice []string
	}{
		{"newest is worse than all", join(revisionRuns("new", 3, 7, 6000), revisionRuns("old", 1, 7, 5000), revisionRuns("mid", 2, 7, 5000)),
			Regressed, Unpaired, "mid old", []string{"mid outperforms new: ", "old outperforms new: "}},
		{"only an old one is worse", join(revisionRuns("new", 3, 7, 5000), revisionRuns("old", 1, 7, 9000), revisionRuns("mid", 2, 7, 5000)), OK, Unpaired, "mid old", nil},
		{"too few", join(revisionRuns("new", 2, 1, 5000), revisionRuns("old", 1, 3, 5000)),
			Inconclusive, Unpaired, "old", []string{"2 more runs of old: repeat its command with --repeat 2", "4 more runs of new: repeat its command with --repeat 4"}},
		{"one of the newest, worse", join(revisionRuns("new", 3, 1, 6000), revisionRuns("old", 1, 6, 5000), revisionRuns("mid", 2, 6, 5000)),
			Regressed, Prediction, "all earlier revisions", []string{"all earlier revisions outperforms new: p99"}},
		{"one of the newest", join(revisionRuns("new", 3, 1, 5000), revisionRuns("old", 1, 12, 5000)), OK, Prediction, "old", nil},
	} {
		j, err := History(c.runs, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		var bases []string
		for _, m := range j.Comparisons {
			bases = append(bases, m.Base.Name)
		}
		if got := strings.Join(bases, " "); j.Verdict != c.word || j.Comparisons[0].Method != c.method || got != c.bases || j.Head.Name != "new" {
			t.Errorf("%s: %s of %s by %s against %s", c.name, j.Verdict, j.Head.Name, j.Comparisons[0].Method, got)
		}
		for _, want := range c.advice {
			if !strings.Contains(strings.Join(j.Advice, "\n"), want) {
				t.Errorf("%s: %q lacks %q", c.name, j.Advice, want)
			}
		}
		if c.advice == nil && len(j.Advice) > 0 {
			t.Errorf("%s: %q", c.name, j.Advice)
		}
	}
}

// The label decides about what is newest, not when a revision was run again.
func TestHeadOfHistory(t *testing.T) {
	old, recent := revisionRuns("old", 9, 7, 5000), revisionRuns("recent", 1, 7, 5000)
	for i := range old {
		old[i].Labels["revision_date"], recent[i].Labels["revision_date"] = "2025-01-01T00:00:00Z", "2025-06-01T00:00:00+02:00"
	}
	again := revisionRuns("first", 30, 1, 5000)
	again[0].ID = "again"
	dated := func(name string, day int, date string) []stored.Run {
		runs := revisionRuns(name, day, 7, 5000)
		for i := range runs {
			runs[i].Labels["revision_date"] = date
		}
		return runs
	}
	for _, c := range []struct {
		runs []stored.Run
		want string
	}{
		{join(old, recent), "recent"},
		{join(revisionRuns("first", 1, 7, 5000), revisionRuns("second", 2, 7, 5000), again), "second"},
		{join(dated("z", 1, "2025-06-01"), dated("a", 2, "2025-06-01T02:00:00+02:00")), "a"}, // at the same time: the one that was run later
		{join(dated("a", 1, "2025-06-01"), dated("z", 2, "2025-06-01"), dated("b", 3, "2025-05-31")), "z"},
	} {
		if j, err := History(c.runs, DefaultOptions()); err != nil || j.Head.Name != c.want {
			t.Errorf("head is %s (%v), want %s", j.Head.Name, err, c.want)
		}
	}
}

func TestHistoryRefusesAndLeavesOut(t *testing.T) {
	bad := revisionRuns("new", 2, 7, 5000)
	for i := range bad {
		bad[i].Unfit = "it broke"
	}
	old := revisionRuns("old", 1, 7, 5000)
	for want, runs := range map[string][]stored.Run{
		"none of the selected runs has a label revision": {ran("a", nil)},
		"all selected runs are of one revision, old":     old,
		"nothing can be concluded about new, the newest revision: every run of it failed or is invalid: new0 (it broke), new1":                  join(bad, old),
		"nothing can be concluded about new, the newest revision: every run of it failed or is invalid: new0 (it broke), new1 (it broke), new2": bad,
		"nothing can be concluded from these runs: new0 (it broke), new1":                                                                       join(bad, revisionRuns("newer", 3, 7, 5000), []stored.Run{ran("a", nil)}),
	} {
		_, err := History(runs, DefaultOptions())
		var unfit *UnfitError
		if err == nil || !strings.HasPrefix(err.Error(), want) || errors.As(err, &unfit) != strings.Contains(want, "broke") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	bad[3].Unfit, bad[4].Unfit = "", ""
	j, err := History(join(bad, old, []stored.Run{ran("a", nil)}), DefaultOptions())
	if err != nil || len(j.Head.Runs) != 2 || !strings.Contains(j.Advice[len(j.Advice)-1], "left out: a: it has no label revision; new0: it broke") {
		t.Errorf("%v %+v", err, j)
	}
}

// Labels count as settings in a history, but for those that name the revision; where runs
// are given they do not.
func TestLabelsOfHistory(t *testing.T) {
	old, recent := revisionRuns("old", 1, 7, 5000), revisionRuns("new", 2, 7, 5000)
	for i := range old {
		old[i].Labels["branch"], recent[i].Labels["branch"], recent[i].Labels["team"] = "main", "feature", "load"
		old[i].Labels["revision_date"], recent[i].Labels["revision_date"] = "2026-01-01", "2026-01-02"
		recent[i].Settings = stored.NewSettings(map[string]any{"a": 1}, "")
	}
	o := DefaultOptions()
	for lift, want := range map[string]string{
		"":                "differ among the selected runs: a, branch, team; add filters, or let one differ with --vary NAME",
		"branch a":        "differ among the selected runs: team;",
		"branch a team":   "",
		"branch a team x": "--vary x: no run has such a variable, label or flag; use one of",
	} {
		o.Lift = strings.Fields(lift)
		_, err := History(join(old, recent), o)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("lifted %q: %v, want %q", lift, err, want)
		}
	}
	o.Lift = []string{"a"}
	if _, err := Verify(old, recent, false, o); err != nil {
		t.Error(err)
	}
}

// Answers that are errors may be fast ones: with more than a few, or more on one side,
// latencies say nothing, and errors are gated whatever else is.
func TestErrorsMuddleLatencies(t *testing.T) {
	for _, c := range []struct {
		name       string
		base, head float64 // % of errors
		p99        float64
		want       map[string]Word
		overall    Word
	}{
		{"none", 0, 0, 6000, map[string]Word{"p99": Regressed, "errors": OK}, Regressed},
		{"as many and few", 0.9, 0.95, 6000, map[string]Word{"p99": Regressed, "errors": OK}, Regressed},
		{"fast ones", 0, 0.2, 1000, map[string]Word{"p99": Inconclusive, "errors": Regressed}, Regressed},
		{"fast ones before", 0.2, 0, 6000, map[string]Word{"p99": Inconclusive, "errors": Improved}, Inconclusive},
		{"as many, but not few", 1.1, 1.1, 1000, map[string]Word{"p99": Inconclusive, "errors": OK}, Inconclusive},
	} {
		base, head := times("a", 8, 5000), times("b", 8, c.p99)
		for i := range base {
			base[i].Figures.Values[2], head[i].Figures.Values[2] = c.base, c.head
		}
		o := DefaultOptions()
		o.Metrics = []string{"p99"}
		for _, inPairs := range []bool{true, false} {
			j, err := Verify(base, head, inPairs, o)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range c.want {
				if f := finding(t, j.Comparisons[0], name); f.Verdict != want || f.Needed != 0 {
					t.Errorf("%s: %+v, want %s", c.name, f, want)
				}
			}
			said := slices.ContainsFunc(j.Advice, func(s string) bool {
				return strings.HasPrefix(s, "p99: ") && strings.Contains(s, "fix the errors first")
			})
			if j.Verdict != c.overall || said != (c.want["p99"] == Inconclusive) {
				t.Errorf("%s: %s %q", c.name, j.Verdict, j.Advice)
			}
		}
		seen, err := Compare(base, head, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if f := finding(t, Comparison{Findings: seen.Findings}, "p99"); (f.Verdict == Inconclusive) != (c.want["p99"] == Inconclusive) || (len(seen.Advice) > 0) != (f.Verdict == Inconclusive) {
			t.Errorf("compare, %s: %s %q", c.name, f.Verdict, seen.Advice)
		}
	}
}

// Two sides of the same revision are told apart.
func TestSidesHaveTwoNames(t *testing.T) {
	same, other := times("a", 2, 5000), times("b", 2, 5000)
	for i := range same {
		same[i].Labels["revision"], other[i].Labels["revision"] = "r1", "r1"
	}
	j, err := Verify(same, other, true, DefaultOptions())
	if err != nil || j.Comparisons[0].Base.Name != "base" || j.Head.Name != "head" {
		t.Errorf("%+v %v", j, err)
	}
	if c, err := Compare(same, other, DefaultOptions()); err != nil || c.Base.Name != "A" || c.Head.Name != "B" {
		t.Errorf("%+v %v", c, err)
	}
	other[0].Labels["revision"], other[1].Labels["revision"] = "r2", "r2"
	if c, err := Compare(same, other, DefaultOptions()); err != nil || c.Base.Name != "r1" || c.Head.Name != "r2" {
		t.Errorf("%+v %v", c, err)
	}
}

// What cannot be had has no bound in JSON, and empty lists are lists.
func TestJudgementIsJSON(t *testing.T) {
	j, err := Verify(times("a", 3, 5000), times("b", 3, 5000), true, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"verdict":"inconclusive"`, `"unit":"us"`, `"low":null,"high":null`, `"advice":["3 pairs can prove nothing about 4 metrics at a confidence of 95 %: 8 are the least that can","p50, p99, errors, rate: repeat with --pairs 8"]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %s", b, want)
		}
	}
}
