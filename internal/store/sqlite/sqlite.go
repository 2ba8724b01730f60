// Package sqlite keeps reports in one file of SQLite.
package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/pkg/takt"
)

// Store keeps reports in a file. Many processes may use one at once.
type Store struct {
	db   *sql.DB
	path string
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
	return s.write(ctx, func(w *writer) error { return w.delete(ctx, ids...) })
}

// Close gives the file back.
func (s *Store) Close() error { return s.db.Close() }
