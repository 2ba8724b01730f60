//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package outfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/taktload/takt/internal/filelock"
)

// Those who share a lock keep out who wants it alone, until the last of them closes the file.
func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	a, b, c := open(), open(), open()
	if err := errors.Join(filelock.TryShared(a), filelock.TryShared(b)); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{a, b} {
		if err := filelock.TryExclusive(c); !errors.Is(err, filelock.ErrHeld) {
			t.Errorf("beside others: %v", err)
		}
		f.Close()
	}
	if err := filelock.TryExclusive(c); err != nil {
		t.Error(err)
	}
	if err := filelock.TryShared(open()); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("beside one who wants it alone: %v", err)
	}
	if err := filelock.TryShared(a); err == nil || errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a closed file: %v", err)
	}
}
