package truth_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/clocktest"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// patience is --timeout where the target answers some requests never.
const patience = 300 * time.Millisecond

// TestTruthOfStreams runs takt over HTTP/2, with and without TLS, against a target whose queue
// grows, and against one that fails. Response times are those of the target's record: the instant
// of the answer there, less the due instant. Counts are the target's, class by class.
func TestTruthOfStreams(t *testing.T) {
	clocktest.Asked(t)
	many := streamed(2, 1000)
	for _, c := range []struct {
		name         string
		way          way
		stages       []schedule.Stage
		target, load []string
	}{
		{"a ramp beyond what the target can, and a pause", many,
			[]schedule.Stage{{Duration: 2 * time.Second, From: 500, To: 3500}, {Duration: time.Second / 2}, {Duration: time.Second, From: 500, To: 500}},
			[]string{"--service", "exp(2ms)", "--servers", "4"}, []string{"--stages", "2s@500/s..3500/s,500ms@0/s,1s@500/s", "--drain", "10s"}},
		{"half of what arrives", many.secure(), []schedule.Stage{{Duration: 2 * time.Second, From: 1000, To: 1000}},
			[]string{"--service", "2ms", "--servers", "1"}, []string{"--rate", "1000", "-z", "2s", "--drain", "10s"}},
		{"errors, resets and silence", many, []schedule.Stage{{Duration: 2 * time.Second, From: 1000, To: 1000}},
			[]string{"--service", "uniform(30ms,60ms)", "--error-rate", "5%", "--reset-rate", "5%", "--half-open-rate", "2%"},
			[]string{"--rate", "1000", "-z", "2s", "--timeout", patience.String(), "--fail-on", "5xx"}},
		{"errors, resets and silence over TLS", many.secure(), []schedule.Stage{{Duration: 2 * time.Second, From: 1000, To: 1000}},
			[]string{"--service", "uniform(30ms,60ms)", "--error-rate", "5%", "--reset-rate", "5%", "--half-open-rate", "2%"},
			[]string{"--rate", "1000", "-z", "2s", "--timeout", patience.String(), "--fail-on", "5xx"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			clocktest.Wants(t, func(s *clocktest.Sleepers) []string {
				file := filepath.Join(t.TempDir(), "truth.json")
				url, stop := startTarget(t, slices.Concat(c.way.target, c.target, []string{"--truth", file})...)
				r := load(t, slices.Concat(c.way.load, c.load, []string{url})...)
				late := s.Late()
				stop()
				return agrees(t, r, truthOf(t, file), c.stages, late)
			})
		})
	}
}

func truthOf(t *testing.T, file string) (truth target.Truth) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &truth)
	}
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

// agrees compares a report with what the target did. Percentiles may be off by 2 % and by the
// lateness of plain sleeps.
func agrees(t *testing.T, r *takt.Report, truth target.Truth, stages []schedule.Stage, late time.Duration) (faults []string) {
	t.Helper()
	if c := counted(r); c != truth.Counts { // a freeze of the machine can be longer than patience
		faults = append(faults, fmt.Sprintf("takt counts %+v, the target %+v", c, truth.Counts))
	}
	want := hist.New()
	for _, d := range responses(t, truth, stages, truth.StartedAt.Sub(r.StartedAt)) {
		want.Record(d)
	}
	got := r.Latency["response"]
	if want.Count() != got.Count {
		return []string{fmt.Sprintf("%d responses, %d in the truth", got.Count, want.Count())}
	}
	for _, p := range []struct {
		name   string
		got, q float64
	}{{"p50", got.P50, 0.5}, {"p95", got.P95, 0.95}, {"p99", got.P99, 0.99}, {"max", got.Max, 1}} {
		theory, floor := hist.Micros(want.Quantile(p.q)), hist.Micros(late)
		off := p.got - theory
		t.Logf("response %s %.2f ms, of the target %.2f ms: %+.2f %%", p.name, p.got/1e3, theory/1e3, 100*off/theory)
		if math.Abs(off) > 0.02*theory+floor {
			faults = append(faults, fmt.Sprintf("%s is %.1f %% off", p.name, 100*off/theory))
		}
	}
	if r.Verdict != takt.Valid {
		faults = append(faults, fmt.Sprint("verdict ", r.Verdict, r.Warnings))
	}
	return faults
}

// counted are the counts of takt in the terms of the target.
func counted(r *takt.Report) (c target.Counts) {
	c.Requests, c.OK, c.Unfinished = r.Counts.Sent, r.Counts.OK, r.Counts.Unfinished
	for _, e := range r.Errors {
		switch e.Class {
		case "reset":
			c.Resets += e.Count
		case "timeout":
			c.HalfOpen += e.Count
		case "5xx":
			c.Errors += e.Count
		}
	}
	return c
}

// responses are the response times that the target knows of, in the order of the schedule. begin
// is when its first request arrived, since the start of the run.
func responses(t *testing.T, truth target.Truth, stages []schedule.Stage, begin time.Duration) (list []time.Duration) {
	t.Helper()
	src, err := schedule.Spec{Stages: stages}.Source()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range truth.Records {
		var op takt.Op
		if !src.Next(&op) {
			t.Fatalf("the target got more than %d requests", len(list))
		}
		end := r.Released
		if r.Outcome == target.HalfOpen {
			end = r.Arrival + patience
		}
		list = append(list, begin+end-op.Due)
	}
	return list
}
