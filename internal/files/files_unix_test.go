//go:build unix

package files

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A confined process waits for no other end of a pipe, and opens no device.
func TestSpecialFiles(t *testing.T) {
	dir, _ := folders(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	special := []string{"pipe"}
	if syscall.Mknod(filepath.Join(dir, "null"), syscall.S_IFCHR|0o600, 1<<8|3) == nil { // only root may
		special = append(special, "null")
	}
	t.Chdir(dir) // the path of a socket is short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	confine(t, dir)
	for _, name := range append(special, "socket") {
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE | os.O_APPEND, os.O_WRONLY | os.O_CREATE | os.O_TRUNC} {
			if f, err := OpenFile(name, flag, 0o600); !errors.Is(err, ErrSpecial) || f != nil {
				t.Errorf("%s, flags %#x: %v", name, flag, err)
			}
		}
		if got := Check(name); name != "socket" && got != ErrSpecial || name == "socket" && got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Other processes read pipes: --targets <(command).
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		if f, err := OpenFile(path, os.O_WRONLY, 0); err == nil {
			_, _ = io.WriteString(f, secret)
			_ = f.Close()
		}
	}()
	if text, err := ReadFile(path); string(text) != secret || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// A name that changes between a check and its use opens nothing outside: the check is that of the
// descriptor.
func TestSwappedLinks(t *testing.T) {
	dir, outside := folders(t)
	if err := os.Mkdir(filepath.Join(filepath.Dir(dir), "far"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(filepath.Dir(dir), "far", "file"), secret)
	put(t, filepath.Join(dir, "sub", "file"), "mine")
	confine(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	quit := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
			}
			_ = os.Remove(at("swap"))
			_ = os.Symlink(outside, at("swap"))
			_ = os.Remove(at("swap"))
			_ = os.WriteFile(at("swap"), []byte("mine"), 0o600)
			_ = os.Remove(at("dir"))
			_ = os.Symlink("sub", at("dir"))
			_ = os.Remove(at("dir"))
			_ = os.Symlink("../far", at("dir"))
		}
	})
	read, refused := 0, 0
	for n := 0; n < 2000 || (read == 0 || refused == 0) && n < 1e6; n++ {
		for _, name := range []string{"swap", "dir/file"} {
			if Check(name) != nil {
				refused++
			}
			text, err := ReadFile(name)
			if strings.Contains(string(text), secret) {
				t.Errorf("%s: opened what is outside", name)
			}
			if err == nil {
				read++
			}
			f, err := OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
			if err == nil {
				_ = f.Close()
			}
		}
	}
	close(quit)
	swapping.Wait()
	for _, path := range []string{outside, filepath.Join(filepath.Dir(dir), "far", "file")} {
		if text, err := os.ReadFile(path); string(text) != secret || err != nil {
			t.Errorf("%s is %q, %v", path, text, err)
		}
	}
	if read == 0 || refused == 0 {
		t.Errorf("%d reads and %d refusals: nothing was swapped", read, refused)
	}
}

// A signal ends the wait for whoever writes to a pipe; who has written is read.
func TestUntil(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	Until(ctx)
	t.Cleanup(func() { until.Store(nil) })
	go func() { _ = WriteFile(pipe, []byte("text"), 0) }() // ReadFile shows an error
	if text, err := ReadFile(pipe); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	stopped := errors.New("stopped")
	time.AfterFunc(time.Millisecond, func() { cancel(stopped) })
	if _, err := Open(pipe); !errors.Is(err, stopped) {
		t.Error(err)
	}
	if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err != nil { // for the one that waits
		t.Error(err)
	} else {
		f.Close()
	}
}

// ReadFile has a limit: a wrong name must not fill memory.
func TestReadFileLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	for size, wrong := range map[int64]bool{mostWhole: false, mostWhole + 1: true} {
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); (err != nil) != wrong {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
