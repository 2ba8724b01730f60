package verifycmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/value"
)

// summaryVariable names the file that GitHub shows on the page of a workflow run.
const summaryVariable = "GITHUB_STEP_SUMMARY"

// judgementOutputs are the outputs of verify.
type judgementOutputs struct {
	given []string
	all   []judgementOutput
}

type judgementOutput struct {
	name, path string
	file       io.WriteCloser // nil: stdout
}

func (o *judgementOutputs) addFlags(fs *pflag.FlagSet) {
	usage := "write `FORMAT=PATH`; repeatable; PATH - is stdout; FORMAT is " + strings.Join(format.Judgements(), ", ")
	value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
		fs.VarP(value.Offering(value.Outputs(&o.given), format.Beginnings(format.Judgements())...), "output", "o", usage)
	}, "output")
}

// validate reads the outputs. If none goes to stdout, it adds the text there.
func (o *judgementOutputs) validate(env core.Env) (faults []error) {
	o.all = nil
	var paths []string
	for _, s := range o.given {
		name, path, _ := strings.Cut(s, "=")
		path = cmp.Or(path, format.Stdout)
		faults = core.AppendError(faults, value.Bad("output", s, format.CheckJudgement(name)))
		faults = core.AppendError(faults, core.CheckPage(env, name, path))
		o.all, paths = append(o.all, judgementOutput{name: name, path: path}), append(paths, path)
	}
	faults = append(faults, format.CheckPaths(paths)...)
	for _, path := range paths {
		if path == format.Stdout {
			return faults
		}
	}
	o.all = append([]judgementOutput{{name: format.Judgements()[0], path: format.Stdout}}, o.all...)
	return faults
}

// has reports whether an output of that format is given.
func (o *judgementOutputs) has(name string) bool {
	return slices.ContainsFunc(o.all, func(out judgementOutput) bool { return out.name == name })
}

// open opens the files before the first run, so a wrong path fails early.
func (o *judgementOutputs) open(env core.Env) error {
	for i, out := range o.all {
		if out.path == format.Stdout {
			continue
		}
		f, err := outfile.Open(out.path)
		if err != nil {
			return fmt.Errorf("cannot write the judgement: %w; check -o %s=%s", err, out.name, out.path)
		}
		o.all[i].file = f
		env.Promises.Add(out.name, out.path)
	}
	path := env.Getenv(summaryVariable)
	if path == "" {
		return nil
	}
	files.Trust(path) // the environment is the owner's
	f, err := outfile.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("cannot write the step summary: %w; check %s", err, summaryVariable)
	}
	o.all = append(o.all, judgementOutput{"markdown", path, f})
	return nil
}

// discard removes the incomplete files after a judgement failed.
func (o *judgementOutputs) discard() {
	for _, out := range o.all {
		if f, ok := out.file.(*outfile.File); ok {
			f.Discard()
		}
	}
}

// write writes all outputs, even if some of them fail.
func (o *judgementOutputs) write(env core.Env, j verify.Judgement) error {
	var errs []error
	for _, out := range o.all {
		if err := out.write(env, j); err != nil {
			errs = append(errs, fmt.Errorf("cannot write the judgement to %s: %w", out.path, err))
		}
	}
	return errors.Join(errs...)
}

func (o judgementOutput) write(env core.Env, j verify.Judgement) error {
	if o.file == nil {
		return format.Judgement(env.Stdout, j, o.name, core.Colours(env))
	}
	var b bytes.Buffer
	err := format.Judgement(&b, j, o.name, false)
	if err == nil {
		_, err = o.file.Write(b.Bytes())
	}
	if err == nil {
		err = o.file.Close()
	}
	if err == nil {
		env.Promises.Kept(o.path)
	}
	return err
}
