//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

const id = "01JD3"

func begin(t *testing.T, s *Spool, id string) *Journal {
	t.Helper()
	j, err := s.Begin(id, []byte("head of "+id))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// leave ends the process of a journal, as far as others can see.
func leave(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func appendAll(t *testing.T, j *Journal, records ...string) {
	t.Helper()
	for _, r := range records {
		if err := j.Append([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
}

// records are those of an orphan, behind its head.
func records(o *Orphan) (all []string) {
	for r, more := o.Next(); more; r, more = o.Next() {
		all = append(all, string(r))
	}
	return all
}

// orphans are the records of all journals that were left, by file, and the faults.
func orphans(t *testing.T, s *Spool) (all map[string][]string, faults []error) {
	t.Helper()
	all = map[string][]string{}
	for o, err := range s.Orphans() {
		if err != nil {
			faults = append(faults, err)
			continue
		}
		all[filepath.Base(o.Path)] = append([]string{string(o.Head)}, records(o)...)
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
	return all, faults
}

func wantOrphans(t *testing.T, s *Spool, want map[string][]string) {
	t.Helper()
	got, faults := orphans(t, s)
	if len(got) != len(want) || faults != nil {
		t.Errorf("%v, %v, want %v", got, faults, want)
	}
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s: %q, want %q", name, got[name], want[name])
		}
	}
}

func TestJournal(t *testing.T) {
	s := fresh(t)
	wantOrphans(t, s, nil) // there is no folder yet
	j := begin(t, s, id)
	appendAll(t, j, "one", "two", "three")
	wantOrphans(t, s, nil) // its process goes on
	if err := j.Append(nil); err == nil {
		t.Error("an empty record was appended")
	}
	if err := errors.Join(j.Replace([]byte("one to three")), j.Sync()); err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "four")
	wantOrphans(t, s, nil) // as it does behind a Replace
	info, err := os.Stat(j.path)
	if err != nil || info.Size() != j.Size() || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want %d bytes", info, err, j.Size())
	}
	same(t, s) // it is no report
	leave(t, j)
	want := map[string][]string{id + journalFile: {"head of " + id, "one to three", "four"}}
	wantOrphans(t, s, want)
	wantOrphans(t, s, want) // who only looks leaves it
	for o, err := range s.Orphans() {
		if err := errors.Join(err, o.Remove(), o.Close()); err != nil {
			t.Fatal(err)
		}
	}
	wantOrphans(t, s, nil)
	if err := begin(t, s, id).Remove(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(s.Dir())
	if len(left) > 0 || err != nil {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// No slash of an id gets through.
func TestJournalOfAnyID(t *testing.T) {
	s := fresh(t)
	j := begin(t, s, "../../x")
	if filepath.Dir(j.path) != s.Dir() {
		t.Error(j.path)
	}
	leave(t, j)
	if got, faults := orphans(t, s); len(got) != 1 || faults != nil {
		t.Error(got, faults)
	}
}

// A journal that ends anywhere has the records before it, and one with a bit that changed
// those before that.
func TestTornTail(t *testing.T) {
	s := fresh(t)
	j := begin(t, s, id)
	ends := []int64{j.Size()}
	want := []string{"first", "2", "the third record"}
	for _, r := range want {
		appendAll(t, j, r)
		ends = append(ends, j.Size())
	}
	leave(t, j)
	text, err := os.ReadFile(j.path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, at int64, text []byte) {
		t.Helper()
		if err := os.WriteFile(j.path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		whole := 0 // records
		for whole < len(want) && ends[whole+1] <= at {
			whole++
		}
		for o, err := range s.Orphans() {
			if at < ends[0] {
				if err == nil || !strings.Contains(err.Error(), j.path) {
					t.Errorf("%s byte %d: %v", what, at, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(what, at, err)
			}
			if got := records(o); !slices.Equal(got, want[:whole]) || o.Rest() != int64(len(text))-ends[whole] {
				t.Errorf("%s byte %d: %q, %d bytes left, want %d records", what, at, got, o.Rest(), whole)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for at := range text {
		check("cut at", int64(at), text[:at])
		for bit := range 8 {
			changed := bytes.Clone(text)
			changed[at] ^= 1 << bit
			check("changed", int64(at), changed)
		}
		check("zeros from", int64(at), append(bytes.Clone(text[:at]), make([]byte, 100)...))
	}
	check("whole", int64(len(text)), text)
}

// What is no journal is named, stays where it is, takes no memory and hides no other.
func TestHostileJournals(t *testing.T) {
	s := fresh(t)
	leave(t, begin(t, s, "05good"))
	path := func(name string) string { return filepath.Join(s.Dir(), name+journalFile) }
	put := func(name, text string) {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := binary.LittleEndian.AppendUint32([]byte(journalMark), 1<<32-1)
	put("01empty", "")
	put("02foreign", "{\"schema_version\":1}\n")
	put("03long", string(long)+strings.Repeat("x", 100))
	put("04huge", "")
	if err := errors.Join(os.Truncate(path("04huge"), maxJournal+1), os.Mkdir(path("06folder"), 0o700),
		syscall.Mkfifo(path("07pipe"), 0o600), os.Symlink("05good"+journalFile, path("08link"))); err != nil {
		t.Fatal(err)
	}
	got, faults := orphans(t, s)
	if len(got) != 1 || got["05good"+journalFile] == nil {
		t.Errorf("%v", got)
	}
	wants := []string{"not a journal", "not a journal", "damaged", "512 MiB", "06folder", "not a file", "08link"}
	if len(faults) != len(wants) {
		t.Fatalf("%v", faults)
	}
	for i, want := range wants {
		if says := faults[i].Error(); !strings.Contains(says, want) || !strings.Contains(says, s.Dir()) {
			t.Errorf("%v, want %q", says, want)
		}
	}
}

// Of several who look at once one gets each journal, whether its process goes on, ends or
// writes it anew meanwhile.
func TestJournalIsTakenOnce(t *testing.T) {
	s := fresh(t)
	const journals, takers = 20, 4
	var taken atomic.Int32
	var all sync.WaitGroup
	ended := make(chan struct{})
	for range takers {
		all.Go(func() {
			for last := false; !last; {
				select {
				case <-ended:
					last = true
				default:
				}
				for o, err := range s.Orphans() {
					if err != nil {
						t.Error(err)
						continue
					}
					if got := records(o); !slices.Equal(got, []string{"all", "last"}) {
						t.Errorf("%q", got)
					}
					if err := errors.Join(o.Remove(), o.Close()); err != nil {
						t.Error(err)
					}
					taken.Add(1)
				}
			}
		})
	}
	for i := range journals {
		j := begin(t, s, string(rune('a'+i)))
		appendAll(t, j, "one", "two")
		if err := j.Replace([]byte("all")); err != nil {
			t.Fatal(err)
		}
		appendAll(t, j, "last")
		leave(t, j)
	}
	close(ended)
	all.Wait()
	if n := taken.Load(); n != journals {
		t.Errorf("%d taken, want %d", n, journals)
	}
}

// Has knows of reports, not of journals.
func TestHas(t *testing.T) {
	s := fresh(t)
	leave(t, begin(t, s, id))
	if s.Has(id) {
		t.Error("a journal is no report")
	}
	add(t, s, &takt.Report{SchemaVersion: 1, ID: id})
	if !s.Has(id) {
		t.Error("a report that waits is not found")
	}
}

// A folder that may not be written to says so.
func TestJournalWithoutAPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if j, err := Open(file).Begin(id, nil); j != nil || err == nil {
		t.Errorf("%v, %v", j, err)
	}
	if _, faults := orphans(t, Open(file)); len(faults) != 1 || errors.Is(faults[0], fs.ErrNotExist) {
		t.Errorf("%v", faults)
	}
}

func FuzzJournal(f *testing.F) {
	good := slices.Clip(frame([]byte(journalMark), []byte("head")))
	f.Add([]byte(nil))
	f.Add(good)
	f.Add(frame(frame(good, []byte("one")), []byte("two")))
	f.Add(append(good, make([]byte, 20)...))
	f.Add(append(frame(good, []byte("one")), 0xff, 0xff, 0xff, 0x7f))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := Open(t.TempDir())
		if err := os.WriteFile(s.file(id, journalFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		for o, err := range s.Orphans() {
			if err != nil {
				continue
			}
			again := frame([]byte(journalMark), o.Head)
			for _, r := range records(o) {
				again = frame(again, []byte(r))
			}
			if !bytes.HasPrefix(text, again) || int64(len(text)-len(again)) != o.Rest() {
				t.Errorf("%q is read as %q, and %d bytes", text, again, o.Rest())
			}
			_ = o.Close()
		}
	})
}
