package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/pkg/takt"
)

// draw answers from existing runs and files.
func (k *capacityCommand) draw(ctx context.Context) error {
	var words []string
	var logs []*loadLog
	for _, name := range k.from {
		log, err := readLoadLog(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if log == nil {
			words = append(words, name)
		} else {
			logs = append(logs, log)
		}
	}
	runs, err := k.store.Reports(ctx, k.env, words)
	if err != nil {
		return err
	}
	if len(k.from) == 1 && len(runs) == 1 && runs[0].Kind == capacity.Kind {
		return k.again(ctx, runs[0])
	}
	if k.slo == nil {
		return core.ExitWith(core.ExitUsage, errors.New("--from needs --slo unless it names an answer of takt capacity, as in --slo 'p95<300ms'"))
	}
	return k.drawFrom(ctx, runs, logs)
}

// drawFrom makes the answer from the runs and logs.
func (k *capacityCommand) drawFrom(ctx context.Context, runs []*takt.Report, logs []*loadLog) error {
	steps, err := capacity.StepsOf(runs, k.slo)
	if err != nil {
		return err
	}
	for _, log := range logs {
		more, err := log.steps(k.slo)
		if err != nil {
			return fmt.Errorf("%s: %w", log.name, err)
		}
		steps, runs = append(steps, more...), append(runs, log.report())
	}
	answer := capacity.Conclude(steps, k.slo, capacity.EndFound, 0)
	answer.Plan(float64(k.need), k.spare)
	r, err := k.report(answer, runs, engine.NewID(time.Now()))
	if err != nil {
		return err
	}
	for _, log := range logs {
		log.warn(r)
	}
	k.keep(r)
	return cmp.Or(core.WriteReport(k.env, k.outputs.Opened, r), k.outcome(ctx, answer, nil))
}

// again shows an earlier answer, or a new answer for another SLO from its stored steps.
func (k *capacityCommand) again(ctx context.Context, r *takt.Report) error {
	c, err := capacity.In(r)
	if err != nil {
		return err
	}
	if k.slo != nil && k.slo.String() != c.SLO {
		var ids []string
		for _, s := range c.Steps {
			if s.ReportID == "" {
				return errors.New("another SLO needs the rows behind this answer, which are not in a store; give their file with --from")
			}
			ids = append(ids, s.ReportID)
		}
		runs, err := k.store.Reports(ctx, k.env, slices.Compact(ids))
		if err != nil {
			return fmt.Errorf("another SLO needs the steps of this answer, which cannot be read: %w; leave --slo out", err)
		}
		return k.drawFrom(ctx, runs, nil)
	}
	if need := cmp.Or(float64(k.need), c.Need); need > 0 {
		c.Plan(need, k.spare)
		if r.Extra, err = c.Extra(); err != nil {
			return err
		}
	}
	return cmp.Or(core.WriteReport(k.env, k.outputs.Opened, r), k.outcome(ctx, c, nil))
}
