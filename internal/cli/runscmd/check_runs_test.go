package runscmd_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/test/clitest"

	_ "modernc.org/sqlite"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// honest is a report as takt writes it, a new one at each call.
func honest(t *testing.T) func() *takt.Report {
	t.Helper()
	text, err := os.ReadFile("../../format/testdata/failures/report.json")
	if err != nil {
		t.Fatal(err)
	}
	return func() *takt.Report {
		var r takt.Report
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		return &r
	}
}

// saved writes the reports to a new store, each with an id and an age of its own.
func saved(t *testing.T, reports ...*takt.Report) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "takt.db")
	st, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range reports {
		r.ID = fmt.Sprintf("run%d", i)
		r.StartedAt = r.StartedAt.Add(-time.Duration(i) * time.Second)
	}
	if err := st.Save(t.Context(), reports...); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// readers are the commands that list stored runs.
func readers(db string) [][]string {
	return [][]string{
		{"collate", "branch", "--all", "-o", "json", "--store", db},
		{"runs", "--store", db},
	}
}

// A stored report that contradicts itself is left out of lists by the names of the run and of
// the field. It may be alone in its row of collate, or one of several.
func TestListsLeaveOutLies(t *testing.T) {
	fresh := honest(t)
	response := func(change func(*takt.Latency)) func(*takt.Report) {
		return func(r *takt.Report) {
			l := r.Latency[takt.LatencyResponse]
			change(&l)
			r.Latency[takt.LatencyResponse] = l
		}
	}
	for want, change := range map[string]func(*takt.Report){
		"counts.scheduled is 18446744073709551615, above 2^53":         func(r *takt.Report) { r.Counts.Scheduled = math.MaxUint64 },
		"counts.scheduled is 7, but ok + failed":                       func(r *takt.Report) { r.Counts.Scheduled = 7 },
		"rate_per_s.achieved is 4000, ":                                func(r *takt.Report) { r.Rate.Achieved = 4000 },
		"latency.response.p50_us is 123456, but its histogram":         response(func(l *takt.Latency) { l.P50 = 123456 }),
		"latency.response.p99_us is 123456, but its histogram":         response(func(l *takt.Latency) { l.P99 = 123456 }),
		"latency.response.count is 5001, but its histogram holds 5000": response(func(l *takt.Latency) { l.Count++ }),
		"latency.response.hdr: cannot decode the histogram":            response(func(l *takt.Latency) { l.HDR = "nonsense" }),
		"the ok of intervals are ":                                     func(r *takt.Report) { r.Intervals[0].OK++ },
		`verdict is "splendid", neither "valid" nor "invalid"`:         func(r *takt.Report) { r.Verdict = "splendid" },
	} {
		for _, alone := range []bool{true, false} {
			lie := fresh()
			change(lie)
			if alone {
				lie.Labels = map[string]string{"branch": "lies"}
			}
			db := saved(t, lie, fresh(), fresh())
			for _, line := range readers(db) {
				code, out, errs := clitest.Call(t.Context(), cli.Main, line...)
				if code != core.ExitOK || strings.Contains(out, "run0") || strings.Contains(out, "123456") || strings.Contains(out, "123.456ms") ||
					!strings.Contains(out, "run1") || !strings.Contains(out, "run2") {
					t.Errorf("%s: %v: exit code %d\n%s%s", want, line[0], code, out, errs)
				}
				if said := "takt: warning: the run run0 is left out: the report contradicts itself: " + want; !strings.HasPrefix(errs, said) || strings.Count(errs, "\n") != 1 {
					t.Errorf("%v says\n%swant\n%s", line[0], errs, said)
				}
			}
		}
	}
}

