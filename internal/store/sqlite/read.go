package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/judge/stored"
)

// Runs gives the runs that q selects, newest first.
func (s *Store) Runs(ctx context.Context, q stored.Query) iter.Seq2[stored.Run, error] {
	return func(yield func(stored.Run, error) bool) {
		if err := s.each(ctx, q, func(r stored.Run) bool { return yield(r, nil) }); err != nil {
			yield(stored.Run{}, s.fault(ctx, err))
		}
	}
}

// each calls f with the runs until it says false. All is read in one transaction: a
// run that is saved meanwhile is in, with all that belongs to it, or out.
func (s *Store) each(ctx context.Context, q stored.Query, f func(stored.Run) bool) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	r := reader{tx: tx, settings: map[int64]kept{}, names: map[int64][]string{}}
	where, args := conditions(q)
	rows, err := tx.QueryContext(ctx, `SELECT id, kind, started_at, settings, names, figures, branch, revision, revision_date, labels, run_group, shard, unfit
		FROM runs WHERE `+where+" ORDER BY started_at DESC, id DESC", args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 0; rows.Next(); {
		run, err := r.run(ctx, rows)
		if err != nil {
			return err
		}
		if !document.Selects(q, &run) {
			continue
		}
		n++
		if !f(run) || n == q.Limit {
			return nil
		}
	}
	return rows.Err()
}

// conditions are what SQL can say of q; the columns have indexes for it.
func conditions(q stored.Query) (where string, args []any) {
	all := []string{"TRUE"}
	add := func(condition string, arg any) { all, args = append(all, condition), append(args, arg) }
	if len(q.IDs) > 0 {
		ids, _ := json.Marshal(q.IDs) // strings: cannot fail
		add("id IN (SELECT value FROM json_each(?))", string(ids))
	}
	if q.Kind != "" {
		add("kind = ?", q.Kind)
	}
	if q.Group != "" {
		add("run_group = ?", q.Group)
	}
	if !q.Since.IsZero() {
		add("started_at >= ?", document.Stamp(q.Since))
	}
	for _, name := range []string{stored.LabelBranch, stored.LabelRevision} {
		if v, ok := q.Labels[name]; ok {
			add(name+" = ?", v)
		}
	}
	return strings.Join(all, " AND "), args
}

// reader makes runs of rows. What they have in common it reads and makes once.
type reader struct {
	tx       *sql.Tx
	settings map[int64]kept
	names    map[int64][]string
}

// kept is a row of settings.
type kept struct {
	settings *stored.Settings
	key      string
}

func (r *reader) run(ctx context.Context, rows *sql.Rows) (run stored.Run, err error) {
	var started string
	var settings, names int64
	var figures sql.RawBytes
	var branchOf, revisionOf, dateOf, others, group, shard, unfit sql.NullString
	if err := rows.Scan(&run.ID, &run.Kind, &started, &settings, &names, &figures, &branchOf, &revisionOf, &dateOf, &others, &group, &shard, &unfit); err != nil {
		return run, err
	}
	run.Group, run.Shard, run.Unfit = group.String, shard.String, unfit.String
	run.Figures.Values = floats(figures)
	if run.StartedAt, err = document.Time(started); err != nil {
		return run, err
	}
	k, err := r.settingsOf(ctx, settings)
	if err != nil {
		return run, err
	}
	run.Settings, run.Key = k.settings, k.key
	if run.Figures.Names, err = r.namesOf(ctx, names); err != nil {
		return run, err
	}
	if n := len(run.Figures.Names); len(figures) != 8*n {
		return run, fmt.Errorf("run %s has %d bytes of figures, and %d names for them", run.ID, len(figures), n)
	}
	run.Labels, err = labelsOf(branchOf, revisionOf, dateOf, others)
	return run, err
}

func (r *reader) settingsOf(ctx context.Context, seq int64) (k kept, err error) {
	if k, ok := r.settings[seq]; ok {
		return k, nil
	}
	var variables string
	k.settings = new(stored.Settings)
	err = r.tx.QueryRowContext(ctx, "SELECT hash, key, variables, host FROM settings WHERE seq = ?", seq).
		Scan(&k.settings.Hash, &k.key, &variables, &k.settings.Host)
	if err == nil {
		k.settings.Variables, err = document.Variables([]byte(variables))
	}
	r.settings[seq] = k
	return k, err
}

func (r *reader) namesOf(ctx context.Context, seq int64) (names []string, err error) {
	if names, ok := r.names[seq]; ok {
		return names, nil
	}
	var text string
	if err = r.tx.QueryRowContext(ctx, "SELECT names FROM names WHERE seq = ?", seq).Scan(&text); err == nil {
		err = json.Unmarshal([]byte(text), &names)
	}
	r.names[seq] = names
	return names, err
}

func labelsOf(branchOf, revisionOf, dateOf, others sql.NullString) (map[string]string, error) {
	all := map[string]string{}
	if others.Valid {
		if err := json.Unmarshal([]byte(others.String), &all); err != nil {
			return nil, err
		}
	}
	for _, l := range []struct {
		name  string
		value sql.NullString
	}{{stored.LabelBranch, branchOf}, {stored.LabelRevision, revisionOf}, {stored.LabelRevisionDate, dateOf}} {
		if l.value.Valid {
			all[l.name] = l.value.String
		}
	}
	return all, nil
}

func floats(b []byte) []float64 {
	values := make([]float64, len(b)/8)
	for i := range values {
		values[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return values
}
