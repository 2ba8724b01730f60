package stored

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/taktload/takt/pkg/takt"
)

// Differs names the first field in which a row of a store contradicts its report; "": none does. Either
// somebody edited the row, or the store is damaged. A figure missing from the row is not a
// difference, because older versions of takt had fewer figures.
func (r *Run) Differs(report *takt.Report) string {
	want := RunOf(report)
	for _, f := range []struct{ name, got, want string }{
		{"id", r.ID, want.ID}, {"kind", r.Kind, want.Kind},
		{"started_at", r.StartedAt.UTC().String(), want.StartedAt.UTC().String()},
		{"comparability_key", r.Key, want.Key}, {"run_group", r.Group, want.Group}, {"shard", r.Shard, want.Shard},
		{"verdict", r.fitness(), want.fitness()},
		{"settings", HashOf(r.Settings.Variables, r.Settings.Host), want.Settings.Hash},
		{"settings", r.Settings.Hash, want.Settings.Hash},
	} {
		if f.got != f.want {
			return fmt.Sprintf("its row in the store has %s %.60q, but its report %.60q", f.name, f.got, f.want)
		}
	}
	if !maps.Equal(r.Labels, want.Labels) {
		return fmt.Sprintf("its row in the store has the labels %.100q, but its report %.100q", fmt.Sprint(r.Labels), fmt.Sprint(want.Labels))
	}
	for i, name := range r.Figures.Names {
		if i >= len(r.Figures.Values) || slices.Index(r.Figures.Names, name) < i {
			return fmt.Sprintf("its row in the store has no or two values of %.60q", name)
		}
		got := r.Figures.Values[i]
		switch v, ok := want.Figures.Get(name); {
		case !ok:
			return fmt.Sprintf("its row in the store has %.60q, but its report does not", name)
		case !(math.Abs(got-v) <= 1e-9*math.Abs(v)): // also NaN
			return fmt.Sprintf("its row in the store has %.60s %v, but its report %v", name, got, v)
		}
	}
	return ""
}

// fitness classifies Unfit, whose text differs between versions of takt.
func (r *Run) fitness() string {
	switch {
	case r.Unfit == "":
		return "valid"
	case r.InvalidOnly():
		return "invalid"
	case r.Invalid():
		return "invalid and incomplete"
	}
	return "incomplete"
}
