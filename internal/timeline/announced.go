package timeline

import (
	"maps"
	"slices"

	"github.com/taktload/takt/pkg/takt"
)

// announcedKey is the place of Announced in the extra section of what is known of a report before its run. No report has it.
const announcedKey = "announced"

// Announced is what intervals and rows will have besides what all runs have.
type Announced struct {
	Timed []takt.Timed
	Goal  string
}

// Announce adds a to the extra section of a head; nil: it has none.
func (a Announced) Announce(extra map[string]any) map[string]any {
	all := maps.Clone(extra)
	if all == nil {
		all = map[string]any{}
	}
	all[announcedKey] = a
	return all
}

// AnnouncedIn is what a head announces.
func AnnouncedIn(head *takt.Report) Announced {
	a, _ := head.Extra[announcedKey].(Announced)
	return a
}

// AnnouncedOf is what the intervals of a report have.
func AnnouncedOf(r *takt.Report) (a Announced) {
	names := map[string]bool{}
	for i := range r.Intervals {
		for _, name := range Names(&r.Intervals[i]) {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a.Timed = append(a.Timed, takt.Timed{Name: name, Course: true})
	}
	if r.Goodput != nil {
		a.Goal = r.Goodput.SLO
	}
	return a
}

// Courses are the names of the latencies that intervals have.
func (a Announced) Courses() (names []string) {
	for _, t := range a.Timed {
		if t.Course {
			names = append(names, t.Name)
		}
	}
	return names
}

// Rows are the names of the latencies in takt.Sample.Timed.
func (a Announced) Rows() (names []string) {
	for _, t := range a.Timed {
		if t.Row && len(names) < takt.MaxTimed {
			names = append(names, t.Name)
		}
	}
	return names
}
