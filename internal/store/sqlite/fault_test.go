package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/test/storetest"
)

// at opens a store in the file, with pragmas of the test instead of takt's.
func at(t *testing.T, path string, pragmas ...string) *Store {
	t.Helper()
	s, err := open(t.Context(), path, opening{create: true, upgrade: true}, pragmas)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// wrong says whether err is of that kind, and names the file and what to do.
func wrong(t *testing.T, s string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), s) || !strings.Contains(err.Error(), "; ") {
		t.Errorf("error %v, want %v, with the file and what to do", err, kind)
	}
}

func count(t *testing.T, s *Store) (n int) {
	t.Helper()
	for _, err := range s.Runs(t.Context(), stored.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	reports := storetest.Reports(1, 60)
	s := at(t, path, "max_page_count(20)")
	saved := 0
	var err error
	for _, r := range reports {
		if err = s.Save(t.Context(), r); err != nil {
			break
		}
		saved++
	}
	if wrong(t, path, err, fault.ErrFull); err == nil {
		return
	}
	if saved == 0 || count(t, s) != saved {
		t.Errorf("%d runs are kept, %d were saved", count(t, s), saved)
	}
	wrong(t, path, s.Save(t.Context(), reports...), fault.ErrFull)
	if n := count(t, s); n != saved {
		t.Errorf("%d runs after a Save that failed, %d before", n, saved)
	}
	if err := at(t, path).Save(t.Context(), reports[saved]); err != nil {
		t.Error("with room again:", err)
	}
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	reports := storetest.Reports(1, 2)
	s := at(t, path, "busy_timeout(1)")
	if err := s.Save(t.Context(), reports[0]); err != nil {
		t.Fatal(err)
	}
	other, err := at(t, path).db.BeginTx(t.Context(), nil) // and does not end
	if err != nil {
		t.Fatal(err)
	}
	wrong(t, path, s.Save(t.Context(), reports[1]), fault.ErrLocked)
	wrong(t, path, s.Delete(t.Context(), reports[0].ID), fault.ErrLocked)
	if n := count(t, s); n != 1 {
		t.Errorf("%d runs are listed while another writes, want 1", n)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), reports[1]); err != nil {
		t.Error(err)
	}
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	at(t, path).Close()
	s := at(t, path, "query_only(ON)") // root may write to any file, so not by its mode
	wrong(t, path, s.Save(t.Context(), storetest.Reports(1, 1)...), fault.ErrReadOnly)
}

// Whatever happens to the file: an error, no wrong run, no panic.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "runs.db")
	s := at(t, path)
	reports := storetest.Reports(1, 20)
	if err := s.Save(t.Context(), reports...); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // which writes the WAL back
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"no database":  func(b []byte) []byte { return []byte(strings.Repeat("hello\n", 1000)) },
		"head":         func(b []byte) []byte { clear(b[:100]); return b },
		"cut":          func(b []byte) []byte { return b[:len(b)/2] },
		"all but head": func(b []byte) []byte { copy(b[200:], bytes.Repeat([]byte{0xa5}, len(b))); return b },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".db")
			if err := os.WriteFile(path, damage(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			err := useAll(t.Context(), path, reports[0].ID)
			wrong(t, path, err, fault.ErrCorrupt)
		})
	}
}

// useAll reads all that there is in the store.
func useAll(ctx context.Context, path, id string) error {
	s, err := Open(ctx, path)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, err := range s.Runs(ctx, stored.Query{}) {
		if err != nil {
			return err
		}
	}
	_, err = s.Load(ctx, id)
	return err
}

func TestReportDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := at(t, path)
	r := storetest.Reports(1, 1)[0]
	if err := s.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("UPDATE reports SET gzip = x'1f8b'"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Load(t.Context(), r.ID)
	wrong(t, path, err, fault.ErrCorrupt)
}

