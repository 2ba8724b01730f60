package verifycmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// pairsAuto is the value of --pairs that makes pairs until they suffice.
const pairsAuto = "auto"

// series makes pairs of runs, base and head in turn, so that slow changes of the machine affect
// both alike.
type series struct {
	pairs string // N or auto; "": no pairs
	most  int    // most pairs with auto
	spare string // most disturbed pairs to replace; "": the default

	count     int
	disturbed int // spare as a number
	last      *block
	plan      verify.Pairs // after the warm-up pair
	few       error        // why count pairs can prove nothing; nil: they can
}

func (s *series) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Offering(value.Text(&s.pairs), pairsAuto), "pairs", "make `N|auto` pairs of runs with the command after --, against the URLs of --base and --head in turn")
	fs.IntVar(&s.most, "max-pairs", s.most, "at most `N` pairs, with --pairs auto")
	fs.Var(value.Text(&s.spare), "max-disturbed", "replace at most `N` pairs that have an invalid run (default: three times as many as pairs)")
}

func (s *series) validate(v *verifyCommand, command []string) (faults value.Faults) {
	s.count = s.most
	v.options.Also = v.git.serverMetrics()
	if s.pairs == pairsAuto {
		faults = core.AppendError(faults, v.options.CheckPairs(s.most, ""))
	} else if n, err := strconv.Atoi(s.pairs); err != nil || n < 1 {
		faults = append(faults, value.Faultf("bad --pairs %q; give a number above 0, or auto", s.pairs))
	} else {
		s.count = n
	}
	s.disturbed = verify.MayDisturb(s.count)
	if n, err := strconv.Atoi(s.spare); s.spare != "" && (err != nil || n < 0) {
		faults = append(faults, value.Faultf("bad --max-disturbed %q; give a number, 0 or more", s.spare))
	} else if s.spare != "" {
		s.disturbed = n
	} else if v.budget > 0 {
		s.disturbed = 0 // only the budget limits replacements
	}
	if n, _ := strconv.Atoi(s.spare); s.spare != "" && n == 0 && v.budget > 0 {
		faults = append(faults, value.Faultf("--max-disturbed 0 replaces no pair, and --budget is for replacing them; leave one of them out"))
	}
	faults.If(len(v.base) != 1 || len(v.head) != 1, "--pairs needs one --base URL and one --head URL")
	faults.If(v.lacksCommand(command), "--pairs needs the command to run after --, without the URL: -- http --rate 500/s -z 5s")
	faults.If(setsFlag(command, "repeat"), "--repeat makes several runs, but a pair has one run of each side; leave it out and make more pairs")
	faults.If(setsFlag(command, "shard"), "--shard makes only a part of a run, which proves nothing; leave it out")
	return faults
}

// setsFlag reports whether a command line has the long flag, also with one dash, as hey's users
// write it.
func setsFlag(command []string, name string) bool {
	return slices.ContainsFunc(command, func(word string) bool {
		flag, _, _ := strings.Cut(word, "=")
		return flag == "--"+name || flag == "-"+name
	})
}

// run makes the pairs.
func (s *series) run(ctx context.Context, v *verifyCommand, command []string) (verify.Judgement, error) {
	v.options.Lift = append(slices.Clone(v.options.Lift), placeVariables()...)
	s.last = s.block(ctx, v, command)
	return s.play(s.last)
}

// play is judge, which after a signal judges the pairs that there are. Its error then says how many they
// are, and how to continue.
func (s *series) play(b *block) (verify.Judgement, error) {
	j, err := s.judge(b)
	if signal := core.SignalOf(b.ctx); err != nil && signal != nil {
		if len(b.base) > 0 {
			j, _ = s.finish(b, signal.Error()) // pairs that cannot be judged are still counted in the error
		}
		err = core.ExitBy(signal, b.stopped(signal, s.count))
	}
	j.Attach(b.reports)
	return j, err
}

// placeVariables are the variables for the address of the target, in which the sides may differ.
func placeVariables() []string { return []string{"scheme", "host", "path", "apm_host"} }

func (s *series) block(ctx context.Context, v *verifyCommand, command []string) *block {
	b := &block{ctx: ctx, verifyCommand: v, command: command, disturbed: verify.Disturbed{Most: s.disturbed, BudgetS: v.budget.Seconds()}, budget: v.budget, reports: map[string]*takt.Report{}}
	began := time.Now()
	b.used = func() time.Duration { return time.Since(began) }
	b.run = b.side
	return b
}

