package outfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// swap lets a path name a link to another folder, and returns the path of the folder that was there.
func swap(t *testing.T, dir, to string) (moved string) {
	t.Helper()
	moved = dir + ".moved"
	if err := errors.Join(os.Rename(dir, moved), os.Symlink(to, dir)); err != nil {
		t.Fatal(err)
	}
	return moved
}

// Whoever may write above a folder can put a link into its place, before takt opens a file there or while it
// writes. The link leads nowhere.
func TestSwappedFolder(t *testing.T) {
	folders := func() (dir, victims string) {
		dir, victims = filepath.Join(t.TempDir(), "d"), t.TempDir()
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(victims, "r.json"), old)
		return dir, victims
	}
	untouched := func(victims string) {
		t.Helper()
		if got := read(t, filepath.Join(victims, "r.json")); got != old {
			t.Errorf("the file beyond the link has %q", got)
		}
		if all, err := os.ReadDir(victims); err != nil || len(all) != 1 {
			t.Errorf("%v, %v", all, err)
		}
	}
	for name, overwritten := range map[string]bool{"renamed": false, "overwritten": true} {
		t.Run(name, func(t *testing.T) {
			dir, victims := folders()
			f := open(t, filepath.Join(dir, "r.json"))
			if _, err := io.WriteString(f, text); err != nil {
				t.Fatal(err)
			}
			moved := swap(t, dir, victims)
			if overwritten {
				if err := f.overwrite(); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			untouched(victims)
			if got := read(t, filepath.Join(moved, "r.json")); got != text {
				t.Errorf("the file has %q", got)
			}
			alone(t, moved)
		})
	}
	dir, victims := folders()
	path, err := Follow(filepath.Join(dir, "r.json"))
	if err != nil {
		t.Fatal(err)
	}
	swap(t, dir, victims)
	if in, err := folderOf(path); err == nil {
		in.close()
		t.Error("a link in the place of a folder is followed after the check")
	}
	untouched(victims)
	dir, victims = folders()
	f, err := OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	swap(t, dir, victims)
	if _, err := io.WriteString(f, text); err != nil || f.Close() != nil {
		t.Error(err)
	}
	untouched(victims)
}
