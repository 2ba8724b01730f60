package spool

import (
	"errors"
	"os"
)

// unfinishedFile is the end of the names of files that are being written.
const unfinishedFile = ".tmp"

// create makes an unfinished file and locks it, so that sweep of another process leaves it. Keep the file
// open until it has its name. Where there are no locks, nothing is swept.
func (s *Spool) create() (*os.File, error) {
	for {
		f, err := os.CreateTemp(s.dir, "*"+unfinishedFile) // mode 0600
		if err != nil {
			return nil, err
		}
		err = lock(f)
		if errors.Is(err, errors.ErrUnsupported) || err == nil && isAt(f, f.Name()) {
			return f, nil
		}
		_ = errors.Join(f.Close(), os.Remove(f.Name())) // usually sweep came between, and has removed it
		if err != nil && !errors.Is(err, errLive) {
			return nil, err
		}
	}
}

// sweep removes an unfinished file whose process is gone: its lock is, too.
func sweep(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|openNow, 0)
	if err != nil {
		return // another process has removed it, or it is not a file of takt
	}
	defer f.Close()
	if _, err := readable(f); err == nil && lock(f) == nil && isAt(f, path) {
		_ = os.Remove(path) // the next one who looks tries again
	}
}

// isAt reports whether an open file still has this name.
func isAt(f *os.File, path string) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(info, named)
}
