package runscmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// newStoreImport returns the command that stores the reports in files.
func newStoreImport(env core.Env) *cobra.Command {
	var s kept.Storing
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "store reports from files: from -o json, -o html, takt store export, or hey-apm's documents",
		Long:  "A file contains one or more JSON documents, one after another, or is a page; - is standard input.",
		Example: `  takt store import report.json
  takt store export branch=main | takt store import --store shared.db -`,
	}
	check := func(args []string) []error {
		if len(args) == 0 {
			return []error{errors.New("takt store import needs at least one file; - is standard input")}
		}
		return nil
	}
	return core.Define(c, s.AddFlags, check, func(ctx context.Context, args []string) error { return importFiles(ctx, env, &s, args) })
}

// importFiles stores the reports of all files; if one has a fault, it stores none.
func importFiles(ctx context.Context, env core.Env, s *kept.Storing, names []string) error {
	var all []*takt.Report
	var faults []error
	file := map[string]string{} // name of the file, by the run's id
	for _, name := range names {
		list, err := kept.ReadReports(env, name)
		faults = core.AppendError(faults, err)
		for _, r := range list {
			if first, twice := file[r.ID]; twice {
				faults = append(faults, fmt.Errorf("the run %s is there twice, in %s and %s; leave one out", r.ID, first, name))
			}
			file[r.ID] = name
		}
		all = append(all, list...)
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	err := s.With(ctx, env, func(st store.Store) error { return st.Save(ctx, all...) })
	if err == nil {
		fmt.Fprintf(env.Stderr, "takt store: %s\n", core.Counted(len(all), "was imported", "were imported"))
	}
	return err
}
