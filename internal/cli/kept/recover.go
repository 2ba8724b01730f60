package kept

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/spool"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// JournalVersion is the version of the form of journals.
const JournalVersion = 1

// Left is a journal whose process has ended, usually without a report.
type Left struct {
	*spool.Orphan
	head JournalHead
}

// recovery stores the runs whose processes ended without a report.
type recovery struct {
	env    core.Env
	waits  *spool.Spool
	mine   []Left
	others map[string]int // journals for other stores, by place
}

// Recover stores the runs in left journals: those for this store, or all. It returns the number
// of journals for each other store. Its own faults are only warnings, so no command fails
// because of them.
func (s *Storing) Recover(ctx context.Context, env core.Env, all bool) (others map[string]int) {
	r := &recovery{env: env, others: map[string]int{}}
	address, err := s.Address(env)
	if err == nil {
		r.waits, err = SpoolOf(env)
	}
	if err != nil {
		return r.others // no home, no journals
	}
	defer r.close()
	r.find(address, all)
	if len(r.mine) == 0 {
		return r.others
	}
	err = s.With(ctx, env, func(st store.Store) error {
		for _, l := range r.mine {
			if err := r.keep(ctx, st, l); err != nil {
				r.warn(fmt.Errorf("%s: %w", l.Path, err))
			}
		}
		return nil
	})
	if err != nil {
		r.warn(fmt.Errorf("%s in %s: %w", core.Counted(len(r.mine), "run waits", "runs wait"), r.waits.Dir(), err))
	}
	return r.others
}

func (r *recovery) warn(err error) {
	fmt.Fprintf(r.env.Stderr, "takt: warning: a run that ended without its report is not recovered: %v\n", core.OneLine(err))
}

func (r *recovery) close() {
	for _, l := range r.mine {
		_ = l.Close() // cannot lose data: it was only read
	}
}

func (r *recovery) find(address string, all bool) {
	for o, err := range r.waits.Orphans() {
		var head JournalHead
		if err == nil {
			if head, err = readHead(o.Head); err != nil {
				err = fmt.Errorf("%s: %w", o.Path, errors.Join(err, o.Close()))
			}
		}
		switch {
		case err != nil:
			r.warn(fmt.Errorf("%w; remove the file if it is of no use", err))
		case all || head.Store == address:
			r.mine = append(r.mine, Left{o, head})
		default:
			r.others[head.Store]++
			_ = o.Close()
		}
	}
}

// readHead reads the first record of a journal. It does not trust it: anybody may have written it.
func readHead(text []byte) (h JournalHead, err error) {
	var version struct {
		Version int `json:"journal_version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return h, fmt.Errorf("its first record is not the head of a journal: %w", err)
	}
	if version.Version != JournalVersion {
		return h, fmt.Errorf("it has version %d, and this takt reads version %d; use the takt that wrote it", version.Version, JournalVersion)
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("its first record is not the head of a journal: %w", err)
	}
	var report struct {
		Run struct {
			Report json.RawMessage `json:"report"`
		} `json:"run"`
	}
	_ = json.Unmarshal(text, &report) // cannot fail: the same text was parsed above
	known, err := document.Parse(report.Run.Report)
	if err != nil {
		return h, err
	}
	h.Run.Report = *known // with exact integers
	return h, nil
}

// keep stores one run, unless it is stored already: its process may have ended right after
// storing it.
func (r *recovery) keep(ctx context.Context, st store.Store, l Left) error {
	id := l.head.Run.Report.ID
	stored, err := isStored(ctx, st, id)
	if err != nil {
		return err
	}
	if stored || r.waits.Has(id) {
		return l.Remove()
	}
	report, ran, err := l.report()
	if err != nil {
		return err
	}
	if ran == 0 {
		fmt.Fprintf(r.env.Stderr, "takt: the run %s ended before its first second was over; nothing of it is known\n", id)
		return l.Remove()
	}
	if err := st.Save(ctx, report); err != nil {
		return err
	}
	fmt.Fprintf(r.env.Stderr, "takt: the run %s ended without its report; the first %v are recovered from its journal, and marked as cut short\n", id, ran)
	return l.Remove()
}

func isStored(ctx context.Context, st store.Store, id string) (bool, error) {
	for _, err := range st.Runs(ctx, stored.Query{IDs: []string{id}, Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}

// report is the run's report up to the end of the journal, checked like any report from
// outside. ran is its length; 0: the journal has no full second.
func (l Left) report() (r *takt.Report, ran time.Duration, err error) {
	r, ran, err = engine.Recover(l.head.Run, l.Seconds())
	if err != nil || ran == 0 {
		return nil, ran, err
	}
	rest := ""
	if n := l.Rest(); n > 0 {
		rest = fmt.Sprintf("; the last %d bytes of the journal are incomplete", n)
	}
	r.Warn(warn.Recovered, "the process ended without a report, so takt recovered this one from the journal of the run: it is cut short after %v, and operations that ended later are missing%s", takt.Time("after", ran), rest)
	if l.head.Run.Told {
		r.Warn(warn.ShardsMissing, "the gatherer ended before it had the reports of the shards, so it is unknown whether their generators kept up")
		r.Verdict = takt.Invalid
	}
	return r, ran, audit.Check(r)
}

// Seconds iterates over the records after the head.
func (l Left) Seconds() iter.Seq2[engine.Second, error] {
	return func(yield func(engine.Second, error) bool) {
		for {
			text, more := l.Next()
			if !more {
				return
			}
			var s engine.Second
			if err := json.Unmarshal(text, &s); !yield(s, err) {
				return
			}
		}
	}
}

// JournalHead is the first record of a journal. Each other record is an engine.Second.
type JournalHead struct {
	Version int              `json:"journal_version"`
	Store   string           `json:"store"` // the store for the run, as in spool.Waiting
	Run     engine.Beginning `json:"run"`
}
