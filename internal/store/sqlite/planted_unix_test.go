//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/store/fault"
)

// shared returns the path of a store in a folder where everybody may write, as in /tmp.
func shared(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shared")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, fs.ModeSticky|0o777)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "runs.db")
}

// What another user puts beside a store in a shared folder does not become a part of the store, whether
// the store was there or not.
func TestPlanted(t *testing.T) {
	const stranger = 65534
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	for _, end := range besides {
		for _, exists := range []bool{false, true} {
			path := shared(t)
			if exists {
				s, err := Open(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
			}
			if err := errors.Join(os.WriteFile(path+end, []byte("planted"), 0o666), os.Chown(path+end, stranger, -1)); err != nil {
				t.Fatal(err)
			}
			for name, open := range map[string]func() (*Store, error){
				"Open": func() (*Store, error) { return Open(t.Context(), path) },
				"Look": func() (*Store, error) { return Look(t.Context(), path) },
			} {
				if name == "Look" && !exists {
					continue
				}
				s, err := open()
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, fault.ErrUnreachable) || !strings.Contains(err.Error(), path+end+" is a file of user 65534 in a folder where everybody may write") {
					t.Errorf("%s beside %s: %v", name, end, err)
				}
			}
			if b, err := os.ReadFile(path + end); err != nil || string(b) != "planted" {
				t.Errorf("%s has %q, %v", end, b, err)
			}
		}
	}
}

// Nobody can put a file there while the store is opened: it is there, and mine. None of them stays.
func TestGuard(t *testing.T) {
	path := shared(t)
	if err := touch(path, true); err != nil {
		t.Fatal(err)
	}
	free, err := guard(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range besides {
		if info, err := os.Lstat(path + end); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", end, info, err)
		}
	}
	for range 2 { // a new store, then one that exists
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if left := s.Close(); left != nil {
			t.Error(left)
		}
	}
	free()
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// In a folder of one's own, and beside a store that one only reads, takt makes no files that SQLite does not need.
func TestNoGuard(t *testing.T) {
	for _, c := range []struct {
		path string
		mode fs.FileMode
	}{{filepath.Join(t.TempDir(), "runs.db"), 0o600}, {shared(t), 0o400}} {
		if c.mode == 0o400 && os.Geteuid() == 0 {
			continue // root may write everything
		}
		if err := os.WriteFile(c.path, nil, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := guard(c.path); err != nil {
			t.Fatal(err)
		}
		if all, err := os.ReadDir(filepath.Dir(c.path)); err != nil || len(all) != 1 {
			t.Errorf("%v, %v", all, err)
		}
	}
}
