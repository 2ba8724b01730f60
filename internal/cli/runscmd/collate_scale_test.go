package runscmd_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/test/clitest"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/test/clocktest"
	"github.com/taktload/takt/pkg/takt"
)

// TestScaleOfCollate: ten times the runs take at most 15 times as long to collate, the fastest of
// three runs each. On two cores they take 2.2 times as long, so no noise of a usual machine
// decides it, and no quiet machine is needed.
func TestScaleOfCollate(t *testing.T) {
	clocktest.Asked(t)
	const few, many = 3_000, 30_000
	small, large := filled(t, few), filled(t, many)
	fast, slow := collated(t, small), collated(t, large)
	for range 2 {
		fast, slow = min(fast, collated(t, small)), min(slow, collated(t, large))
	}
	t.Logf("collate revision branch=main: %v of %d runs, %v of %d", fast, few, slow, many)
	if slow > 15*fast {
		t.Errorf("%d runs took %.1f times as long as %d", many, slow.Seconds()/fast.Seconds(), few)
	}
}

func collated(t *testing.T, path string) time.Duration {
	begun := time.Now()
	code, out, errs := clitest.Call(t.Context(), cli.Main, "collate", "revision", "branch=main", "--sort", "revision_date", "--store", path)
	took := time.Since(begun)
	if code != core.ExitOK || len(out) < 1000 {
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
	for from := 0; from < n; from += 1000 {
		var batch []*takt.Report
		for i := from; i < from+1000; i++ {
			batch = append(batch, clitest.Report(i, begin.Add(time.Duration(i)*time.Minute)))
		}
		if err := st.Save(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	return path
}
