package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/format"
)

// summaryVariable names the file that GitHub shows below a workflow's run.
const summaryVariable = "GITHUB_STEP_SUMMARY"

// judgementOutputs are the outputs of verify.
type judgementOutputs struct {
	given list
	all   []judgementOutput
}

type judgementOutput struct{ name, path string }

func (o *judgementOutputs) addFlags(fs *goFlagSet) {
	usage := "write `FORMAT=PATH`; repeatable; PATH - is stdout; FORMAT is " + strings.Join(format.Judgements(), ", ")
	fs.Var(&o.given, "output", usage)
	fs.Var(&o.given, "o", "= --output")
}

// validate reads them. Without one that goes to stdout, the text does.
func (o *judgementOutputs) validate() (faults []error) {
	o.all = nil
	var paths []string
	for _, s := range o.given {
		name, path, _ := strings.Cut(s, "=")
		path = cmp.Or(path, format.Stdout)
		faults = appendError(faults, format.CheckJudgement(name))
		o.all, paths = append(o.all, judgementOutput{name, path}), append(paths, path)
	}
	faults = append(faults, format.CheckPaths(paths)...)
	for _, path := range paths {
		if path == format.Stdout {
			return faults
		}
	}
	o.all = append([]judgementOutput{{format.Judgements()[0], format.Stdout}}, o.all...)
	return faults
}

// write writes all of them, whatever happens to some.
func (o *judgementOutputs) write(env Env, j analysis.Judgement) error {
	var errs []error
	for _, out := range o.all {
		errs = appendError(errs, out.write(env, j))
	}
	if path := env.Getenv(summaryVariable); path != "" {
		errs = appendError(errs, appendSummary(path, j))
	}
	return errors.Join(errs...)
}

func (o judgementOutput) write(env Env, j analysis.Judgement) error {
	if o.path == format.Stdout {
		return format.Judgement(env.Stdout, j, o.name, colours(env))
	}
	var b bytes.Buffer
	if err := format.Judgement(&b, j, o.name, false); err != nil {
		return err
	}
	if err := os.WriteFile(o.path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("cannot write the judgement: %w; check -o %s=%s", err, o.name, o.path)
	}
	return nil
}

func appendSummary(path string, j analysis.Judgement) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("cannot write the step summary: %w; check %s", err, summaryVariable)
	}
	return errors.Join(format.Judgement(f, j, "markdown", false), f.Close())
}
