package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/fault"
)

// runs is the command that lists stored runs.
type runs struct {
	env    Env
	store  storing
	choice choice
}

func newRuns(env Env) *cobra.Command {
	r := &runs{env: env, choice: choice{last: last{text: "20"}}}
	c := &cobra.Command{
		Use:   "runs [FILTER…]",
		Short: "list the stored runs, newest first",
		Long:  "takt help collate explains FILTER, and lists the fields.",
		Example: `  takt runs
  takt runs kind=http branch=main 'p99>250ms' -n 7d`,
	}
	addFlags(c, func(fs *pflag.FlagSet) {
		r.store.addFlags(fs)
		r.choice.addFlags(fs)
	})
	configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error { return usage(cmd, r.choice.validate(args)) }
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		err := r.store.reading(cmd.Context(), env, func(st store.Store) error { return r.list(cmd.Context(), st) })
		if r.store.where == "" && errors.Is(err, fault.ErrAbsent) { // the default store, so the user did not misspell it
			return format.Runs(env.Stdout, nil)
		}
		return err
	}
	return c
}

func (r *runs) list(ctx context.Context, st store.Store) error {
	most := r.choice.count
	r.choice.count = 0 // count the runs beyond -n, too
	list, err := r.choice.from(ctx, st)
	if err != nil {
		return err
	}
	hidden := 0
	if most > 0 && len(list) > most {
		list, hidden = list[:most], len(list)-most
	}
	all := len(list) + hidden
	if list, err = r.proven(ctx, st, list); err != nil {
		return err
	}
	if err := format.Runs(r.env.Stdout, list); err != nil {
		return err
	}
	if hidden > 0 {
		fmt.Fprintf(r.env.Stderr, "takt: %s; -n %d shows all\n", counted(hidden, "more is not shown", "more are not shown"), all)
	}
	return nil
}

// proven returns the runs without those that the check leaves out. Filters apply again, because
// the check may change a verdict.
func (r *runs) proven(ctx context.Context, st store.Store, list []stored.Run) ([]stored.Run, error) {
	p := newProof(st, r.env.Stderr)
	var newest []*stored.Run
	for i := range min(len(list), mostProven) {
		newest = append(newest, &list[i])
	}
	if _, err := p.check(ctx, newest); err != nil {
		return nil, err
	}
	p.unproven(len(list) - len(newest))
	list = p.apply(list)
	return slices.DeleteFunc(list, func(run stored.Run) bool { return !r.choice.filters.Match(&run) }), nil
}
