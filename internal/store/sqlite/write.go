package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/judge/stored"
)

// The statements of a Save. REPLACE takes the row of the same id away first, except for the mark
// that protects the run.
const (
	putRun = `REPLACE INTO runs (id, kind, started_at, settings, names, figures, branch, revision, revision_date, labels, run_group, shard, unfit, protected)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, nullif(?11, ''), nullif(?12, ''), nullif(?13, ''),
			?14 | coalesce((SELECT protected & ?15 FROM runs WHERE id = ?1), 0))`
	putReport    = "REPLACE INTO reports (id, gzip) VALUES (?, ?)"
	addSettings  = "INSERT INTO settings (hash, key, variables, host) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
	findSettings = "SELECT seq FROM settings WHERE hash = ? AND key = ?"
	addNames     = "INSERT INTO names (names) VALUES (?) ON CONFLICT DO NOTHING"
	findNames    = "SELECT seq FROM names WHERE names = ?"
)

// writer writes in one transaction.
type writer struct {
	tx       *sql.Tx
	settings map[[2]string]int64 // row by hash and key
	names    map[string]int64    // row by JSON
}

// write calls f in a transaction.
func (s *Store) write(ctx context.Context, f func(*writer) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.fault(ctx, err)
	}
	defer tx.Rollback()
	if err = f(&writer{tx, map[[2]string]int64{}, map[string]int64{}}); err == nil {
		err = tx.Commit()
	}
	return s.fault(ctx, err)
}

// put writes the run in the place of what has its id.
func (w *writer) put(ctx context.Context, p *document.Packed) error {
	r := &p.Run
	settings, err := w.internSettings(ctx, r.Settings, r.Key)
	if err != nil {
		return err
	}
	names, err := w.internNames(ctx, r.Figures.Names)
	if err != nil {
		return err
	}
	others, err := othersOf(r.Labels)
	if err != nil {
		return err
	}
	_, err = w.tx.ExecContext(ctx, putRun, r.ID, r.Kind, document.Stamp(r.StartedAt), settings, names, blob(r.Figures.Values),
		label(r.Labels, stored.LabelBranch), label(r.Labels, stored.LabelRevision), label(r.Labels, stored.LabelRevisionDate), others, r.Group, r.Shard, r.Unfit,
		labelBit(r.Labels), byMark)
	if err == nil {
		_, err = w.tx.ExecContext(ctx, putReport, r.ID, p.Gzip)
	}
	return err
}

// delete deletes the runs and ignores unknown ids.
func (w *writer) delete(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		for _, statement := range []string{"DELETE FROM runs WHERE id = ?", "DELETE FROM reports WHERE id = ?"} {
			if _, err := w.tx.ExecContext(ctx, statement, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// ids returns the first column of all rows.
func (w *writer) ids(ctx context.Context, query string, args ...any) (ids []string, err error) {
	rows, err := w.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// labelBit is byLabel if a label protects the run.
func labelBit(labels map[string]string) int {
	if stored.LastingLabel(labels) != "" {
		return byLabel
	}
	return 0
}

// intern gives the number of the row that find finds, which add adds if need be.
func (w *writer) intern(ctx context.Context, add string, values []any, find string, by ...any) (seq int64, err error) {
	if _, err := w.tx.ExecContext(ctx, add, values...); err != nil {
		return 0, err
	}
	err = w.tx.QueryRowContext(ctx, find, by...).Scan(&seq)
	return seq, err
}

func (w *writer) internSettings(ctx context.Context, s *stored.Settings, key string) (seq int64, err error) {
	known := [2]string{s.Hash, key}
	if seq, ok := w.settings[known]; ok {
		return seq, nil
	}
	variables, err := json.Marshal(s.Variables)
	if err != nil {
		return 0, err
	}
	seq, err = w.intern(ctx, addSettings, []any{s.Hash, key, string(variables), s.Host}, findSettings, s.Hash, key)
	w.settings[known] = seq
	return seq, err
}

func (w *writer) internNames(ctx context.Context, names []string) (seq int64, err error) {
	b, err := json.Marshal(names)
	if err != nil {
		return 0, err
	}
	text := string(b)
	if seq, ok := w.names[text]; ok {
		return seq, nil
	}
	seq, err = w.intern(ctx, addNames, []any{text}, findNames, text)
	w.names[text] = seq
	return seq, err
}

// label is nil, NULL in SQL, when the run has none of that name.
func label(labels map[string]string, name string) any {
	if v, ok := labels[name]; ok {
		return v
	}
	return nil
}

// othersOf are the labels that are no columns, as JSON; nil: there are none.
func othersOf(labels map[string]string) (any, error) {
	others := maps.Clone(labels)
	for _, name := range []string{stored.LabelBranch, stored.LabelRevision, stored.LabelRevisionDate} {
		delete(others, name)
	}
	if len(others) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(others)
	return string(text), err
}

func blob(values []float64) []byte {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}
