package query

import (
	"cmp"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

// tabling puts runs into groups and rows.
type tabling struct {
	variable field
	options  CollateOptions
	flags    bool // flags are part of a group's key

	settings map[string]*settingsKey // by hash: runs share their settings
	groups   map[groupKey]*bundle
	cells    map[cellKey]*cell
	opens    []bool // by index of the run

	unfit   int // selected runs from which nothing can be concluded
	without int // selected runs without the variable
}

// settingsKey is the part of a run's keys that comes from its settings.
type settingsKey struct {
	group string // hash of the settings that must be equal
	flags string
	name  string // of the variable in these settings; "": they do not have it
	value any
}

// groupKey is equal for runs that may be compared.
type groupKey struct{ kind, settings, branch, revision, labels string }

// bundle is a group under construction.
type bundle struct {
	key   groupKey
	cells []*cell
}

// cellKey is equal for repeated runs. If the variable is the branch, revisions may differ within a
// group, but not within a row.
type cellKey struct {
	bundle                 *bundle
	value, flags, revision string
}

// cell is a row under construction.
type cell struct {
	bundle          *bundle
	value           any
	flags, revision string
	runs            []*stored.Run // newest first
	opens           bool
	place           place
}

// newTabling decides which settings must be equal within a group. As in hey-apm, flags of the server
// must be equal if the variable is a flag or the revision; otherwise they have a column.
func newTabling(variable field, o CollateOptions) *tabling {
	t := &tabling{
		variable: variable, options: o,
		settings: map[string]*settingsKey{}, groups: map[groupKey]*bundle{}, cells: map[cellKey]*cell{},
	}
	t.flags = variable.from == ofFlags || t.byRevision()
	return t
}

// name is the variable's name in reports; the user may have written hey-apm's name.
func (t *tabling) name() string {
	if t.variable.from != ofLabels {
		for _, k := range t.settings {
			if k.name == t.variable.key {
				return k.name
			}
		}
	}
	return t.variable.word
}

// open selects the runs that open groups, and creates the groups.
func (t *tabling) open(runs []stored.Run) {
	t.opens = make([]bool, len(runs))
	for i := range runs {
		r := &runs[i]
		if isShard(r) || !t.options.Filters.Match(r) || r.StartedAt.Before(t.options.Since) {
			continue
		}
		switch {
		case r.Unfit != "" && !t.options.All:
			t.unfit++
		case t.value(r) == nil:
			t.without++
		default:
			t.opens[i] = true
			key := t.groupKey(r)
			if t.groups[key] == nil {
				t.groups[key] = &bundle{key: key}
			}
		}
	}
}

func isShard(r *stored.Run) bool { return takt.IsShard(r.Shard) }

// fill puts all runs into the open groups.
func (t *tabling) fill(runs []stored.Run) {
	for i := range runs {
		r := &runs[i]
		if isShard(r) || r.Unfit != "" && !t.options.All {
			continue
		}
		if b := t.groups[t.groupKey(r)]; b != nil {
			c := t.cell(b, r)
			c.runs = append(c.runs, r)
			c.opens = c.opens || t.opens[i]
		}
	}
	for _, c := range t.cells {
		slices.SortFunc(c.runs, func(a, b *stored.Run) int { return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.ID, a.ID)) })
		c.place = place{rank: t.options.Sort.rankAll(c.runs), date: c.runs[0].StartedAt, id: c.runs[0].ID}
	}
}

// rankAll is the rank of repeated runs, newest first: that of their median, or that of the newest
// run if the criterion is not a metric.
func (s Sort) rankAll(runs []*stored.Run) float64 {
	if s.field.from != ofFigures || len(runs) == 1 {
		return s.rank(runs[0])
	}
	values := figuresOf(runs, s.field.key)
	if len(values) == 0 {
		return s.order(0, false)
	}
	return s.order(stats.Median(values), true)
}

// figuresOf returns the runs' values of one metric, sorted.
func figuresOf(runs []*stored.Run, metric string) (values []float64) {
	for _, r := range runs {
		if v, ok := r.Figures.Get(metric); ok {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values
}

func (t *tabling) cell(b *bundle, r *stored.Run) *cell {
	value, flags := t.value(r), t.settingsKey(r.Settings).flags
	key := cellKey{bundle: b, value: textOf(value), flags: flags}
	if t.byBranch() {
		key.revision = r.Labels[stored.LabelRevision]
	}
	c := t.cells[key]
	if c == nil {
		c = &cell{bundle: b, value: value, flags: flags, revision: key.revision}
		t.cells[key] = c
		b.cells = append(b.cells, c)
	}
	return c
}
