package core

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Destination is a format and the path for it.
type Destination struct {
	Format format.Format
	Path   string
}

// stderrPath means standard error; no file can have this name.
const stderrPath = "\x00stderr"

// ReportOutputs is the flag --output of a command that writes reports.
type ReportOutputs struct {
	given     []string
	Opened    []Destination
	RowsFirst bool // rows go to standard output and the report to standard error
}

// AddFlags adds --output.
func (o *ReportOutputs) AddFlags(fs *pflag.FlagSet, usage string) {
	value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
		fs.VarP(value.Offering(value.Outputs(&o.given), format.Beginnings(format.Names())...), "output", "o", usage)
	}, "output")
}

// Validate reads the outputs. If none goes to stdout, it adds the text report there.
func (o *ReportOutputs) Validate(env Env, parse func(string) (format.Format, string, error)) (faults []error) {
	o.Opened = nil
	var paths []string
	for _, s := range o.given {
		f, path, err := parse(s)
		faults = AppendError(faults, value.Bad("output", s, err))
		if err == nil {
			o.Opened, paths = append(o.Opened, Destination{f, path}), append(paths, path)
			faults = AppendError(faults, CheckPage(env, f.Name, path))
			env.Promises.Add(f.Name, path)
		}
	}
	faults = append(faults, format.CheckPaths(paths)...)
	switch {
	case slices.Contains(paths, format.Stdout):
	case o.RowsFirst:
		o.Opened = append([]Destination{{format.Load(), format.Stdout}, {format.Text(false), stderrPath}}, o.Opened...)
	default:
		o.Opened = append([]Destination{{format.Text(Colours(env)), format.Stdout}}, o.Opened...)
	}
	return faults
}

// ParseReplayed is format.Parse without the formats that a stored report cannot provide.
func ParseReplayed(s string) (format.Format, string, error) {
	f, path, err := format.Parse(s)
	if err == nil {
		err = format.CanReplay(f)
	}
	return f, path, err
}

// Outputs are the open outputs of one run.
type Outputs []*output

type output struct {
	name   string // the path, or "standard output"
	format format.Format
	w      io.Writer // below buffer
	writer format.Writer
	rows   format.RowWriter // writer, if it accepts rows; then only the run's goroutine for rows uses it
	buffer *bufio.Writer
	file   *outfile.File // nil: stdout
	kept   func()        // the file has its content
	err    error         // the first error; nothing is written after it
}

// OpenOutputs opens all outputs before the run, so a wrong path fails early.
func OpenOutputs(env Env, list []Destination, number, of int, head takt.Report) (Outputs, error) {
	var all Outputs
	for _, d := range list {
		o, err := open(env, d, number, of, head)
		if err != nil {
			all.Discard()
			return nil, ExitWith(ExitUsage, fmt.Errorf("cannot write the report: %w; check -o %s=%s", err, d.Format.Name, d.Path))
		}
		all = append(all, o)
	}
	return all, nil
}

func open(env Env, d Destination, number, of int, head takt.Report) (*output, error) {
	o := &output{name: "standard output", format: d.Format, w: env.Stdout}
	switch d.Path {
	case format.Stdout:
	case stderrPath:
		o.name, o.w = "standard error", env.Stderr
	default:
		o.name = numbered(d.Path, number, of)
		f, err := outfile.Open(o.name)
		if err != nil {
			return nil, err
		}
		o.file, o.w = f, f
		if o.kept = func() { env.Promises.Kept(o.name) }; o.name != d.Path {
			env.Promises.Kept(d.Path) // none of the runs writes it
			env.Promises.Add(d.Format.Name, o.name)
		}
	}
	o.begin(head)
	return o, nil
}

// begin begins the output with what is known of the report. Nothing of it is written yet.
func (o *output) begin(head takt.Report) {
	o.buffer = bufio.NewWriter(o.w)
	o.writer, o.err = o.format.Open(o.buffer, head)
	o.rows, _ = o.writer.(format.RowWriter)
}

