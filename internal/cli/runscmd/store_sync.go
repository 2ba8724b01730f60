package runscmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/spool"
	"github.com/taktload/takt/internal/value"
)

// syncing is the command that sends the waiting runs from the spool to the store.
type syncing struct {
	env     core.Env
	store   kept.Storing
	all     bool
	address string
	waits   *spool.Spool
}

func newStoreSync(env core.Env) *cobra.Command {
	y := &syncing{env: env}
	c := &cobra.Command{
		Use: "sync", Short: "send the runs that wait because the store could not be reached", Args: core.NoArgs,
		Long: "It sends the runs that wait for this store, and lists the other stores that runs wait for.",
		Example: `  takt store sync
  takt store sync --store elasticsearch://127.0.0.1:9200`,
	}
	core.AddFlags(c, func(fs *pflag.FlagSet) {
		y.store.AddFlags(fs)
		value.Declare(fs, value.GroupStorage, func(fs *pflag.FlagSet) {
			fs.BoolVar(&y.all, "all", false, "also send those that wait for other stores")
		})
	})
	core.Configurable(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error { return y.run(cmd.Context()) }
	return c
}

func (y *syncing) run(ctx context.Context) (err error) {
	if y.waits, err = kept.SpoolOf(y.env); err != nil {
		return err
	}
	if y.address, err = y.store.Address(y.env); err != nil {
		return err
	}
	others := y.store.Recover(ctx, y.env, y.all)
	mine := 0
	for w := range y.waits.Each() {
		if y.isMine(w) {
			mine++
		} else {
			others[w.Store]++
		}
	}
	if mine > 0 {
		err = y.store.With(ctx, y.env, func(st store.Store) error { return y.send(ctx, st) })
	} else {
		fmt.Fprintf(y.env.Stderr, "takt store: no run waits for %s\n", y.address)
	}
	for _, address := range slices.Sorted(maps.Keys(others)) {
		fmt.Fprintf(y.env.Stderr, "takt store: %s for %s; to send there: %s\n", core.Counted(others[address], "waits", "wait"), address, kept.SyncCommand(y.env, address))
	}
	return err
}

func (y *syncing) isMine(w spool.Waiting) bool {
	return y.all || w.Store == y.address || w.Store == "" // "": the store is unknown
}

func (y *syncing) send(ctx context.Context, st store.Store) error {
	n := 0
	var errs []error
	for w, err := range y.waits.Each() {
		if !y.isMine(w) {
			continue
		}
		if err == nil {
			err = st.Save(ctx, w.Report)
		}
		if err == nil {
			err = y.waits.Remove(w.Report.ID)
		}
		if errs = core.AppendError(errs, err); err == nil {
			n++
		}
	}
	fmt.Fprintf(y.env.Stderr, "takt store: %s, %d still wait\n", core.Counted(n, "was sent", "were sent"), len(errs))
	return errors.Join(errs...)
}