// A row that was edited in the database is left out by the names of the run and of the
// field; so is a run whose report was edited, or is gone.
func TestListsLeaveOutEditedRows(t *testing.T) {
	fresh := honest(t)
	for edit, want := range map[string]string{
		"UPDATE runs SET figures = (SELECT zeroblob(length(figures))) WHERE id = 'run0'":                                                    "its row in the store has errors 0, but its report 0.42",
		"UPDATE runs SET unfit = 'the run is invalid: so they say' WHERE id = 'run0'":                                                       `its row in the store has verdict "invalid", but its report "valid"`,
		"UPDATE runs SET kind = 'kafka' WHERE id = 'run0'":                                                                                  `its row in the store has kind "kafka", but its report "http"`,
		"UPDATE runs SET branch = 'other' WHERE id = 'run0'":                                                                                `its row in the store has the labels "map[branch:other`,
		"UPDATE runs SET shard = '2/2' WHERE id = 'run0'":                                                                                   `its row in the store has shard "2/2", but its report "1/1"`,
		"UPDATE runs SET started_at = '2030-01-01T00:00:00.000000000Z' WHERE id = 'run0'":                                                   `its row in the store has started_at "2030-01-01 `,
		"UPDATE runs SET id = 'another' WHERE id = 'run0'; UPDATE reports SET id='another' WHERE id='run0'":                                 `its row in the store has id "another", but its report "run0"`,
		"DELETE FROM reports WHERE id = 'run0'":                                                                                             "there is no such run",
		"UPDATE reports SET gzip = x'00' WHERE id = 'run0'":                                                                                 "the store is damaged",
		"UPDATE reports SET gzip = (SELECT gzip FROM reports WHERE id = 'run3') WHERE id = 'run0'":                                          `its row in the store has id "run0", but its report "run3"`,
		"UPDATE settings SET variables = json_set(variables, '$.connections', 7) WHERE seq = (SELECT settings FROM runs WHERE id = 'run0')": `its row in the store has settings "`,
		"UPDATE names SET names = replace(names, 'p50', 'p5') WHERE seq = (SELECT names FROM runs WHERE id = 'run0')":                       `its row in the store has "`,
	} {
		first, last := fresh(), fresh()
		first.Variables["connections"] = 3.0 // settings and names of its own
		first.Latency["own"] = first.Latency[takt.LatencyResponse]
		last.Latency["own"] = last.Latency[takt.LatencyService]
		delete(last.Latency, takt.LatencyService)
		db := saved(t, first, fresh(), fresh(), last)
		raw, err := sql.Open("sqlite", db)
		if err == nil {
			_, err = raw.Exec(edit)
		}
		if err == nil {
			err = raw.Close()
		}
		if err != nil {
			t.Fatalf("%s: %v", edit, err)
		}
		for _, line := range readers(db) {
			code, out, errs := clitest.Call(t.Context(), cli.Main, line...)
			if code != core.ExitOK || strings.Contains(out, "run0") || strings.Contains(out, "another") || !strings.Contains(out, "run1") || !strings.Contains(out, "run2") {
				t.Errorf("%s: %v: exit code %d\n%s%s", edit, line[0], code, out, errs)
			}
			id := "run0"
			if strings.Contains(edit, "another") {
				id = "another"
			}
			if line[0] == "collate" && strings.Contains(edit, "shard =") {
				continue // collate shows no shard of a run, so there is no figure to check
			}
			if said := "takt: warning: the run " + id + " is left out: "; !strings.HasPrefix(errs, said) || !strings.Contains(errs, want) {
				t.Errorf("%s: %v says\n%swant\n%s%s", edit, line[0], errs, said, want)
			}
		}
	}
}

// A run that an older takt called valid is invalid by the rule of today, in lists too.
func TestListsRejudge(t *testing.T) {
	fresh := honest(t)
	old := fresh()
	late := hist.New()
	late.RecordN(time.Microsecond, 4800)
	late.RecordN(3*time.Second, 200)
	old.Latency[takt.LatencyScheduleLag] = late.Summary()
	db := saved(t, old, fresh())
	code, out, errs := clitest.Call(t.Context(), cli.Main, "runs", "--store", db)
	if line, _, _ := strings.Cut(out[strings.Index(out, "run0"):], "\n"); code != core.ExitOK || !strings.Contains(line, "  invalid  ") || !strings.HasPrefix(errs, "takt: warning: the run run0 is invalid: ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	code, out, errs = clitest.Call(t.Context(), cli.Main, "collate", "branch", "-o", "json", "--store", db)
	if code != core.ExitOK || strings.Contains(out, "run0") || !strings.Contains(out, `"unfit_runs": 1`) || !strings.HasPrefix(errs, "takt: warning: the run run0 is invalid: ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
