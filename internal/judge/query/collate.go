// Package query selects stored runs by filters, and shows them side by side.
package query

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// CollateOptions say what Collate shows.
type CollateOptions struct {
	Variable string    // the variable, label or flag in which the rows of a group may differ
	Filters  Filters   // select the runs that open groups
	Since    time.Time // runs that open groups started then or later
	Sort     Sort
	Limit    int  // largest number of rows that open groups; 0: all
	All      bool // include runs from which nothing can be concluded
}

// Load returns complete reports, in the order of ids.
type Load func(ids ...string) ([]*takt.Report, error)

// Collation contains runs in groups. Within a group all settings are equal except the variable.
type Collation struct {
	Variable string  `json:"variable"` // as the user wrote it
	Field    string  `json:"field"`    // its name in reports
	Sort     string  `json:"sort"`
	Groups   []Group `json:"groups"`
	Hidden   int     `json:"hidden_rows"` // rows that would open further groups, beyond the limit
	Unfit    int     `json:"unfit_runs"`  // selected runs from which nothing can be concluded
	// Unreadable lists the ids of runs that percentiles leave out, because their histogram is damaged.
	Unreadable []string `json:"unreadable_runs,omitempty"`
}

// Group contains rows that may be compared.
type Group struct {
	Kind      string    `json:"kind"`
	Same      []Setting `json:"same"`      // settings that all rows share and that identify the group
	Metrics   []string  `json:"metrics"`   // columns of figures, in order
	Criterion string    `json:"criterion"` // the metric that decides which row is best
	Rows      []Row     `json:"rows"`
	Hidden    int       `json:"hidden_rows"` // rows of the group that are not shown
}

// Setting is a variable or label that all rows of a group have in common.
type Setting struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// Row contains all runs with equal settings of the same thing under test.
type Row struct {
	IDs          []string          `json:"ids"` // newest first
	StartedAt    time.Time         `json:"started_at"`
	RevisionDate time.Time         `json:"revision_date,omitzero"`
	Value        any               `json:"value"`              // of the variable; nil: the runs have none
	Revision     string            `json:"revision,omitempty"` // only when the variable is the branch
	Flags        string            `json:"flags,omitempty"`    // only when flags may differ in the group
	Figures      map[string]Figure `json:"figures"`            // by name of the metric
	Merged       int               `json:"merged_runs"`        // number of runs whose merged histograms the percentiles come from
	Best         bool              `json:"best"`               // by the group's criterion
	Sure         bool              `json:"sure"`               // better than the second best row, with confidence
	Apart        *Apart            `json:"apart,omitempty"`    // how far the row is from all others; nil: it does not stand out
	Unranked     string            `json:"unranked,omitempty"` // why the row cannot be the best, nor stand out; "": it can
	Wanted       int               `json:"runs_wanted"`        // fewest runs that the two best rows each need for confidence; 0: they have enough
}

