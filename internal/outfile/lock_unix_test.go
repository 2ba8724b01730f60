//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package outfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/taktload/takt/internal/outfile"
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
	if err := errors.Join(outfile.TryLockShared(a), outfile.TryLockShared(b)); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{a, b} {
		if err := outfile.TryLock(c); !errors.Is(err, outfile.ErrLocked) {
			t.Errorf("beside others: %v", err)
		}
		f.Close()
	}
	if err := outfile.TryLock(c); err != nil {
		t.Error(err)
	}
	if err := outfile.TryLockShared(open()); !errors.Is(err, outfile.ErrLocked) {
		t.Errorf("beside one who wants it alone: %v", err)
	}
	if err := outfile.TryLockShared(a); err == nil || errors.Is(err, outfile.ErrLocked) {
		t.Errorf("a closed file: %v", err)
	}
}
