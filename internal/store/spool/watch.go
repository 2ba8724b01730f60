package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/taktload/takt/internal/outfile"
)

// Watched is a journal that its process goes on writing. It is only read, and never locked: its
// process notices nothing.
type Watched struct {
	Head []byte
	path string
	f    *os.File
	at   int64 // end of the last record that was read
}

// Journals lists the journals by the name of their run, as it is in their file's name, oldest ULID first.
func (s *Spool) Journals() (names []string, err error) {
	entries, err := os.ReadDir(s.dir) // sorted
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), journalFile); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// Watch opens a journal of Journals. The error is fs.ErrNotExist if it is gone, as it is after the run.
func (s *Spool) Watch(name string) (*Watched, error) {
	if name != filepath.Base(name) {
		return nil, fs.ErrNotExist
	}
	path := filepath.Join(s.dir, name+journalFile)
	f, err := os.OpenFile(path, os.O_RDONLY|openNow, 0)
	if err != nil {
		return nil, err
	}
	w := &Watched{path: path, f: f}
	if err := w.open(); err != nil {
		_ = f.Close() // it was only read
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

func (w *Watched) open() error {
	if _, err := readable(w.f); err != nil {
		return err
	}
	if err := readMark(io.NewSectionReader(w.f, 0, int64(len(journalMark)))); err != nil {
		return err
	}
	w.at = int64(len(journalMark))
	head, ok := w.Next()
	if !ok {
		return errors.New("its head is damaged")
	}
	w.Head = head
	return nil
}

// Next is the next record, and false if it is not whole yet: ask again later.
func (w *Watched) Next() ([]byte, bool) {
	var head [frameHead]byte
	if _, err := w.f.ReadAt(head[:], w.at); err != nil {
		return nil, false
	}
	n, sum, ok := frameOf(head[:])
	if !ok {
		return nil, false
	}
	info, err := w.f.Stat()
	if err != nil || info.Size() < w.at+frameHead+n { // do not allocate what is not there
		return nil, false
	}
	record, ok := readRecord(io.NewSectionReader(w.f, w.at+frameHead, n), n, sum)
	if ok {
		w.at += frameHead + n
	}
	return record, ok
}

// Replaced reports whether the journal has a new file: its process has written all seconds as one
// record. Then only a new Watch sees what follows. It is also true when the journal is gone.
func (w *Watched) Replaced() bool {
	own, err := w.f.Stat()
	if err != nil {
		return true
	}
	now, err := os.Stat(w.path)
	return err != nil || !os.SameFile(own, now)
}

// Ended reports whether the process of the run has ended without its report. To find out it locks the
// journal for an instant, which fails at once as long as the process has it: the run is not touched. A
// command that recovers the run at this instant leaves it to the next one.
func (w *Watched) Ended() bool {
	f, err := os.OpenFile(w.path, os.O_RDONLY|openNow, 0) // a lock belongs to the opening
	if err != nil {
		return false
	}
	defer f.Close()
	return outfile.TryLockShared(f) == nil
}

// Close closes the file.
func (w *Watched) Close() error { return w.f.Close() }
