package core

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/outfile"
)

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
