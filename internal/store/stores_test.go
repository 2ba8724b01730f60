package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/fault"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, where := range []string{filepath.Join(dir, "a.db"), filepath.Join(dir, "a:b", "b.db")} {
		s, err := Open(t.Context(), where, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range s.Runs(t.Context(), stored.Query{}) {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if s, err := OpenExisting(t.Context(), filepath.Join(dir, "a.bd"), Options{}); s != nil || !errors.Is(err, fault.ErrAbsent) {
		t.Errorf("a file that is not there: %v, %v", s, err)
	}
	for _, where := range []string{"elasticsearch://127.0.0.1", "opensearch://127.0.0.1", "https://127.0.0.1"} { // nobody is asked yet
		s, err := Open(t.Context(), where, Options{User: "a", Password: "b"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for where, want := range map[string]string{
		"postgres://u:secret@h/db": "elasticsearch://",
		"elasticsearch://":         "give it as",
		dir:                        "it is a directory",
	} {
		s, err := Open(t.Context(), where, Options{})
		if err == nil || s != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", where, s, err)
		}
	}
}
