package verify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
)

// History judges the newest revision against each earlier one. Revisions are ordered by their
// label revision_date, or without it by their first run. A head of one run is compared with all
// earlier runs together if these are at least ten. Unfit runs are left out and named. If all runs of
// the head, or all earlier runs, are unfit, the error is an UnfitError. Labels that differ, other than
// those of the revision, are errors like settings that differ.
func History(runs []stored.Run, o Options) (Judgement, error) {
	list, left := revisions(runs)
	if len(list) == 0 && slices.ContainsFunc(left, func(r stored.Run) bool { return stored.IsDirty(r.Labels[stored.LabelRevision]) }) {
		return Judgement{}, errors.New("all selected runs with a label revision are of uncommitted changes, and their revision does not tell which; choose them with --base and --head")
	}
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
	var past, unfit []stored.Run
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

// checkHistory is Check, but labels must be equal, too, unless --vary names them.
func (o Options) checkHistory(runs []stored.Run) error {
	names := map[string]bool{}
	for _, r := range runs {
		for _, pair := range [][2]stored.Run{{runs[0], r}, {r, runs[0]}} {
			for name, value := range pair[0].Labels {
				if other, ok := pair[1].Labels[name]; !ok || other != value {
					names[name] = true
				}
			}
		}
	}
	for _, name := range append(slices.Clone(o.Lift), stored.LabelRevision, stored.LabelRevisionDate) {
		delete(names, name)
	}
	for _, name := range differing(runs, o.Lift...) {
		names[name] = true
	}
	return o.check(runs, slices.Sorted(maps.Keys(names)))
}

func leftOut(runs []stored.Run) []string {
	var list []string
	for _, r := range runs {
		why := r.Unfit
		switch {
		case stored.IsDirty(r.Labels[stored.LabelRevision]):
			why = "it is of uncommitted changes, which --head " + r.ID + " judges"
		case why == "":
			why = "it has no label revision"
		}
		list = append(list, r.ID+": "+why)
	}
	if len(list) == 0 {
		return nil
	}
	return []string{"left out: " + strings.Join(list, "; ")}
}

// revision contains the runs of one revision.
type revision struct {
	name        string
	date        time.Time // of the label revision_date, or first without it; the earliest if runs differ
	first       time.Time // start of its first run
	runs, unfit []stored.Run
}

// revisions groups the runs by revision, newest first, and returns the runs without a revision
// separately, with those of uncommitted changes. If two revisions have the same date, the one whose first run is later is newer.
func revisions(runs []stored.Run) (list []*revision, without []stored.Run) {
	byName := map[string]*revision{}
	for _, r := range runs {
		name := r.Labels[stored.LabelRevision]
		if name == "" || stored.IsDirty(name) {
			without = append(without, r)
			continue
		}
		v := byName[name]
		if v == nil {
			v = &revision{name: name, date: stored.Dated(&r), first: r.StartedAt}
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

func (v *revision) add(r stored.Run) {
	if d := stored.Dated(&r); d.Before(v.date) {
		v.date = d // running a revision again does not make it newer
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
