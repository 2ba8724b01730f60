package kept

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

const (
	// defaultLimit is years of runs, and a file of about 260 MiB: the report of a run of 20 s at
	// 500/s has 26 kB.
	defaultLimit = 10_000
	// trimStep is the most runs that one run removes. It bounds the time for which other
	// processes wait, and a limit that somebody set too low costs few runs before takt says so.
	trimStep = 100
)

// limitFlag is the flag of the limit.
const limitFlag = "store-limit"

// LimitVariable is the environment variable of the limit. The server's owner sets it, for the
// jobs of all users.
const LimitVariable = "TAKT_STORE_LIMIT"

// AddLimit adds --store-limit, for commands that store runs.
func (s *Storing) AddLimit(fs *pflag.FlagSet) {
	s.Limit = defaultLimit
	value.Declare(fs, value.GroupStorage, s.addLimit)
}

func (s *Storing) addLimit(fs *pflag.FlagSet) {
	fs.Var(value.OwnersNumber(&s.Limit, "the limit removes runs of other users, so only the server's owner sets it, with "+LimitVariable), limitFlag,
		"store at most `N` runs in a file: a new run removes the oldest, but never one with a label keep or baseline, or protected by takt store keep; 0: no limit")
}

// CheckLimit returns the fault of the limit.
func (s *Storing) CheckLimit() error {
	if s.Limit < 0 {
		return value.Faultf("--%s is %d; give a number of runs, or 0 for no limit", limitFlag, s.Limit)
	}
	return nil
}

// trim removes the oldest runs above the limit, after r was stored. It is not part of saving: a
// fault here loses no report, and the next run tries again.
func (s *Storing) trim(env core.Env, r *takt.Report) {
	if s.Limit <= 0 {
		return
	}
	removed := 0
	err := inTime(env.Abort, func(ctx context.Context) error {
		return s.With(ctx, env, func(st store.Store) (err error) {
			if file, ok := st.(store.Limited); ok {
				removed, err = file.Trim(ctx, s.Limit, trimStep, r.ID)
			}
			return err
		})
	})
	switch {
	case err != nil:
		fmt.Fprintf(unstored(env), "takt: warning: the store has more than %d runs, and takt cannot remove the oldest: %s\n", s.Limit, core.OneLine(err))
	case removed > 0:
		fmt.Fprintf(unstored(env), "takt: %s from the store, the oldest beyond --%s %d; takt store keep RUN protects a run\n", core.Counted(removed, "was removed", "were removed"), limitFlag, s.Limit)
	}
}
