package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/outfile"
)

// A journal that is being written can be read, over and over, and its writer notices nothing.
func TestWatch(t *testing.T) {
	s := Open(t.TempDir())
	j, err := s.Begin("R1", []byte("head"))
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	names, err := s.Journals()
	if err != nil || !slices.Equal(names, []string{"R1"}) {
		t.Fatal(names, err)
	}
	w, err := s.Watch("R1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if string(w.Head) != "head" {
		t.Errorf("head %q", w.Head)
	}
	for _, text := range []string{"one", "two"} {
		if r, ok := w.Next(); ok {
			t.Errorf("%q before it was written", r)
		}
		if err := j.Append([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if r, ok := w.Next(); !ok || string(r) != text {
			t.Errorf("got %q, want %q", r, text)
		}
	}
	if w.Replaced() || w.Ended() {
		t.Error("a run that goes on has ended")
	}
	if err := outfile.TryLock(open(t, j.path)); !errors.Is(err, outfile.ErrLocked) {
		t.Errorf("the writer has lost its lock: %v", err)
	}
	if err := j.Replace([]byte("all")); err != nil {
		t.Fatal(err)
	}
	if !w.Replaced() {
		t.Error("a new file is not seen")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if !w.Ended() {
		t.Error("a run without its process goes on")
	}
	for o, err := range s.Orphans() { // nobody keeps it from being recovered
		if err != nil || string(o.Head) != "head" {
			t.Error(err)
		}
		if err := errors.Join(o.Remove(), o.Close()); err != nil {
			t.Error(err)
		}
	}
	if !w.Replaced() {
		t.Error("a journal that is gone is still there")
	}
	if _, err := s.Watch("R1"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Half a record, a wrong one, what is not a journal, and names that lead elsewhere are no records.
func TestWatchRefuses(t *testing.T) {
	s := Open(t.TempDir())
	secret := filepath.Join(filepath.Dir(s.Dir()), "secret"+journalFile)
	whole := frame(frame([]byte(journalMark), []byte("head")), []byte("second"))
	for name, text := range map[string][]byte{"half": whole[:len(whole)-1], "other": []byte("not a journal"), "empty": nil, "zeros": append(whole, make([]byte, 64)...)} {
		if err := os.WriteFile(filepath.Join(s.Dir(), name+journalFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(secret, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"half": 0, "zeros": 1, "other": -1, "empty": -1, "../secret": -1, "nobody": -1} {
		got := -1
		if w, err := s.Watch(name); err == nil {
			for got = 0; got < 9; got++ {
				if _, ok := w.Next(); !ok {
					break
				}
			}
			w.Close()
		}
		if got != want {
			t.Errorf("%s: %d records, want %d", name, got, want)
		}
	}
}
