package runscmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/store"
)

// show is the command that writes the outputs of a stored run again.
type show struct {
	env     core.Env
	store   kept.Storing
	outputs core.ReportOutputs
}

// NewShow returns takt show.
func NewShow(env core.Env) *cobra.Command {
	s := &show{env: env}
	c := &cobra.Command{
		Annotations: core.TakesRuns(),
		Use:         "show RUN|FILE",
		Short:       "show a stored run, or a report in a file, in any format",
		Long: `RUN is an id, the unique beginning of an id, or @-1 for the newest run, @-2 for the one before.
FILE is a report from -o json or -o html; - is standard input.`,
		Example: `  takt show @-1
  takt show report.json
  takt show @-1 -o html=report.html
  takt show 01JD3 -o json -o hlog=run.hlog`,
	}
	flags := func(fs *pflag.FlagSet) {
		s.store.AddFlags(fs)
		s.outputs.AddFlags(fs, "write `FORMAT=PATH`, as for the run itself; repeatable; formats with one row per operation, such as samples, are not available")
	}
	return core.Define(c, flags, s.validate, s.run)
}

func (s *show) validate(args []string) (faults []error) {
	if len(args) != 1 {
		faults = append(faults, fmt.Errorf("takt show needs one run but got %d words; give an id, @-1 for the newest, or a file", len(args)))
	}
	faults = core.AppendError(faults, kept.NoEmpty(args))
	return append(faults, s.outputs.Validate(s.env, core.ParseReplayed)...)
}

func (s *show) run(ctx context.Context, args []string) error {
	if kept.IsFile(args[0]) {
		return s.showFile(ctx, args[0])
	}
	return s.store.Reading(ctx, s.env, func(st store.Store) error {
		r, err := kept.LoadRun(ctx, st, args[0])
		if err != nil {
			return err
		}
		return core.WriteReport(s.env, s.outputs.Opened, r)
	})
}

// showFile shows the report in a file; more than one report is an error.
func (s *show) showFile(ctx context.Context, name string) error {
	list, err := s.store.Reports(ctx, s.env, []string{name})
	if err != nil {
		return err
	}
	if len(list) > 1 {
		return fmt.Errorf("%s contains %d reports; store them with takt store import, and show one by its id, such as %s", name, len(list), list[0].ID)
	}
	return core.WriteReport(s.env, s.outputs.Opened, list[0])
}
