// Package runscmd has the commands on stored runs: runs, show, store, merge, collate, history and ui.
package runscmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/value"
)

// runs is the command that lists stored runs.
type runs struct {
	env    core.Env
	store  kept.Storing
	choice kept.Choice
	output string
}

// NewRuns returns takt runs.
func NewRuns(env core.Env) *cobra.Command {
	r := &runs{env: env, output: "text", choice: kept.Choice{Last: kept.Last{Text: "20"}}}
	c := &cobra.Command{
		Use:   "runs [FILTER…]",
		Short: "list the stored runs, newest first",
		Long:  "takt help collate explains FILTER, and lists the fields.",
		Example: `  takt runs
  takt runs kind=http branch=main 'p99>250ms' -n 7d`,
	}
	flags := func(fs *pflag.FlagSet) {
		r.store.AddFlags(fs)
		r.choice.AddFlags(fs)
		value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
			fs.VarP(value.Choice(&r.output, "text", "json"), "output", "o", "`FORMAT` on standard output: text or json")
		}, "output")
	}
	return core.Define(c, flags, r.choice.Validate, r.run)
}

func (r *runs) run(ctx context.Context, _ []string) error {
	err := r.store.Reading(ctx, r.env, func(st store.Store) error { return r.list(ctx, st) })
	if r.store.Where == "" && errors.Is(err, fault.ErrAbsent) { // the default store, so the user did not misspell it
		return format.Runs(r.env.Stdout, nil, r.output)
	}
	return err
}

func (r *runs) list(ctx context.Context, st store.Store) error {
	most := r.choice.Count
	r.choice.Count = 0 // count the runs beyond -n, too
	list, err := r.choice.From(ctx, st)
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
	if err := format.Runs(r.env.Stdout, list, r.output); err != nil {
		return err
	}
	if hidden > 0 {
		fmt.Fprintf(r.env.Stderr, "takt: %s; -n %d shows all\n", core.Counted(hidden, "more is not shown", "more are not shown"), all)
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
	return slices.DeleteFunc(list, func(run stored.Run) bool { return !r.choice.Filters.Match(&run) }), nil
}
