package runscmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// collate is the command that shows runs side by side that differ in one variable.
type collate struct {
	env     core.Env
	store   kept.Storing
	choice  kept.Choice
	options query.CollateOptions
	sort    string
	output  string
	csv     bool
}

// NewCollate returns takt collate.
func NewCollate(env core.Env) *cobra.Command {
	l := &collate{env: env, choice: kept.Choice{Last: kept.Last{Text: "20"}}, sort: "report_date", output: format.Collations()[0]}
	c := &cobra.Command{
		Use:               "collate VARIABLE [FILTER…]",
		Short:             "show runs side by side that differ in one variable, label or server flag",
		Long:              query.Help(),
		ValidArgsFunction: l.complete,
		Example: `  takt collate branch branch=main
  takt collate revision branch=main --sort revision_date
  takt collate rate 'p99<250ms' --since 30d -o csv`,
	}
	return core.Define(c, func(fs *pflag.FlagSet) {
		l.store.AddFlags(fs)
		l.choice.AddFlags(fs)
		value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
			fs.Var(value.Offering(value.Text(&l.sort), append([]string{"report_date", "revision_date", "duration"}, stored.MetricNames()...)...), "sort", "sort groups by this `CRITERION` of their first run: report_date, revision_date, duration, or a metric such as p99 or efficiency, best first")
			fs.VarP(value.Offering(value.Output(&l.output), format.Collations()...), "output", "o", "write `FORMAT` to standard output, or FORMAT=PATH; FORMAT is "+strings.Join(format.Collations(), ", "))
			fs.BoolVar(&l.csv, "csv", false, "the same as -o csv")
			fs.BoolVar(&l.options.All, "all", false, "also show cancelled and invalid runs, which prove nothing")
		})
	}, l.validate, l.run)
}

// complete offers the variables in which runs may differ, for the first argument.
func (l *collate) complete(_ *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var words []string
	for _, k := range stored.HelpVariables() {
		words = append(words, k.Variables...)
	}
	words = append(words, kept.LabelNames(l.env, l.store.Where)...)
	slices.Sort(words)
	words = slices.DeleteFunc(slices.Compact(words), func(w string) bool { return len(args) > 0 || !strings.HasPrefix(w, begin) })
	return words, cobra.ShellCompDirectiveNoFileComp
}

func (l *collate) validate(args []string) (faults []error) {
	if len(args) == 0 {
		faults = append(faults, errors.New("takt collate needs the variable in which the runs may differ, then filters; as in takt collate branch kind=http"))
	} else {
		l.options.Variable, args = args[0], args[1:]
	}
	faults = append(faults, l.choice.Validate(args)...)
	if l.csv {
		l.output = "csv"
	}
	out := core.ParseAnswerOutput(l.env, l.output)
	faults = core.AppendError(faults, value.Bad("output", l.output, format.CheckCollation(out.Name)))
	faults = core.AppendError(faults, core.CheckPage(l.env, out.Name, out.Path))
	sort, err := query.ParseSort(l.sort)
	l.options.Sort, l.options.Filters, l.options.Limit = sort, l.choice.Filters, l.choice.Count
	return core.AppendError(faults, value.Bad("sort", l.sort, err))
}

func (l *collate) run(ctx context.Context, _ []string) error {
	if l.choice.Age > 0 {
		l.options.Since = time.Now().Add(-l.choice.Age)
	}
	return l.store.Reading(ctx, l.env, func(st store.Store) error {
		var list []stored.Run
		for r, err := range st.Runs(ctx, l.options.Query()) {
			if err != nil {
				return err
			}
			list = append(list, r)
		}
		c, err := l.proven(ctx, st, list)
		if err != nil {
			return err
		}
		out := core.ParseAnswerOutput(l.env, l.output)
		if err := out.Write(l.env, func(w io.Writer, color bool) error { return format.Collation(w, c, out.Name, color) }); err != nil {
			return fmt.Errorf("cannot write the table: %w", err)
		}
		return nil
	})
}

// errAgain means that runs were left out or rejudged, so the tables must be computed again.
var errAgain = errors.New("runs have changed")

// proven computes the tables from runs that passed the check. It checks every report whose
// histograms are merged, and the shown runs that choose selects.
func (l *collate) proven(ctx context.Context, st store.Store, list []stored.Run) (query.Collation, error) {
	p := newProof(st, l.env.Stderr)
	for {
		byID := map[string]*stored.Run{}
		for i := range list {
			byID[list[i].ID] = &list[i]
		}
		check := func(ids []string) error {
			var runs []*stored.Run
			for _, id := range ids {
				runs = append(runs, byID[id])
			}
			changed, err := p.check(ctx, runs)
			if err == nil && changed {
				err = errAgain
			}
			return err
		}
		c, err := query.Collate(list, l.options, func(ids ...string) ([]*takt.Report, error) {
			if err := check(ids); err != nil {
				return nil, err
			}
			return st.Load(ctx, ids...)
		})
		var unproven int
		if err == nil {
			var first []string
			first, unproven = p.choose(c)
			err = check(first)
		}
		switch {
		case errors.Is(err, errAgain):
			list = p.apply(list)
			continue
		case err == nil:
			p.unproven(unproven)
		}
		return c, err
	}
}

// choose returns the ids of the shown runs to check next: the newest run of each row, then the
// second newest, and so on, up to mostProven checked runs. rest is how many stay unchecked.
func (p *proof) choose(c query.Collation) (ids []string, rest int) {
	var rows []query.Row
	for _, g := range c.Groups {
		rows = append(rows, g.Rows...)
	}
	left := mostProven - len(p.known)
	for age, more := 0, true; more; age++ {
		more = false
		for _, r := range rows {
			if age >= len(r.IDs) {
				continue
			}
			more = true
			if _, known := p.known[r.IDs[age]]; known {
				continue
			}
			if left > 0 {
				ids, left = append(ids, r.IDs[age]), left-1
			} else {
				rest++
			}
		}
	}
	return ids, rest
}
