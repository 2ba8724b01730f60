package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestHinted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "r.json")
	write(t, file, old)
	me := os.Geteuid()
	denied := func(path string) error { return &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES} }
	for _, test := range []struct {
		name, path string
		uid        int
		err        error
		place      string // "": no hint
	}{
		{"a folder of another user", filepath.Join(dir, "new.json"), me + 1, denied("new"), dir},
		{"a file of another user", file, me + 1, denied("r"), file},
		{"a folder of takt's user, whose mode is wrong", filepath.Join(dir, "new.json"), me, denied("new"), ""},
		{"another error", file, me + 1, &fs.PathError{Op: "open", Path: file, Err: syscall.ENOSPC}, ""},
		{"a folder that is missing", filepath.Join(dir, "no", "r.json"), me + 1, denied("no"), ""},
	} {
		err := hintedFor(test.uid, test.path, test.err)
		if !errors.Is(err, test.err) || strings.Contains(err.Error(), "--user $(id -u):$(id -g)") != (test.place != "") || test.place != "" && !strings.Contains(err.Error(), ": "+test.place+" belongs to user ") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
