// Package sqlite keeps reports in one file of SQLite.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/taktload/takt/internal/store/document"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/pkg/takt"
)

// Store keeps reports in a file. Many processes may use one at once.
type Store struct {
	db   *sql.DB
	path string
}

// pragmas are set for each connection. Others write for a few milliseconds at a time;
// who waits 5 s waits for something that hangs. FULL: a run that was saved survives a
// power failure, for one fsync a Save.
var pragmas = []string{"busy_timeout(5000)", "synchronous(FULL)"}

// Open opens the store in that file, and makes it and its folder if need be, for the
// user alone.
func Open(ctx context.Context, path string) (*Store, error) { return open(ctx, path, pragmas) }

func open(ctx context.Context, path string, pragmas []string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := create(path); err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	s := &Store{db, path}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(s.fault(ctx, err), db.Close())
	}
	return s, nil
}

// create makes the file if it is not there. SQLite gives the files beside it the same
// mode.
func create(path string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	}
	if err != nil {
		kind := fault.ErrUnreachable
		if errors.Is(err, fs.ErrPermission) {
			kind = fault.ErrReadOnly
		}
		return &fault.Error{Kind: kind, Store: path, Cause: err, Hint: "give another file with --store"}
	}
	return f.Close()
}

// Save keeps the reports in one transaction.
func (s *Store) Save(ctx context.Context, reports ...*takt.Report) error {
	all, err := document.Pack(reports...) // before the transaction, for which others wait
	if err != nil {
		return err
	}
	return s.write(ctx, func(w *writer) error {
		for i := range all {
			if err := w.put(ctx, &all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Load gives the reports whole, in the order of ids.
func (s *Store) Load(ctx context.Context, ids ...string) ([]*takt.Report, error) {
	reports := make([]*takt.Report, 0, len(ids))
	for _, id := range ids {
		var packed []byte
		err := s.db.QueryRowContext(ctx, "SELECT gzip FROM reports WHERE id = ?", id).Scan(&packed)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, &fault.Error{Kind: fault.ErrNotFound, Store: id}
		}
		if err != nil {
			return nil, s.fault(ctx, err)
		}
		r, err := document.Unpack(packed, s.path)
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// Delete forgets the runs. Their settings stay: they are few.
func (s *Store) Delete(ctx context.Context, ids ...string) error {
	return s.write(ctx, func(w *writer) error {
		for _, id := range ids {
			for _, statement := range []string{"DELETE FROM runs WHERE id = ?", "DELETE FROM reports WHERE id = ?"} {
				if _, err := w.tx.ExecContext(ctx, statement, id); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Close gives the file back.
func (s *Store) Close() error { return s.db.Close() }

// faults are what SQLite's primary result codes mean here.
var faults = []struct {
	codes []int
	kind  error
	hint  string
}{
	{[]int{sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}, fault.ErrLocked, "end the program that has it open, then try again"},
	{[]int{sqlite3.SQLITE_FULL}, fault.ErrFull, "make room on the disk, or forget old runs with takt store prune"},
	{[]int{sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}, fault.ErrCorrupt, "move the file away: takt makes a new one; sqlite3 FILE .recover may get runs out of the old one"},
	{[]int{sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}, fault.ErrReadOnly, "make the file and its folder writable, or give another file with --store"},
	{[]int{sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR}, fault.ErrUnreachable, "look at the disk, or give another file with --store"},
}

// fault says what an error of SQLite means. What ctx ended is the error of ctx.
func (s *Store) fault(ctx context.Context, err error) error {
	var e *sqlite.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", s.path, ctx.Err())
	case !errors.As(err, &e):
		return err
	}
	for _, f := range faults {
		if slices.Contains(f.codes, e.Code()&0xff) { // the low byte is the primary code
			return &fault.Error{Kind: f.kind, Store: s.path, Cause: err, Hint: f.hint}
		}
	}
	return fmt.Errorf("%s: %w", s.path, err)
}
