package runscmd_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/test/clitest"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// An export goes on past reports that cannot be read, names them, and fails.
func TestExportOfDamagedReports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	st, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var reports []*takt.Report
	for i := range 4 {
		reports = append(reports, clitest.Report(i, begin.Add(time.Duration(i)*time.Hour)))
	}
	if err := st.Save(t.Context(), reports...); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE reports SET gzip = x'1f8b' WHERE id IN (?, ?)", reports[1].ID, reports[2].ID); err != nil {
		t.Fatal(err)
	}
	code, out, errs := clitest.Call(t.Context(), cli.Main, "store", "export", "--store", path)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != core.ExitFailed || len(lines) != 2 || !strings.Contains(lines[0], reports[3].ID) || !strings.Contains(lines[1], reports[0].ID) {
		t.Errorf("exit code %d, %d documents:\n%s", code, len(lines), out)
	}
	for i, r := range reports {
		if damaged := i == 1 || i == 2; strings.Contains(errs, r.ID) != damaged {
			t.Errorf("run %d, damaged %v: %s", i, damaged, errs)
		}
	}
}
