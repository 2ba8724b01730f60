package format_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/pkg/takt"
)

// capacitySteps are steps against a queue in theory that does 240/s: p95 is 3 ÷ (240 − λ)
// s, and 8 s where it cannot keep up.
func capacitySteps(t *testing.T, slo capacity.SLO, rates ...float64) (steps []capacity.Step) {
	t.Helper()
	for i, rate := range rates {
		p95, intended := 8e6, rate
		if rate < 240 {
			p95 = 3e6 / (240 - rate) * (1 + 0.02*float64(i%3))
		}
		latency := takt.Latency{Count: 1, Mean: p95 / 3, P50: p95 / 4, P95: p95, P99: p95 * 1.5, P99_9: p95 * 2}
		service := takt.Latency{Count: 1, Mean: 4e3, P50: 3e3, P95: min(p95, 30e3), P99: 40e3, P99_9: 50e3}
		r := &takt.Report{
			ID: "01STEP", Verdict: takt.Valid, Rate: takt.Rate{Intended: &intended, Achieved: min(rate, 240)}, Counts: takt.Counts{OK: 1, Scheduled: 1, Sent: 1},
			Latency: map[string]takt.Latency{takt.LatencyResponse: latency, takt.LatencyService: service},
		}
		s, err := capacity.StepOf(r, rate, slo)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s)
	}
	return steps
}

// capacities are one answer of each kind.
func capacities(t *testing.T) map[string]capacity.Answer {
	t.Helper()
	slo, err := capacity.ParseSLO("p95<100ms,errors<0.1%")
	if err != nil {
		t.Fatal(err)
	}
	of := func(need float64, ended capacity.Ending, invalidFrom float64, rates ...float64) capacity.Answer {
		steps := capacitySteps(t, slo, rates...)
		for i := range steps {
			if steps[i].Offered >= invalidFrom {
				steps[i].Verdict = takt.Invalid
			}
		}
		return capacity.Conclude(steps, slo, ended, need)
	}
	all := map[string]capacity.Answer{
		"found":   of(800, capacity.EndFound, 1e9, 10, 20, 40, 80, 160, 320, 226.3, 190.3, 207.5, 216.7, 212, 207.5, 212, 207.5, 212),
		"max":     of(0, capacity.EndMax, 1e9, 10, 20, 40, 80),
		"none":    of(800, capacity.EndNone, 1e9, 320, 300, 280),
		"invalid": of(500, capacity.EndInvalid, 160, 40, 80, 160, 160, 160, 120),
		"nothing": of(0, capacity.EndInvalid, 0, 10, 10, 10),
		"broken":  of(0, capacity.EndBroken, 1e9, 160, 320),
		"steps":   of(800, capacity.EndSteps, 1e9, 160, 220),
	}
	disturbed := capacitySteps(t, slo, 80, 160, 160, 220, 220, 220)
	for _, i := range []int{1, 3, 4, 5} { // there is a better run at 160/s, and none at 220/s
		disturbed[i].Stolen = 10 + float64(i)
	}
	all["disturbed"] = capacity.Conclude(disturbed, slo, capacity.EndSteps, 800)
	hostile := all["found"]
	hostile.LimitedBy, hostile.SLO, hostile.Statistic = "<b>\x1b[31m|@everyone", `"]]><script>#1`, "p95"
	all["hostile"] = hostile
	return all
}

func capacityReport(t *testing.T, c capacity.Answer) *takt.Report {
	t.Helper()
	run := &takt.Report{
		StartedAt: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), DurationS: 300, WarmupS: 50, Verdict: takt.Valid,
		Schedule:  takt.Schedule{Profile: "constant", Arrivals: "poisson", RatePerS: 10},
		Variables: map[string]any{"method": "GET", "host": "127.0.0.1:8080", "path": "/"},
		Counts:    takt.Counts{Scheduled: 900, Sent: 900, OK: 900}, Generator: takt.Generator{Engine: "loop"},
	}
	r, err := capacity.Report(c, []*takt.Report{run}, map[string]any{"slo": c.SLO})
	if err != nil {
		t.Fatal(err)
	}
	r.ID, r.Tool, r.Command = "01CAPACITY", takt.Tool{Name: "takt", Version: "1", Go: "go1.26"}, []string{"takt", "capacity", "--slo", c.SLO, "--", "http", "http://127.0.0.1:8080/"}
	return r
}

