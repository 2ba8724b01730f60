package analysis

import (
	"maps"
	"slices"
)

// describe fills in what the rows of each group have in common: the leading settings,
// those in which the groups differ from each other, and the thing under test.
func (t *tabling) describe(tables []*table) {
	all := make([]map[string]any, len(tables))
	for i, tb := range tables {
		all[i] = t.common(tb.cells)
	}
	names := differing(all)
	for i, tb := range tables {
		first := KindOf(tb.Kind).Leading
		last := []string{LabelBranch, LabelRevision}
		var middle []string
		for _, name := range names {
			if !slices.Contains(first, name) && !slices.Contains(last, name) {
				middle = append(middle, name)
			}
		}
		tb.Same = []Setting{} // in JSON rather than null
		for _, name := range slices.Concat(first, middle, last) {
			if v := all[i][name]; v != nil {
				tb.Same = append(tb.Same, Setting{name, v})
			}
		}
	}
}

// common are the kind, the host, the variables, flags and labels that all rows of a
// group have. Flags stand in a column when they may differ.
func (t *tabling) common(cells []*cell) map[string]any {
	r := cells[0].runs[0]
	all := map[string]any{"kind": r.Kind, "host_class": orNil(r.Settings.Host)}
	for name, v := range r.Settings.Variables {
		if name != "flags" {
			all[name] = plain(v)
		}
	}
	if t.flags {
		for name, v := range r.Settings.Flags() {
			all[name] = plain(v)
		}
	}
	for name, v := range r.Labels {
		all[name] = orNil(v)
	}
	delete(all, t.variable.word)
	name := t.settingsKey(r.Settings).name
	delete(all, name)
	delete(all, follower(r.Settings, name))
	delete(all, LabelRevisionDate)
	if t.byBranch() {
		delete(all, LabelRevision)
	}
	return all
}

// differing are the names whose values are not the same everywhere, sorted.
func differing(all []map[string]any) []string {
	names := map[string]bool{}
	for _, m := range all[1:] {
		for _, pair := range [][2]map[string]any{{m, all[0]}, {all[0], m}} {
			for name, v := range pair[0] {
				if textOf(v) != textOf(pair[1][name]) {
					names[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
