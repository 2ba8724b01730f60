package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/pkg/takt"
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
			return answer.Runs(env.Stdout, nil)
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
	if err := answer.Runs(r.env.Stdout, list); err != nil {
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

// noEmpty refuses an empty word instead of a run, which usually comes from an unset variable: it
// would match the beginning of every id.
func noEmpty(words []string) error {
	if slices.Contains(words, "") {
		return errors.New("the name of a run is empty; give an id, or @-1 for the newest")
	}
	return nil
}

// find returns the id of the run that a word of the command line names: an id, the beginning of
// one, or @-1 for the newest run, @-2 for the one before.
func find(ctx context.Context, st store.Store, word string) (id string, err error) {
	if back, ok := strings.CutPrefix(word, "@-"); ok {
		return findBack(ctx, st, word, back)
	}
	for r, err := range st.Runs(ctx, stored.Query{IDs: []string{word}}) { // an exact id needs no search through all runs
		return r.ID, err
	}
	var found []string
	begins := func(r *stored.Run) bool { return strings.HasPrefix(strings.ToUpper(r.ID), strings.ToUpper(word)) }
	for r, err := range st.Runs(ctx, stored.Query{Match: begins}) {
		if err != nil {
			return "", err
		}
		found = append(found, r.ID)
	}
	switch len(found) {
	case 0:
		if strings.ContainsAny(word, "./") {
			return "", fmt.Errorf("there is no file %s, and no run either; takt runs lists the stored runs", word)
		}
		return "", fmt.Errorf("there is no run %s; takt runs lists the stored runs", word)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%d runs begin with %s, among them %s and %s; give more of the id", len(found), word, found[0], found[1])
}

func findBack(ctx context.Context, st store.Store, word, back string) (id string, err error) {
	n, err := strconv.Atoi(back)
	if err != nil || n < 1 {
		return "", &exitError{exitUsage, fmt.Errorf("%q does not name a run; @-1 is the newest, @-2 the one before", word)}
	}
	count := 0
	for r, err := range st.Runs(ctx, stored.Query{Limit: n}) {
		if err != nil {
			return "", err
		}
		count, id = count+1, r.ID
	}
	if count < n {
		return "", fmt.Errorf("there is no run %s: the store has %d; takt runs lists them", word, count)
	}
	return id, nil
}

// loadRun returns the report of the run that a word of the command line names.
func loadRun(ctx context.Context, st store.Store, word string) (*takt.Report, error) {
	id, err := find(ctx, st, word)
	if err != nil {
		return nil, err
	}
	reports, err := loadReports(ctx, st, id)
	if err != nil {
		return nil, err
	}
	return reports[0], nil
}

// loadReports returns stored reports. It checks each one, because others may have written it.
func loadReports(ctx context.Context, st store.Store, ids ...string) ([]*takt.Report, error) {
	reports, err := st.Load(ctx, ids...)
	for _, r := range reports {
		if lie := audit.Check(r); lie != nil {
			err = errors.Join(err, fmt.Errorf("the run %s: %w", r.ID, lie))
		}
	}
	return reports, err
}
