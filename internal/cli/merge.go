package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// merge is the command that makes one report of the shards of a run.
type merge struct {
	env          Env
	store        storing
	noStore      bool
	allowMissing bool
	outputs      list
	opened       []destination
}

func newMerge(env Env) *cobra.Command {
	m := &merge{env: env}
	c := &cobra.Command{
		Use:   "merge RUN|FILE…",
		Short: "make one report of the shards of a run",
		Example: `  takt merge shard1.json shard2.json shard3.json
  takt merge 01JD3A 01JD3B -o json=whole.json`,
	}
	addFlags(c, func(fs *goFlagSet) {
		m.store.addFlags(fs)
		fs.BoolVar(&m.noStore, "no-store", false, "do not keep the merged report in the store")
		fs.BoolVar(&m.allowMissing, "allow-missing", false, "merge what is there when shards are missing; collate and verify leave such a report out")
		fs.Var(&m.outputs, "output", "write `FORMAT=PATH`, as of a run; repeatable")
		fs.Var(&m.outputs, "o", "= --output")
	})
	configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error {
		opened, faults := parseOutputs(env, m.outputs)
		m.opened = opened
		if len(args) == 0 {
			faults = append(faults, errors.New("takt merge takes the shards of a run: ids of stored runs, or files that -o json wrote"))
		}
		return usage(cmd, appendError(faults, noEmpty(args)))
	}
	c.RunE = func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), args) }
	return c
}

func (m *merge) run(ctx context.Context, args []string) error {
	shards, err := m.store.reports(ctx, m.env, args)
	if err != nil {
		return err
	}
	whole, err := analysis.Merge(shards, analysis.MergeOptions{ID: engine.NewID(time.Now()), AllowMissing: m.allowMissing})
	if err != nil {
		return err
	}
	whole.ComparabilityKey = engine.ComparabilityKey(whole.Variables, whole.Generator.HostClass)
	if err := writeReport(m.env, m.opened, whole); err != nil {
		return err
	}
	if !m.noStore {
		fmt.Fprintf(m.env.Stderr, "takt: the merged run is %s\n", whole.ID)
		m.store.keep(m.env, whole)
	}
	return nil
}

// reports reads each word as a file of reports if there is one of that name, else as
// a stored run. The store is opened only when it is needed.
func (s *storing) reports(ctx context.Context, env Env, words []string) (all []*takt.Report, err error) {
	for _, w := range words {
		var list []*takt.Report
		if info, failed := os.Stat(w); failed == nil && !info.IsDir() || w == "-" {
			list, err = readReports(env, w)
		} else {
			err = s.reading(ctx, env, func(st store.Store) error {
				list, err = loadRuns(ctx, st, []string{w})
				return err
			})
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
		all = append(all, list...)
	}
	return all, nil
}
