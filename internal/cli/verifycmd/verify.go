// Package verifycmd is takt verify and takt compare: stored runs, pairs of runs, and duets.
package verifycmd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// verify is the command that decides whether something became slower.
type verifyCommand struct {
	env     core.Env
	store   kept.Storing
	choice  kept.Choice
	options verify.Options
	outputs judgementOutputs

	base, head []string
	metrics    []string
	vary       []string
	series     series
	duet       duet
	git        commits
	answers    answered
	profile    profiled
	servers    *pair         // of --git, once they are built
	chosen     string        // which way to compare takt chose, and why, for the user; "": the user chose
	budget     time.Duration // limit of a duet's load, or of a whole series; 0: not given
}

// New returns takt verify.
func New(env core.Env) *cobra.Command {
	v := &verifyCommand{env: env, choice: kept.Choice{Last: kept.Last{Text: "168h"}}, options: verify.DefaultOptions(), series: series{most: 24}, duet: duet{block: 50 * time.Millisecond}}
	c := &cobra.Command{
		Use:   "verify [FILTER…] | --base RUN… --head RUN… | --base URL --head URL -- COMMAND… | --git BASE..HEAD --run COMMAND -- COMMAND…",
		Short: "decide whether a change made a system slower: exit code 0 (not slower), 4 (slower) or 5 (inconclusive)",
		Long: `Without --base and --head, takt compares the newest revision among the chosen runs
with each earlier one. Two URLs are compared under the load of the command after --:
in a duet both targets get it in turn, block by block, which proves more in less time;
with --pairs takt makes whole runs in turn. Without either flag takt chooses, and says
which and why. With --git takt builds two commits and starts their servers itself.
takt help collate lists the fields of filters.`,
		Example: `  takt verify -n 168h branch=main duration=30s
  takt verify --base before.json --head after.json
  takt verify --base version=1.2 --head version=1.3
  takt verify --base http://127.0.0.1:8080/ --head http://127.0.0.1:8081/ -- http --rate 500/s -z 5s
  takt verify --pairs 8 --base http://127.0.0.1:8080/ --head http://127.0.0.1:8081/ -- http --rate 500/s -z 5s
  takt verify --answers auto --base http://127.0.0.1:8080/ --head http://127.0.0.1:8081/ -- http --rate 500/s -z 5s
  takt verify --git main...HEAD --build 'go build -o server .' --run './server -port {{.Port}}' -- http --rate 500/s -z 5s 'http://127.0.0.1:{{.Port}}/'`,
	}
	return core.Define(c, func(fs *pflag.FlagSet) {
		v.store.AddFlags(fs)
		v.choice.AddFlags(fs)
		v.addFlags(fs)
		value.Declare(fs, value.GroupLoad, v.series.addFlags, "pairs")
		value.Declare(fs, value.GroupLoad, v.duet.addFlags, "duet")
		v.outputs.addFlags(fs)
	}, v.validate, v.run)
}

func (v *verifyCommand) addFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupSides, v.addSideFlags, "base", "head", "vary")
	value.Declare(fs, value.GroupServer, v.git.addFlags, "git", "build", "run", "ready")
	value.Declare(fs, value.GroupServer, v.git.addBisectFlags, "bisect")
	value.Declare(fs, value.GroupServer, v.profile.addFlags, "profile")
	value.Declare(fs, value.GroupJudgement, v.addJudgementFlags, "metric", "tolerance", "confidence")
	value.Declare(fs, value.GroupJudgement, v.answers.addFlags, "answers")
	value.Declare(fs, value.GroupLoad, v.addBudgetFlag, "budget")
}

func (v *verifyCommand) addSideFlags(fs *pflag.FlagSet) {
	fs.Var(value.Sides(&v.base, core.IsTarget, kept.IsFilterText), "base", "compare the head with `RUN|FILTER|FILE|URL`: a stored run, a condition on stored runs such as version=1.2, a report, or with a command after -- a target, URL or HOST:PORT; repeatable")
	fs.Var(value.Sides(&v.head, core.IsTarget, kept.IsFilterText), "head", "judge `RUN|FILTER|FILE|URL`; repeatable")
	fs.Var(value.List(&v.vary), "vary", "the runs may differ in this `VARIABLE` or flag, or in a label of a history; repeatable")
}

