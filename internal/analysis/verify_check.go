package analysis

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// UnfitError says that nothing can be concluded since runs are invalid or were not made to
// their end: exit code 6.
type UnfitError struct {
	Runs []Run // with the reason in Unfit
}

func (e *UnfitError) Error() string {
	var list []string
	for _, r := range e.Runs {
		list = append(list, r.ID+" ("+r.Unfit+")")
	}
	return "nothing can be concluded from these runs: " + strings.Join(list, ", ") + "; repeat them or leave them out"
}

// check lists all that keeps runs from being judged by the metrics of o.
func check(runs []Run, o Options) error {
	var faults []error
	var unfit []Run
	for _, r := range runs {
		if r.Unfit != "" {
			unfit = append(unfit, r)
		}
	}
	if len(unfit) > 0 {
		faults = append(faults, &UnfitError{unfit})
	}
	if names := Differing(runs, o.Lift...); len(names) > 0 {
		faults = append(faults, fmt.Errorf("these variables differ among the selected runs: %s; add filters, or name those that may differ", strings.Join(names, ", ")))
	}
	for _, name := range o.Metrics {
		if err := measured(name, runs); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// measured says which of the runs lack the metric, or have no logarithm of it.
func measured(name string, runs []Run) error {
	m, _ := MetricOf(name)
	var missing, zero []string
	for _, r := range runs {
		switch v, ok := r.Figures.Get(name); {
		case !ok:
			missing = append(missing, r.ID)
		case v <= 0 && m.Unit != Percent:
			zero = append(zero, r.ID)
		}
	}
	var faults []error
	if len(missing) > 0 {
		faults = append(faults, fmt.Errorf("there is no %s in these runs: %s; choose metrics that all of them have", name, strings.Join(missing, ", ")))
	}
	if len(zero) > 0 {
		faults = append(faults, fmt.Errorf("%s is 0 in these runs, so there is no ratio: %s; choose other metrics", name, strings.Join(zero, ", ")))
	}
	return errors.Join(faults...)
}

// Differing names the variables and flags, and kind and host_class, that are not the same
// in all runs, but for the lifted ones, in order.
func Differing(runs []Run, lift ...string) []string {
	names, seen := map[string]bool{}, map[string]bool{}
	for _, r := range runs {
		if key := r.Kind + " " + r.Settings.Hash; !seen[key] {
			seen[key] = true
			addDiffering(names, runs[0], r)
		}
	}
	for _, name := range lift {
		delete(names, name)
	}
	return slices.Sorted(maps.Keys(names))
}

// addDiffering adds the names of what is not equal in a and b.
func addDiffering(names map[string]bool, a, b Run) {
	if a.Kind != b.Kind {
		names["kind"] = true
	}
	if a.Settings.Host != b.Settings.Host {
		names["host_class"] = true
	}
	unequal(names, a.Settings.Variables, b.Settings.Variables)
	delete(names, "flags")
	unequal(names, a.Settings.Flags(), b.Settings.Flags())
}

// unequal compares as JSON, as the hash of settings does: numbers may be of any type.
func unequal(names map[string]bool, a, b map[string]any) {
	for name := range a {
		if _, ok := b[name]; !ok || asJSON(a[name]) != asJSON(b[name]) {
			names[name] = true
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names[name] = true
		}
	}
}
