// Package spool is a folder of reports that wait for a store that could not be
// reached. ID.json is a report as -o json writes it, but for the line breaks, and
// ID.store says for which store it waits.
package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/pkg/takt"
)

const (
	reportFile = ".json"
	storeFile  = ".store"
)

// Waiting is a report that waits for a store.
type Waiting struct {
	Report *takt.Report
	Store  string // as Add was told; "": not known
}

// Spool is such a folder. Many processes may use one at once.
type Spool struct{ dir string }

// Open gives the spool in dir, which Add makes when it is needed.
func Open(dir string) *Spool { return &Spool{dir} }

// Dir is the folder.
func (s *Spool) Dir() string { return s.dir }

// Add keeps the report for the store at that place, which holds no password. Once it
// returns, the report survives a power failure; a crash before leaves files that
// nobody reads.
func (s *Spool) Add(r *takt.Report, store string) error {
	text, err := document.Encode(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := outfile.Replace(s.file(r.ID, storeFile), []byte(store)); err != nil { // first: it counts for the report only
		return err
	}
	if err := outfile.Replace(s.file(r.ID, reportFile), append(text, '\n')); err != nil {
		return err
	}
	return outfile.SyncFolder(s.dir)
}

// file is the name for an id, which may have come from an imported report and so
// from anybody: no slash gets through.
func (s *Spool) file(id, extension string) string {
	return filepath.Join(s.dir, url.PathEscape(id)+extension)
}

// Each gives the reports, oldest ULID first. An error is that of one file, which
// stays where it is; the others follow.
func (s *Spool) Each() iter.Seq2[Waiting, error] {
	return func(yield func(Waiting, error) bool) {
		entries, err := os.ReadDir(s.dir) // sorted
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(Waiting{}, err)
			return
		}
		for _, e := range entries {
			name, isReport := strings.CutSuffix(e.Name(), reportFile)
			if !isReport {
				continue
			}
			w, err := s.read(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // another process has sent it
			}
			if !yield(w, err) {
				return
			}
		}
	}
}

// read reads the files of that name. A store that nobody wrote down is not known.
func (s *Spool) read(name string) (w Waiting, err error) {
	store, err := os.ReadFile(filepath.Join(s.dir, name+storeFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	w.Store = string(store)
	file := filepath.Join(s.dir, name+reportFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return w, err
	}
	if w.Report, err = document.Parse(text); err != nil {
		return w, fmt.Errorf("%s: %w", file, err)
	}
	return w, nil
}

// Remove forgets the report of that id, if it is there.
func (s *Spool) Remove(id string) error {
	for _, extension := range []string{reportFile, storeFile} { // in this order: see Add
		if err := os.Remove(s.file(id, extension)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
