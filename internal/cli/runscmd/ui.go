package runscmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/ui"
	"github.com/taktload/takt/pkg/takt"
)

// uiCommand serves the pages of stored runs, and of runs that go on.
type uiCommand struct {
	env   core.Env
	store kept.Storing
	watch *kept.Watch
}

// NewUI returns takt ui.
func NewUI(env core.Env) *cobra.Command {
	u := &uiCommand{env: env}
	var o ui.Options
	c := &cobra.Command{
		Use:   "ui [flags]",
		Short: "show stored runs, and runs in progress, in a browser",
		Long: `takt ui prints a URL and serves pages there until Ctrl-C: the list of stored
runs, each run, two runs side by side, their history over revisions, and runs in
progress. It only reads. On Linux, other users of this machine cannot open the
pages. Elsewhere they can; give --token-file, or --listen unix:PATH.`,
		Example: `  takt ui
  takt ui --listen 127.0.0.1:0 --store runs.db
  takt ui --listen :8236 --token-file t --tls-cert c.pem --tls-key k.pem`,
	}
	validate := func(args []string) []error {
		return append(core.AppendError(nil, core.NoArgs(c, args)), o.Validate()...)
	}
	return core.Define(c, func(fs *pflag.FlagSet) {
		o.AddFlags(fs)
		u.store.AddFlags(fs)
	}, validate, func(ctx context.Context, _ []string) error { return u.serve(ctx, o) })
}

// serve serves until a signal comes.
func (u *uiCommand) serve(ctx context.Context, o ui.Options) (err error) {
	if u.watch, err = u.store.NewWatch(u.env); err != nil {
		return err
	}
	if u.env.Executable != nil { // this process is takt's own
		proc.Yield()
	}
	s, err := ui.Listen(o, ui.Source{
		Runs: u.runs, Report: u.report, History: u.history, Live: u.live, Watch: u.soFar,
		Absent: func(err error) bool { return u.store.Where == "" && errors.Is(err, fault.ErrAbsent) },
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(u.env.Stdout, "%s\n", s.Address())
	err = s.Serve(ctx)
	if signal := (*core.SignalError)(nil); errors.As(err, &signal) {
		return core.ExitBy(signal, nil)
	}
	return err
}

// reading opens the store for f. Unlike other commands it recovers no runs: it changes nothing.
func (u *uiCommand) reading(ctx context.Context, f func(store.Store) error) error {
	return u.store.Looking(ctx, u.env, f)
}

// chosen is a choice of runs by filters.
func chosen(last string, filters []string) (kept.Choice, error) {
	c := kept.Choice{Last: kept.Last{Text: last}}
	return c, stored.AsUsage(errors.Join(c.Validate(filters)...))
}

// each calls do for the chosen runs. A filter that no run knows is a usage error.
func each(ctx context.Context, st store.Store, c kept.Choice, do func(*stored.Run)) error {
	err := c.Each(ctx, st, do)
	if usage := core.WithCode(err, core.ExitUsage); usage != nil {
		return stored.AsUsage(usage.Err)
	}
	return err
}

func (u *uiCommand) runs(ctx context.Context, filters []string, skip, n int) (list []stored.Run, more bool, err error) {
	c, err := chosen("", filters)
	if err != nil {
		return nil, false, err
	}
	c.Count = skip + n + 1
	err = u.reading(ctx, func(st store.Store) error {
		at := 0
		return each(ctx, st, c, func(r *stored.Run) {
			if at++; at > skip {
				list = append(list, *r)
			}
		})
	})
	if err != nil {
		return nil, false, err
	}
	return list[:min(n, len(list))], len(list) > n, nil
}

func (u *uiCommand) report(ctx context.Context, id string) (r *takt.Report, err error) {
	err = u.reading(ctx, func(st store.Store) error {
		r, err = kept.LoadRun(ctx, st, id)
		return err
	})
	return r, err
}

// lastOfHistory is how far a history reaches back, as that of takt history.
const lastOfHistory = "365d"

func (u *uiCommand) history(ctx context.Context, filters []string) (found history.History, err error) {
	c, err := chosen(lastOfHistory, filters)
	if err != nil {
		return found, err
	}
	err = u.reading(ctx, func(st store.Store) error {
		all := history.NewCollector(history.DefaultOptions())
		if err := each(ctx, st, c, all.Add); err != nil {
			return err
		}
		found, err = all.History()
		return err
	})
	return found, err
}

func (u *uiCommand) soFar(ctx context.Context, name string) (ui.SoFar, error) {
	so, err := u.watch.SoFar(ctx, name)
	return ui.SoFar(so), err
}

func (u *uiCommand) live() (list []ui.Live, err error) {
	all, err := u.watch.Going()
	for _, g := range all {
		r := stored.RunOf(g.Report)
		list = append(list, ui.Live{
			Name: g.Name, ID: r.ID, Kind: r.Kind, Target: r.Target(), Labels: r.Labels,
			Started: r.StartedAt.UTC().Format(time.TimeOnly), Ended: g.Ended,
		})
	}
	return list, err
}
