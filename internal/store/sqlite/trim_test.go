package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/test/storetest"
	"github.com/taktload/takt/pkg/takt"
)

// aged returns n reports, one an hour, the oldest first: r0, r1, …
func aged(n int) []*takt.Report {
	reports := storetest.Reports(7, n)
	for i, r := range reports {
		r.ID, r.Labels = fmt.Sprint("r", i), map[string]string{}
		r.StartedAt = time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
	}
	return reports
}

// left are the ids of the runs, newest first; each has its report.
func left(t *testing.T, s *Store) string {
	t.Helper()
	var ids []string
	for r, err := range s.Runs(t.Context(), stored.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	var reports int
	if err := s.db.QueryRow("SELECT count(*) FROM reports").Scan(&reports); err != nil || reports != len(ids) {
		t.Errorf("%d reports of %d runs, %v", reports, len(ids), err)
	}
	if _, err := s.Load(t.Context(), ids...); err != nil {
		t.Error(err)
	}
	return strings.Join(ids, " ")
}

func TestTrim(t *testing.T) {
	for _, test := range []struct {
		name        string
		limit, most int
		except      string
		protect     func(*testing.T, *Store, []*takt.Report)
		removed     int
		left        string
	}{
		{"below the limit", 6, 10, "", nil, 0, "r5 r4 r3 r2 r1 r0"},
		{"the oldest go", 4, 10, "", nil, 2, "r5 r4 r3 r2"},
		{"in steps", 1, 2, "", nil, 2, "r5 r4 r3 r2"},
		{"the new run stays, however old its date is", 4, 10, "r0", nil, 2, "r5 r4 r3 r0"},
		{"labels protect, and do not count", 2, 10, "", func(_ *testing.T, _ *Store, r []*takt.Report) {
			r[0].Labels["keep"], r[1].Labels["baseline"] = "", "release 7"
		}, 2, "r5 r4 r1 r0"},
		{"a mark protects", 2, 10, "", func(t *testing.T, s *Store, r []*takt.Report) {
			mark(t, s, r[1], true)
		}, 3, "r5 r4 r1"},
		{"a mark survives another report of the run", 2, 10, "", func(t *testing.T, s *Store, r []*takt.Report) {
			mark(t, s, r[1], true)
			r[1].Labels["branch"] = "main"
		}, 3, "r5 r4 r1"},
		{"without its mark a run goes", 2, 10, "", func(t *testing.T, s *Store, r []*takt.Report) {
			mark(t, s, r[1], true)
			mark(t, s, r[1], false)
		}, 4, "r5 r4"},
		{"a label protects without the mark", 2, 10, "", func(t *testing.T, s *Store, r []*takt.Report) {
			r[1].Labels["keep"] = "true"
			mark(t, s, r[1], true)
			mark(t, s, r[1], false)
		}, 3, "r5 r4 r1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := at(t, filepath.Join(t.TempDir(), "runs.db"))
			reports := aged(6)
			if test.protect != nil {
				test.protect(t, s, reports)
			}
			if err := s.Save(t.Context(), reports...); err != nil {
				t.Fatal(err)
			}
			removed, err := s.Trim(t.Context(), test.limit, test.most, test.except)
			if got := left(t, s); err != nil || removed != test.removed || got != test.left {
				t.Errorf("%d removed, want %d; left %s, want %s; %v", removed, test.removed, got, test.left, err)
			}
		})
	}
}

func mark(t *testing.T, s *Store, r *takt.Report, protect bool) {
	t.Helper()
	if err := s.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := s.Mark(t.Context(), r.ID, protect); err != nil {
		t.Fatal(err)
	}
	if marked, err := s.Marked(t.Context()); err != nil || marked[r.ID] != protect {
		t.Errorf("marked %v, want %v; %v", marked, protect, err)
	}
}

// Remove looks again at what protects a run: another process may have marked it meanwhile.
func TestRemove(t *testing.T) {
	s := at(t, filepath.Join(t.TempDir(), "runs.db"))
	reports := aged(4)
	reports[2].Labels["baseline"] = "yes"
	mark(t, s, reports[1], true)
	if err := s.Save(t.Context(), reports...); err != nil {
		t.Fatal(err)
	}
	removed, err := s.Remove(t.Context(), "r0", "r1", "r2", "none")
	if got := left(t, s); err != nil || !slices.Equal(removed, []string{"r0"}) || got != "r3 r2 r1" {
		t.Errorf("%v removed, left %s, %v", removed, got, err)
	}
	wrong := (*fault.Error)(nil)
	if err := s.Mark(t.Context(), "none", true); !errors.As(err, &wrong) || wrong.Kind != fault.ErrNotFound {
		t.Errorf("a mark of no run: %v", err)
	}
}

