package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/document"
	"github.com/taktload/takt/internal/store/heyapm"
	"github.com/taktload/takt/internal/store/spool"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// newStore is the command with the subcommands that look after the store.
func newStore(env Env) *cobra.Command {
	c := &cobra.Command{
		Use: "store", Short: "look after the runs that were kept", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newStoreImport(env), newStoreExport(env), newStoreSync(env), newStorePrune(env))
	return c
}

// newStoreImport reads reports of files into the store.
func newStoreImport(env Env) *cobra.Command {
	var s storing
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "keep reports of files: of -o json, of takt store export, or hey-apm's documents",
		Long:  "A file holds one JSON document or many, one after another; - is standard input.",
		Example: `  takt store import report.json
  takt store export branch=main | takt store import --store shared.db -`,
	}
	addFlags(c, s.addFlags)
	configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(cmd, []error{errors.New("takt store import takes at least one file; - is standard input")})
		}
		return nil
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var all []*takt.Report
		for _, name := range args {
			list, err := readReports(env, name)
			if err != nil {
				return err
			}
			all = append(all, list...)
		}
		err := s.with(cmd.Context(), env, func(st store.Store) error { return st.Save(cmd.Context(), all...) })
		if err == nil {
			fmt.Fprintf(env.Stderr, "takt store: %d runs were imported\n", len(all))
		}
		return err
	}
	return c
}

// readReports reads the reports of one file.
func readReports(env Env, name string) (all []*takt.Report, err error) {
	in := env.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	for d := json.NewDecoder(in); ; {
		var text json.RawMessage
		if err := d.Decode(&text); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: document %d is not JSON: %w", name, len(all)+1, err)
		}
		r, err := readReport(text)
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", name, len(all)+1, err)
		}
		all = append(all, r)
	}
}

// readReport reads takt's report, or hey-apm's.
func readReport(text []byte) (*takt.Report, error) {
	if heyapm.Is(text) {
		return heyapm.Parse(text)
	}
	return document.Parse(text)
}

// newStoreExport writes reports as lines of JSON.
func newStoreExport(env Env) *cobra.Command {
	var s storing
	var choose choice
	c := &cobra.Command{
		Use:     "export [FILTER…]",
		Short:   "write the reports of runs to standard output, one JSON document a line",
		Example: "  takt store export branch=main --since 30d > main.ndjson",
	}
	addFlags(c, func(fs *goFlagSet) {
		s.addFlags(fs)
		choose.addFlags(fs)
	})
	configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error { return usage(cmd, choose.validate(args)) }
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.with(cmd.Context(), env, func(st store.Store) error { return export(cmd.Context(), env, st, choose) })
	}
	return c
}

func export(ctx context.Context, env Env, st store.Store, choose choice) error {
	list, err := choose.from(ctx, st)
	if err != nil {
		return err
	}
	to := json.NewEncoder(env.Stdout)
	for _, run := range list {
		reports, err := st.Load(ctx, run.ID)
		if err != nil {
			return err
		}
		if err := to.Encode(reports[0]); err != nil {
			return err
		}
	}
	return nil
}

// newStoreSync sends what waits in the spool.
func newStoreSync(env Env) *cobra.Command {
	var s storing
	c := &cobra.Command{
		Use: "sync", Short: "send the runs that wait because the store could not be reached", Args: noArgs,
		Example: "  takt store sync --store elasticsearch://127.0.0.1:9200",
	}
	addFlags(c, s.addFlags)
	configurable(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		waits, err := spoolOf(env)
		if err != nil {
			return err
		}
		return s.with(cmd.Context(), env, func(st store.Store) error { return send(cmd.Context(), env, st, waits) })
	}
	return c
}

func send(ctx context.Context, env Env, st store.Store, waits *spool.Spool) error {
	n := 0
	var errs []error
	for r, err := range waits.Each() {
		if err == nil {
			err = st.Save(ctx, r)
		}
		if err == nil {
			err = waits.Remove(r.ID)
		}
		if errs = appendError(errs, err); err == nil {
			n++
		}
	}
	fmt.Fprintf(env.Stderr, "takt store: %d runs were sent, %d still wait\n", n, len(errs))
	return errors.Join(errs...)
}

// newStorePrune forgets old runs.
func newStorePrune(env Env) *cobra.Command {
	var s storing
	var older time.Duration
	var choose choice
	var really bool
	c := &cobra.Command{
		Use:   "prune --older TIME [FILTER…]",
		Short: "forget old runs",
		Long:  "Without --yes it says how many runs it would forget.",
		Example: `  takt store prune --older 90d
  takt store prune --older 7d branch!=main --yes`,
	}
	addFlags(c, func(fs *goFlagSet) {
		s.addFlags(fs)
		fs.Var((*schedule.DurationValue)(&older), "older", "runs that were started more than `TIME` ago, such as 90d")
		fs.BoolVar(&really, "yes", false, "do it")
	})
	configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error {
		faults := choose.validate(args)
		if older <= 0 {
			faults = append(faults, errors.New("takt store prune needs --older TIME, such as 90d"))
		}
		return usage(cmd, faults)
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.with(cmd.Context(), env, func(st store.Store) error {
			return prune(cmd.Context(), env, st, choose, time.Now().Add(-older), really)
		})
	}
	return c
}

func prune(ctx context.Context, env Env, st store.Store, choose choice, before time.Time, really bool) error {
	list, err := choose.from(ctx, st)
	if err != nil {
		return err
	}
	var ids []string
	for _, r := range list {
		if r.StartedAt.Before(before) {
			ids = append(ids, r.ID)
		}
	}
	if !really {
		fmt.Fprintf(env.Stderr, "takt store: %d runs would be forgotten; add --yes to do it\n", len(ids))
		return nil
	}
	if err := st.Delete(ctx, ids...); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "takt store: %d runs were forgotten\n", len(ids))
	return nil
}
