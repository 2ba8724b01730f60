package query

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/judge/stored"
)

// value is the run's value of the variable.
func (t *tabling) value(r *stored.Run) any {
	if t.variable.from == ofLabels {
		return orNil(t.variable.label(r))
	}
	return t.settingsKey(r.Settings).value
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

func (t *tabling) settingsKey(s *stored.Settings) *settingsKey {
	k := t.settings[s.Hash]
	if k == nil {
		k = &settingsKey{}
		variables, flags := maps.Clone(s.Variables), maps.Clone(s.Flags())
		delete(variables, "flags")
		if t.variable.from != ofLabels {
			k.name, _ = t.variable.where(s)
			k.value = t.variable.setting(s)
		}
		switch t.variable.from {
		case ofVariables:
			delete(variables, k.name)
			for _, name := range followers(s, k.name) {
				delete(variables, name)
			}
		case ofFlags:
			delete(flags, k.name)
		}
		if !t.flags {
			k.flags = flagText(flags)
		}
		if !t.flags || len(flags) == 0 { // a run with no other flags equals one without flags
			flags = nil
		}
		k.group = stored.HashOf(map[string]any{"variables": variables, "flags": flags}, s.Host)
		t.settings[s.Hash] = k
	}
	return k
}

// followers are the variables that differ only because the named one differs. The workers of
// takt apm are its connections, and max_in_flight equals connections unless the user sets it.
func followers(s *stored.Settings, name string) (equal []string) {
	next := map[string][]string{"workers": {"connections", "max_in_flight"}, "connections": {"max_in_flight"}}
	for _, other := range next[name] {
		if textOf(plain(s.Variables[other])) == textOf(plain(s.Variables[name])) {
			equal = append(equal, other)
		}
	}
	return equal
}

// flagText writes flags in the form of -E: a=1 b=2.
func flagText(flags map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		parts = append(parts, name+"="+textOf(plain(flags[name])))
	}
	return strings.Join(parts, " ")
}

func (t *tabling) byBranch() bool {
	return t.variable.from == ofLabels && t.variable.word == stored.LabelBranch
}
func (t *tabling) byRevision() bool {
	return t.variable.from == ofLabels && t.variable.word == stored.LabelRevision
}

func (t *tabling) groupKey(r *stored.Run) groupKey {
	key := groupKey{kind: r.Kind, settings: t.settingsKey(r.Settings).group, labels: t.otherLabels(r)}
	if !t.byBranch() {
		key.branch = r.Labels[stored.LabelBranch]
		if !t.byRevision() {
			key.revision = r.Labels[stored.LabelRevision]
		}
	}
	return key
}

// otherLabels is the text of the labels that must be equal, without branch and revision. Most runs
// have none.
func (t *tabling) otherLabels(r *stored.Run) string {
	var parts []string
	for name, value := range r.Labels {
		switch {
		case name == stored.LabelBranch, name == stored.LabelRevision, name == stored.LabelRevisionDate:
		case t.variable.from == ofLabels && name == t.variable.word:
		default:
			parts = append(parts, strconv.Quote(name)+strconv.Quote(value))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}
