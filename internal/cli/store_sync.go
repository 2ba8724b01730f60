package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/spool"
)

// syncing is the command that sends the waiting runs from the spool to the store.
type syncing struct {
	env     Env
	store   storing
	all     bool
	address string
	waits   *spool.Spool
}

func newStoreSync(env Env) *cobra.Command {
	y := &syncing{env: env}
	c := &cobra.Command{
		Use: "sync", Short: "send the runs that wait because the store could not be reached", Args: noArgs,
		Long: "It sends the runs that wait for this store, and lists the other stores that runs wait for.",
		Example: `  takt store sync
  takt store sync --store elasticsearch://127.0.0.1:9200`,
	}
	addFlags(c, func(fs *pflag.FlagSet) {
		y.store.addFlags(fs)
		fs.BoolVar(&y.all, "all", false, "also send those that wait for other stores")
	})
	configurable(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error { return y.run(cmd.Context()) }
	return c
}

func (y *syncing) run(ctx context.Context) (err error) {
	if y.waits, err = spoolOf(y.env); err != nil {
		return err
	}
	if y.address, err = y.store.address(y.env); err != nil {
		return err
	}
	others := y.store.recover(ctx, y.env, y.all)
	mine := 0
	for w := range y.waits.Each() {
		if y.isMine(w) {
			mine++
		} else {
			others[w.Store]++
		}
	}
	if mine > 0 {
		err = y.store.with(ctx, y.env, func(st store.Store) error { return y.send(ctx, st) })
	} else {
		fmt.Fprintf(y.env.Stderr, "takt store: no run waits for %s\n", y.address)
	}
	for _, address := range slices.Sorted(maps.Keys(others)) {
		fmt.Fprintf(y.env.Stderr, "takt store: %s for %s; to send there: %s\n", counted(others[address], "waits", "wait"), address, syncCommand(y.env, address))
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
		if errs = appendError(errs, err); err == nil {
			n++
		}
	}
	fmt.Fprintf(y.env.Stderr, "takt store: %s, %d still wait\n", counted(n, "was sent", "were sent"), len(errs))
	return errors.Join(errs...)
}