// Rows that do not fit together, as of a file that somebody has mended by hand.
func TestRowsDamaged(t *testing.T) {
	r := storetest.Reports(1, 1)[0]
	for _, damage := range []string{
		"UPDATE runs SET figures = zeroblob(8)",
		"UPDATE runs SET figures = zeroblob(length(figures) + 1)",
		"UPDATE runs SET started_at = 'yesterday'",
		"UPDATE runs SET labels = '{'",
		"UPDATE settings SET variables = '['",
		"UPDATE names SET names = '{'",
		"DELETE FROM settings",
		"DELETE FROM names",
		"DROP TABLE runs",
		"DROP TABLE reports",
	} {
		path := filepath.Join(t.TempDir(), "runs.db")
		s := at(t, path)
		if err := s.Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.Exec(damage); err != nil {
			t.Fatal(err)
		}
		if err := useAll(t.Context(), path, r.ID); !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", damage, err)
		}
	}
}

func TestAbsent(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "runs.db"), filepath.Join(dir, "new", "runs.db")} {
		_, err := OpenExisting(t.Context(), path)
		wrong(t, path, err, fault.ErrAbsent)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it made %v, %v", entries, err)
	}
	path := filepath.Join(dir, "runs.db")
	at(t, path).Close()
	s, err := OpenExisting(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestNewerTakt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := at(t, path)
	if _, err := s.db.Exec("PRAGMA user_version = 1000"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path)
	wrong(t, path, err, fault.ErrTooNew)
}

// The database of another program stays as it is.
func TestOtherProgramsDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "firefox.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE bookmarks (url TEXT)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	before, _ := os.ReadFile(path)
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("error %v", err)
	}
	_, err = OpenExisting(t.Context(), path)
	wrong(t, path, err, fault.ErrOtherProgram)
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("it was changed")
	}
}

func TestNoPlace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(file, "runs.db")} {
		_, err := Open(t.Context(), path)
		wrong(t, path, err, fault.ErrUnreachable)
	}
}

// Reports hold URLs and names of hosts: nobody else's.
func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s := at(t, filepath.Join(dir, "runs.db"))
	if err := s.Save(t.Context(), storetest.Reports(1, 1)...); err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{".": 0o700, "runs.db": 0o600, "runs.db-wal": 0o600, "runs.db-shm": 0o600}
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode().Perm(), err, mode)
		}
	}
}

// What the queries of a listing search has an index.
func TestIndexes(t *testing.T) {
	s := at(t, filepath.Join(t.TempDir(), "runs.db"))
	for _, q := range []stored.Query{{}, {Labels: map[string]string{stored.LabelBranch: "main"}}, {Labels: map[string]string{stored.LabelRevision: "a"}}, {IDs: []string{"a"}}} {
		where, args := conditions(q)
		rows, err := s.db.Query("EXPLAIN QUERY PLAN SELECT figures FROM runs WHERE "+where+" ORDER BY started_at DESC, id DESC", args...)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(detail, "SCAN runs") && !strings.Contains(detail, "INDEX") || strings.Contains(detail, "TEMP B-TREE") && q.IDs == nil {
				t.Errorf("%+v: %s", q, detail)
			}
		}
		rows.Close()
	}
}

// A file that looks like a store may have a view without end where a table belongs, or a trigger.
func TestStrangeTables(t *testing.T) {
	const endless = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"
	for _, change := range []string{
		"ALTER TABLE runs RENAME TO other; CREATE VIEW runs AS " + endless,
		"CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT count(*) FROM names; END",
	} {
		path := filepath.Join(t.TempDir(), "takt.db")
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.Exec(change); err != nil {
			t.Fatal(err)
		}
		s.Close()
		_, err = OpenExisting(t.Context(), path)
		wrong(t, path, err, fault.ErrOtherProgram)
	}
	path := filepath.Join(t.TempDir(), "takt.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("CREATE VIEW mine AS SELECT id FROM runs"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if s, err = OpenExisting(t.Context(), path); err != nil {
		t.Fatalf("a view of the user: %v", err)
	}
	s.Close()
}
