package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/taktload/takt/internal/store/fault"
)

// What to do about fault.ErrCorrupt and fault.ErrFull.
const (
	damagedHint = "move the file away: takt makes a new one; sqlite3 FILE .recover may get runs out of the old one"
	fullHint    = "make room on the disk, or forget old runs with takt store prune"
)

// faults are what SQLite's primary result codes mean here. ERROR is that of a table or
// column that is not there.
var faults = []struct {
	codes []int
	kind  error
	hint  string
}{
	{[]int{sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}, fault.ErrLocked, "end the program that has it open, then try again"},
	{[]int{sqlite3.SQLITE_FULL}, fault.ErrFull, fullHint},
	{[]int{sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}, fault.ErrCorrupt, damagedHint},
	{[]int{sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}, fault.ErrReadOnly, "make the file and its folder writable, or give another file with --store"},
	{[]int{sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR}, fault.ErrUnreachable, "look at the disk, or give another file with --store"},
}

// fault says what an error means that came up at the database. What ctx ended is the
// error of ctx. One that is not SQLite's is of rows that do not fit together.
func (s *Store) fault(ctx context.Context, err error) error {
	var e *sqlite.Error
	var known *fault.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", s.path, ctx.Err())
	case errors.As(err, &known):
		return err
	case !errors.As(err, &e):
		return &fault.Error{Kind: fault.ErrCorrupt, Store: s.path, Cause: err, Hint: damagedHint}
	}
	for _, f := range faults {
		if slices.Contains(f.codes, e.Code()&0xff) { // the low byte is the primary code
			return s.orFull(&fault.Error{Kind: f.kind, Store: s.path, Cause: err, Hint: f.hint})
		}
	}
	return fmt.Errorf("%s: %w", s.path, err)
}

// orFull is e, or that the disk is full where SQLite takes that for something else.
func (s *Store) orFull(e *fault.Error) error {
	if e.Kind != fault.ErrReadOnly && e.Kind != fault.ErrUnreachable {
		return e
	}
	if err := diskFull(s.path); err != nil {
		return &fault.Error{Kind: fault.ErrFull, Store: s.path, Cause: err, Hint: fullHint}
	}
	return e
}
