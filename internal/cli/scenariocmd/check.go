package scenariocmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/driver/http/script"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/value"
)

// checking is takt scenario check.
type checking struct {
	env     core.Env
	http    *http.Options
	engine  engine.Options
	cmd     *cobra.Command
	flags   *pflag.FlagSet
	output  string
	secrets bool
	tries   bool // there is a URL
}

func newCheck(env core.Env) *cobra.Command {
	k := &checking{env: env, http: http.New(), output: "text"}
	c := &cobra.Command{
		Use:   "check FILE [URL]",
		Short: "explain a file for --scenario, and try one round of each journey",
		Long: `takt scenario check says what a scenario does, step by step, and what is wrong with it.
With a URL it also sends one round of each journey, with takt http's own client and without
think times, and shows each request, its answer, its checks and what was captured. The exit
code is 3 if a step of these rounds fails. Passwords and tokens appear as xxxxx.`,
		Example: `  takt scenario check steps.txt
  takt scenario check steps.txt http://127.0.0.1:8080/`,
	}
	k.cmd = c
	core.Define(c, func(fs *pflag.FlagSet) {
		k.flags = fs
		k.http.AddRecordedFlags(fs)
		value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
			fs.VarP(value.Choice(&k.output, "text", "json"), "output", "o", "`FORMAT` on standard output: text or json")
			fs.BoolVar(&k.secrets, "show-secrets", false, "show passwords and tokens, too")
		}, "output")
	}, k.validate, k.run)
	return c
}

// nowhere stands for the URL where none is given. Nothing is sent to it.
const nowhere = "http://127.0.0.1/"

func (k *checking) validate(args []string) []error {
	if len(args) < 1 || len(args) > 2 {
		return []error{errors.New("takt scenario check needs a file, and has a URL behind it if it is to send one round")}
	}
	return nil
}

// prepare reads the file. It is not a part of validate, which a session's command line passes in the server's process.
func (k *checking) prepare(args []string) error {
	k.http.Scenario = args[0]
	k.tries = len(args) == 2
	k.engine = k.http.ShapeTrial()
	faults := k.http.Validate([]string{cmp.Or(append(args, nowhere)[1], nowhere)})
	scrub := core.NewScrubber(k.flags, nil, k.http)
	for i, err := range faults {
		if clean := value.HidePassword(scrub.Replace(err.Error())); clean != err.Error() {
			faults[i] = errors.New(clean)
		}
	}
	return core.Usage(k.cmd, faults)
}

// hide is a text as it is shown.
func (k *checking) hide(text string) string {
	if k.secrets {
		return text
	}
	return httpreq.HideSecrets(core.NewScrubber(k.flags, nil, k.http).Replace(text))
}

func (k *checking) run(ctx context.Context, args []string) error {
	if err := k.prepare(args); err != nil {
		return err
	}
	e := k.http.Explain(k.hide)
	out := view{w: k.env.Stdout, hide: k.hide, secrets: k.secrets}
	if k.output == "text" {
		out.explain(&e)
	}
	var failed error
	if k.tries {
		failed = k.try(ctx, &e, &out)
	}
	if k.output == "json" {
		return cmp.Or(writeJSON(k.env.Stdout, e), failed)
	}
	return cmp.Or(out.err, failed)
}

// try sends a round of each journey.
func (k *checking) try(ctx context.Context, e *script.Explanation, out *view) error {
	failed, part := 0, ""
	err := k.http.Try(ctx, k.engine, k.env.Abort, func(x script.Tried) {
		if x = out.redact(x); x.Shown.Failed() {
			failed++
		}
		name, step := find(e, x.Step)
		step.Tried = append(step.Tried, x)
		if k.output == "json" {
			x.Shown.Facts = nil // they have members of their own
		} else {
			if name != part {
				out.printf("\n%s\n", foreign.Line(name))
			}
			part = name
			out.tried(step, x)
		}
	})
	switch signal := core.SignalOf(ctx); {
	case signal != nil:
		return core.ExitBy(signal, nil)
	case failed > 0:
		return core.ExitWith(core.ExitAssertion, cmp.Or(err, fmt.Errorf("%s failed", figure.Plural(failed, "step"))))
	case err != nil:
		return err
	}
	return nil
}

// find is the step of a number, and the name of the part of the file that has it; "": the file has no parts.
func find(e *script.Explanation, number int) (name string, step *script.ExplainedStep) {
	in := func(list []script.ExplainedStep) *script.ExplainedStep {
		if i := slices.IndexFunc(list, func(s script.ExplainedStep) bool { return s.Number == number }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	if step = in(e.Setup); step != nil {
		return beforeLoad, step
	}
	if step = in(e.Teardown); step != nil {
		return afterLoad, step
	}
	for _, j := range e.Journeys {
		if step = in(j.Steps); step != nil {
			return roundOf(e, j), step
		}
	}
	panic("a step of no journey")
}

func writeJSON(w io.Writer, e script.Explanation) error {
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	return to.Encode(e)
}