// Begin begins all outputs again with what only became known after they were opened. It is called before the first interval.
func (all Outputs) Begin(head takt.Report) {
	for _, o := range all {
		o.begin(head)
	}
}

// numbered is the path for one of several runs: report.json becomes report.2.json.
func numbered(path string, number, of int) string {
	if of == 1 {
		return path
	}
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.%d%s", strings.TrimSuffix(path, ext), number, ext)
}

// Interval passes an interval with its histograms to the outputs without rows, and flushes them, so that users can
// follow a file during the run.
func (all Outputs) Interval(iv takt.Interval, lent timeline.Lent) {
	for _, o := range all {
		if o.rows == nil {
			o.live(func() error { return o.writer.Interval(iv, lent) })
		}
	}
}

// OnSamples returns the function for the rows of a run. nil: neither an output nor the driver
// (look) needs rows, so the engine keeps none.
func (all Outputs) OnSamples(look func(phases []string, list []takt.Sample) []trace.Record) engine.OnSamples {
	if look == nil && !slices.ContainsFunc(all, func(o *output) bool { return o.rows != nil }) {
		return nil
	}
	return func(phases []string, list []takt.Sample) {
		var records []trace.Record
		if look != nil {
			records = look(phases, list)
		}
		for _, o := range all {
			switch asked, ok := o.rows.(format.AskedWriter); {
			case o.rows == nil:
			case ok:
				o.live(func() error { return asked.Records(records) })
			default:
				o.live(func() error { return o.rows.Samples(phases, list) })
			}
		}
	}
}

// live calls emit during the run, and makes a file show the text at once, for users who follow it.
func (o *output) live(emit func() error) {
	o.write(emit)
	if o.err == nil && o.file != nil {
		o.err = o.file.Show()
		o.kept() // what it shows is of this run
	}
}

// write calls emit and flushes, unless there was an error before.
func (o *output) write(emit func() error) {
	for _, step := range []func() error{emit, o.buffer.Flush} {
		if o.err == nil {
			o.err = step()
		}
	}
}

// Close writes the report to all outputs, even if some of them fail.
func (all Outputs) Close(r *takt.Report) error {
	var errs []error
	for _, o := range all {
		if err := o.close(r); err != nil {
			errs = append(errs, fmt.Errorf("cannot write the report to %s: %w", o.name, err))
		}
	}
	err := errors.Join(errs...)
	if err != nil && len(errs) < len(all) {
		err = fmt.Errorf("%w; the others are complete", err)
	}
	return err
}

func (o *output) close(r *takt.Report) error {
	o.write(func() error { return o.writer.Close(r) })
	if o.file != nil && o.err == nil {
		if o.err = o.file.Close(); o.err == nil {
			o.kept()
		}
	}
	return o.err
}

// Discard closes the files of a run that was not made, and those with an error.
func (all Outputs) Discard() {
	for _, o := range all {
		if o.file != nil {
			o.file.Discard()
		}
	}
}

// WriteReport writes the outputs of a complete report.
func WriteReport(env Env, opened []Destination, r *takt.Report) error {
	out, err := OpenOutputs(env, opened, 1, 1, format.Head(r))
	if err != nil {
		return err
	}
	defer out.Discard()
	for _, iv := range r.Intervals {
		out.Interval(iv, nil)
	}
	return out.Close(r)
}

// Serial is e with streams for several goroutines of a run: each write is atomic. Stdout and
// Stderr share a lock only if they are the same stream.
func (e Env) Serial() Env {
	one := e.Stdout == e.Stderr
	e.Stdout = &serialWriter{w: e.Stdout}
	if one {
		e.Stderr = e.Stdout
	} else {
		e.Stderr = &serialWriter{w: e.Stderr}
	}
	return e
}

type serialWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (s *serialWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}
