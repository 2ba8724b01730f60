package query

import (
	"maps"
	"slices"

	"github.com/taktload/takt/internal/judge/stored"
)

// describe sets what the rows of each group have in common: the leading settings, the settings in
// which groups differ from each other, then branch and revision.
func (t *tabling) describe(tables []*table) {
	all := make([]map[string]any, len(tables))
	for i, tb := range tables {
		all[i] = t.common(tb.cells)
	}
	names := differing(all)
	for i, tb := range tables {
		first := stored.KindOf(tb.Kind).Leading
		last := []string{stored.LabelBranch, stored.LabelRevision}
		var middle []string
		for _, name := range names {
			if !slices.Contains(first, name) && !slices.Contains(last, name) {
				middle = append(middle, name)
			}
		}
		tb.Same = []Setting{} // [] in JSON, not null
		for _, name := range slices.Concat(first, middle, last) {
			if v := all[i][name]; v != nil {
				tb.Same = append(tb.Same, Setting{name, v})
			}
		}
	}
}

// common returns the kind, the host, and the variables, flags and labels that all rows of a group
// share. Flags that may differ are left out: they have a column.
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
	delete(all, stored.LabelRevisionDate)
	if t.byBranch() {
		delete(all, stored.LabelRevision)
	}
	return all
}

// differing returns the names whose values are not the same in all maps, sorted.
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
