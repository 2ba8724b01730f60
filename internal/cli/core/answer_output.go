package core

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/value"
)

// AnswerOutputs are the outputs of a command whose answer may be written in several formats at once.
type AnswerOutputs struct {
	given []string
	list  []AnswerOutput
}

// AddFlags adds --output. formats are the names of all formats; the first one is that of standard output.
func (o *AnswerOutputs) AddFlags(fs *pflag.FlagSet, formats []string) {
	value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
		fs.VarP(value.Offering(value.Outputs(&o.given), format.Beginnings(formats)...), "output", "o", "write `FORMAT=PATH`; repeatable; PATH - is stdout; FORMAT is "+strings.Join(formats, ", "))
	}, "output")
}

// Validate reads the outputs. If none goes to standard output, it adds the first format there. check is an
// error for an unknown format.
func (o *AnswerOutputs) Validate(env Env, formats []string, check func(name string) error) (faults []error) {
	o.list = nil
	var paths []string
	text := true
	for _, s := range o.given {
		out := ParseAnswerOutput(env, s)
		faults = AppendError(faults, value.Bad("output", s, check(out.Name)))
		faults = AppendError(faults, CheckPage(env, out.Name, out.Path))
		o.list, paths = append(o.list, out), append(paths, out.Path)
		text = text && out.Path != format.Stdout
	}
	if text {
		o.list = append([]AnswerOutput{{Name: formats[0], Path: format.Stdout}}, o.list...)
	}
	return append(faults, format.CheckPaths(paths)...)
}

// Write writes all outputs, even if some of them fail. color: write may use colours.
func (o *AnswerOutputs) Write(env Env, write func(w io.Writer, name string, color bool) error) error {
	var errs []error
	for _, out := range o.list {
		errs = append(errs, out.Write(env, func(w io.Writer, color bool) error { return write(w, out.Name, color) }))
	}
	return errors.Join(errs...)
}

// AnswerOutput is the one output of a command that answers from stored runs: FORMAT on standard
// output, or FORMAT=PATH.
type AnswerOutput struct{ Name, Path string }

// ParseAnswerOutput reads FORMAT or FORMAT=PATH, and promises the file.
func ParseAnswerOutput(env Env, s string) AnswerOutput {
	name, path, _ := strings.Cut(s, "=")
	o := AnswerOutput{name, cmp.Or(path, format.Stdout)}
	env.Promises.Add(o.Name, o.Path)
	return o
}

// Write writes the output. color: write may use colours.
func (o AnswerOutput) Write(env Env, write func(w io.Writer, color bool) error) error {
	if o.Path == format.Stdout {
		return write(env.Stdout, Colours(env))
	}
	f, err := outfile.Open(o.Path)
	if err != nil {
		return ExitWith(ExitUsage, fmt.Errorf("cannot write the answer: %w; check -o %s=%s", err, o.Name, o.Path))
	}
	defer f.Discard()
	b := bufio.NewWriter(f)
	for _, step := range []func() error{func() error { return write(b, false) }, b.Flush, f.Close} {
		if err := step(); err != nil {
			return fmt.Errorf("cannot write the answer to %s: %w", o.Path, err)
		}
	}
	env.Promises.Kept(o.Path)
	return nil
}