func (v *verifyCommand) addJudgementFlags(fs *pflag.FlagSet) {
	fs.Var(value.Offering(value.List(&v.metrics), stored.MetricNames()...), "metric", "judge `METRIC` and errors, instead of p50, p99, errors and rate; repeatable")
	fs.Var(value.Percent(&v.options.Tolerance), "tolerance", "ignore changes for the worse up to `PERCENT`")
	fs.Var(value.Points(&v.options.ErrorTolerance), "error-tolerance", "ignore changes of the error rate up to `PERCENT` points")
	fs.Var(value.Percent(&v.options.Confidence), "confidence", "confidence level for all conclusions together, `PERCENT`")
}

func (v *verifyCommand) addBudgetFlag(fs *pflag.FlagSet) {
	fs.Var(value.Duration(&v.budget), "budget", "`TIME` of load for a duet (default 1m), or for the whole series of --pairs, with replacements of disturbed pairs (default: no limit)")
}

func (v *verifyCommand) validate(args []string) (faults []error) {
	args = v.git.meant(args)
	v.options.Metrics, v.options.Lift = v.metrics, v.vary
	if !v.git.on() {
		v.options.Names = namesOf(v.base, v.head)
	}
	faults = core.AppendError(v.outputs.validate(v.env), v.options.Validate())
	faults = append(faults, v.git.validate(v, args)...)
	if bad := v.checkSides(args); len(bad) > 0 { // other faults would only follow from these
		return append(faults, bad...)
	}
	v.choose(args)
	faults = append(faults, v.idle()...)
	faults = append(faults, v.answers.validate(v, args)...)
	faults = append(faults, v.profile.validate(v, args)...)
	if v.duet.on || v.series.pairs != "" {
		if v.duet.on {
			faults = append(faults, v.duet.validate(v, args)...)
		} else {
			faults = append(faults, v.series.validate(v, args)...)
		}
		if len(faults) == 0 {
			faults = core.AppendError(faults, v.checkLoad(args))
		}
		return faults
	}
	if (len(v.base) > 0) != (len(v.head) > 0) {
		faults = append(faults, value.Faultf("--base and --head belong together; give both, or neither and filters"))
	}
	if len(v.base) > 0 && len(args) > 0 {
		faults = append(faults, value.Faultf("filters choose runs of the history, and --base and --head are given; leave out %s", strings.Join(args, " ")))
	}
	faults = core.AppendError(faults, kept.NoEmpty(slices.Concat(v.base, v.head)))
	for _, words := range [][]string{v.base, v.head} {
		_, _, bad := kept.Chosen(v.choice, words)
		faults = append(faults, bad...)
	}
	return append(faults, v.choice.Validate(args)...)
}

// idle refuses flags that would do nothing.
func (v *verifyCommand) idle() (faults []error) {
	for _, f := range []struct {
		name, use string
		idle      bool
	}{
		{"max-pairs", "limits --pairs auto; leave it out, or give --pairs auto", v.series.pairs != pairsAuto},
		{"max-disturbed", "limits the replaced pairs of --pairs; leave it out, or give --pairs", v.series.pairs == ""},
		{"block", "is for --duet; leave it out, or give --duet", !v.duet.on},
		{"budget", "is for --duet and --pairs; leave it out, or give one of them", !v.duet.on && v.series.pairs == ""},
	} {
		if v.env.Typed(f.name) && f.idle {
			faults = append(faults, value.Faultf("--%s %s", f.name, f.use))
		}
	}
	sides := slices.Concat(v.base, v.head)
	if v.series.pairs == "" && !v.duet.on && (len(sides) == 0 || slices.ContainsFunc(sides, kept.IsFilter)) {
		return faults
	}
	for _, name := range []string{"last", "since"} {
		if v.env.Typed(name) {
			faults = append(faults, value.Faultf("--%s chooses runs of the history, and --base and --head are given; leave it out", name))
		}
	}
	return faults
}

