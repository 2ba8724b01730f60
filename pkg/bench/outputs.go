package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/pkg/takt"
)

// outputs is the repeatable flag --output.
type outputs []output

type output struct {
	text   string // as it was given
	format format.Format
	path   string
	file   *os.File // nil: standard output
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

// validate finds outputs that would take each other's place.
func (l outputs) validate() error {
	var paths []string
	for _, o := range l {
		paths = append(paths, o.path)
	}
	return errors.Join(format.CheckPaths(paths)...)
}

// open opens the files before the run: a path that cannot be written should not cost
// a run first. Only when all are open does one lose what an earlier run has written.
func (l outputs) open() error {
	var errs []error
	for i, o := range l {
		if o.path == format.Stdout {
			continue
		}
		f, err := format.OpenFile(o.path)
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot write the report: %w; check --output %s", err, o.text))
		}
		l[i].file = f
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, o := range l {
		if o.file != nil {
			errs = append(errs, format.Empty(o.file))
		}
	}
	return errors.Join(errs...)
}

// toStdout reports whether one goes to standard output.
func (l outputs) toStdout() bool {
	return slices.ContainsFunc(l, func(o output) bool { return o.path == format.Stdout })
}

// write writes r to all outputs, whatever happens to some of them.
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
	return errors.Join(format.Replay(o.format, o.file, r), o.file.Close())
}
