package metrics

import (
	"maps"
	"slices"
)

// Label is a name with a value.
type Label struct{ Name, Value string }

// Identity returns the labels that tell the series of one run from those of another.
func (r *Run) Identity() []Label {
	list := []Label{{"run", r.ID}}
	if r.Shard != "" {
		list = append(list, Label{"shard", r.Shard})
	}
	return list
}

// Info returns all that is known of a run: its identity, kind, target, takt's version, and the labels of
// the system under test by name, which begin with label_ so that none is one of takt's.
func (r *Run) Info() []Label {
	list := append(r.Identity(), Label{"kind", r.Kind})
	if r.Target != "" {
		list = append(list, Label{"target", r.Target})
	}
	if r.Version != "" {
		list = append(list, Label{"takt_version", r.Version})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		list = append(list, Label{"label_" + name, r.Labels[name]})
	}
	return list
}
