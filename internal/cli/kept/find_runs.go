package kept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/store/heyapm"
	"github.com/taktload/takt/pkg/takt"
)

// NoEmpty refuses an empty word instead of a run, which usually comes from an unset variable: it
// would match the beginning of every id.
func NoEmpty(words []string) error {
	if slices.Contains(words, "") {
		return errors.New("the name of a run is empty; give an id, or @-1 for the newest")
	}
	return nil
}

// find returns the id of the run that a word of the command line names: an id, the beginning of
// one, or @-1 for the newest run, @-2 for the one before.
func find(ctx context.Context, st store.Store, word string) (id string, err error) {
	if back, ok := strings.CutPrefix(word, "@-"); ok {
		return findBack(ctx, st, word, back)
	}
	for r, err := range st.Runs(ctx, stored.Query{IDs: []string{word}}) { // an exact id needs no search through all runs
		return r.ID, err
	}
	var found []string
	begins := func(r *stored.Run) bool { return strings.HasPrefix(strings.ToUpper(r.ID), strings.ToUpper(word)) }
	for r, err := range st.Runs(ctx, stored.Query{Match: begins}) {
		if err != nil {
			return "", err
		}
		found = append(found, r.ID)
	}
	switch len(found) {
	case 0:
		if strings.ContainsAny(word, "./") {
			return "", noRun("there is no file %s, and no run either; takt runs lists the stored runs", word)
		}
		return "", noRun("there is no run %s; takt runs lists the stored runs", word)
	case 1:
		return found[0], nil
	}
	return "", noRun("%d runs begin with %s, among them %s and %s; give more of the id", len(found), word, found[0], found[1])
}

// noRunError is a fault.ErrNotFound with words of its own.
type noRunError struct{ text string }

func noRun(format string, args ...any) error { return &noRunError{fmt.Sprintf(format, args...)} }

func (e *noRunError) Error() string { return e.text }

// Is implements errors.Is.
func (e *noRunError) Is(target error) bool { return target == fault.ErrNotFound }

func findBack(ctx context.Context, st store.Store, word, back string) (id string, err error) {
	n, err := strconv.Atoi(back)
	if err != nil || n < 1 {
		return "", core.ExitWith(core.ExitUsage, fmt.Errorf("%q does not name a run; @-1 is the newest, @-2 the one before", word))
	}
	count := 0
	for r, err := range st.Runs(ctx, stored.Query{Limit: n}) {
		if err != nil {
			return "", err
		}
		count, id = count+1, r.ID
	}
	if count < n {
		return "", noRun("there is no run %s: the store has %d; takt runs lists them", word, count)
	}
	return id, nil
}

// FindRuns returns the stored runs that the words name, each as find reads it.
func FindRuns(ctx context.Context, st store.Store, words []string) (runs []stored.Run, err error) {
	for _, w := range words {
		id, err := find(ctx, st, w)
		if err != nil {
			return nil, err
		}
		for r, err := range st.Runs(ctx, stored.Query{IDs: []string{id}, Limit: 1}) {
			if err != nil {
				return nil, err
			}
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// LoadRun returns the report of the run that a word of the command line names.
func LoadRun(ctx context.Context, st store.Store, word string) (*takt.Report, error) {
	if !strings.HasPrefix(word, "@-") {
		if reports, err := LoadReports(ctx, st, word); !errors.Is(err, fault.ErrNotFound) { // an exact id needs one request to a cluster
			return first(reports, err)
		}
	}
	id, err := find(ctx, st, word)
	if err != nil {
		return nil, err
	}
	return first(LoadReports(ctx, st, id))
}

func first(reports []*takt.Report, err error) (*takt.Report, error) {
	if err != nil {
		return nil, err
	}
	return reports[0], nil
}

// LoadReports returns stored reports. It checks each one, because others may have written it.
func LoadReports(ctx context.Context, st store.Store, ids ...string) ([]*takt.Report, error) {
	reports, err := st.Load(ctx, ids...)
	for _, r := range reports {
		if lie := audit.Check(r); lie != nil {
			err = errors.Join(err, fmt.Errorf("the run %s: %w", r.ID, lie))
		}
	}
	return reports, err
}

// Reports reads each word as a file of reports if the file exists, else as a stored run. It
// opens the store for the first word that needs it.
func (s *Storing) Reports(ctx context.Context, env core.Env, words []string) (all []*takt.Report, err error) {
	err = s.EachReport(ctx, env, words, func(r *takt.Report) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// EachReport is Reports without a list: it calls do with one report at a time, up to the first error.
func (s *Storing) EachReport(ctx context.Context, env core.Env, words []string, do func(*takt.Report) error) error {
	var st store.Store
	for _, w := range words {
		if IsFile(w) {
			if err := EachReport(env, w, do); err != nil {
				return err
			}
			continue
		}
		if st == nil {
			var err error
			if st, err = s.open(ctx, env, store.OpenExisting); err != nil {
				return fmt.Errorf("%s: %w", w, err)
			}
			defer st.Close()
		}
		r, err := LoadRun(ctx, st, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
		if err := do(r); err != nil {
			return err
		}
	}
	return nil
}

// IsFile reports whether a word of the command line is a file; - is standard input.
func IsFile(word string) bool {
	info, err := files.Stat(word)
	return err == nil && !info.IsDir() || word == "-"
}

// ReadReports reads the reports of one file, at least one, up to the first fault.
func ReadReports(env core.Env, name string) (all []*takt.Report, err error) {
	err = EachReport(env, name, func(r *takt.Report) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// EachReport is ReadReports without a list: it calls do with one report at a time, up to the first error.
func EachReport(env core.Env, name string, do func(*takt.Report) error) error {
	in := env.Stdin
	if name != "-" {
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	in, err := document.OfPage(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	d := audit.NewDocuments(in)
	for n := 1; ; n++ {
		text, err := d.Next()
		switch {
		case errors.Is(err, io.EOF) && n == 1:
			return fmt.Errorf("%s contains no report; give the output of -o json, -o html or takt store export", name)
		case errors.Is(err, io.EOF):
			return nil
		}
		var r *takt.Report
		if err == nil {
			r, err = readReport(text)
		}
		if err != nil {
			return fmt.Errorf("%s: document %d: %w", name, n, err)
		}
		if err := do(r); err != nil {
			return err
		}
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
	strange := func(c rune) bool { return !foreign.Shows(c) || unicode.IsSpace(c) }
	if id == "" || len(id) > longestID || strings.ContainsFunc(id, strange) {
		return fmt.Errorf("%q is not a valid id of a run; use at most %d bytes of visible characters, without spaces", id, longestID)
	}
	return nil
}
