package spool

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/taktload/takt/internal/outfile"
)

var errLive = errors.New("its run goes on")

// lock locks a journal for as long as it is open. The error is errLive if another process has locked it.
// Where no lock ends with its process, nobody could tell whose journal is left.
func lock(f *os.File) error {
	err := outfile.TryLock(f)
	if errors.Is(err, outfile.ErrLocked) {
		return errLive
	}
	return err
}

// Orphan is a journal whose process has ended. Until Close nobody else takes it.
type Orphan struct {
	Path string
	Head []byte
	f    *os.File
	in   *bufio.Reader
	rest int64 // bytes that were not read yet
}

// Orphans gives the journals whose processes have ended, oldest ULID first. An error is
// that of one file, which stays where it is; the others follow. It removes the unfinished files of such processes.
func (s *Spool) Orphans() iter.Seq2[*Orphan, error] {
	return func(yield func(*Orphan, error) bool) {
		entries, err := os.ReadDir(s.dir) // sorted
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(nil, err)
			return
		}
		outfile.Sweep(s.dir)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), journalFile) {
				continue
			}
			o, err := adopt(filepath.Join(s.dir, e.Name()))
			if errors.Is(err, errLive) || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// Has reports whether the report of that id waits here.
func (s *Spool) Has(id string) bool {
	_, err := os.Stat(s.file(id, reportFile))
	return err == nil
}

// adopt opens and locks a journal, and reads its head.
func adopt(path string) (*Orphan, error) {
	f, err := os.OpenFile(path, os.O_RDWR|openNow, 0)
	if err != nil {
		return nil, err
	}
	o := &Orphan{Path: path, f: f}
	if err = o.open(); err != nil {
		_ = f.Close() // it was read only
		if !errors.Is(err, errLive) && !errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return nil, err
	}
	return o, nil
}

func (o *Orphan) open() error {
	if _, err := readable(o.f); err != nil {
		return err
	}
	if err := lock(o.f); err != nil {
		return err
	}
	if !outfile.IsAt(o.f, o.Path) {
		return fs.ErrNotExist // it was replaced, or another process has taken it, until the lock came
	}
	info, err := o.f.Stat() // with what was written until then
	if err != nil {
		return err
	}
	o.in, o.rest = bufio.NewReader(o.f), info.Size()
	if err := readMark(o.in); err != nil {
		return err
	}
	o.rest -= int64(len(journalMark))
	head, ok := o.Next()
	if !ok {
		return errors.New("its head is damaged")
	}
	o.Head = head
	return nil
}

// Next gives the next record, and false behind the last that is whole.
func (o *Orphan) Next() ([]byte, bool) {
	if o.rest < frameHead {
		return nil, false
	}
	head, err := o.in.Peek(frameHead)
	if err != nil {
		return nil, false
	}
	n, sum, ok := frameOf(head)
	if !ok || n > o.rest-frameHead {
		return nil, false
	}
	if _, err := o.in.Discard(frameHead); err != nil {
		return nil, false
	}
	record, ok := readRecord(o.in, n, sum)
	if ok {
		o.rest -= frameHead + n
	}
	return record, ok
}

// Rest is how many bytes behind the last whole record there are.
func (o *Orphan) Rest() int64 { return o.rest }

// Remove removes the journal, which Close still has to close.
func (o *Orphan) Remove() error { return os.Remove(o.Path) }

// Close gives the journal back.
func (o *Orphan) Close() error { return o.f.Close() }
