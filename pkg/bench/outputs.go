package bench

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/pkg/takt"
)

// outputs is the repeatable flag --output.
type outputs []output

type output struct {
	text   string // as given
	format format.Format
	path   string
	file   *outfile.File // nil: standard output
}

// Set implements flag.Value.
func (l *outputs) Set(s string) error {
	f, path, err := format.Parse(s)
	switch {
	case err != nil:
		return err
	case f.Rows:
		return fmt.Errorf("%s has a row for each request, which only the commands of takt write; use one of %s", f.Name, strings.Join(formats(), ", "))
	}
	*l = append(*l, output{text: s, format: f, path: path})
	return nil
}

// String implements flag.Value.
func (l *outputs) String() string {
	var texts []string
	for _, o := range *l {
		texts = append(texts, o.text)
	}
	return strings.Join(texts, ",")
}

// validate finds outputs that would overwrite each other.
func (l outputs) validate() error {
	var paths []string
	for _, o := range l {
		paths = append(paths, o.path)
	}
	return errors.Join(format.CheckPaths(paths)...)
}

// open opens the files before the run, so a wrong path fails early.
func (l outputs) open() error {
	var errs []error
	for i, o := range l {
		if o.path == format.Stdout {
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

// discard removes the files of a run that did not start, and those with an error.
func (l outputs) discard() {
	for _, o := range l {
		if o.file != nil {
			o.file.Discard()
		}
	}
}

// toStdout reports whether an output goes to standard output.
func (l outputs) toStdout() bool {
	return slices.ContainsFunc(l, func(o output) bool { return o.path == format.Stdout })
}

// write writes r to all outputs, even if some fail.
func (l outputs) write(stdout io.Writer, r *takt.Report) error {
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
		return format.Replay(o.format, stdout, r)
	}
	if err := format.Replay(o.format, o.file, r); err != nil {
		return err
	}
	return o.file.Close()
}
