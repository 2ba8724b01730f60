package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// CollateOptions say what Collate is to show.
type CollateOptions struct {
	Variable string    // what the rows of a group may differ in: a variable, label or flag
	Filters  Filters   // which runs open a group
	Since    time.Time // and these were started at it or later
	Sort     Sort
	Limit    int  // at most so many rows open groups; 0: all
	All      bool // runs from which nothing can be concluded, too
}

// Load gives reports whole, in the order of ids.
type Load func(ids ...string) ([]*takt.Report, error)

// Collation is runs in groups in which all settings are equal but one.
type Collation struct {
	Variable string  `json:"variable"` // as it was asked for
	Field    string  `json:"field"`    // its name in reports
	Sort     string  `json:"sort"`
	Groups   []Group `json:"groups"`
	Hidden   int     `json:"hidden_rows"` // of groups that are not shown because of the limit
	Unfit    int     `json:"unfit_runs"`  // that were chosen, but nothing can be concluded from them
	// Unreadable are the ids of runs that percentiles leave out, since their histogram is damaged.
	Unreadable []string `json:"unreadable_runs,omitempty"`
}

// Group is rows that may be compared.
type Group struct {
	Kind      string    `json:"kind"`
	Same      []Setting `json:"same"`      // the settings that tell the group from others
	Metrics   []string  `json:"metrics"`   // of the figures, in order
	Criterion string    `json:"criterion"` // the metric that the best row is best by
	Rows      []Row     `json:"rows"`
	Hidden    int       `json:"hidden_rows"` // beyond those that are shown
}

// Setting is a variable or label that all rows of a group have in common.
type Setting struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// Row is all runs with equal settings of the same thing.
type Row struct {
	IDs          []string          `json:"ids"` // the newest first
	StartedAt    time.Time         `json:"started_at"`
	RevisionDate time.Time         `json:"revision_date,omitzero"`
	Value        any               `json:"value"`              // of the variable; nil: none
	Revision     string            `json:"revision,omitempty"` // when the variable is the branch
	Flags        string            `json:"flags,omitempty"`    // when those may differ in the group
	Figures      map[string]Figure `json:"figures"`            // by the names of metrics
	Merged       int               `json:"merged_runs"`        // whose histograms the percentiles are of
	Best         bool              `json:"best"`               // by the group's criterion
	Sure         bool              `json:"sure"`               // better than the second best with confidence
	Wanted       int               `json:"runs_wanted"`        // that both need at least before there can be confidence; 0: they have them
}

// Figure is a metric of a row, in the metric's unit. Value is what is shown, sorted and
// marked by: the median of the runs, but of a percentile that of their merged histograms.
type Figure struct {
	Value  float64 `json:"value"`
	Median float64 `json:"median"` // of the runs
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// beside is how many rows a group shows next to those that opened it.
const beside = 20

// ErrNothingToCollate is when no run was chosen.
var ErrNothingToCollate = errors.New("no run matches")

// Query is what has to be read of a store: labels that a filter fixes and that are equal
// in a group choose the rows beside, too.
func (o CollateOptions) Query() Query {
	labels := o.Filters.Labels()
	f := settingOf(o.Variable)
	delete(labels, f.word)
	if f.word == LabelBranch {
		delete(labels, LabelRevision)
	}
	return Query{Labels: labels}
}

// Collate groups the runs. Those that the options choose open groups; the rows beside
// them come from all runs. Shards of a run never count. load is asked for the reports whose
// histograms are merged, a few at a time.
func Collate(runs []Run, o CollateOptions, load Load) (Collation, error) {
	variable, err := pin(o.Variable, runs)
	if err != nil {
		return Collation{}, err
	}
	t := newTabling(variable, o)
	t.open(runs)
	if err := cmp.Or(asked(o.Filters.Unknown()), t.empty()); err != nil { // the first explains the second
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

// pin says where the variable stands in these runs.
func pin(name string, runs []Run) (field, error) {
	f := settingOf(strings.TrimSpace(name))
	switch {
	case f.text == "" || strings.ContainsAny(name, "!=<>"):
		return f, askedf("%q is no variable to collate by; give the name of one first, such as branch or duration, then the filters", name)
	case f.word == LabelRevisionDate:
		return f, askedf("cannot collate by revision_date, which belongs to its revision; use collate revision --sort revision_date")
	case len(runs) == 0:
		return f, fmt.Errorf("%w: the store has none that could; make some first", ErrNothingToCollate)
	}
	if f.from = f.located(runs); f.from != anywhere {
		return f, nil
	}
	var known catalog
	for i := range runs {
		known.add(&runs[i], false)
	}
	return f, askedf("no run has a variable, label or flag %q; %s", f.text, known.advice(f.word))
}

// located is the first of labels, variables and flags that has the field in some run.
func (f field) located(runs []Run) source {
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
	return fmt.Errorf("%w; change the filters or --since; takt runs lists the runs that are kept", ErrNothingToCollate)
}

// rows makes the rows of the groups that are shown, and puts rows and groups in the order
// of the figures in them.
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
		markBest(&tb.Group, tb.cells)
	}
	slices.SortFunc(tables, func(a, b *table) int { return byPlace(a.first(), b.first()) })
	return unreadable, nil
}
