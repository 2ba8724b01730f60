// Package spool is a folder of reports that wait for a store that could not be
// reached. Its files are the reports as -o json writes them, but for the line breaks.
package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/taktload/takt/internal/store/document"
	"github.com/taktload/takt/pkg/takt"
)

const extension = ".json"

// Spool is such a folder. Many processes may use one at once.
type Spool struct{ dir string }

// Open gives the spool in dir, which Add makes when it is needed.
func Open(dir string) *Spool { return &Spool{dir} }

// Dir is the folder.
func (s *Spool) Dir() string { return s.dir }

// Add keeps the report. Once it returns, the report survives a power failure; a
// crash before leaves a file .tmp that nobody reads.
func (s *Spool) Add(r *takt.Report) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("the report of run %q cannot be kept: %w", r.ID, err)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(s.dir, "*.tmp") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(append(text, '\n'))
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), s.file(r.ID))
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return syncDir(s.dir)
}

// syncDir makes the names of a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// file is the name for an id, which may have come from an imported report and so
// from anybody: no slash gets through.
func (s *Spool) file(id string) string {
	return filepath.Join(s.dir, url.PathEscape(id)+extension)
}

// Each gives the reports, oldest ULID first. An error is that of one file, which
// stays where it is; the others follow.
func (s *Spool) Each() iter.Seq2[*takt.Report, error] {
	return func(yield func(*takt.Report, error) bool) {
		entries, err := os.ReadDir(s.dir) // sorted
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(nil, err)
			return
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), extension) {
				continue
			}
			r, err := read(filepath.Join(s.dir, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue // another process has sent it
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func read(file string) (*takt.Report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r, err := document.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// Remove forgets the report of that id, if it is there.
func (s *Spool) Remove(id string) error {
	if err := os.Remove(s.file(id)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
