package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

func TestCompare(t *testing.T) {
	var a, b []stored.Run
	for i := range 6 {
		a = append(a, ran(fmt.Sprint("a", i), func(f map[string]float64) { f["failed"], f["max_rss"] = 0, 1000 }))
		b = append(b, ran(fmt.Sprint("b", i), func(f map[string]float64) { f["failed"], f["p99"], f["rate"] = 3, 6000, 550 }))
	}
	c, err := Compare(a, b, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		metric     string
		difference float64
		absolute   bool
		word       Word
	}{
		{"p50", 0, false, OK},
		{"p99", 0.2, false, Regressed},
		{"errors", 0, true, OK},
		{"rate", 0.1, false, Improved},
		{"failed", 3, true, Inconclusive}, // from 0: there is no tolerance of a count
	} {
		f := finding(t, Comparison{Findings: c.Findings}, want.metric)
		near(t, want.metric, f.Difference, want.difference)
		if f.Absolute != want.absolute || f.Verdict != want.word || f.Confidence != 0.95 {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
	if len(c.Findings) != 5 { // max_rss is on one side only
		t.Errorf("findings %+v", c.Findings)
	}
}

// Single runs show their difference, without bounds; what differs and what is invalid is
// told, not refused.
func TestCompareSingleRuns(t *testing.T) {
	a, b := ran("a", nil), ran("b", func(f map[string]float64) { f["p99"] = 5500 })
	b.Unfit, b.Settings = "it broke", stored.NewSettings(map[string]any{"rate_per_s": 5}, "")
	c, err := Compare([]stored.Run{a}, []stored.Run{b}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	f := finding(t, Comparison{Findings: c.Findings}, "p99")
	near(t, "difference", f.Difference, 0.1)
	if f.Low != nil || f.High != nil || f.Verdict != "" || c.Verdict != Inconclusive || !strings.Contains(c.Advice[0], "groups of 4 runs each") {
		t.Errorf("one run of each: %+v, %s, %q", f, c.Verdict, c.Advice)
	}
	if got := strings.Join(slices.Concat(c.Differing, c.Unfit), " "); got != "rate_per_s b: it broke" {
		t.Errorf("notes %q", got)
	}
	if _, err := Compare(nil, []stored.Run{b}, DefaultOptions()); err == nil {
		t.Error("no runs are compared")
	}
	if c, err := Compare([]stored.Run{a}, []stored.Run{b}, Options{Tolerance: 1, ErrorTolerance: 1, Confidence: 0.9, Metrics: []string{"p50"}}); err != nil || len(c.Findings) != 1 {
		t.Errorf("p50 alone: %+v %v", c.Findings, err)
	}
	zero := func(f map[string]float64) { f["failed"] = 0 }
	if c, err := Compare([]stored.Run{ran("a", zero)}, []stored.Run{ran("b", zero)}, Options{Tolerance: 1, ErrorTolerance: 1, Confidence: 0.9, Metrics: []string{"failed"}}); err != nil || len(c.Findings) != 1 {
		t.Errorf("what was asked for is shown, also if it is 0: %+v %v", c.Findings, err)
	}
}

func TestCompareRefuses(t *testing.T) {
	a, b := ran("a", func(f map[string]float64) { f["max_rss"] = 1 }), ran("b", nil)
	o := DefaultOptions()
	o.Metrics, o.Lift = []string{"p50", "max_rss"}, []string{"rate_per_s"}
	_, err := Compare([]stored.Run{a}, []stored.Run{b, a}, o)
	for _, want := range []string{"there is no max_rss in these runs: b;", "--vary rate_per_s: no run has such a variable", "given more than once: a;"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
	var asked *stored.UsageError
	if !errors.As(err, &asked) {
		t.Errorf("%T is no UsageError", err)
	}
}

// Lists are lists in JSON, also when nothing is in them.
func TestContrastIsJSON(t *testing.T) {
	c, err := Compare([]stored.Run{ran("a", nil)}, []stored.Run{ran("b", nil)}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"differing":[]`, `"unfit":[]`, `"advice":["inconclusive: one run a side cannot tell a change from chance`, `"overlay":[]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %s", b, want)
		}
	}
}

// reports make one report each of the values, in microseconds.
func reports(values ...[]int) []*takt.Report {
	var list []*takt.Report
	for _, v := range values {
		h := hist.New()
		for _, us := range v {
			h.Record(time.Duration(us) * time.Microsecond)
		}
		list = append(list, &takt.Report{ID: "r", Latency: map[string]takt.Latency{"response": h.Summary()}})
	}
	return list
}

// The quantiles of a side are those of all its values together.
func TestOverlays(t *testing.T) {
	base, head := reports([]int{1, 2}, []int{3, 1000}), reports([]int{10, 10, 10, 10})
	base[0].Latency["connect"] = base[0].Latency["response"] // which the others lack
	list, err := Overlays(base, head)
	if err != nil || len(list) != 1 || list[0].Latency != "response" {
		t.Fatalf("%+v %v", list, err)
	}
	whole, err := hist.Decode(reports([]int{1, 2, 3, 1000})[0].Latency["response"].HDR)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range list[0].Points {
		want := hist.Micros(whole.Quantile(p.Quantile))
		if p.Base != want || p.Head < 10 || p.Head > 10.01 || i > 0 && p.Quantile <= list[0].Points[i-1].Quantile {
			t.Errorf("%+v, want %v", p, want)
		}
	}
	head[0].Latency["response"] = takt.Latency{HDR: "nonsense"}
	if _, err := Overlays(base, head); err == nil || !strings.Contains(err.Error(), "the response histogram of run r") {
		t.Errorf("nonsense: %v", err)
	}
	if list, err := Overlays(base, nil); list == nil || len(list) > 0 || err != nil {
		t.Errorf("of nothing: %v %v", list, err)
	}
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if got != want && !(math.Abs(got-want) <= 1e-10*max(1e-3, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

// Sides without revisions of their own have the names that the user gave, unless these are equal, too.
func TestSidesHaveTheUsersNames(t *testing.T) {
	base, head := []stored.Run{ran("a", nil)}, []stored.Run{ran("b", nil)}
	for _, c := range []struct{ names, revisions, want [2]string }{
		{[2]string{"before.json", "http://h/"}, [2]string{}, [2]string{"before.json", "http://h/"}},
		{[2]string{"same", "same"}, [2]string{}, [2]string{"A", "B"}},
		{[2]string{"", "b.json"}, [2]string{}, [2]string{"A", "B"}},
		{[2]string{"a.json", "b.json"}, [2]string{"one", "two"}, [2]string{"one", "two"}},
		{[2]string{"a.json", "b.json"}, [2]string{"one", "one"}, [2]string{"a.json", "b.json"}},
	} {
		base[0].Labels, head[0].Labels = map[string]string{"revision": c.revisions[0]}, map[string]string{"revision": c.revisions[1]}
		o := DefaultOptions()
		o.Names = c.names
		got, err := Compare(base, head, o)
		if err != nil || [2]string{got.Base.Name, got.Head.Name} != c.want {
			t.Errorf("%v of %v: %s and %s, %v", c.names, c.revisions, got.Base.Name, got.Head.Name, err)
		}
	}
}