// judge makes pairs until they can be judged. It drops the first pair, in which caches are cold,
// but checks with it that later pairs can be judged.
func (s *series) judge(b *block) (verify.Judgement, error) {
	v := b.verifyCommand
	s.announce(b)
	warm, _, err := b.fitPair(0)
	if errors.Is(err, errBudget) {
		return verify.Judgement{}, b.nothing()
	}
	if err != nil {
		return verify.Judgement{}, err
	}
	s.plan, s.few = verify.NewPairs(s.count, s.pairs == pairsAuto, warm.Kind, v.options)
	if s.few != nil && s.pairs == pairsAuto {
		return verify.Judgement{}, core.ExitWith(core.ExitUsage, s.few)
	}
	b.warm = true
	s.estimate(b)
	for {
		one, other, err := b.fitPair(len(b.base))
		if errors.Is(err, errBudget) {
			if len(b.base) == 0 {
				return verify.Judgement{}, b.nothing()
			}
			return s.finish(b, fmt.Sprintf("the budget of %v was used up, so raise --budget, or make shorter runs", b.budget))
		}
		if err != nil {
			return verify.Judgement{}, err
		}
		b.base, b.head = append(b.base, one), append(b.head, other)
		step, err := s.step(b)
		if err != nil {
			return verify.Judgement{}, err
		}
		s.progress(b, step.Forecast)
		if step.Done {
			step.Judgement.Note(b.disturbed)
			return *step.Judgement, nil
		}
	}
}

// finish judges the pairs of a series that ended early. why is the reason.
func (s *series) finish(b *block, why string) (j verify.Judgement, err error) {
	if s.few == nil {
		j, err = s.plan.Finish(b.base, b.head)
	} else {
		j, err = verify.Verify(b.base, b.head, true, b.verifyCommand.options)
	}
	if err != nil {
		return verify.Judgement{}, err
	}
	j.Advice = append([]string{fmt.Sprintf("ended after %s of %d: %s", pairsOf(len(b.base)), s.count, why)}, j.Advice...)
	j.Note(b.disturbed)
	return j, nil
}

// nothing is the error of a series without a pair to judge.
func (b *block) nothing() error {
	return &verify.UnfitError{Why: fmt.Sprintf("the budget of %v was used up before a pair counted, and %s disturbed (base %d, head %d); raise --budget, lower the rate, or free the machine",
		b.budget, pairsWere(b.disturbed.Total()), b.disturbed.Base, b.disturbed.Head)}
}

func pairsWere(n int) string {
	if n == 1 {
		return "1 pair was"
	}
	return fmt.Sprintf("%d pairs were", n)
}

// announce prints before the first run what takt will do. Too few pairs are no fault: somebody may want to
// see the figures, or to try a command. But nobody should wait for a verdict that cannot come.
func (s *series) announce(b *block) {
	if few := b.verifyCommand.options.CheckPairs(s.count, ""); few != nil {
		fmt.Fprintf(b.verifyCommand.env.Stderr, "verify: warning: the verdict will be inconclusive, whatever the runs show: %v\n", few)
	}
	pairs := "exactly"
	if s.pairs == pairsAuto {
		pairs = "at most"
	}
	replaced := fmt.Sprintf("at most %d with an invalid run are replaced", b.disturbed.Most)
	if b.budget > 0 {
		replaced = fmt.Sprintf("those with an invalid run are replaced within the budget of %v", b.budget)
	}
	fmt.Fprintf(b.verifyCommand.env.Stderr, "verify: a warm-up pair, which does not count, then %s %s; %s\n", pairs, pairsOf(s.count), replaced)
}

// estimate says how long the series takes if no pair is disturbed.
func (s *series) estimate(b *block) {
	each := b.used() / time.Duration(b.made)
	fmt.Fprintf(b.verifyCommand.env.Stderr, "verify: a pair takes about %.2g s, so %s %s about %v\n", each.Seconds(), pairsOf(s.count), takes(s.count), (each * time.Duration(s.count)).Round(time.Second))
}

func takes(n int) string {
	if n == 1 {
		return "takes"
	}
	return "take"
}

// step decides whether to make another pair. If --pairs N is too small to prove anything (few),
// N pairs are made and judged nevertheless, and the judgement says so.
func (s *series) step(b *block) (verify.Step, error) {
	switch {
	case s.few == nil:
		return s.plan.Next(b.base, b.head)
	case len(b.base) < s.count:
		return verify.Step{}, nil
	}
	j, err := verify.Verify(b.base, b.head, true, b.verifyCommand.options)
	return verify.Step{Done: true, Judgement: &j}, err
}

func (s *series) progress(b *block, forecast string) {
	metric := "p50"
	if len(b.verifyCommand.metrics) > 0 {
		metric = b.verifyCommand.metrics[0]
	}
	n := len(b.base)
	base, _ := b.base[n-1].Figures.Get(metric)
	head, _ := b.head[n-1].Figures.Get(metric)
	m, _ := stored.MetricOf(metric)
	line := fmt.Sprintf("verify: pair %d of %d: %s %s, %s", n, s.count, metric, page.Amount(m.Unit, base), page.Amount(m.Unit, head))
	if forecast != "" {
		line += "; " + forecast
	}
	line += b.usedWords()
	fmt.Fprintln(b.verifyCommand.env.Stderr, line)
}
