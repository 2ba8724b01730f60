package cli

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/taktload/takt/internal/clocktest"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// TestScaleOfCollate: ten times the runs take at most 15 times as long to collate. It
// measures time, so scripts/test runs it alone.
func TestScaleOfCollate(t *testing.T) {
	clocktest.Asked(t)
	const few, many = 10_000, 100_000
	small, large := filled(t, few), filled(t, many)
	clocktest.Wants(t, func(*clocktest.Sleepers) (faults []string) {
		fast, slow := collated(t, small), collated(t, large)
		t.Logf("collate revision branch=main: %v of %d runs, %v of %d", fast, few, slow, many)
		if slow > 15*fast {
			faults = append(faults, fmt.Sprintf("%d runs took %.1f times as long as %d", many, slow.Seconds()/fast.Seconds(), few))
		}
		return faults
	})
}

func collated(t *testing.T, path string) time.Duration {
	begun := time.Now()
	code, out, errs := call(t.Context(), "collate", "revision", "branch=main", "--sort", "revision_date", "--store", path)
	took := time.Since(begun)
	if code != exitOK || len(out) < 1000 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	return took
}

// filled is a store of n runs: of 200 settings, 10 branches, and revisions that were run
// five times each.
func filled(t *testing.T, n int) (path string) {
	path = filepath.Join(t.TempDir(), "runs.db")
	st, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for from := 0; from < n; from += 5000 {
		var batch []*takt.Report
		for i := from; i < from+5000; i++ {
			batch = append(batch, sample(i, begin.Add(time.Duration(i)*time.Minute)))
		}
		if err := st.Save(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func sample(i int, at time.Time) *takt.Report {
	branch := "main"
	if i%10 > 0 {
		branch = fmt.Sprintf("topic-%d", i%10)
	}
	revision := i / 10 / 200 / 5
	return &takt.Report{
		SchemaVersion: takt.SchemaVersion, ID: fmt.Sprintf("%026d", i), Kind: "http", StartedAt: at, DurationS: 30, Verdict: takt.Valid,
		Labels: map[string]string{
			"branch": branch, "revision": fmt.Sprintf("%040x", revision),
			"revision_date": at.Truncate(10 * 200 * 5 * time.Minute).Format(time.RFC3339),
		},
		Variables: map[string]any{"rate_per_s": float64(100 * (1 + i/10%200)), "duration_s": 30.0, "host": "127.0.0.1:8080", "path": "/", "method": "GET", "connections": 50.0},
		Schedule:  takt.Schedule{Shard: "1/1"},
		Counts:    takt.Counts{Scheduled: 3000, Sent: 3000, OK: 3000},
		Latency: map[string]takt.Latency{
			takt.LatencyResponse: {Count: 3000, Min: 100, Mean: 200, P50: 150 + float64(i%17), P99: 400 + float64(i%23), P99_9: 500, Max: 600},
			takt.LatencyService:  {Count: 3000, Min: 100, Mean: 200, P50: 150, P99: 400, P99_9: 500, Max: 600},
		},
	}
}
