package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/store/storetest"
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
	for _, err := range s.Runs(t.Context(), analysis.Query{}) {
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
