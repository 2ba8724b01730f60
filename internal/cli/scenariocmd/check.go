package scenariocmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/value"
)

// checking is takt scenario check.
type checking struct {
	env     core.Env
	http    *http.Options
	engine  engine.Options
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
	return faults
}

// hide is a text as it is shown.
func (k *checking) hide(text string) string {
	if k.secrets {
		return text
	}
	return http.HideSecrets(core.NewScrubber(k.flags, nil, k.http).Replace(text))
}

func (k *checking) run(ctx context.Context, _ []string) error {
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
func (k *checking) try(ctx context.Context, e *http.Explanation, out *view) error {
	failed := 0
	err := k.http.Try(ctx, k.engine, k.env.Abort, func(x http.Tried) {
		if x = out.redact(x); x.Class != "" && !x.Again {
			failed++
		}
		j, i := find(e, x.Step)
		if i == 0 && len(e.Journeys) > 1 && k.output == "text" && len(j.Steps[0].Tried) == 0 {
			out.printf("\n%s\n", j.Name)
		}
		j.Steps[i].Tried = append(j.Steps[i].Tried, x)
		if k.output == "text" {
			out.tried(j.Steps[i], x)
		}
	})
	switch signal := core.SignalOf(ctx); {
	case signal != nil:
		return core.ExitBy(signal, nil)
	case err != nil:
		return err
	case failed > 0:
		return core.ExitWith(core.ExitAssertion, fmt.Errorf("%s failed", figure.Plural(failed, "step")))
	}
	return nil
}

// find is the journey of a step, and the step's place in it.
func find(e *http.Explanation, number int) (*http.ExplainedJourney, int) {
	for k := range e.Journeys {
		j := &e.Journeys[k]
		if i := number - j.Steps[0].Number; i >= 0 && i < len(j.Steps) {
			return j, i
		}
	}
	panic("a step of no journey")
}

func writeJSON(w io.Writer, e http.Explanation) error {
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	return to.Encode(e)
}
