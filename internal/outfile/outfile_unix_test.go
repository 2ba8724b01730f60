//go:build unix

package outfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const old, text = "the old report, which is longer", "the new report"

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The old content stays until the new one is complete, and nothing else is left.
func TestReplaces(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, path string){
		"new file": func(*testing.T, string) {},
		"old file": func(t *testing.T, path string) { write(t, path, old) },
		"link": func(t *testing.T, path string) {
			write(t, path+".to", old)
			link(t, os.Symlink("report.json.to", path))
		},
		"link to nothing": func(t *testing.T, path string) { link(t, os.Symlink("report.json.to", path)) },
		"second name": func(t *testing.T, path string) {
			write(t, path+".too", old)
			link(t, os.Link(path+".too", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.json")
			prepare(t, path)
			before := read(t, path)
			open(t, path).Discard()
			if got := read(t, path); got != before {
				t.Errorf("after a run that was not made: %q", got)
			}
			f := open(t, path)
			if got := read(t, path); got != before {
				t.Errorf("before the first byte: %q", got)
			}
			if _, err := io.WriteString(f, text); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); f.temp != "" && got != before {
				t.Errorf("before the end: %q", got)
			}
			if err := errors.Join(f.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{path, path + ".to", path + ".too"} {
				if _, err := os.Stat(name); err == nil && read(t, name) != text {
					t.Errorf("%s: %q", name, read(t, name))
				}
			}
			alone(t, filepath.Dir(path))
		})
	}
}

func link(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Skip(err) // a file system without links
	}
}

// alone wants no temporary file in dir.
func alone(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".takt-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v (%v)", left, err)
	}
}

// What is written while a run goes can be followed; a crash then costs only the rest.
func TestShow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	write(t, path, old)
	f := open(t, path)
	for _, step := range []struct{ write, want string }{{"", old}, {"a\n", "a\n"}, {"b\n", "a\nb\n"}} {
		var err error
		if step.write != "" {
			_, err = io.WriteString(f, step.write)
		}
		if err = errors.Join(err, f.Show()); err != nil || read(t, path) != step.want {
			t.Errorf("%q: %q, %v", step.write, read(t, path), err)
		}
	}
	f.Discard()
	if got := read(t, path); got != "a\nb\n" {
		t.Errorf("discarded: %q", got)
	}
	alone(t, filepath.Dir(path))
}

// An output without a byte is complete too: the old content would be that of another run.
func TestNothingWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	write(t, path, old)
	if err := open(t, path).Close(); err != nil || read(t, path) != "" {
		t.Errorf("%q, %v", read(t, path), err)
	}
}

// The file keeps its permissions, and one that the user may not write is refused.
func TestPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	write(t, path, old)
	f := open(t, path)
	io.WriteString(f, text)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
}

// A pipe, and a file of the kernel that means an open one, are written as they are.
func TestInPlace(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	f := open(t, pipe)
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(text))
	if n, err := f.f.Read(b); err != nil || string(b[:n]) != text {
		t.Errorf("%q, %v", b, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info, err)
	}
	for _, path := range []string{"/dev/null", "/dev/stdout", "/dev/fd/1"} {
		if f := named().beside(path); f != nil {
			t.Errorf("%s is replaced", path)
		}
	}
}

// A path that cannot be written says so by its own name.
func TestCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "no", "folder"), filepath.Join(dir, strings.Repeat("n", 300))} {
		var bad *fs.PathError
		if f, err := Open(path); !errors.As(err, &bad) || bad.Path != path {
			t.Errorf("%v, %v", f, err)
		}
	}
	alone(t, dir)
}

// A file that no other can be renamed over, as a mount point, gets the content.
func TestOverwrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.csv")
	write(t, path, old)
	f := open(t, path)
	io.WriteString(f, "a\n")
	if err := f.overwrite(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "b\n")
	if err := f.Close(); err != nil || read(t, path) != "a\nb\n" {
		t.Errorf("%q, %v", read(t, path), err)
	}
	alone(t, filepath.Dir(path))
}
