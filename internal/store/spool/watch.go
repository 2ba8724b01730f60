package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/taktload/takt/internal/filelock"
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
	info, err := w.f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a file")
	case info.Size() > maxJournal:
		return fmt.Errorf("it has %d MiB, and no journal has more than %d", info.Size()>>20, maxJournal>>20)
	}
	mark := make([]byte, len(journalMark))
	if _, err := w.f.ReadAt(mark, 0); err != nil || string(mark) != journalMark {
		return errors.New("it is not a journal of takt")
	}
	w.at = int64(len(mark))
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
	n, sum := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if n == 0 || n > maxRecord {
		return nil, false
	}
	info, err := w.f.Stat()
	if err != nil || info.Size() < w.at+frameHead+int64(n) { // do not allocate what is not there
		return nil, false
	}
	record := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(w.f, w.at+frameHead, int64(n)), record); err != nil || crc32.Checksum(record, castagnoli) != sum {
		return nil, false
	}
	w.at += frameHead + int64(n)
	return record, true
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
	return filelock.TryShared(f) == nil
}

// Close closes the file.
func (w *Watched) Close() error { return w.f.Close() }
