package html_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/internal/format/html/inside"
	"github.com/taktload/takt/internal/judge/capacity"
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
		"verify":   {judgementPage(t), []string{"regressed</strong>", `class="whisker bad"`, "a pair: +", `class="tolerance"`, `id="json"`}},
		"compare":  {contrastPage(t), []string{`id="spectrum-response"`, `class="response thin"`, "all runs merged", inside.Open}},
		"collate":  {collationPage(t), []string{`id="group-1"`, `class="whisker"`, `id="json"`}},
		"history":  {historyPage(t), []string{`id="group-1"`, "regressed</strong>", `class="dot over"`, `class="range"`, `class="cross"`, "too noisy", `id="json"`}},
		"capacity": {capacityPage(t), []string{`href="#step-1"`, `<tr id="step-11"`, "SLO 20ms", inside.Open}},
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
