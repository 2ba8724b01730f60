package format_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// storedRuns are one of each verdict, and one without figures, as runs are stored.
func storedRuns() []stored.Run {
	thing := func(r *takt.Report, branch, revision string) *takt.Report {
		r.Labels = map[string]string{"branch": branch, "revision": revision}
		return r
	}
	changed := func(change func(r *takt.Report)) *takt.Report {
		r := failures()
		change(r)
		return r
	}
	var list []stored.Run
	for _, r := range []*takt.Report{
		thing(failures(), "main", "8d6a1f0c5b7e4932aa00112233445566778899ff"),
		thing(closed(), "feature/a-rather-long-name-of-a-branch", "8d6a1f0c5b7e4932aa00112233445566778899ff-dirty"),
		thing(invalid(), "main", "v1.2.3-rc4+20261121"),
		thing(receive(), "überarbeitet\x1b[31m", "20261121103000"),
		thing(never(), "", "8d6a1f0c5b7"),
		thing(drops(), "", ""),
		changed(func(r *takt.Report) {
			warn(r, "cancelled", "the run was cancelled by interrupt after 2.0 s")
			r.Schedule.RunGroup = "nightly"
		}),
		changed(func(r *takt.Report) { warn(r, "shards_missing", "shard 2/3 is missing") }),
		changed(func(r *takt.Report) {
			warn(r, "cancelled", "the run was stopped by SIGINT after 2.0 s")
			r.Verdict = takt.Invalid
		}),
		{ID: "hey-apm-1", Kind: "apm", StartedAt: base().StartedAt, Counts: takt.Counts{OK: 1}, Rate: takt.Rate{Achieved: 1234.5}},
	} {
		r.StartedAt = time.Date(2026, 3, 1+len(list), 14, 5, 59, 0, time.FixedZone("", 2*3600))
		list = append(list, stored.RunOf(r))
	}
	return list
}

func TestRuns(t *testing.T) {
	var b strings.Builder
	if err := answer.Runs(&b, storedRuns()); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "runs"), b.String())
}

// The mean rate of all steps is no answer of takt capacity. Older versions of takt stored no other figure.
func TestRateOfACapacity(t *testing.T) {
	rate := func(names ...string) string {
		r := stored.Run{Kind: stored.KindCapacity, Figures: stored.Figures{Names: names, Values: []float64{7, 40}[:len(names)]}}
		return answer.RunCells(&r)[3]
	}
	if now, before := rate("rate", stored.MetricSustainable), rate("rate"); now != "40/s" || before != "-" {
		t.Errorf("%s, and of an older takt %s", now, before)
	}
}

func TestNoRuns(t *testing.T) {
	var b strings.Builder
	if err := answer.Runs(&b, nil); err != nil || b.String() != "there is no such run; takt stores every run unless it is told --no-store\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestRunsWriteErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, list := range [][]stored.Run{nil, storedRuns()} {
		if err := answer.Runs(failing{full}, list); !errors.Is(err, full) {
			t.Errorf("%d runs: %v", len(list), err)
		}
	}
}
