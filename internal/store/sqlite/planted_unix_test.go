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

// A store in a folder where everybody may write is refused, because another user could put SQLite's files beside
// it, whether the store and such a file are there or not. Nothing is made or changed.
func TestShared(t *testing.T) {
	for name, c := range map[string]struct {
		exists, look bool
		mode         fs.FileMode
	}{
		"a new store":          {false, false, fs.ModeSticky | 0o777},
		"a store":              {true, false, fs.ModeSticky | 0o777},
		"a store, to look at":  {true, true, fs.ModeSticky | 0o777},
		"without a sticky bit": {true, false, 0o777},
		"only others":          {false, false, 0o702},
	} {
		path := shared(t)
		if c.exists {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Chmod(filepath.Dir(path), c.mode), os.WriteFile(path+"-wal", []byte("planted"), 0o666)); err != nil {
			t.Fatal(err)
		}
		open := Open
		if c.look {
			open = Look
		}
		s, err := open(t.Context(), path)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, fault.ErrUnreachable) || !strings.Contains(err.Error(), path+" (it is in a folder where everybody may write, so another user could put files beside it); use a folder of your own, for example: mkdir -m 700 ") {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(path + "-wal"); err != nil || string(b) != "planted" {
			t.Errorf("%s: the other file has %q, %v", name, b, err)
		}
		if _, err := os.Stat(path); c.exists != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Look(t.Context(), shared(t)); !errors.Is(err, fault.ErrAbsent) {
		t.Errorf("no store: %v", err)
	}
}

// A folder of one's own in a shared one, as takt makes it, is fine.
func TestOwnFolderInShared(t *testing.T) {
	path := filepath.Join(filepath.Dir(shared(t)), "takt", "runs.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// In a folder that others cannot write, a link beside the store may still lead to what its maker does not own.
func TestPlanted(t *testing.T) {
	const stranger = 65534
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	for _, end := range besides {
		path, mine := filepath.Join(t.TempDir(), "runs.db"), filepath.Join(t.TempDir(), "mine")
		if err := errors.Join(os.WriteFile(mine, nil, 0o600), os.Symlink(mine, path+end), os.Lchown(path+end, stranger, -1)); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(t.Context(), path); !errors.Is(err, fault.ErrUnreachable) || !strings.Contains(err.Error(), path+end+" is a link that user 65534 made to what that user does not own") {
			t.Errorf("%s: %v", end, err)
			if err == nil {
				s.Close()
			}
		}
	}
}
