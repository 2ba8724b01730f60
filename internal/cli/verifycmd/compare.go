package verifycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// compare is the command that shows how two runs, or two groups of runs, differ.
type compare struct {
	env     core.Env
	store   kept.Storing
	choice  kept.Choice
	options verify.Options
	vary    []string
	metrics []string
	output  string
}

// NewCompare returns takt compare.
func NewCompare(env core.Env) *cobra.Command {
	m := &compare{env: env, choice: kept.Choice{Last: kept.Last{Text: "168h"}}, options: verify.DefaultOptions(), output: "text"}
	c := &cobra.Command{
		Annotations: core.TakesRuns(),
		Use:         "compare BASE HEAD",
		Short:       "show how two runs, or groups of runs, differ in every metric",
		Long: `BASE and HEAD are runs, files of reports, or filters such as branch=main, which choose
among the stored runs that -n reaches; separate several by commas. takt compare does not
judge, so its exit code is 0; takt verify judges. takt help collate lists the fields of filters.`,
		Example: `  takt compare @-2 @-1
  takt compare version=1.2 version=1.3,target=http://127.0.0.1:8080/
  takt compare a1.json,a2.json,a3.json b1.json,b2.json,b3.json`,
	}
	flags := func(fs *pflag.FlagSet) {
		m.store.AddFlags(fs)
		m.choice.AddFlags(fs)
		value.Declare(fs, value.GroupJudgement, func(fs *pflag.FlagSet) {
			fs.Var(value.List(&m.vary), "vary", "the runs may differ in this `VARIABLE` or flag; repeatable")
			fs.Var(value.Offering(value.List(&m.metrics), stored.MetricNames()...), "metric", "only `METRIC`; repeatable")
			fs.Var(value.Percent(&m.options.Tolerance), "tolerance", "ignore changes for the worse up to `PERCENT`")
			fs.Var(value.Percent(&m.options.Confidence), "confidence", "confidence level of each interval, `PERCENT`")
		})
		value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
			fs.VarP(value.Offering(value.Output(&m.output), "text", "json", "markdown", "html"), "output", "o", "write `FORMAT` to standard output, or FORMAT=PATH; text, json, markdown or html")
		})
	}
	return core.Define(c, flags, m.validate, m.run)
}

func (m *compare) validate(args []string) (faults []error) {
	if len(args) != 2 {
		faults = append(faults, fmt.Errorf("takt compare needs two runs, or two groups, but got %d words; as in takt compare @-2 @-1", len(args)))
	}
	for _, words := range args {
		faults = core.AppendError(faults, kept.NoEmpty(strings.Split(words, ",")))
		_, _, bad := kept.Chosen(m.choice, strings.Split(words, ","))
		faults = append(faults, bad...)
	}
	m.options.Lift, m.options.Metrics = m.vary, m.metrics
	faults = core.AppendError(faults, m.options.Validate())
	return core.AppendError(faults, m.checkOutput())
}

func (m *compare) run(ctx context.Context, args []string) error {
	base, err := m.store.Side(ctx, m.env, m.choice, strings.Split(args[0], ","))
	if err != nil {
		return err
	}
	head, err := m.store.Side(ctx, m.env, m.choice, strings.Split(args[1], ","))
	if err != nil {
		return err
	}
	m.options.Names = namesOf(strings.Split(args[0], ","), strings.Split(args[1], ","))
	contrast, err := verify.Compare(runsOf(base), runsOf(head), m.options)
	if err != nil {
		return err
	}
	if contrast.Overlay, err = verify.Overlays(base, head); err != nil {
		return err
	}
	all := format.Contrasted{Contrast: contrast, BaseReports: base, HeadReports: head}
	out := core.ParseAnswerOutput(m.env, m.output)
	return out.Write(m.env, func(w io.Writer, color bool) error { return format.Contrast(w, all, out.Name, color) })
}

func (m *compare) checkOutput() error {
	out := core.ParseAnswerOutput(m.env, m.output)
	name := out.Name
	if name == "junit" {
		return errors.New("takt compare does not judge, so it has no output junit; use takt verify")
	}
	return cmp.Or(value.Bad("output", m.output, format.CheckJudgement(name)), core.CheckPage(m.env, name, out.Path))
}

func runsOf(reports []*takt.Report) (list []stored.Run) {
	for _, r := range reports {
		list = append(list, stored.RunOf(r))
	}
	return list
}
