package scenariocmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/correlate"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/scene/from"
	"github.com/taktload/takt/internal/scene/from/taken"
	"github.com/taktload/takt/internal/value"
)

// making is takt scenario from.
type making struct {
	env    core.Env
	format string
	output string

	correlate correlate.Options // of a HAR file
}

func newFrom(env core.Env) *cobra.Command {
	m := &making{env: env, format: "auto", output: "-"}
	about := []string{fmt.Sprintf("  %-8s %s", harName, "what a browser's developer tools saved, with answers (.har)")}
	for _, f := range from.Table() {
		about = append(about, fmt.Sprintf("  %-8s %s", f.Name, f.About))
	}
	c := &cobra.Command{
		Use:   "from FILE",
		Short: "make a scenario of curl commands, a collection, a test plan or a script",
		Long: `takt scenario from reads what other tools have and writes steps for --scenario. It runs
nothing. What it cannot take over it lists on standard error and in the file, with its
place: read that list before you load anything. FILE - is standard input. Formats:

` + strings.Join(about, "\n"),
		Example: `  takt scenario from shop.postman_collection.json -o steps.txt
  takt scenario from script.js | less`,
	}
	return core.Define(c, func(fs *pflag.FlagSet) {
		value.Declare(fs, value.GroupGeneral, func(fs *pflag.FlagSet) {
			fs.Var(value.Choice(&m.format, append([]string{"auto", harName}, from.Names()...)...), "format", "`FORMAT` of the file, if auto does not find it")
			addOnly(fs, &m.correlate, "of a HAR file, take only requests to `HOST`, repeatable (default: the host of most requests, and others of its site and its redirects)")
		})
		value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
			fs.VarP(value.OutFile(&m.output), "output", "o", "write the scenario to `FILE`; - is standard output")
		}, "output")
	}, m.validate, m.run)
}

func (m *making) validate(args []string) []error {
	if len(args) != 1 {
		return []error{errors.New("takt scenario from needs one file; - is standard input")}
	}
	return nil
}

func (m *making) run(_ context.Context, args []string) error {
	text, err := read(m.env, args[0], from.MaxInput)
	if err != nil {
		return fmt.Errorf("cannot read the file: %w", err)
	}
	if m.format == harName || m.format == "auto" && looksHAR(text) {
		return m.fromHAR(text)
	}
	taken, err := from.Read(text, strings.TrimPrefix(m.format, "auto"))
	if taken != nil {
		m.tell(taken)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return m.write(taken)
}

// tell lists what was not taken over.
func (m *making) tell(t *taken.Taken) {
	for _, l := range t.Left {
		fmt.Fprintln(m.env.Stderr, "takt scenario:", l)
	}
	fmt.Fprintf(m.env.Stderr, "takt scenario: %s made, %s not taken over\n", figure.Plural(len(t.Steps), "step"), figure.Plural(len(t.Left), "thing"))
}

// write writes the scenario.
func (m *making) write(t *taken.Taken) error {
	to, err := openOutputs(m.output, "")
	if err != nil {
		return err
	}
	defer to.discard()
	return writeScenario(m.env, &t.File, to.scenario)
}
