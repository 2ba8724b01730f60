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
	outputs      reportOutputs
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
		m.outputs.addFlags(fs, "write `FORMAT=PATH`, as of a run; repeatable; all but samples can be made of shards")
	})
	configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error {
		faults := m.outputs.validate(env, parseReplayed)
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
	if err := writeReport(m.env, m.outputs.opened, whole); err != nil {
		return err
	}
	if !m.noStore {
		fmt.Fprintf(m.env.Stderr, "takt: the merged run is %s\n", whole.ID)
		m.store.keep(m.env, whole)
	}
	return nil
}

// reports reads each word as a file of reports if there is one of that name, else as
// a stored run. The store is opened for the first word that needs it.
func (s *storing) reports(ctx context.Context, env Env, words []string) (all []*takt.Report, err error) {
	var st store.Store
	for _, w := range words {
		if isFile(w) {
			list, err := readReports(env, w)
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
			continue
		}
		if st == nil {
			if st, err = s.open(ctx, env, store.OpenExisting); err != nil {
				return nil, fmt.Errorf("%s: %w", w, err)
			}
			defer st.Close()
		}
		r, err := loadRun(ctx, st, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// isFile reports whether a word of the command line is a file; - is standard input.
func isFile(word string) bool {
	info, err := os.Stat(word)
	return err == nil && !info.IsDir() || word == "-"
}
