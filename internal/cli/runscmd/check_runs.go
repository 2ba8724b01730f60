package runscmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/pkg/takt"
)

const (
	// mostProven is how many runs of a list are checked against their reports. A report of 30
	// intervals costs 14 ms of CPU, so 200 reports cost 1.4 s on two cores.
	mostProven = 200
	// provenAtOnce is how many reports are in memory during the check.
	provenAtOnce = 8
	// mostLeftOut is how many runs are left out with a warning each. A store with more is an error.
	mostLeftOut = 200
)

// proof checks that rows of a store agree with their reports, and that the reports can be true:
// other programs may have written either.
type proof struct {
	st    store.Store
	known map[string]proven
	bad   int
	warn  io.Writer
}

// proven is the result of the check of a run.
type proven struct {
	bad      bool        // the run is left out
	rejudged *stored.Run // the run with today's verdict, invalid; nil: the verdict is unchanged
}

func newProof(st store.Store, warn io.Writer) *proof {
	return &proof{st: st, known: map[string]proven{}, warn: warn}
}

// check checks the runs that it has not checked before. changed means that apply would change
// the list.
func (p *proof) check(ctx context.Context, runs []*stored.Run) (changed bool, err error) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *stored.Run) bool {
		_, known := p.known[r.ID]
		return known
	})
	for some := range slices.Chunk(runs, provenAtOnce) {
		reports, faults, err := p.load(ctx, some)
		if err != nil {
			return false, err
		}
		again := checkAll(some, reports, faults)
		for i, r := range some {
			one := proven{bad: faults[i] != nil, rejudged: again[i]}
			p.known[r.ID] = one
			switch {
			case one.bad:
				p.bad++
				fmt.Fprintf(p.warn, "takt: warning: the run %s is left out: %s\n", foreign.Text(r.ID), core.OneLine(faults[i]))
			case one.rejudged != nil:
				fmt.Fprintf(p.warn, "takt: warning: the run %s is invalid: %s\n", foreign.Text(r.ID), foreign.Text(one.rejudged.Unfit))
			}
			changed = changed || one.bad || one.rejudged != nil
		}
		if p.bad > mostLeftOut {
			return false, fmt.Errorf("more than %d runs of the store contradict their reports, or themselves; select other runs with filters, or use another store with --store", mostLeftOut)
		}
	}
	return changed, nil
}

// load returns the reports of a few runs. A report is nil if faults has an error for it.
func (p *proof) load(ctx context.Context, runs []*stored.Run) (reports []*takt.Report, faults []error, err error) {
	faults = make([]error, len(runs))
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	if reports, err = p.st.Load(ctx, ids...); err == nil {
		return reports, faults, nil
	}
	reports = make([]*takt.Report, len(runs))
	for i, id := range ids { // find the run with the fault
		one, err := p.st.Load(ctx, id)
		switch {
		case err == nil:
			reports[i] = one[0]
		case errors.Is(err, fault.ErrCorrupt), errors.Is(err, fault.ErrTooNew), errors.Is(err, fault.ErrNotFound):
			faults[i] = err
		default:
			return nil, nil, err
		}
	}
	return reports, faults, nil
}

// checkAll checks the reports in parallel, one per core. It returns the rejudged runs, and sets
// faults.
func checkAll(runs []*stored.Run, reports []*takt.Report, faults []error) (rejudged []*stored.Run) {
	rejudged = make([]*stored.Run, len(runs))
	cores := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i, r := range reports {
		if r == nil {
			continue
		}
		cores <- struct{}{}
		all.Go(func() {
			defer func() { <-cores }()
			rejudged[i], faults[i] = checkOne(runs[i], r)
		})
	}
	all.Wait()
	return rejudged
}

func checkOne(run *stored.Run, r *takt.Report) (rejudged *stored.Run, err error) {
	differs, before := run.Differs(r), r.Verdict
	if err := audit.Check(r); err != nil {
		return nil, err
	}
	if differs != "" {
		return nil, errors.New(differs)
	}
	if r.Verdict == before {
		return nil, nil
	}
	again := stored.RunOf(r)
	return &again, nil
}

// apply removes the bad runs from the list, and replaces runs by their rejudged versions.
func (p *proof) apply(list []stored.Run) []stored.Run {
	list = slices.DeleteFunc(list, func(r stored.Run) bool { return p.known[r.ID].bad })
	for i := range list {
		if again := p.known[list[i].ID].rejudged; again != nil {
			list[i] = *again
		}
	}
	return list
}

// unproven warns how many of the shown runs were not checked against their reports.
func (p *proof) unproven(shown int) {
	if shown > 0 {
		fmt.Fprintf(p.warn, "takt: warning: the figures of %s; takt show checks one run, and filters or -n make the list shorter\n",
			core.Counted(shown, "were not checked against its report", "were not checked against their reports"))
	}
}
