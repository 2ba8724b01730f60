package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/store/fault"
)

// application marks the file as takt's: "takt" in ASCII.
const application = 0x74616b74

// schema are the steps from one version of the tables to the next; PRAGMA
// user_version counts those that were made. Steps are added, never changed.
//
// A listing reads runs only, so that is narrow: what many runs have in common is in
// settings and names, and the reports are elsewhere.
var schema = []string{`
CREATE TABLE settings (
	seq       INTEGER PRIMARY KEY,
	hash      TEXT NOT NULL,           -- of variables and host
	key       TEXT NOT NULL,           -- comparability_key
	variables TEXT NOT NULL,           -- JSON
	host      TEXT NOT NULL,
	UNIQUE (hash, key)
) STRICT;
CREATE TABLE names (
	seq   INTEGER PRIMARY KEY,
	names TEXT NOT NULL UNIQUE         -- of figures, JSON
) STRICT;
CREATE TABLE runs (
	seq           INTEGER PRIMARY KEY,
	id            TEXT NOT NULL UNIQUE,
	kind          TEXT NOT NULL,
	started_at    TEXT NOT NULL,       -- UTC, always nine digits after the point, so it sorts by time
	settings      INTEGER NOT NULL REFERENCES settings,
	names         INTEGER NOT NULL REFERENCES names,
	figures       BLOB NOT NULL,       -- a little-endian float64 for each name
	branch        TEXT,                -- labels; NULL: not set
	revision      TEXT,
	revision_date TEXT,
	labels        TEXT,                -- the others, JSON
	run_group     TEXT,
	shard         TEXT,
	unfit         TEXT
) STRICT;
CREATE INDEX runs_started_at ON runs (started_at, id);
CREATE INDEX runs_branch ON runs (branch, started_at, id);
CREATE INDEX runs_revision ON runs (revision, started_at, id);
CREATE TABLE reports (
	seq  INTEGER PRIMARY KEY,
	id   TEXT NOT NULL UNIQUE,
	gzip BLOB NOT NULL                 -- the report, JSON
) STRICT;
`, `
ALTER TABLE runs ADD COLUMN protected INTEGER NOT NULL DEFAULT 0; -- 1: by a label, 2: by takt store keep; 3: both
UPDATE runs SET protected = 1 WHERE json_valid(labels) AND (json_type(labels, '$.baseline') IS NOT NULL OR json_type(labels, '$.keep') IS NOT NULL);
CREATE INDEX runs_unprotected ON runs (started_at, id) WHERE protected = 0;
`, `
CREATE INDEX runs_group ON runs (run_group, started_at, id) WHERE run_group IS NOT NULL; -- the shards of a run
`}

// versionOfMarks is the first version with the column runs.protected.
const versionOfMarks = 2

// state is what the head of the file says.
type state struct{ application, version, tables, strange int }

// ours are the tables. Another file could have views and triggers there, which never end.
const ours = "('settings', 'names', 'runs', 'reports')"

func read(ctx context.Context, from interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (s state, err error) {
	for _, q := range []struct {
		text string
		to   *int
	}{
		// First: another process may be making them, and then the others say that it has.
		{"SELECT count(*) FROM sqlite_schema", &s.tables},
		{"PRAGMA application_id", &s.application},
		{"PRAGMA user_version", &s.version},
		{"SELECT count(*) FROM sqlite_schema WHERE name IN " + ours + " AND (type <> 'table' OR rootpage = 0) OR type = 'trigger' AND tbl_name IN " + ours, &s.strange},
	} {
		err = errors.Join(err, from.QueryRowContext(ctx, q.text).Scan(q.to))
	}
	return s, err
}

// migrate brings the tables to the newest version. Without upgrade it leaves older tables as
// they are: runs can be read from all versions.
func (s *Store) migrate(ctx context.Context, upgrade bool) error {
	now, err := read(ctx, s.db)
	if err != nil {
		return err
	}
	switch {
	case now.tables > 0 && now.application != application, now.strange > 0:
		return &fault.Error{Kind: fault.ErrOtherProgram, Store: s.path, Hint: "give another file with --store"}
	case now.version > len(schema):
		return &fault.Error{Kind: fault.ErrTooNew, Store: s.path, Hint: fmt.Sprintf("it has version %d, and this takt knows %d; use a newer takt", now.version, len(schema))}
	case now.version == len(schema), now.version > 0 && !upgrade:
		return nil
	}
	if now.version == 0 {
		if err := s.useWAL(ctx); err != nil {
			return err
		}
	}
	return s.upgrade(ctx)
}

// useWAL makes readers and a writer go beside each other; the file remembers it, and
// the size of a page: a run takes about 800 bytes, and a listing of all reads as many
// pages as there are. SQLite does not wait for its turn here, whatever busy_timeout says.
func (s *Store) useWAL(ctx context.Context) error {
	for try := 0; ; try++ {
		_, err := s.db.ExecContext(ctx, "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL")
		var e *sqlite.Error
		if !errors.As(err, &e) || e.Code()&0xff != sqlite3.SQLITE_BUSY || try == 500 {
			return err
		}
		if !pause.For(10*time.Millisecond, ctx.Done()) {
			return ctx.Err()
		}
	}
}

// upgrade makes the steps that are missing, all or none. Another process may have
// made them since.
func (s *Store) upgrade(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	now, err := read(ctx, tx)
	if err != nil || now.version >= len(schema) {
		return err
	}
	steps := append(schema[now.version:], fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", application, len(schema)))
	for _, step := range steps {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	return tx.Commit()
}
