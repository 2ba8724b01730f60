package runscmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/fault"
)

// NewStore returns the command whose subcommands manage the store.
func NewStore(env core.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "store", Short: "import, export, send, protect and delete stored runs", Args: core.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newStoreImport(env), newStoreExport(env), newStoreSync(env), newStorePrune(env), newStoreKeep(env))
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
