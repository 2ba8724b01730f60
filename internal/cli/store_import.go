package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/document"
	"github.com/taktload/takt/internal/store/heyapm"
	"github.com/taktload/takt/pkg/takt"
)

// newStoreImport returns the command that stores the reports in files.
func newStoreImport(env Env) *cobra.Command {
	var s storing
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "store reports from files: from -o json, takt store export, or hey-apm's documents",
		Long:  "A file contains one or more JSON documents, one after another; - is standard input.",
		Example: `  takt store import report.json
  takt store export branch=main | takt store import --store shared.db -`,
	}
	addFlags(c, s.addFlags)
	configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(cmd, []error{errors.New("takt store import needs at least one file; - is standard input")})
		}
		return nil
	}
	c.RunE = func(cmd *cobra.Command, args []string) error { return s.importFiles(cmd.Context(), env, args) }
	return c
}

// importFiles stores the reports of all files; if one has a fault, it stores none.
func (s *storing) importFiles(ctx context.Context, env Env, names []string) error {
	var all []*takt.Report
	var faults []error
	file := map[string]string{} // name of the file, by the run's id
	for _, name := range names {
		list, err := readReports(env, name)
		faults = appendError(faults, err)
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
	err := s.with(ctx, env, func(st store.Store) error { return st.Save(ctx, all...) })
	if err == nil {
		fmt.Fprintf(env.Stderr, "takt store: %s\n", counted(len(all), "was imported", "were imported"))
	}
	return err
}

// counted is a sentence about n runs: one is its end for 1 run, many for several.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 run " + one
	}
	return fmt.Sprintf("%d runs %s", n, many)
}

// readReports reads the reports of one file, at least one, up to the first fault.
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
	for d := audit.NewDocuments(in); ; {
		text, err := d.Next()
		switch {
		case errors.Is(err, io.EOF) && len(all) == 0:
			return nil, fmt.Errorf("%s contains no report; give the output of -o json or takt store export", name)
		case errors.Is(err, io.EOF):
			return all, nil
		}
		var r *takt.Report
		if err == nil {
			r, err = readReport(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", name, len(all)+1, err)
		}
		all = append(all, r)
	}
}

// readReport reads a report of takt or hey-apm. It checks whether the report can be true, because
// anybody may have written it.
func readReport(text []byte) (*takt.Report, error) {
	parse := document.Parse
	if heyapm.Is(text) {
		parse = heyapm.Parse
	}
	r, err := parse(text)
	if err != nil {
		return nil, err
	}
	return r, errors.Join(audit.Check(r), badID(r.ID))
}

// longestID is the limit of Elasticsearch for an id, in bytes.
const longestID = 512

// badID refuses an id that is too long or could not be typed on a command line.
func badID(id string) error {
	strange := func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) || c == utf8.RuneError }
	if id == "" || len(id) > longestID || strings.ContainsFunc(id, strange) {
		return fmt.Errorf("%q is not a valid id of a run; use at most %d bytes of visible characters, without spaces", id, longestID)
	}
	return nil
}