func drawn(t *testing.T, f format.Format, r *takt.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := format.Replay(f, &b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCapacityGolden(t *testing.T) {
	for name, c := range capacities(t) {
		r := capacityReport(t, c)
		for _, f := range []string{"text", "markdown", "json"} {
			golden(t, filepath.Join("testdata", "capacity", name+"."+f), replay(t, f, r))
		}
		golden(t, filepath.Join("testdata", "capacity", name+".svg"), drawn(t, format.CapacitySVG(), r))
	}
	golden(t, filepath.Join("testdata", "capacity", "found.color"), drawn(t, format.Text(true), capacityReport(t, capacities(t)["found"])))
}

// The report follows the schema, its text fits, its picture is XML, and what others wrote
// steers neither a terminal nor a browser.
func TestCapacityIsSafe(t *testing.T) {
	for name, c := range capacities(t) {
		r := capacityReport(t, c)
		var decoded any
		if err := json.Unmarshal([]byte(replay(t, "json", r)), &decoded); err != nil {
			t.Fatal(err)
		}
		if bad := faults(t, decoded); len(bad) > 0 {
			t.Errorf("%s: %v", name, bad)
		}
		for line := range strings.Lines(replay(t, "text", r)) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > 80 || strings.ContainsAny(line, "\x1b\t\r") || strings.HasSuffix(line, " ") {
				t.Errorf("%s: %q", name, line)
			}
		}
		elements := 0
		d := xml.NewDecoder(strings.NewReader(drawn(t, format.CapacitySVG(), r)))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, is := token.(xml.StartElement); is {
				if elements++; e.Name.Local == "script" || e.Name.Local == "b" {
					t.Errorf("%s: the picture has an element <%s>", name, e.Name.Local)
				}
			}
		}
		if elements < 4 {
			t.Errorf("%s: the picture has %d elements", name, elements)
		}
	}
	for _, bad := range []string{"<b>", "@everyone", "<script>"} {
		if s := replay(t, "markdown", capacityReport(t, capacities(t)["hostile"])); strings.Contains(strings.ReplaceAll(s, "`\"]]><script>#1", ""), bad) {
			t.Errorf("markdown has %q", bad)
		}
	}
}

func TestCapacityWords(t *testing.T) {
	for name, want := range map[string][]string{
		"found":   {"p95 reaches 100ms at 209/s (95 % interval 207–212).", "For 800/s you need 4 machines.", "The knee is between 40/s and 160/s", "Universal scalability law: γ "},
		"max":     {"p95<100ms,errors<0.1%,dropped<1% is met up to 80/s, the highest rate that was offered"},
		"none":    {"p95<100ms,errors<0.1%,dropped<1% is met at no rate: it breaks at 280/s already."},
		"invalid": {"p95<100ms,errors<0.1%,dropped<1% is met up to 120/s; above it the generator is the bottleneck", "For 500/s you need at most 5 machines."},
		"nothing": {"No valid step: the generator was the bottleneck at every rate"},
		"broken":  {"is met at 160/s and breaks at 320/s: the limit is between them.", "The search broke off before it was sure."},
		"steps":   {"For 800/s you need 4 to 5 machines by the rates that were measured.", "This is a single measurement", "is met at 160/s and breaks at 220/s: the limit is between them.", "The search ended after 2 steps, before it was sure"},
	} {
		got := strings.Join(answer.CapacityWords(capacities(t)[name]), "\n")
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s\nlacks %q", name, got, part)
			}
		}
	}
}

// An interval that is wide, or of one run each, has no figure between its ends. The law names
// its highest rate only where the steps reached it.
func TestCapacityWordsOfRanges(t *testing.T) {
	of := func(low, high float64, repeats int) capacity.Answer {
		c := capacity.Answer{SLO: "p95<100ms", LimitedBy: "p95<100ms", Sustainable: (low + high) / 2, Interval: capacity.Range{Low: &low, High: &high}, Confidence: 0.95, Repeats: repeats, Ended: capacity.EndFound}
		c.Plan(1000, 0.2)
		return c
	}
	seen := capacity.USL{Gamma: 10, Kappa: 0.1, Achieved: 240, Measured: 12}
	peak, low, high, at := 250.0, 200.0, 300.0, 8.0
	flat, wide := seen, seen
	wide.Peak, wide.Interval, wide.PeakAt = &peak, capacity.Range{Low: &low, High: &high}, &at
	near := 255.0
	flat.Peak, flat.Interval = &peak, capacity.Range{Low: &peak, High: &near}
	rounds := of(480, 500, 3)
	rounds.Steps = []capacity.Step{{PerRound: 3.07}}
	law := func(u capacity.USL) capacity.Answer { c := of(480, 500, 3); c.USL = &u; return c }
	for _, c := range []struct {
		of         capacity.Answer
		want, lack string
	}{
		{of(480, 610, 3), "p95 reaches 100ms between 480/s and 610/s (95 % interval).", "545"},
		{of(480, 610, 3), "you need 2 to 3 machines.", "by the interval"},
		{of(480, 500, 3), "p95 reaches 100ms at 490/s (95 % interval 480–500).", "single"},
		{of(480, 500, 1), "p95 reaches 100ms between 480/s and 500/s (95 % interval).\nThis is a single measurement", "490"},
		{rounds, "p95 reaches 100ms at 490 rounds/s (95 % interval 480–500).\nFor 1000 rounds/s you need 3 machines (2", "490/s"},
		{rounds, "All rates are of rounds: one has 3.07 requests on average.", "xx"},
		{law(seen), "no sign of a peak up to 240/s; measured", "at once"},
		{law(flat), "it levels off at 250/s (95 % interval 250–255)", "at once"},
		{law(wide), "it peaks between 200/s and 300/s (95 % interval), with about 8 at once", "250/s"},
	} {
		got := strings.Join(answer.CapacityWords(c.of), "\n")
		if !strings.Contains(got, c.want) || strings.Contains(got, c.lack) {
			t.Errorf("%s\nwant %q in it, and no %q", got, c.want, c.lack)
		}
	}
}

// Another report has no curve, and says how to get one.
func TestSVGOfAnotherKind(t *testing.T) {
	err := format.Replay(format.CapacitySVG(), io.Discard, base())
	if err == nil || !strings.Contains(err.Error(), "run takt capacity --from") {
		t.Error(err)
	}
}
