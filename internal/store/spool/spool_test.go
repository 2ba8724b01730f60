package spool

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/test/storetest"
	"github.com/taktload/takt/pkg/takt"
)

// place is a store that reports wait for.
const place = "elasticsearch://127.0.0.1:9200/größe %2F"

func fresh(t *testing.T) *Spool { return Open(filepath.Join(t.TempDir(), "state", "spool")) }

func add(t *testing.T, s *Spool, reports ...*takt.Report) {
	t.Helper()
	for _, r := range reports {
		if err := s.Add(r, place); err != nil {
			t.Fatal(err)
		}
	}
}

// texts are the reports that wait, as JSON, by id.
func texts(t *testing.T, reports ...*takt.Report) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, r := range reports {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		all[r.ID] = string(b)
	}
	return all
}

func each(t *testing.T, s *Spool) (all []*takt.Report) {
	t.Helper()
	for w, err := range s.Each() {
		if err != nil {
			t.Fatal(err)
		}
		if w.Store != place {
			t.Errorf("report %s waits for %q, want %q", w.Report.ID, w.Store, place)
		}
		all = append(all, w.Report)
	}
	return all
}

func same(t *testing.T, s *Spool, want ...*takt.Report) {
	t.Helper()
	g, w := texts(t, each(t, s)...), texts(t, want...)
	if len(g) != len(w) {
		t.Errorf("%d reports wait, want %d", len(g), len(w))
	}
	for id, text := range w {
		if g[id] != text {
			t.Errorf("report %s is\n%.2000s, want\n%.2000s", id, g[id], text)
		}
	}
}

func TestAddEachRemove(t *testing.T) {
	s := fresh(t)
	same(t, s) // there is no folder yet
	if err := s.Remove("nobody"); err != nil {
		t.Error(err)
	}
	reports := storetest.Reports(1, 20)
	add(t, s, reports...)
	same(t, s, reports...)
	again := storetest.Reports(2, 1)[0]
	again.ID = reports[0].ID
	add(t, s, again) // in the place of the first
	same(t, s, append(slices.Clone(reports[1:]), again)...)
	for w, err := range s.Each() { // as takt store sync does
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Remove(w.Report.ID); err != nil {
			t.Fatal(err)
		}
	}
	same(t, s)
	if names := list(t, s); names != nil {
		t.Errorf("left: %v", names)
	}
}

func list(t *testing.T, s *Spool) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestOldestFirst(t *testing.T) {
	s := fresh(t)
	for _, id := range []string{"01J2", "01J1", "01J3"} {
		add(t, s, &takt.Report{SchemaVersion: 1, ID: id})
	}
	for i, r := range each(t, s) {
		if want := []string{"01J1", "01J2", "01J3"}[i]; r.ID != want {
			t.Errorf("%s, want %s", r.ID, want)
		}
	}
}

// An id may come from anybody's report.
func TestNamesStayInTheFolder(t *testing.T) {
	s := fresh(t)
	var reports []*takt.Report
	for _, id := range []string{"../../x", "/etc/x", "..", ".", "a b", "größe", "a%2Fb", "a/b", "x.tmp", "x.store", "x"} {
		reports = append(reports, &takt.Report{SchemaVersion: 1, ID: id})
	}
	add(t, s, reports...)
	same(t, s, reports...)
	if names := list(t, s); len(names) != 2*len(reports) {
		t.Errorf("files %v", names)
	}
}

// One file that is no report does not keep the others.
func TestDamaged(t *testing.T) {
	s := fresh(t)
	good := &takt.Report{SchemaVersion: 1, ID: "b"}
	add(t, s, good, &takt.Report{SchemaVersion: takt.SchemaVersion + 1, ID: "c"})
	for name, text := range map[string]string{"a.json": `{"schema_version":1,"id":"a"`, "d.tmp": "half", "e.txt": "not ours"} {
		if err := os.WriteFile(filepath.Join(s.Dir(), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	var faults []error
	for w, err := range s.Each() {
		if err != nil {
			faults = append(faults, err)
			continue
		}
		ids = append(ids, w.Report.ID)
	}
	if !slices.Equal(ids, []string{"b"}) {
		t.Errorf("reports %v, want b", ids)
	}
	if len(faults) != 2 || !strings.Contains(faults[0].Error(), "a.json") || !errors.Is(faults[1], fault.ErrTooNew) {
		t.Errorf("faults %v", faults)
	}
}

// A report is more than where it is to go: what stands beside it may be missing.
func TestStoreNotKnown(t *testing.T) {
	s := fresh(t)
	add(t, s, &takt.Report{SchemaVersion: 1, ID: "a"})
	if err := os.Remove(filepath.Join(s.Dir(), "a.store")); err != nil {
		t.Fatal(err)
	}
	n := 0
	for w, err := range s.Each() {
		if n++; err != nil || w.Store != "" || w.Report.ID != "a" {
			t.Errorf("%+v, %v", w, err)
		}
	}
	if err := s.Remove("a"); err != nil || n != 1 {
		t.Errorf("%d reports, remove: %v", n, err)
	}
}

func TestModes(t *testing.T) {
	s := fresh(t)
	add(t, s, &takt.Report{SchemaVersion: 1, ID: "a"})
	for name, want := range map[string]fs.FileMode{".": 0o700, "a.json": 0o600, "a.store": 0o600} {
		info, err := os.Stat(filepath.Join(s.Dir(), name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode().Perm(), err, want)
		}
	}
}

func TestNoPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := Open(filepath.Join(file, "spool"))
	if err := s.Add(&takt.Report{ID: "a"}, place); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("add: %v", err)
	}
	for _, err := range s.Each() {
		if err == nil {
			t.Error("a report")
		}
		return
	}
	t.Error("no error")
}

func TestManyAddAtOnce(t *testing.T) {
	s := fresh(t)
	reports := storetest.Reports(1, 40)
	var wait sync.WaitGroup
	for half := range slices.Chunk(reports, 20) {
		wait.Go(func() {
			for _, r := range half {
				if err := Open(s.Dir()).Add(r, place); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	same(t, s, reports...)
}