// What the limit asks after every run reads an index only, whatever the reports weigh.
func TestTrimIsCheap(t *testing.T) {
	s := at(t, filepath.Join(t.TempDir(), "runs.db"))
	for query, args := range map[string][]any{countUnprotected: nil, oldest: {"r0", 5}} {
		rows, err := s.db.Query("EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(detail, "runs_unprotected") || strings.Contains(detail, "TEMP B-TREE") {
				t.Errorf("%s: %s", query, detail)
			}
		}
	}
}

// A store of the first version keeps its runs, also where nobody can bring it to the next one.
func TestFirstVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := at(t, path)
	reports := aged(3)
	reports[0].Labels["keep"], reports[1].Labels["team"] = "yes", "a"
	if err := s.Save(t.Context(), reports...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("DROP INDEX runs_group; DROP INDEX runs_unprotected; ALTER TABLE runs DROP COLUMN protected; PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	readOnly := func(ctx context.Context, path string) (*Store, error) {
		return connect(ctx, path, pragmas, "ro", false)
	}
	for _, open := range []func(context.Context, string) (*Store, error){readOnly, Look} {
		reader, err := open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if marked, err := reader.Marked(t.Context()); err != nil || len(marked) > 0 || left(t, reader) != "r2 r1 r0" {
			t.Errorf("only read: marked %v, %v", marked, err)
		}
		if now, err := read(t.Context(), reader.db); err != nil || now.version != 1 {
			t.Errorf("a reader has changed the tables: version %d, %v", now.version, err)
		}
		reader.Close()
	}
	s = at(t, path)
	removed, err := s.Trim(t.Context(), 1, 10, "")
	if got := left(t, s); err != nil || removed != 1 || got != "r2 r0" {
		t.Errorf("%d removed, left %s, %v", removed, got, err)
	}
}

// Without room on the disk, or in a store that is read-only, nothing goes and the error says why.
func TestTrimFails(t *testing.T) {
	for pragma, kind := range map[string]error{"query_only(ON)": fault.ErrReadOnly, "busy_timeout(1)": fault.ErrLocked} {
		path := filepath.Join(t.TempDir(), "runs.db")
		if err := at(t, path).Save(t.Context(), aged(3)...); err != nil {
			t.Fatal(err)
		}
		s := at(t, path, pragma)
		other, err := at(t, path).db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		removed, err := s.Trim(t.Context(), 1, 10, "")
		if wrong(t, path, err, kind); removed != 0 {
			t.Errorf("%d removed", removed)
		}
		if err := other.Rollback(); err != nil {
			t.Fatal(err)
		}
		if n := count(t, s); n != 3 {
			t.Errorf("%d runs are left, want 3", n)
		}
	}
}

// A database that may not grow has room again after a removal.
func TestTrimMakesRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := at(t, path, "max_page_count(20)")
	saved := 0
	for _, r := range aged(60) {
		if s.Save(t.Context(), r) != nil {
			break
		}
		saved++
	}
	removed, err := s.Trim(t.Context(), saved-2, 10, "")
	if n := count(t, s); err != nil || removed != 2 || n != saved-2 {
		t.Errorf("%d removed, %d of %d left, %v", removed, n, saved, err)
	}
	if err := s.Save(t.Context(), aged(1)[0]); err != nil {
		t.Error(err)
	}
}

// Two processes that save and trim at once, and one of them killed: the store is whole, and has
// no more runs than the limit and what a killed process had not trimmed yet.
func TestTrimProcesses(t *testing.T) {
	const limit, each = 10, 60
	path := filepath.Join(t.TempDir(), "runs.db")
	t.Setenv(savesLimit, fmt.Sprint(limit))
	var outs []*bufio.Scanner
	var cmds []*exec.Cmd
	for seed := range 3 {
		cmd, out := saver(t, path, fmt.Sprint("of ", seed, " "), seed, each)
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	for range each / 3 {
		outs[0].Scan()
	}
	cmds[0].Process.Kill()
	for i, out := range outs {
		for out.Scan() {
		}
		if err := cmds[i].Wait(); err != nil && i > 0 {
			t.Error(err)
		}
	}
	s := at(t, path)
	if n := count(t, s); n != limit {
		t.Errorf("%d runs are left, want %d", n, limit)
	}
	whole(t, path, nil)
	left(t, s)
}

// BenchmarkTrim is what the limit costs after a run that leaves a full store one run above it.
func BenchmarkTrim(b *testing.B) {
	const limit = 10_000
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "runs.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := s.Save(b.Context(), aged(limit)...); err != nil {
		b.Fatal(err)
	}
	more := aged(1)[0]
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		more.ID, more.StartedAt = fmt.Sprint("new ", i), more.StartedAt.AddDate(1, 0, 0)
		if err := s.Save(b.Context(), more); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if n, err := s.Trim(b.Context(), limit, 100, more.ID); err != nil || n != 1 {
			b.Fatal(n, err)
		}
	}
}