func (v *verifyCommand) run(ctx context.Context, args []string) error {
	args = v.git.meant(args)
	defer v.outputs.discard()
	if err := v.outputs.open(v.env); err != nil {
		return core.ExitWith(core.ExitUsage, err)
	}
	j, err := v.judge(ctx, args)
	if err != nil && j.Verdict == "" { // a series or a bisection that ended early says what is known so far
		return verdictOf(err)
	}
	var load []string
	if head := j.Reports[verify.DuetHead]; len(head) > 0 {
		load = head[0].Command
	}
	j.Command = v.env.CommandLine(load)
	if err := errors.Join(v.outputs.write(v.env, j), err); err != nil {
		return err
	}
	switch j.Verdict {
	case verify.Regressed:
		return core.ExitWith(core.ExitRegression, nil)
	case verify.Inconclusive:
		return core.ExitWith(core.ExitInconclusive, nil)
	}
	return nil
}

// verdictOf sets the exit code of an error that prevented a judgement: runs that cannot be judged
// are exit code 6, unless the request itself is wrong.
func verdictOf(err error) error {
	var unfit *verify.UnfitError
	var asked *stored.UsageError
	if errors.As(err, &unfit) && !errors.As(err, &asked) {
		return core.ExitWith(core.ExitInvalid, err)
	}
	return err
}

func (v *verifyCommand) judge(ctx context.Context, args []string) (verify.Judgement, error) {
	v.announce()
	if v.git.on() {
		return v.judgeCommits(ctx, args)
	}
	return v.compared(ctx, args)
}

// judgeCommits builds and compares two commits.
func (v *verifyCommand) judgeCommits(ctx context.Context, args []string) (j verify.Judgement, err error) {
	if v.servers, err = v.git.prepare(ctx, v); err != nil {
		return j, err
	}
	defer v.servers.close(v.env.Stderr)
	if j, err = v.compared(ctx, args); j.Verdict == "" {
		return j, err
	}
	if v.servers.note(&j); err != nil {
		return j, err
	}
	if v.profile.on() {
		if err := v.profile.measure(ctx, v, args, &j); err != nil {
			return j, err
		}
	}
	if v.git.bisect && j.Verdict == verify.Regressed {
		err = v.hunt(ctx, &j)
	} else if v.git.bisect {
		noSearch(&j)
	}
	return j, err
}

// compared compares the answers of both sides, if they are to be compared, and then their figures.
func (v *verifyCommand) compared(ctx context.Context, args []string) (j verify.Judgement, err error) {
	if v.answers.on() {
		if err := v.answers.ask(ctx, v, args); err != nil {
			return j, err
		}
	}
	j, err = v.measured(ctx, args)
	return v.answers.add(j, err, v)
}

func (v *verifyCommand) measured(ctx context.Context, args []string) (verify.Judgement, error) {
	switch {
	case v.duet.on:
		return v.playDuet(ctx, args)
	case v.series.pairs != "":
		return v.series.run(ctx, v, args)
	case len(v.base) > 0:
		base, err := v.store.Side(ctx, v.env, v.choice, v.base)
		if err != nil {
			return verify.Judgement{}, err
		}
		head, err := v.store.Side(ctx, v.env, v.choice, v.head)
		if err != nil {
			return verify.Judgement{}, err
		}
		j, err := verify.Verify(runsOf(base), runsOf(head), false, v.options)
		j.Reports = [2][]*takt.Report{base, head}
		return j, err
	}
	return v.history(ctx)
}

func (v *verifyCommand) history(ctx context.Context) (j verify.Judgement, err error) {
	err = v.store.Reading(ctx, v.env, func(st store.Store) error {
		list, err := v.choice.From(ctx, st)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errors.New("no run matches; takt runs lists the stored runs, and -n 30d reaches further back")
		}
		j, err = verify.History(list, v.options)
		return err
	})
	return j, err
}