// Figure is a metric of a row, in the metric's unit. Value is the figure that is shown, and by which
// rows are sorted and the best is marked. It is the median of the runs, or for a statistic of the
// response time that of their merged histograms.
type Figure struct {
	Value  float64 `json:"value"`
	Median float64 `json:"median"` // of the runs
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// beside is the largest number of rows that a group shows next to those that opened it.
const beside = 20

// ErrNothingToCollate says that no run was selected.
var ErrNothingToCollate = errors.New("no run matches")

// Query returns what must be read from a store. It selects by the labels that a filter fixes and
// that are equal within a group, because the rows beside have these labels, too.
func (o CollateOptions) Query() stored.Query {
	labels := o.Filters.Labels()
	f := settingOf(o.Variable)
	delete(labels, f.word)
	if f.word == stored.LabelBranch {
		delete(labels, stored.LabelRevision)
	}
	return stored.Query{Labels: labels}
}

// Collate groups the runs. The runs that the options select open groups; the rows beside them come
// from all runs. Shards are ignored. load gets the reports whose histograms are merged, a few at a
// time.
func Collate(runs []stored.Run, o CollateOptions, load Load) (Collation, error) {
	variable, err := pin(o.Variable, runs)
	if err != nil {
		return Collation{}, err
	}
	t := newTabling(variable, o)
	t.open(runs)
	if err := cmp.Or(stored.AsUsage(o.Filters.Unknown()), t.empty()); err != nil { // the first explains the second
		return Collation{}, err
	}
	t.fill(runs)
	c := Collation{Variable: variable.text, Field: t.name(), Sort: o.Sort.Name(), Unfit: t.unfit}
	tables, err := t.choose(&c)
	if err != nil {
		return Collation{}, err
	}
	if c.Unreadable, err = t.rows(tables, load); err != nil {
		return Collation{}, err
	}
	t.describe(tables)
	for _, tb := range tables {
		c.Groups = append(c.Groups, tb.Group)
	}
	return c, nil
}

// pin finds out whether the variable is a label, a variable or a flag of these runs.
func pin(name string, runs []stored.Run) (field, error) {
	f := settingOf(strings.TrimSpace(name))
	switch {
	case f.text == "" || strings.ContainsAny(name, "!=<>"):
		return f, stored.Usagef("%q is not a variable to collate by; give the name of a variable first, such as branch or duration, then the filters", name)
	case f.word == stored.LabelRevisionDate:
		return f, stored.Usagef("cannot collate by revision_date, which belongs to its revision; use collate revision --sort revision_date")
	case len(runs) == 0:
		return f, fmt.Errorf("%w: the store has no such runs; make some first", ErrNothingToCollate)
	}
	if f.from = f.located(runs); f.from != anywhere {
		return f, nil
	}
	var known Catalog
	for i := range runs {
		known.Add(&runs[i], false)
	}
	return f, stored.Usagef("no run has a variable, label or flag %q; %s", f.text, known.Advice(f.word))
}

// located is the first of labels, variables and flags in which some run has the field.
func (f field) located(runs []stored.Run) source {
	seen := map[string]bool{}
	found := anywhere
	for i := range runs {
		r := &runs[i]
		if f.label(r) != "" {
			return ofLabels
		}
		if f.from == ofLabels || seen[r.Settings.Hash] {
			continue
		}
		seen[r.Settings.Hash] = true
		if _, from := f.where(r.Settings); from == ofVariables || found == anywhere {
			found = from
		}
	}
	return found
}

// empty says why no run opens a group.
func (t *tabling) empty() error {
	switch {
	case len(t.groups) > 0:
		return nil
	case t.unfit > 0:
		return fmt.Errorf("%w from which something can be concluded (cut short or invalid: %d); add --all to see them", ErrNothingToCollate, t.unfit)
	case t.without > 0:
		return fmt.Errorf("%w that has %s (without it: %d); collate by another variable, or change the filters", ErrNothingToCollate, t.variable.text, t.without)
	}
	return fmt.Errorf("%w; change the filters or --since; takt runs lists the stored runs", ErrNothingToCollate)
}

// rows builds the rows of the shown groups, and sorts rows and groups by their figures.
func (t *tabling) rows(tables []*table, load Load) (unreadable []string, err error) {
	var all []*cell
	for _, tb := range tables {
		all = append(all, tb.cells...)
	}
	merged, unreadable, err := mergeCells(all, load)
	if err != nil {
		return nil, err
	}
	sort := t.options.Sort
	for _, tb := range tables {
		tb.Metrics, tb.Criterion = columnsOf(tb.Kind, tb.cells, sort)
		rows := map[*cell]Row{}
		for _, cl := range tb.cells {
			rows[cl] = cl.row(tb.Metrics, merged[cl])
			if f, ok := rows[cl].Figures[sort.metric()]; ok {
				cl.place.rank = sort.order(f.Value, true)
			}
		}
		slices.SortFunc(tb.cells, byPlace)
		for _, cl := range tb.cells {
			tb.Rows = append(tb.Rows, rows[cl])
		}
		markUnranked(&tb.Group, tb.cells)
		markBest(&tb.Group, tb.cells)
		markApart(&tb.Group, tb.cells)
	}
	slices.SortFunc(tables, func(a, b *table) int { return byPlace(a.first(), b.first()) })
	return unreadable, nil
}
