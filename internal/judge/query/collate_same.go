package query

import (
	"maps"
	"slices"

	"github.com/taktload/takt/internal/judge/stored"
)

// describe sets what the rows of each group have in common.
func (t *tabling) describe(tables []*table) {
	all := make([]map[string]any, len(tables))
	for i, tb := range tables {
		all[i] = t.common(tb.cells)
	}
	for i, same := range Identities(all) {
		tables[i].Same = same
	}
}

// Identities returns what identifies each group among others: the leading settings of its kind, the
// settings in which groups differ from each other, then branch and revision.
func Identities(groups []map[string]any) [][]Setting {
	names := Differing(groups)
	last := []string{stored.LabelBranch, stored.LabelRevision}
	list := make([][]Setting, len(groups))
	for i, group := range groups {
		kind, _ := group["kind"].(string)
		first := stored.KindOf(kind).Leading
		var middle []string
		for _, name := range names {
			if !slices.Contains(first, name) && !slices.Contains(last, name) {
				middle = append(middle, name)
			}
		}
		list[i] = []Setting{} // [] in JSON, not null
		for _, name := range slices.Concat(first, middle, last) {
			if v := group[name]; v != nil {
				list[i] = append(list[i], Setting{name, v})
			}
		}
	}
	return list
}

// Common returns the kind, the host, and the variables, labels and, if flags, the flags of a run.
func Common(r *stored.Run, flags bool) map[string]any {
	all := map[string]any{"kind": r.Kind, "host_class": orNil(r.Settings.Host)}
	for name, v := range r.Settings.Variables {
		if name != "flags" {
			all[name] = plain(v)
		}
	}
	if flags {
		for name, v := range r.Settings.Flags() {
			all[name] = plain(v)
		}
	}
	for name, v := range r.Labels {
		all[name] = orNil(v)
	}
	return all
}

// common returns the kind, the host, and the variables, flags and labels that all rows of a group
// share. Flags that may differ are left out: they have a column.
func (t *tabling) common(cells []*cell) map[string]any {
	r := cells[0].runs[0]
	all := Common(r, t.flags)
	delete(all, t.variable.word)
	name := t.settingsKey(r.Settings).name
	delete(all, name)
	for _, leader := range []string{name, "workers"} { // the workers tell what the connections would repeat
		for _, follower := range followers(r.Settings, leader) {
			delete(all, follower)
		}
	}
	delete(all, stored.LabelRevisionDate)
	if t.byBranch() {
		delete(all, stored.LabelRevision)
	}
	return all
}

// Differing returns the names whose values are not the same in all maps, sorted.
func Differing(all []map[string]any) []string {
	names := map[string]bool{}
	if len(all) == 0 {
		return nil
	}
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
