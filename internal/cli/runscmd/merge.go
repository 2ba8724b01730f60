package runscmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/merge"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// merge is the command that makes one report from the shards of a run.
type mergeCommand struct {
	env          core.Env
	store        kept.Storing
	noStore      bool
	allowMissing bool
	runGroup     string
	outputs      core.ReportOutputs
	requirements core.Requirements
}

// NewMerge returns takt merge.
func NewMerge(env core.Env) *cobra.Command {
	m := &mergeCommand{env: env}
	c := &cobra.Command{
		Annotations: core.TakesRuns(),
		Use:         "merge RUN|FILE|FOLDER… | merge --run-group NAME",
		Short:       "make one report from the shards of a run",
		Long: `A FOLDER means all shards in its *.json files. --run-group alone reads the newest run
of that group from the store. If a shard is missing or was cut short, the merged report
is invalid; with --strict or --assert the exit code is then 6.`,
		Example: `  takt merge shard1.json shard2.json shard3.json
  takt merge --strict --assert 'p99<250ms' reports/
  takt merge --run-group nightly -o json=whole.json`,
	}
	return core.Define(c, func(fs *pflag.FlagSet) {
		m.store.AddFlags(fs)
		m.store.AddLimit(fs)
		value.Declare(fs, value.GroupStorage, func(fs *pflag.FlagSet) {
			fs.BoolVar(&m.noStore, "no-store", false, "do not keep the merged report in the store")
		})
		value.Declare(fs, value.GroupSelection, func(fs *pflag.FlagSet) {
			fs.BoolVar(&m.allowMissing, "allow-missing", false, "merge even if shards are missing; the report is invalid, and collate and verify ignore it")
			fs.Var(value.Text(&m.runGroup), "run-group", "merge only shards of the run group `NAME`; without files, the newest in the store")
		})
		m.requirements.AddFlags(fs)
		m.outputs.AddFlags(fs, "write `FORMAT=PATH`, as for a run; repeatable; formats with one row per operation, such as samples, are not available")
	}, m.validate, m.run)
}

func (m *mergeCommand) validate(args []string) []error {
	faults := append(m.outputs.Validate(m.env, core.ParseReplayed), m.requirements.Validate(m.env)...)
	faults = core.AppendError(faults, m.store.CheckLimit())
	if len(args) == 0 && m.runGroup == "" {
		faults = append(faults, errors.New("takt merge needs the shards of a run: ids of stored runs, files that -o json or -o html wrote, a folder of them, or --run-group"))
	}
	return core.AppendError(faults, kept.NoEmpty(args))
}

func (m *mergeCommand) run(ctx context.Context, args []string) error {
	fold := merge.New(merge.Options{ID: engine.NewID(time.Now()), AllowMissing: m.allowMissing})
	add := func(r *takt.Report) error {
		_ = fold.Add(r) // Report returns the faults of all shards
		return nil
	}
	if err := m.shards(ctx, args, add); err != nil {
		return err
	}
	whole, err := fold.Report()
	if err != nil {
		return err
	}
	whole.ComparabilityKey = engine.ComparabilityKey(whole.Variables, whole.Generator.HostClass)
	m.requirements.Judge(whole)
	written := core.WriteReport(m.env, m.outputs.Opened, whole)
	if !m.noStore {
		m.store.Keep(m.env, whole)
	}
	outcome := m.requirements.Outcome(whole, false)
	m.tell(whole, outcome)
	m.requirements.Show(m.env, whole)
	if written != nil {
		return written
	}
	return outcome
}

// tell prints the id of the merged run, and whether it is invalid, unless outcome says so.
func (m *mergeCommand) tell(whole *takt.Report, outcome error) {
	var said []string
	if !m.noStore {
		said = append(said, whole.ID)
	}
	if whole.Verdict == takt.Invalid && core.WithCode(outcome, core.ExitInvalid) == nil {
		said = append(said, "invalid; see its warnings")
	}
	if said != nil {
		fmt.Fprintln(m.env.Stderr, "takt: the merged run is", strings.Join(said, ", "))
	}
}
