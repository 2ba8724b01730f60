package analysis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// VerifyHistory judges the newest revision, by its label revision_date, else by when it
// was first run, against each earlier one. A head of one run is held against all earlier
// runs together, if these are ten or more. Invalid runs are left out; if the head has no
// others the error is an UnfitError.
func VerifyHistory(runs []Run, o Options) (Judgement, error) {
	list, left := revisions(runs)
	switch len(list) {
	case 0:
		return Judgement{}, errors.New("none of the selected runs has a label revision; select others, or make runs with --label revision=NAME")
	case 1:
		return Judgement{}, fmt.Errorf("all selected runs are of one revision, %s; select runs of an earlier one too", list[0].name)
	}
	head := list[0]
	if len(head.runs) == 0 {
		return Judgement{}, &UnfitError{head.unfit}
	}
	var all []Run
	var matches []match
	for _, r := range list {
		all, left = append(all, r.runs...), append(left, r.unfit...)
		if r.name != head.name && len(r.runs) > 0 {
			matches = append(matches, match{side: sideOf(r.name, r.runs), base: r.runs, head: head.runs})
		}
	}
	if len(matches) == 0 {
		return Judgement{}, &UnfitError{left}
	}
	o.Metrics = o.gated(head.runs[0].Kind)
	if err := errors.Join(o.Validate(), check(all, o)); err != nil {
		return Judgement{}, err
	}
	if earlier := all[len(head.runs):]; len(head.runs) == 1 && len(earlier) >= fewestEarlier {
		matches = []match{{side: sideOf("all earlier revisions", earlier), base: earlier, head: head.runs}}
	}
	j := judge(matches, sideOf(head.name, head.runs), o)
	j.Advice = append(j.Advice, leftOut(left)...)
	return j, nil
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
	date        time.Time
	runs, unfit []Run
}

// revisions groups the runs, the newest revision first, and gives back those without one.
func revisions(runs []Run) (list []*revision, without []Run) {
	byName := map[string]*revision{}
	for _, r := range runs {
		name := r.Labels["revision"]
		if name == "" {
			without = append(without, r)
			continue
		}
		v := byName[name]
		if v == nil {
			v = &revision{name: name, date: dateOf(r)}
			byName[name] = v
			list = append(list, v)
		}
		v.add(r)
	}
	slices.SortFunc(list, func(a, b *revision) int {
		if c := b.date.Compare(a.date); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return list, without
}

func (v *revision) add(r Run) {
	if d := dateOf(r); d.Before(v.date) {
		v.date = d // a revision that is run again is not newer for that
	}
	if r.Unfit != "" {
		v.unfit = append(v.unfit, r)
	} else {
		v.runs = append(v.runs, r)
	}
}

// dateOf is the date of a run's revision, or of the run if that is not known.
func dateOf(r Run) time.Time {
	if d, err := time.Parse(time.RFC3339, r.Labels["revision_date"]); err == nil {
		return d
	}
	return r.StartedAt
}
