package runscmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/value"
)

// NewStore returns the command whose subcommands manage the store.
func NewStore(env core.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "store", Short: "import, export, send and delete stored runs", Args: core.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newStoreImport(env), newStoreExport(env), newStoreSync(env), newStorePrune(env))
	return c
}

// newStoreExport returns the command that writes reports as lines of JSON.
func newStoreExport(env core.Env) *cobra.Command {
	var s kept.Storing
	var choose kept.Choice
	c := &cobra.Command{
		Use:     "export [FILTER…]",
		Short:   "write the reports of runs to standard output, one JSON document a line",
		Example: "  takt store export branch=main --since 30d > main.ndjson",
	}
	flags := func(fs *pflag.FlagSet) {
		s.AddFlags(fs)
		choose.AddFlags(fs)
	}
	return core.Define(c, flags, choose.Validate, func(ctx context.Context, _ []string) error {
		return s.Reading(ctx, env, func(st store.Store) error { return export(ctx, env, st, choose) })
	})
}

// export skips reports that cannot be read; its error names all of them.
func export(ctx context.Context, env core.Env, st store.Store, choose kept.Choice) error {
	list, err := choose.From(ctx, st)
	if err != nil {
		return err
	}
	var faults []error
	to := json.NewEncoder(env.Stdout)
	for _, run := range list {
		reports, err := st.Load(ctx, run.ID)
		switch {
		case errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrTooNew) || errors.Is(err, fault.ErrNotFound):
			faults = append(faults, fmt.Errorf("the run %s was left out: %w", run.ID, err))
			continue
		case err != nil:
			return errors.Join(append(faults, err)...)
		}
		if err := to.Encode(reports[0]); err != nil {
			return err
		}
	}
	return errors.Join(faults...)
}

// newStorePrune returns the command that deletes old runs.
func newStorePrune(env core.Env) *cobra.Command {
	var s kept.Storing
	var older time.Duration
	var choose kept.Choice
	var really bool
	c := &cobra.Command{
		Use:   "prune --older TIME [FILTER…]",
		Short: "delete old runs from the store",
		Long:  "Without --yes it only says how many runs it would delete.",
		Example: `  takt store prune --older 90d
  takt store prune --older 7d branch!=main --yes`,
	}
	flags := func(fs *pflag.FlagSet) {
		s.AddFlags(fs)
		value.Declare(fs, value.GroupSelection, func(fs *pflag.FlagSet) {
			fs.Var(value.Duration(&older), "older", "delete runs started more than `TIME` ago, such as 90d")
			fs.BoolVar(&really, "yes", false, "really delete them")
		})
	}
	check := func(args []string) []error {
		faults := choose.Validate(args)
		if older <= 0 {
			faults = append(faults, errors.New("takt store prune needs --older TIME, such as 90d"))
		}
		return faults
	}
	return core.Define(c, flags, check, func(ctx context.Context, _ []string) error {
		return s.Reading(ctx, env, func(st store.Store) error {
			return prune(ctx, env, st, choose, time.Now().Add(-older), really)
		})
	})
}

func prune(ctx context.Context, env core.Env, st store.Store, choose kept.Choice, before time.Time, really bool) error {
	list, err := choose.From(ctx, st)
	if err != nil {
		return err
	}
	var ids []string
	for _, r := range list {
		if r.StartedAt.Before(before) {
			ids = append(ids, r.ID)
		}
	}
	if !really {
		fmt.Fprintf(env.Stderr, "takt store: %s; add --yes to do it\n", core.Counted(len(ids), "would be deleted", "would be deleted"))
		return nil
	}
	if err := st.Delete(ctx, ids...); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "takt store: %s\n", core.Counted(len(ids), "was deleted", "were deleted"))
	return nil
}
