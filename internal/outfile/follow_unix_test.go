//go:build unix

package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/taktload/takt/internal/files"
)

// shared makes a folder with a mode, and in it a link of user owner to a file with a secret. It skips the
// test where links cannot be given away. Folders above are not shared.
func shared(t *testing.T, mode fs.FileMode, folder, owner int) (victim, path string) {
	t.Helper()
	victim = filepath.Join(t.TempDir(), "victim")
	write(t, victim, old)
	dir := filepath.Join(t.TempDir(), "shared")
	path = filepath.Join(dir, "r.json")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(victim, path), os.Lchown(path, owner, -1), os.Chown(dir, folder, -1), os.Chmod(dir, mode)); err != nil {
		t.Skip(err)
	}
	return victim, path
}

const stranger, other = 65534, 65533

// The rule of fs.protected_symlinks, whatever the host has set.
func TestFollow(t *testing.T) {
	const sticky = fs.ModeSticky | 0o777
	me := os.Geteuid()
	for _, test := range []struct {
		name          string
		mode          fs.FileMode
		folder, owner int
		refused       bool
	}{
		{"a stranger's link in a shared folder", sticky, me, stranger, true},
		{"a link of the folder's owner", sticky, stranger, stranger, true}, // to what is not that user's,
		{"one's own link", sticky, stranger, me, false},
		{"neither", sticky, other, stranger, true},
		{"a folder without the sticky bit", 0o777, me, stranger, true},
		{"a folder that only its group may write", fs.ModeSticky | 0o775, me, stranger, true},
		{"a stranger's folder", 0o755, stranger, stranger, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			victim, path := shared(t, test.mode, test.folder, test.owner)
			f, err := Open(path)
			if err == nil {
				_, err = f.Write([]byte(text))
				err = errors.Join(err, f.Close())
			}
			wanted := text
			if test.refused {
				wanted = old
			}
			if (err != nil) != test.refused || err != nil && !strings.Contains(err.Error(), "open "+path+": "+path+" is a link that user 65534 made") {
				t.Error(err)
			}
			if got := read(t, victim); got != wanted {
				t.Errorf("the file has %q", got)
			}
			if g, err := OpenFile(path, os.O_WRONLY, 0o600); (err != nil) != test.refused {
				t.Errorf("in place: %v", err)
			} else if err == nil {
				g.Close()
			}
		})
	}
}

// A folder may be the link, also below others, and links lead to links.
func TestFollowFolders(t *testing.T) {
	victim, path := shared(t, fs.ModeSticky|0o777, os.Geteuid(), stranger)
	home := t.TempDir()
	mine := filepath.Join(home, "mine")
	link(t, os.Symlink(path, mine))
	folder := filepath.Join(filepath.Dir(path), "folder")
	link(t, errors.Join(os.Symlink(filepath.Dir(victim), folder), os.Lchown(folder, stranger, -1)))
	t.Chdir(filepath.Dir(path))
	for _, path := range []string{mine, folder + "/victim", folder + "/new", "folder/new", "./folder/../folder/new", "../shared/r.json"} {
		if to, err := Follow(path); err == nil {
			t.Errorf("%s leads to %s", path, to)
		}
	}
	t.Chdir(home)
	dir, err := filepath.EvalSymlinks(home)
	if err != nil {
		t.Fatal(err)
	}
	link(t, errors.Join(os.Mkdir("a", 0o700), os.Symlink("a", "b"), os.Symlink("../b/./new", "a/c"), os.Symlink("loop", "loop"), os.Symlink("/dev/null", "null"), os.Symlink("/proc/self/fd/1", "out")))
	for path, want := range map[string]string{
		"a/x": "a/x", "b/x": "a/x", "b/c": "a/new", dir + "/b/no/such": dir + "/a/no/such", "b/../b/x": "a/x", "none/../x": "none/../x", "": "",
		"a/": "a/", "loop": "loop", "null": "/dev/null", "out": "/proc/self/fd/1", "/dev/stdout": "/dev/stdout",
	} {
		if got, err := Follow(path); err != nil || got != want {
			t.Errorf("%s leads to %q, %v, want %q", path, got, err, want)
		}
	}
}

// A link that appears after the check, as at the end of a run, is not followed, either.
func TestPlantedLater(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "r.json")
	write(t, victim, old)
	f := open(t, path)
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	link(t, os.Symlink(victim, path))
	if err := f.overwrite(); err == nil || read(t, victim) != old {
		t.Errorf("%v, the file has %q", err, read(t, victim))
	}
	f.Discard()
}

// A file or a pipe of a stranger in a shared folder gets nothing: the stranger would read it.
func TestPlantedFiles(t *testing.T) {
	me := os.Geteuid()
	dir := filepath.Join(t.TempDir(), "shared")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, fs.ModeSticky|0o777)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		owner   int
		pipe    bool
		refused bool
	}{"theirs": {stranger, false, true}, "their pipe": {stranger, true, true}, "mine": {me, false, false}} {
		path := filepath.Join(dir, name)
		if c.pipe {
			if err := syscall.Mkfifo(path, 0o666); err != nil {
				t.Skip(err)
			}
		} else {
			write(t, path, old)
		}
		if err := os.Chown(path, c.owner, -1); err != nil {
			t.Skip(err) // not root
		}
		if _, err := Follow(path); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if f, err := Open(path); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		} else if err == nil {
			f.Discard()
		}
	}
}

// A second name of a file keeps the file's owner. In a shared folder anybody may have made it, where
// fs.protected_hardlinks is off; in a folder of one's own it is one's own.
func TestPlantedNames(t *testing.T) {
	for mode, refused := range map[fs.FileMode]bool{fs.ModeSticky | 0o777: true, 0o700: false} {
		dir := filepath.Join(t.TempDir(), "folder")
		victim, path := filepath.Join(t.TempDir(), "victim"), filepath.Join(dir, "r.json")
		write(t, victim, old)
		link(t, errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode), os.Link(victim, path)))
		want := text
		if refused {
			want = old
		}
		f, err := Open(path)
		if err == nil {
			_, err = f.Write([]byte(text))
			err = errors.Join(err, f.Close())
		}
		if refused != (err != nil && strings.Contains(err.Error(), path+" has another name (a hard link) in a folder where everybody may write")) || !refused && err != nil {
			t.Errorf("%v: %v", mode, err)
		}
		if got := read(t, victim); got != want {
			t.Errorf("%v: the file has %q", mode, got)
		}
	}
}

// Whoever writes only, as a log, does not wait for the reader of a named pipe, nor for one that stops reading.
func TestPipeForWritingAlone(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	refused := func(when string) {
		t.Helper()
		f, err := OpenFile(pipe, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if f != nil || !errors.Is(err, files.ErrSpecial) || !strings.Contains(err.Error(), pipe) {
			t.Errorf("%s a reader: %v", when, err)
		}
	}
	refused("without")
	f, err := OpenFile(pipe, os.O_RDWR, 0o600) // which waits for nobody
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	refused("with")
}
