package kept

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
)

const (
	completedRuns = 100             // runs that a completion reads
	completedTime = 2 * time.Second // a cluster that answers later offers nothing
)

// StoredRuns lists the newest runs of a store for the completion of a shell: an id, a tab, and when
// the run began, against what, and its verdict.
func StoredRuns(env core.Env, where string) (list []string) {
	newest(env, where, func(r *stored.Run) { list = append(list, r.ID+"\t"+describe(r)) })
	return list
}

// LabelNames lists the labels of the newest runs of a store, for the completion of a shell.
func LabelNames(env core.Env, where string) (list []string) {
	found := map[string]bool{}
	newest(env, cmp.Or(where, env.Getenv("TAKT_STORE")), func(r *stored.Run) {
		for name := range r.Labels {
			found[name] = true
		}
	})
	return slices.Sorted(maps.Keys(found))
}

// newest calls do for the newest runs of a store. It neither creates a store nor reports faults.
func newest(env core.Env, where string, do func(*stored.Run)) {
	ctx, cancel := context.WithTimeout(context.Background(), completedTime)
	defer cancel()
	s := Storing{Where: where}
	_ = s.use(ctx, env, store.OpenExisting, func(st store.Store) error {
		for r, err := range st.Runs(ctx, stored.Query{Limit: completedRuns}) {
			if err != nil {
				return err
			}
			do(&r)
		}
		return nil
	})
}

func describe(r *stored.Run) string {
	return fmt.Sprintf("%s %s %s, %s", r.StartedAt.Local().Format("2006-01-02 15:04"), r.Kind, r.Target(), cmp.Or(r.Unfit, "valid"))
}
