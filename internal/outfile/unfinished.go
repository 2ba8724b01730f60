package outfile

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/files"
)

// Unfinished files get their name when they are complete. Their process holds a lock until then, so the next
// process that writes into the folder removes those whose process was killed. Where there are no locks,
// nothing is removed.

// How the names of unfinished files begin and end.
const (
	unfinishedStart = ".takt-"
	unfinishedEnd   = ".tmp"
)

// folders is how files are found: those that a person named, or those of takt.
type folders struct {
	open   func(name string, flag int, mode fs.FileMode) (*os.File, error)
	lstat  func(name string) (fs.FileInfo, error)
	remove func(name string) error
	list   func(name string) ([]os.DirEntry, error)
	rename func(from, to string) error
	real   func(name string) (string, error) // the name without links
	close  func()
}

func named() folders {
	return folders{openPlain, files.Lstat, files.Remove, files.ReadDir, files.Rename, files.EvalSymlinks, func() {}}
}

func own() folders {
	return folders{os.OpenFile, os.Lstat, os.Remove, os.ReadDir, os.Rename, filepath.EvalSymlinks, func() {}}
}

// Unfinished makes an unfinished file in a folder of takt, which only takt's user can read. Keep it open until
// it has its name.
func Unfinished(dir string) (*os.File, error) {
	f, _, err := own().create(dir, 0o600)
	return f, err
}

// create makes an unfinished file. It does not ask the file for its path: a confined process sees another one.
func (d folders) create(dir string, mode fs.FileMode) (f *os.File, path string, err error) {
	for {
		path = filepath.Join(dir, unfinishedStart+strconv.FormatUint(rand.Uint64(), 36)+unfinishedEnd)
		if f, err = d.open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode); err != nil {
			return nil, "", err
		}
		err = TryLock(f)
		if err == nil && d.isAt(f, path) || err != nil && !errors.Is(err, ErrLocked) {
			return f, path, nil
		}
		_ = errors.Join(f.Close(), d.remove(path)) // usually sweep of another process came between, and has removed it
	}
}

// Sweep removes the unfinished files of processes that are gone from a folder of takt.
func Sweep(dir string) { own().sweep(dir) }

func (d folders) sweep(dir string) {
	entries, _ := d.list(dir) // a folder that cannot be read stays as it is
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, unfinishedStart) && strings.HasSuffix(name, unfinishedEnd) {
			d.abandoned(filepath.Join(dir, name))
		}
	}
}

// abandoned removes an unfinished file whose process is gone: its lock is, too.
func (d folders) abandoned(path string) {
	f, err := d.open(path, os.O_RDWR|noFollow|noWait, 0)
	if err != nil {
		return // another process has removed it, or it is not a file of takt
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && TryLock(f) == nil && d.isAt(f, path) {
		_ = d.remove(path) // the next one who looks tries again
	}
}

// IsAt reports whether an open file of takt still has this name.
func IsAt(f *os.File, path string) bool { return own().isAt(f, path) }

func (d folders) isAt(f *os.File, path string) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := d.lstat(path)
	return err == nil && os.SameFile(info, there)
}

// Replace writes a whole file of takt, which only takt's user can read. Whatever happens at any instant, the
// path has the old content or the new one; after SyncFolder a power failure brings the old one back no more.
func Replace(path string, content []byte) error {
	f, err := Unfinished(filepath.Dir(path))
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync())
	whole := err == nil
	if whole {
		err = os.Rename(f.Name(), path)
	}
	closed := f.Close()                                                    // after it has its name: until then its lock protects it
	if whole && err != nil && closed == nil && runtime.GOOS == "windows" { // which renames no open file, and has no such lock
		err = os.Rename(f.Name(), path)
	}
	if err = errors.Join(err, closed); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
