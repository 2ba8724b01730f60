package sqlite

import (
	"context"

	"github.com/taktload/takt/internal/store/fault"
)

// The bits of runs.protected.
const (
	byLabel = 1 // the report has a label that protects the run
	byMark  = 2 // Mark protects the run
)

// The statements of the limit. The index runs_unprotected answers both, so they read no row of a
// run: counting 10 000 runs takes less than a millisecond.
const (
	countUnprotected = "SELECT count(*) FROM runs WHERE protected = 0"
	oldest           = "SELECT id FROM runs WHERE protected = 0 AND id <> ? ORDER BY started_at, id LIMIT ?"
)

// Trim removes the oldest runs above limit. Protected runs do not count towards the limit:
// otherwise, with enough of them, no new run would stay. The first look needs no lock, because
// most runs leave the store below its limit.
func (s *Store) Trim(ctx context.Context, limit, most int, except string) (removed int, err error) {
	var n int
	if err := s.db.QueryRowContext(ctx, countUnprotected).Scan(&n); err != nil {
		return 0, s.fault(ctx, err)
	}
	if n <= limit {
		return 0, nil
	}
	err = s.write(ctx, func(w *writer) error {
		// Again, under the lock: another process may have removed the same runs.
		if err := w.tx.QueryRowContext(ctx, countUnprotected).Scan(&n); err != nil || n <= limit {
			return err
		}
		ids, err := w.ids(ctx, oldest, except, min(n-limit, most))
		if err != nil {
			return err
		}
		removed = len(ids)
		return w.delete(ctx, ids...)
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// Remove deletes those of the runs that are not protected now.
func (s *Store) Remove(ctx context.Context, ids ...string) (removed []string, err error) {
	err = s.write(ctx, func(w *writer) error {
		for _, id := range ids {
			found, err := w.ids(ctx, "SELECT id FROM runs WHERE protected = 0 AND id = ?", id)
			if err != nil {
				return err
			}
			removed = append(removed, found...)
		}
		return w.delete(ctx, removed...)
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// Mark protects a run, or ends that protection. The mark is in the row of the run and not in the
// report: a report does not change once it is written, and its row must agree with it.
func (s *Store) Mark(ctx context.Context, id string, protect bool) error {
	change := "UPDATE runs SET protected = protected & ~? WHERE id = ?"
	if protect {
		change = "UPDATE runs SET protected = protected | ? WHERE id = ?"
	}
	return s.write(ctx, func(w *writer) error {
		result, err := w.tx.ExecContext(ctx, change, byMark, id)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return &fault.Error{Kind: fault.ErrNotFound, Store: id}
	})
}

// Marked returns the ids of the runs that Mark protects.
func (s *Store) Marked(ctx context.Context) (map[string]bool, error) {
	marked := map[string]bool{}
	now, err := read(ctx, s.db)
	if err != nil || now.version < versionOfMarks {
		return marked, s.fault(ctx, err)
	}
	rows, err := s.db.QueryContext(ctx, "SELECT id FROM runs WHERE protected & ? <> 0", byMark)
	if err != nil {
		return nil, s.fault(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, s.fault(ctx, err)
		}
		marked[id] = true
	}
	return marked, s.fault(ctx, rows.Err())
}
