package runscmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/test/clitest"
	"github.com/taktload/takt/internal/test/targettest"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/pkg/takt"
)

// Every command that reads a report of somebody else refuses one that lies, by the name
// of the field, whether it comes from a file or from a store.
func TestLiesAreRefused(t *testing.T) {
	dir := t.TempDir()
	url := targettest.Serve(t, target.Options{}).URL()
	path, db := filepath.Join(dir, "run.json"), filepath.Join(dir, "takt.db")
	if code, _, errs := clitest.Call(t.Context(), cli.Main, "http", "--rate", "200/s", "-n", "20", "--shard", "1/2", "--run-group", "g", "--no-store", "-o", "json="+path, url); code != core.ExitOK {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(path)
	var r takt.Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Counts.Scheduled = 1<<64 - 1
	if text, err = json.Marshal(r); err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), db, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Save(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{
		{"merge", path}, {"merge", r.ID}, {"merge", "--allow-missing", path},
		{"store", "import", path},
		{"show", r.ID},
		{"compare", path, path}, {"compare", r.ID, r.ID},
		{"verify", "--base", path, "--head", path}, {"verify", "--base", r.ID, "--head", r.ID},
		{"capacity", "--slo", "p99<1s", "--from", path}, {"capacity", "--slo", "p99<1s", "--from", r.ID},
	} {
		code, out, errs := clitest.Call(t.Context(), cli.Main, append(line, "--store", db)...)
		if code != core.ExitFailed || out != "" || !strings.Contains(errs, "the report contradicts itself: counts.scheduled is 18446744073709551615, above 2^53") {
			t.Errorf("%v: exit code %d\n%s%s", line, code, out, errs)
		}
	}
}
