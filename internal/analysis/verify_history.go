package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// VerifyHistory judges the newest revision, by its label revision_date, else by when it
// was first run, against each earlier one. A head of one run is held against all earlier
// runs together, if these are ten or more. Unfit runs are left out and named; if the head
// has no others, or the earlier revisions have none, the error is an UnfitError. Labels
// that differ count as settings that do, but for those of the revision.
func VerifyHistory(runs []Run, o Options) (Judgement, error) {
	list, left := revisions(runs)
	if len(list) == 0 {
		return Judgement{}, errors.New("none of the selected runs has a label revision; select others, or make runs with --label revision=NAME")
	}
	head, earlier := list[0], list[1:]
	switch {
	case len(head.runs) == 0:
		return Judgement{}, &UnfitError{Revision: head.name, Runs: head.unfit}
	case len(earlier) == 0:
		return Judgement{}, fmt.Errorf("all selected runs are of one revision, %s; select runs of an earlier one too", head.name)
	}
	var past, unfit []Run
	var matches []match
	for _, r := range earlier {
		past, unfit = append(past, r.runs...), append(unfit, r.unfit...)
		if len(r.runs) > 0 {
			matches = append(matches, match{side: sideOf(r.name, r.runs), base: r.runs, head: head.runs})
		}
	}
	if len(matches) == 0 {
		return Judgement{}, &UnfitError{Runs: unfit}
	}
	if err := o.checkHistory(slices.Concat(head.runs, past)); err != nil {
		return Judgement{}, err
	}
	o.Metrics = o.gated(head.runs[0].Kind, slices.Concat(head.runs, past)...)
	if len(head.runs) == 1 && len(past) >= fewestEarlier {
		matches = []match{{side: sideOf("all earlier revisions", past), base: past, head: head.runs}}
	}
	j := judge(matches, sideOf(head.name, head.runs), o)
	j.Advice = append(j.Advice, leftOut(slices.Concat(left, head.unfit, unfit))...)
	return j, nil
}

// checkHistory is Check with labels among the settings that have to be equal, so that
// --vary lifts them too.
func (o Options) checkHistory(runs []Run) error {
	names := map[string]bool{}
	for _, r := range runs {
		for _, pair := range [][2]Run{{runs[0], r}, {r, runs[0]}} {
			for name, value := range pair[0].Labels {
				if other, ok := pair[1].Labels[name]; !ok || other != value {
					names[name] = true
				}
			}
		}
	}
	for _, name := range append(slices.Clone(o.Lift), LabelRevision, LabelRevisionDate) {
		delete(names, name)
	}
	for _, name := range Differing(runs, o.Lift...) {
		names[name] = true
	}
	return o.check(runs, slices.Sorted(maps.Keys(names)))
}

func leftOut(runs []Run) []string {
	var list []string
	for _, r := range runs {
		why := r.Unfit
		if why == "" {
			why = "it has no label revision"
		}
		list = append(list, r.ID+": "+why)
	}
	if len(list) == 0 {
		return nil
	}
	return []string{"left out: " + strings.Join(list, "; ")}
}

// revision is what was run of one revision.
type revision struct {
	name        string
	date        time.Time // of its label, else first
	first       time.Time // start of its first run
	runs, unfit []Run
}

// revisions groups the runs, the newest revision first, and gives back those without one.
// Of the same date the one that was first run later is the newer.
func revisions(runs []Run) (list []*revision, without []Run) {
	byName := map[string]*revision{}
	for _, r := range runs {
		name := r.Labels[LabelRevision]
		if name == "" {
			without = append(without, r)
			continue
		}
		v := byName[name]
		if v == nil {
			v = &revision{name: name, date: dateOf(&r), first: r.StartedAt}
			byName[name] = v
			list = append(list, v)
		}
		v.add(r)
	}
	slices.SortFunc(list, func(a, b *revision) int {
		return cmp.Or(b.date.Compare(a.date), b.first.Compare(a.first), cmp.Compare(a.name, b.name))
	})
	return list, without
}

func (v *revision) add(r Run) {
	if d := dateOf(&r); d.Before(v.date) {
		v.date = d // a revision that is run again is not newer for that
	}
	if r.StartedAt.Before(v.first) {
		v.first = r.StartedAt
	}
	if r.Unfit != "" {
		v.unfit = append(v.unfit, r)
	} else {
		v.runs = append(v.runs, r)
	}
}

// dateOf is the date of a run's revision, or of the run if that is not known.
func dateOf(r *Run) time.Time {
	if d := revisionDate(r); !d.IsZero() {
		return d
	}
	return r.StartedAt
}
