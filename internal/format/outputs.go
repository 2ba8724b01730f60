package format

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/pkg/takt"
)

// Outputs is the repeatable flag --output: formats with their paths.
type Outputs []output

type output struct {
	text   string // as given
	format Format
	path   string
	file   *outfile.File // nil: standard output
}

// Set implements flag.Value.
func (l *Outputs) Set(s string) error {
	f, path, err := Parse(s)
	switch {
	case err != nil:
		return err
	case f.Rows:
		return fmt.Errorf("%s has a row for each request, which only the commands of takt write; use one of %s", f.Name, strings.Join(WholeNames(), ", "))
	}
	*l = append(*l, output{text: s, format: f, path: path})
	return nil
}

// String implements flag.Value.
func (l *Outputs) String() string {
	var texts []string
	for _, o := range *l {
		texts = append(texts, o.text)
	}
	return strings.Join(texts, ",")
}

// Validate finds outputs that would overwrite each other.
func (l Outputs) Validate() error {
	var paths []string
	for _, o := range l {
		paths = append(paths, o.path)
	}
	return errors.Join(CheckPaths(paths)...)
}

// Open opens the files before the run, so a wrong path fails early.
func (l Outputs) Open() error {
	var errs []error
	for i, o := range l {
		if o.path == Stdout {
			continue
		}
		f, err := outfile.Open(o.path)
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot write the report: %w; check --output %s", err, o.text))
		}
		l[i].file = f
	}
	return errors.Join(errs...)
}

// Discard removes the files of a run that did not start, and those with an error.
func (l Outputs) Discard() {
	for _, o := range l {
		if o.file != nil {
			o.file.Discard()
		}
	}
}

// ToStdout reports whether an output goes to standard output.
func (l Outputs) ToStdout() bool {
	return slices.ContainsFunc(l, func(o output) bool { return o.path == Stdout })
}

// Write writes r to all outputs, even if some fail.
func (l Outputs) Write(stdout io.Writer, r *takt.Report) error {
	var errs []error
	for _, o := range l {
		if err := o.write(stdout, r); err != nil {
			errs = append(errs, fmt.Errorf("cannot write the report to %s: %w", o.path, err))
		}
	}
	return errors.Join(errs...)
}

func (o output) write(stdout io.Writer, r *takt.Report) error {
	if o.file == nil {
		return Replay(o.format, stdout, r)
	}
	if err := Replay(o.format, o.file, r); err != nil {
		return err
	}
	return o.file.Close()
}

// WholeNames are the names of the formats for which a report is enough.
func WholeNames() (names []string) {
	for _, f := range Table() {
		if !f.Rows {
			names = append(names, f.Name)
		}
	}
	return names
}
