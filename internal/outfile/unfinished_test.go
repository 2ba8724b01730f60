//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package outfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file whose process was killed before the file had its name is removed by the next one that writes into
// the folder, or looks. Those of processes that go on stay, and so does what is not a file.
func TestSweep(t *testing.T) {
	for name, look := range map[string]func(dir string) error{
		"takt's folder": func(dir string) error { Sweep(dir); return nil },
		"a report": func(dir string) error {
			f, err := Open(filepath.Join(dir, "r.json"))
			return errors.Join(err, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			live, err := Unfinished(dir)
			if err != nil {
				t.Fatal(err)
			}
			dead, err := Unfinished(dir)
			if err != nil {
				t.Fatal(err)
			}
			outside := filepath.Join(t.TempDir(), "x")
			strange := []string{filepath.Join(dir, ".takt-link.tmp"), filepath.Join(dir, ".takt-folder.tmp"), filepath.Join(dir, "mine.tmp")}
			if err := errors.Join(dead.Close(), os.WriteFile(outside, nil, 0o600), os.Symlink(outside, strange[0]), os.Mkdir(strange[1], 0o700), os.WriteFile(strange[2], nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			if err := look(dir); err != nil {
				t.Fatal(err)
			}
			for _, path := range append(strange, outside, live.Name()) {
				if _, err := os.Lstat(path); err != nil {
					t.Error(err)
				}
			}
			if _, err := os.Stat(dead.Name()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file of a process that is gone: %v", err)
			}
			if err := errors.Join(live.Close(), look(dir)); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(live.Name()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("after its end: %v", err)
			}
		})
	}
}
