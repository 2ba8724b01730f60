package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/test/storetest"
)

// unprivileged takes from this goroutine what lets root write to any file. Its thread
// ends with it.
func unprivileged(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	runtime.LockOSThread()
	if _, _, err := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); err != 0 {
		t.Fatal(err)
	}
}

// A store that may only be read gives its runs, also in a folder in which SQLite can
// make no files, and takes none.
func TestMayOnlyBeRead(t *testing.T) {
	for _, test := range []struct {
		name         string
		file, folder os.FileMode
		open         bool // by somebody who has just written
	}{
		{"file", 0o444, 0o777, false},
		{"file and folder", 0o444, 0o555, false},
		{"folder", 0o666, 0o555, false},
		{"while others write", 0o444, 0o555, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "runs.db")
			s := at(t, path)
			reports := storetest.Reports(1, 3)
			if err := s.Save(t.Context(), reports...); err != nil {
				t.Fatal(err)
			}
			if !test.open {
				s.Close()
			}
			permit(t, filepath.Dir(dir), 0o755)
			permit(t, dir, test.folder)
			for _, name := range []string{path, path + "-wal", path + "-shm"} {
				if _, err := os.Stat(name); err == nil {
					permit(t, name, test.file)
				}
			}
			t.Cleanup(func() { permit(t, dir, 0o755) })
			t.Run("nobody", func(t *testing.T) { // on a goroutine of its own
				unprivileged(t)
				readOnly(t, path, reports[0].ID, len(reports))
			})
			if all, err := os.ReadDir(dir); !test.open && (err != nil || len(all) != 1) { // nor does it read what others put there
				t.Errorf("beside the store: %v, %v", all, err)
			}
		})
	}
}

func permit(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func readOnly(t *testing.T, path, id string, runs int) {
	t.Helper()
	s, err := OpenExisting(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	for _, err := range s.Runs(t.Context(), stored.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if _, err := s.Load(t.Context(), id); err != nil || n != runs {
		t.Errorf("%d runs are listed, want %d; load: %v", n, runs, err)
	}
	wrong(t, path, s.Save(t.Context(), storetest.Reports(2, 1)...), fault.ErrReadOnly)
	wrong(t, path, s.Delete(t.Context(), id), fault.ErrReadOnly)
}

// A disk that is full is called full, also where SQLite says that the database is
// read-only, since it cannot make its files beside it. The runs can still be read.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=900k,mode=700"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	path, reports := filepath.Join(dir, "runs.db"), storetest.Reports(1, 2)
	s := at(t, path)
	if err := s.Save(t.Context(), reports[0]); err != nil {
		t.Fatal(err)
	}
	s.Close()
	fill(t, filepath.Join(dir, "fill"))
	again, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.Load(t.Context(), reports[0].ID); err != nil {
		t.Error(err)
	}
	err = again.Save(t.Context(), reports[1])
	wrong(t, path, err, fault.ErrFull)
	if errors.Is(err, fault.ErrReadOnly) || !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	_, err = Open(t.Context(), filepath.Join(dir, "new.db"))
	wrong(t, "new.db", err, fault.ErrFull)
}

// On a full disk the limit removes nothing: SQLite needs room to delete, too. With room again it
// goes on.
func TestTrimOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m,mode=700"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	path := filepath.Join(dir, "runs.db")
	s := at(t, path)
	if err := s.Save(t.Context(), aged(5)...); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(dir, "fill"))
	var removed int
	var err error
	for limit := 4; limit > 0 && err == nil; limit-- { // the log of SQLite may have room for a few
		removed, err = s.Trim(t.Context(), limit, 1, "")
	}
	before := count(t, s)
	if wrong(t, path, err, fault.ErrFull); removed != 0 || before == 0 {
		t.Errorf("%d removed, %d left", removed, before)
	}
	if err := os.Remove(filepath.Join(dir, "fill")); err != nil {
		t.Fatal(err)
	}
	removed, err = s.Trim(t.Context(), before-1, 100, "")
	if n := count(t, s); err != nil || removed != 1 || n != before-1 {
		t.Errorf("with room again: %d removed, %d of %d left, %v", removed, n, before, err)
	}
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// SQLite would wait for a pipe, without an end.
func TestNotAFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for path, what := range map[string]string{pipe: "named pipe", os.DevNull: "device", t.TempDir(): "directory"} {
		for _, open := range []func(context.Context, string) (*Store, error){Open, OpenExisting} {
			_, err := open(t.Context(), path)
			wrong(t, path+" (it is a "+what+")", err, fault.ErrUnreachable)
		}
	}
}
