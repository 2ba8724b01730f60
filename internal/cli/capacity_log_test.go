package cli_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/internal/warn"
)

// ramp writes the rows of 20, 40 … 180/s for 15 s each against the queue M/M/1 that
// serves mu per second, one in 200 with a failure, in the order in which they ended as
// the predecessor does.
func ramp(mu float64) string {
	random := rand.New(rand.NewPCG(1, 2))
	type row struct {
		end  time.Time
		text string
	}
	var rows []row
	begin := time.Date(2026, 11, 20, 10, 0, 0, 0, time.Local)
	at, free, change := 0.0, 0.0, 0.0
	for rate := 20.0; rate <= 180; rate += 20 {
		rows = append(rows, row{begin.Add(time.Duration(change * 1e9)), fmt.Sprintf("#request/second = %v\n", rate)})
		change += 15
		for ; at < change; at += random.ExpFloat64() / rate {
			free = max(at, free) + random.ExpFloat64()/mu
			took := time.Duration((free - at) * 1e9)
			sent := begin.Add(time.Duration(at * 1e9))
			r := trace.Record{At: sent, Latency: took, Transfer: took / 4, Bytes: 100, Status: 200, Method: []byte("GET"), URI: []byte("/a"), Offered: rate}
			if len(rows)%200 == 0 {
				r.Status = 503
			}
			rows = append(rows, row{sent.Add(took), string(convert.AppendLoadRow(nil, &r))})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.end.Compare(b.end) })
	var text strings.Builder
	text.WriteString(convert.LoadHead)
	for _, r := range rows {
		text.WriteString(r.text)
	}
	return text.String()
}

// The limit of a ramp that was run before is that of M/M/1, p95 = ln 20 ÷ (μ − λ) (Gross
// et al., 2.2), from its rows and from its seconds, where the SLO is of the mean.
func TestCapacityFromRows(t *testing.T) {
	const mu = 200.0
	a, dir := atHome{t, t.TempDir()}, t.TempDir()
	raw, seconds := filepath.Join(dir, "raw.csv"), filepath.Join(dir, "seconds.csv")
	if err := os.WriteFile(raw, []byte(ramp(mu)), 0o644); err != nil {
		t.Fatal(err)
	}
	code, text, errs := a.run(t.Context(), "trace", "seconds", raw)
	if err := os.WriteFile(seconds, []byte(text), 0o644); err != nil || code != core.ExitOK {
		t.Fatal(err, errs)
	}
	for _, c := range []struct {
		from, slo string
		want      float64 // the limit
		steps     int
	}{
		{raw, "p95<50ms", mu - math.Log(20)/0.05, 9},
		{raw, "mean<20ms", mu - 1/0.02, 9},
		{seconds, "mean<20ms", mu - 1/0.02, 135},
	} {
		r, got, _ := a.answer(core.ExitOK, "--slo", c.slo, "--from", c.from, "--need", "400/s")
		off := got.Sustainable/c.want - 1
		t.Logf("%s of %s: %.1f/s, %.1f/s in theory: %+.1f %%", c.slo, filepath.Base(c.from), got.Sustainable, c.want, 100*off)
		if math.Abs(off) > 0.05 || len(got.Steps) != c.steps || got.Machines.Count != 3 || got.Ended != capacity.EndFound {
			t.Errorf("%s of %s: %v/s in %d steps, %s", c.slo, c.from, got.Sustainable, len(got.Steps), got.Ended)
		}
		if first := got.Steps[0]; first.Offered != 20 || c.steps == 9 && (math.Abs(first.Achieved-20) > 1.2 || first.Service != first.Response || first.Errors == 0) {
			t.Errorf("%+v", first)
		}
		if len(r.Warnings) != 1 || r.Warnings[0].Code != "generator_unknown" || r.Variables["from"] != c.from || r.Counts.Failed != r.Counts.Scheduled/200 || math.Abs(r.DurationS-135) > 1 {
			t.Errorf("%+v %v %+v %v s", r.Warnings, r.Variables, r.Counts, r.DurationS)
		}
	}
	if _, all, _ := a.answer(core.ExitOK, "--slo", "mean<20ms", "--from", raw, "--from", seconds); len(all.Steps) != 144 {
		t.Errorf("%d steps of both", len(all.Steps))
	}
	for _, c := range []struct{ want, slo, from string }{
		{"the report has no p95; a row of takt trace seconds has only mean, p50 and p99", "p95<50ms", seconds},
		{"another SLO needs the rows behind this answer", "p95<40ms", "@-1"},
		{"needs --slo", "", raw},
	} {
		args := []string{"capacity", "--from", c.from}
		if c.slo != "" {
			args = append(args, "--slo", c.slo)
		}
		if code, _, errs := a.run(t.Context(), args...); code == core.ExitOK || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
		}
	}
}

// Requests that were offered and have no row are missed.
func TestRowsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.csv")
	text := convert.LoadHead
	for i := range 60 {
		text += fmt.Sprintf("2026-11-20 10:00:%02d.500 0.001 0 0 1 a 200 GET 2\n", i)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, c, _ := atHome{t, t.TempDir()}.answer(core.ExitOK, "--slo", "p95<1s", "--from", path, "--no-store")
	want := path + " has 60 rows, but 119 requests were offered: the others were not sent, or had no answer at the end"
	if len(r.Warnings) != 2 || r.Warnings[1].Code != warn.RowsMissing || r.Warnings[1].Message != want || math.Abs(c.Steps[0].Achieved-1) > 0.03 || c.Steps[0].Offered != 2 {
		t.Errorf("%+v %+v", r.Warnings, c.Steps)
	}
}
