package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
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

// open creates the files before the run: a path that cannot be written should not
// cost a run first.
func (l outputs) open() error {
	var errs []error
	for i := range l {
		if l[i].path == format.Stdout {
			continue
		}
		f, err := os.Create(l[i].path)
		if err != nil {
			err = fmt.Errorf("cannot write the report: %w; check --output %s", err, l[i].text)
		}
		l[i].file, errs = f, append(errs, err)
	}
	if l.toStdout() > 1 {
		errs = append(errs, errors.New("two outputs go to stdout; give all but one a path: --output json=report.json"))
	}
	return errors.Join(errs...)
}

// toStdout is how many outputs go to standard output.
func (l outputs) toStdout() (n int) {
	for _, o := range l {
		if o.path == format.Stdout {
			n++
		}
	}
	return n
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
