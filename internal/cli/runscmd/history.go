package runscmd

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/value"
)

// historyCommand finds the revisions at which something became slower.
type historyCommand struct {
	env     core.Env
	store   kept.Storing
	choice  kept.Choice
	options history.Options
	outputs core.AnswerOutputs
}

// NewHistory returns takt history.
func NewHistory(env core.Env) *cobra.Command {
	h := &historyCommand{env: env, choice: kept.Choice{Last: kept.Last{Text: "365d"}}, options: history.DefaultOptions()}
	c := &cobra.Command{
		Use:   "history [FILTER…]",
		Short: "find the revision that made a system slower: exit code 0 (none), 4 (slower) or 5 (inconclusive)",
		Long: `takt history follows each metric of comparable stored runs over their revisions, in
order of the label revision_date, and finds the revisions at which its level changed.
The exit code is 4 while a change for the worse is still there and is not accepted, and 5
if a series could not show a change of --detect. takt help collate lists the fields of filters.`,
		Example: `  takt history branch=main
  takt history branch=main duration=30s --metric p99 -o html=history.html
  takt history branch=main --accept 3f2a1c0`,
	}
	return core.Define(c, func(fs *pflag.FlagSet) {
		h.store.AddFlags(fs)
		h.choice.AddFlags(fs)
		value.Declare(fs, value.GroupJudgement, h.addJudgementFlags, "metric", "tolerance", "detect", "accept")
		h.outputs.AddFlags(fs, format.Histories())
	}, h.validate, h.run)
}

func (h *historyCommand) addJudgementFlags(fs *pflag.FlagSet) {
	o := &h.options
	fs.Var(value.Offering(value.List(&o.Metrics), stored.MetricNames()...), "metric", "judge `METRIC` and errors, instead of p50, p99, errors and rate; repeatable")
	fs.Var(value.Percent(&o.Tolerance), "tolerance", "ignore changes up to `PERCENT`")
	fs.Var(value.Points(&o.ErrorTolerance), "error-tolerance", "ignore changes of the error rate up to `PERCENT` points")
	fs.Var(value.Percent(&o.Confidence), "confidence", "confidence level for all changes together, `PERCENT`")
	fs.Var(value.Percent(&o.Detect), "detect", "call a series inconclusive if it cannot show a change of `PERCENT`")
	fs.Var(value.List(&o.Accept), "accept", "accept the changes for the worse at `REVISION`, which may be the start of a hash; repeatable")
	fs.Var(value.List(&o.Lift), "vary", "the runs of a series may differ in this `VARIABLE`, flag or label; repeatable")
}

func (h *historyCommand) validate(args []string) (faults []error) {
	faults = append(h.choice.Validate(args), h.outputs.Validate(h.env, format.Histories(), format.CheckHistory)...)
	return core.AppendError(faults, h.options.Validate())
}

func (h *historyCommand) run(ctx context.Context, _ []string) error {
	found, err := h.judge(ctx)
	if unfit := (*history.UnfitError)(nil); errors.As(err, &unfit) {
		return core.ExitWith(core.ExitInvalid, err)
	}
	if err != nil {
		return err
	}
	err = h.outputs.Write(h.env, func(w io.Writer, name string, color bool) error { return format.History(w, found, name, color) })
	if err != nil {
		return err
	}
	switch found.Verdict {
	case history.Regressed:
		return core.ExitWith(core.ExitRegression, nil)
	case history.Inconclusive:
		return core.ExitWith(core.ExitInconclusive, nil)
	}
	return nil
}

// judge reads the chosen runs one by one.
func (h *historyCommand) judge(ctx context.Context) (found history.History, err error) {
	err = h.store.Reading(ctx, h.env, func(st store.Store) error {
		c := history.NewCollector(h.options)
		if err := h.choice.Each(ctx, st, c.Add); err != nil {
			return err
		}
		found, err = c.History()
		return err
	})
	return found, err
}
