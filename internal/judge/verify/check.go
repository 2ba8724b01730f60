package verify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
)

// UnfitError says that nothing can be concluded because runs are unfit (Run.Unfit): exit code 6.
type UnfitError struct {
	Why      string       // why a series or duet ended without a judgement; "": neither did
	Revision string       // the newest revision, if Runs are all its runs; otherwise ""
	Runs     []stored.Run // each with its reason in Unfit
}

func (e *UnfitError) Error() string {
	var list []string
	for _, r := range e.Runs {
		list = append(list, r.ID+" ("+r.Unfit+")")
	}
	if e.Why != "" && len(list) == 0 {
		return e.Why
	}
	if e.Why != "" {
		return e.Why + "; the last one: " + strings.Join(list, ", ")
	}
	if e.Revision != "" {
		return fmt.Sprintf("nothing can be concluded about %s, the newest revision: every run of it failed or is invalid: %s; repeat them", e.Revision, strings.Join(list, ", "))
	}
	return "nothing can be concluded from these runs: " + strings.Join(list, ", ") + "; repeat them or leave them out"
}

// Check lists every reason why these runs, one or more, cannot be judged together: faults of the
// options, runs that are unfit (an UnfitError), and settings that differ. These are a UsageError: runs
// given twice, unknown names in Lift, and metrics that a run lacks.
func (o Options) Check(runs ...stored.Run) error { return o.check(runs, differing(runs, o.Lift...)) }

func (o Options) check(runs []stored.Run, differing []string) error {
	var unfit, differ error
	if bad := slices.DeleteFunc(slices.Clone(runs), func(r stored.Run) bool { return r.Unfit == "" }); len(bad) > 0 {
		unfit = &UnfitError{Runs: bad}
	}
	if len(differing) > 0 {
		differ = fmt.Errorf("these variables differ among the selected runs: %s; add filters, or let one differ with --vary NAME", strings.Join(differing, ", "))
	}
	o.Metrics = o.gated(runs[0].Kind, runs...)
	return errors.Join(o.Validate(), unfit, stored.AsUsage(o.together(runs)), differ, stored.AsUsage(o.measured(runs)))
}

// together refuses runs that would count twice, and names in Lift that no run has.
func (o Options) together(runs []stored.Run) error {
	var twice []string
	seen := map[string]int{}
	for _, r := range runs {
		if seen[r.ID]++; seen[r.ID] == 2 && r.ID != "" {
			twice = append(twice, r.ID)
		}
	}
	faults := o.unknownLifts(runs)
	if len(twice) > 0 {
		faults = append(faults, fmt.Errorf("these runs are given more than once: %s; give each once", strings.Join(twice, ", ")))
	}
	return errors.Join(faults...)
}

// unknownLifts names the entries of Lift that no run has. It accepts the names of the target's address
// for every protocol, because callers lift all of them.
func (o Options) unknownLifts(runs []stored.Run) (faults []error) {
	var known query.Catalog
	for i := range runs {
		known.Add(&runs[i], false)
	}
	for _, name := range o.Lift {
		switch name {
		case "kind", "host_class", "scheme", "host", "path", "apm_host":
			continue
		}
		if !known.Names[name] {
			faults = append(faults, fmt.Errorf("--vary %s: no run has such a variable, label or flag; %s", name, known.Advice(name)))
		}
	}
	return faults
}

// measured says which runs lack a metric, or have a value without a logarithm.
func (o Options) measured(runs []stored.Run) error {
	var faults []error
	for _, name := range o.Metrics {
		m, _ := stored.MetricOf(name)
		var zero []string
		for _, r := range runs {
			if v, ok := r.Figures.Get(name); ok && v <= 0 && m.Unit != stored.Percent {
				zero = append(zero, r.ID)
			}
		}
		if err := missing(name, runs); err != nil {
			faults = append(faults, err)
		}
		if len(zero) > 0 {
			faults = append(faults, fmt.Errorf("%s is 0 in these runs, so there is no ratio: %s; choose other metrics", name, strings.Join(zero, ", ")))
		}
	}
	return errors.Join(faults...)
}

// missing says which runs lack the metric. It ignores unknown metrics, which Validate reports.
func missing(name string, runs []stored.Run) error {
	var without []string
	_, known := stored.MetricOf(name)
	for _, r := range runs {
		if _, ok := r.Figures.Get(name); known && !ok {
			without = append(without, r.ID)
		}
	}
	if len(without) == 0 {
		return nil
	}
	return fmt.Errorf("there is no %s in these runs: %s; choose metrics that all of them have", name, strings.Join(without, ", "))
}

// differing names the variables and flags that differ among the runs, and kind and host_class if they
// do, sorted and without those in lift.
func differing(runs []stored.Run, lift ...string) []string {
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
	return append([]string{}, slices.Sorted(maps.Keys(names))...) // [] in JSON, not null
}

// addDiffering adds the names of the settings that differ between a and b.
func addDiffering(names map[string]bool, a, b stored.Run) {
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

// unequal compares values as JSON, as the hash of settings does, so that the Go type of a number does
// not matter.
func unequal(names map[string]bool, a, b map[string]any) {
	for name := range a {
		if _, ok := b[name]; !ok || stored.JSON(a[name]) != stored.JSON(b[name]) {
			names[name] = true
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names[name] = true
		}
	}
}
