package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// draw answers from runs that were made already.
func (k *capacity) draw(ctx context.Context) error {
	for _, name := range k.from {
		if err := isReport(name); err != nil {
			return err
		}
	}
	runs, err := k.store.reports(ctx, k.env, k.from)
	if err != nil {
		return err
	}
	if len(runs) == 1 && runs[0].Kind == analysis.KindCapacity {
		return k.again(ctx, runs[0])
	}
	if k.slo == nil {
		return &exitError{exitUsage, errors.New("--from with a run that is no answer of takt capacity needs --slo, as in --slo 'p95<300ms'")}
	}
	return k.drawFrom(ctx, runs)
}

// drawFrom makes the answer of the runs.
func (k *capacity) drawFrom(ctx context.Context, runs []*takt.Report) error {
	steps, err := analysis.StepsOf(runs, k.slo)
	if err != nil {
		return err
	}
	answer := analysis.CapacityOf(steps, k.slo, analysis.EndFound, float64(k.need))
	r, err := k.report(answer, runs, engine.NewID(time.Now()))
	if err != nil {
		return err
	}
	k.keep(r)
	return cmp.Or(writeReport(k.env, k.outputs.opened, r), k.outcome(ctx, answer, nil))
}

// again shows an earlier answer: as it is, or of its stored steps for another SLO.
func (k *capacity) again(ctx context.Context, r *takt.Report) error {
	c, err := analysis.CapacityIn(r)
	if err != nil {
		return fmt.Errorf("the report %s is damaged: %w", r.ID, err)
	}
	if k.slo != nil && k.slo.String() != c.SLO {
		var ids []string
		for _, s := range c.Steps {
			ids = append(ids, s.ReportID)
		}
		runs, err := k.store.reports(ctx, k.env, slices.Compact(ids))
		if err != nil {
			return fmt.Errorf("another SLO needs the steps, and they are not there: %w; leave --slo out", err)
		}
		return k.drawFrom(ctx, runs)
	}
	if k.need > 0 {
		c.Need = float64(k.need)
		c.Machines = c.MachinesFor(c.Need)
		if r.Extra, err = c.Extra(); err != nil {
			return err
		}
	}
	return cmp.Or(writeReport(k.env, k.outputs.opened, r), k.outcome(ctx, c, nil))
}

// isReport refuses a file that is none. A run of the store is no file.
func isReport(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return nil // the store is asked
	}
	defer f.Close()
	first := make([]byte, 1)
	if n, _ := f.Read(first); n == 1 && first[0] != '{' {
		return fmt.Errorf("%s is no report; give a run or a file of -o json", name)
	}
	return nil
}
