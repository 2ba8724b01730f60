package html_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/judge/functions"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/takt"
)

// pairs are runs of two sides: the head is slower by a part, and each run has its own speed.
func pairs(n int, part float64) (base, head []*takt.Report) {
	for i := range n {
		for k, side := range []*[]*takt.Report{&base, &head} {
			r := run(2, 100)
			r.ID = fmt.Sprintf("01JD%02d%d", i, k)
			r.Labels = map[string]string{"revision": []string{"old", "new"}[k]}
			for name, l := range r.Latency {
				factor := 1 + float64(i%3)/200 + float64(k)*part
				l.P50, l.P99 = l.P50*factor, l.P99*factor
				r.Latency[name] = l
			}
			*side = append(*side, r)
		}
	}
	return base, head
}

func runsOf(list []*takt.Report) (runs []stored.Run) {
	for _, r := range list {
		runs = append(runs, stored.RunOf(r))
	}
	return runs
}

func judgementPage(t *testing.T) string {
	t.Helper()
	base, head := pairs(8, 0.2)
	j, err := verify.Verify(runsOf(base), runsOf(head), true, verify.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*takt.Report{}
	for _, r := range append(base, head...) {
		r.Command = []string{"takt", "http", "-d", "a b", payload}
		all[r.ID] = r
	}
	j.Attach(all)
	j.Command = []string{"takt", "verify", "--run", "a b", payload}
	j.Bisect = []verify.Culprit{{Metric: "p50", Chance: 0.5, Commits: []verify.Suspect{{Commit: verify.Commit{Hash: "0123456789abcdef", Subject: payload}, Skipped: payload}}}}
	j.Functions = &functions.Result{Pairs: 8, Functions: []functions.Function{{Name: payload, Word: functions.Slower}}}
	j.Functions.Stacks = functions.Stacks{Frames: []functions.Frame{{Name: payload, Caller: -1, Own: [2]float64{1, 2}}, {Name: "b" + payload, Caller: 0, Own: [2]float64{3, 1}}}}
	j.Head.Commit = &verify.Commit{Name: "HEAD", Subject: "cart: read prices" + payload}
	var b bytes.Buffer
	if err := html.Judgement(&b, j); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func contrastPage(t *testing.T) string {
	t.Helper()
	base, head := pairs(3, 0.2)
	c, err := verify.Compare(runsOf(base), runsOf(head), verify.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := html.Contrast(&b, c, base, head); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func collationPage(t *testing.T) string {
	t.Helper()
	base, head := pairs(3, 0.2)
	sort, err := query.ParseSort("p99")
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*takt.Report{}
	for _, r := range append(base, head...) {
		r.Labels["revision"] += payload // a label is anybody's text
		byID[r.ID] = r
	}
	c, err := query.Collate(runsOf(append(base, head...)), query.CollateOptions{Variable: "revision", Sort: sort}, func(ids ...string) (list []*takt.Report, err error) {
		for _, id := range ids {
			list = append(list, byID[id])
		}
		return list, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := html.Collation(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// capacityPage is a search whose steps break an SLO of 20 ms above 800/s.
func capacityPage(t *testing.T) string {
	t.Helper()
	slo, err := capacity.ParseSLO("p95<20ms")
	if err != nil {
		t.Fatal(err)
	}
	var steps []capacity.Step
	var runs []*takt.Report
	for i, rate := range []float64{100, 200, 400, 800, 1600, 1200, 900, 900, 800, 800, 900} {
		r := run(1, 100)
		r.ID = fmt.Sprintf("01JDSTEP%02d", i)
		r.Rate.Achieved, r.Schedule.RatePerS, r.DurationS = rate, rate, 1
		for name, l := range r.Latency {
			l.P95 = 4000 + 12_000*(rate/900)*(rate/900)*(rate/900) + float64(10*i)
			r.Latency[name] = l
		}
		s, err := capacity.StepOf(r, rate, slo)
		if err != nil {
			t.Fatal(err)
		}
		steps, runs = append(steps, s), append(runs, r)
	}
	r, err := capacity.Report(capacity.Conclude(steps, slo, capacity.EndFound, 2000), runs, map[string]any{"slo": "p95<20ms"})
	if err != nil {
		t.Fatal(err)
	}
	r.ID, r.StartedAt = "01JDCAPACITY", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return write(t, r)
}

// historyPage is a history of 24 revisions with two runs each; the p99 rises at the 15th, and the
// p50 is too noisy.
func historyPage(t *testing.T) string {
	t.Helper()
	c := history.NewCollector(history.DefaultOptions())
	for i := range 48 {
		r := run(1, 100)
		r.ID, r.StartedAt = fmt.Sprintf("01JD%02d", i), time.Date(2026, 1, 1+i/2, i%2, 0, 0, 0, time.UTC)
		r.Labels = map[string]string{"branch": payload, "revision": fmt.Sprintf("%04d", i/2) + payload}
		l := r.Latency[takt.LatencyResponse]
		l.P50 *= 1 + float64(i*7%5)/4
		l.P99 *= 1 + float64(i%3)/100 + float64(i/30)*0.3
		r.Latency[takt.LatencyResponse] = l
		one := stored.RunOf(r)
		c.Add(&one)
	}
	h, err := c.History()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := html.History(&b, h); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPagesOfAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		has  []string
	}{
		"verify":   {judgementPage(t), []string{"regressed</strong>", `class="whisker bad"`, "a pair: +", `class="tolerance"`, `id="json"`, `id="spectrum-response"`, "takt verify --run &#39;a b&#39;", "<h1>verify new: cart: read prices"}},
		"compare":  {contrastPage(t), []string{`id="spectrum-response"`, `class="response thin"`, "all runs merged", document.PageOpen}},
		"collate":  {collationPage(t), []string{`id="group-1"`, `class="whisker"`, `id="json"`}},
		"history":  {historyPage(t), []string{`id="group-1"`, "regressed</strong>", `class="dot over"`, `class="range"`, `class="cross"`, "too noisy", `id="json"`}},
		"capacity": {capacityPage(t), []string{`href="#step-1"`, `<tr id="step-11"`, "SLO 20ms", document.PageOpen}},
	} {
		for _, text := range c.has {
			if !strings.Contains(c.page, text) {
				t.Errorf("%s: the page has no %s", name, text)
			}
		}
		for _, text := range []string{"<img", "NaN", "Inf%"} {
			if strings.Contains(c.page, text) {
				t.Errorf("%s: the page has %s", name, text)
			}
		}
		if n := strings.Count(c.page, "<script"); n > 2 {
			t.Errorf("%s: the page has %d scripts", name, n)
		}
	}
}

func findingOf(difference, low, high float64, pairs ...float64) verify.Finding {
	return verify.Finding{Metric: "p99", Better: "lower", Difference: difference, Low: &low, High: &high, Verdict: verify.Regressed, Pairs: pairs}
}

// What is beyond the picture is an arrow at its edge, and the picture is as wide as its figures need.
func TestForestBeyondItsEdges(t *testing.T) {
	page := func(list ...verify.Finding) string {
		var b bytes.Buffer
		j := verify.Judgement{Verdict: verify.Regressed, Tolerance: 0.05, Head: verify.Side{Name: "new"}, Comparisons: []verify.Comparison{{Base: verify.Side{Name: "old"}, Findings: list}}}
		if err := html.Judgement(&b, j); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, c := range []struct {
		name   string
		list   []verify.Finding
		arrows int
		has    []string
		lacks  []string
	}{
		{"within", []verify.Finding{findingOf(0.3, 0.2, 0.4, 0.35)}, 0, []string{"&#43;40 %", "Right of 0, new has more"}, []string{"-50 %", "-40 %"}},
		{"far above", []verify.Finding{findingOf(5, 1, 9, 0.5, 7, 8)}, 4, []string{"a pair: &#43;700 %", "the interval goes on", "&#43;150 %"}, []string{"-50 %"}},
		{"far below", []verify.Finding{findingOf(-0.95, -0.99, -0.9)}, 0, []string{"-100 %"}, []string{"-150 %", "-200 %"}},
	} {
		got := page(c.list...)
		if n := strings.Count(got, `<svg class="arrow"`); n != c.arrows {
			t.Errorf("%s: %d arrows, want %d", c.name, n, c.arrows)
		}
		for _, text := range c.has {
			if !strings.Contains(got, text) && !strings.Contains(got, strings.ReplaceAll(text, "&#43;", "+")) {
				t.Errorf("%s: the page has no %s", c.name, text)
			}
		}
		for _, text := range c.lacks {
			if strings.Contains(got, text) {
				t.Errorf("%s: the page has %s", c.name, text)
			}
		}
	}
}

// One run a side has no interval, so the page has no picture of intervals and no column of them.
func TestOneRunASide(t *testing.T) {
	base, head := pairs(1, 0.2)
	o := verify.DefaultOptions()
	c, err := verify.Compare(runsOf(base), runsOf(head), o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := html.Contrast(&b, c, base, head); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"one run a side cannot tell a change from chance": true, ">none": false, "whisker": false, ">interval": false, "spectrum-response": true} {
		if page, _, _ := strings.Cut(b.String(), `<pre id="markdown"`); strings.Contains(page[strings.Index(page, "</style>"):], text) != want {
			t.Errorf("%s: want %v", text, want)
		}
	}
}

// The labels of a history differ: by day, by the time of day, by the revision. Whiskers are whole, or end
// with an arrow.
func TestHistoryLabels(t *testing.T) {
	for _, c := range []struct {
		name   string
		apart  time.Duration
		labels []string
	}{
		{"days", 24 * time.Hour, []string{">01-01<", ">01-03<"}},
		{"hours", time.Hour, []string{">00:00<", ">02:00<", ">04:00<"}},
		{"half days", 12 * time.Hour, []string{">01-01<", ">01-02<"}},
		{"quarter days", 6 * time.Hour, []string{">01-01 00:00<", ">01-01 12:00<"}},
		{"at once", 0, []string{">r00<", ">r02<"}},
		{"years", 200 * 24 * time.Hour, []string{">2026-01<", ">2027-02<"}},
	} {
		col := history.NewCollector(history.DefaultOptions())
		for i := range 24 {
			r := run(1, 100)
			r.ID, r.StartedAt = fmt.Sprintf("01JD%02d", i), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i/3)*c.apart)
			r.Labels = map[string]string{"revision": fmt.Sprintf("r%02d", i/3)}
			l := r.Latency[takt.LatencyResponse]
			l.P99 *= 1 + float64(i%2)*0.3
			if i == 5 {
				l.P99 *= 40
			}
			r.Latency[takt.LatencyResponse] = l
			one := stored.RunOf(r)
			col.Add(&one)
		}
		h, err := col.History()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := html.History(&b, h); err != nil {
			t.Fatal(err)
		}
		for _, label := range c.labels {
			if !strings.Contains(b.String(), label) {
				t.Errorf("%s: no label %s", c.name, label)
			}
		}
		if c.apart == time.Hour && !strings.Contains(b.String(), "a run beyond the edge") {
			t.Error("a slow run is cut without an arrow")
		}
	}
}
