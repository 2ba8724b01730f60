package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A full disk costs the new report, not the old one.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	path := filepath.Join(dir, "r.json")
	write(t, path, old)
	f := open(t, path)
	_, err := f.Write([]byte(strings.Repeat("new", 64<<10)))
	f.Discard()
	var e *fs.PathError
	if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &e) || e.Path != path || read(t, path) != old {
		t.Errorf("%v, %q", err, read(t, path))
	}
	alone(t, dir)
}

// nobody calls f without the rights of root.
func nobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() { // the thread ends with the goroutine
		defer close(done)
		runtime.LockOSThread()
		if _, _, err := syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0); err != 0 {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}

// In a folder without write permission a file that may be written is written in place;
// in a folder with it a file that may not be written is refused.
func TestRights(t *testing.T) {
	for _, test := range []struct {
		name         string
		file, folder fs.FileMode
		refused      bool
	}{
		{"folder", 0o666, 0o555, false},
		{"file", 0o444, 0o777, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "r.json")
			write(t, path, old)
			for name, mode := range map[string]fs.FileMode{path: test.file, dir: test.folder, filepath.Dir(dir): 0o755} {
				if err := os.Chmod(name, mode); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
			nobody(t, func() {
				f, err := Open(path)
				if test.refused {
					if !errors.Is(err, fs.ErrPermission) {
						t.Errorf("opened: %v", err)
					}
					return
				}
				if err == nil {
					_, err = f.Write([]byte(text))
				}
				if err = errors.Join(err, f.Close()); err != nil || read(t, path) != text {
					t.Errorf("%q, %v", read(t, path), err)
				}
			})
			alone(t, dir)
		})
	}
}

// The owner stays, also when root writes.
func TestOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	write(t, path, old)
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Skip(err)
	}
	f := open(t, path)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 65534 {
		t.Errorf("%v, %v", info, err)
	}
}

// A mount point cannot be renamed over: docker run -v report.json:/report.json.
func TestMountPoint(t *testing.T) {
	dir := t.TempDir()
	outside, path := filepath.Join(dir, "outside"), filepath.Join(dir, "r.json")
	write(t, outside, old)
	write(t, path, "")
	if err := syscall.Mount(outside, path, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("only root can mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
	f := open(t, path)
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil || read(t, outside) != text {
		t.Errorf("%q, %v", read(t, outside), err)
	}
	alone(t, dir)
}
