package verifycmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/answers"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

const (
	answersAuto = "auto"
	autoAnswers = 300             // requests of --answers auto: a difference in 1 % of the requests is missed once in 20 times
	mostAnswers = 1_000_000       // requests
	mostAsking  = 2 * time.Minute // for the first answers of base, and then for the others
	// apart is the least time between both answers of base, so that times in whole seconds differ.
	apart = 1100 * time.Millisecond
)

// answered is --answers: before the load, base and head get the same requests, and their answers are compared.
type answered struct {
	count  string // as given; "": answers are not compared
	n      int    // requests
	ignore []string
	parts  []string // ignore, parsed
	result *answers.Result
}

func (a *answered) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Offering(value.Text(&a.count), answersAuto), "answers", "before the load, compare the answers of base and head to `N|auto` requests of it: status, headers and bodies (auto: 300)")
	fs.Var(value.List(&a.ignore), "answers-ignore", "the answers may differ in `PART`: status, body, header NAME, or a path in JSON such as $.items[*].id, with all below it; repeatable")
}

func (a *answered) on() bool { return a.count != "" }

// validate checks the flags, after the way to compare is chosen.
func (a *answered) validate(v *verifyCommand, command []string) (faults value.Faults) {
	if !a.on() {
		faults.If(v.env.Typed("answers-ignore"), "--answers-ignore is for --answers; leave it out, or give --answers auto")
		return faults
	}
	if !v.duet.on && v.series.pairs == "" || v.inProgram(command) {
		faults.If(v.env.Typed("answers"), "--answers sends requests to two targets; give --base URL --head URL, or --git, and the load after --")
		a.count = "" // by TAKT_ANSWERS, which is for all comparisons
		return faults
	}
	var err error
	if a.n = autoAnswers; a.count != answersAuto {
		a.n, err = strconv.Atoi(a.count)
	}
	faults.If(err != nil || a.n < 1 || a.n > mostAnswers, "bad --answers %q; give a number from 1 to %d, or auto", a.count, mostAnswers)
	a.parts = nil
	for _, text := range a.ignore {
		part, err := answers.ParsePath(text)
		if err != nil {
			faults = append(faults, value.About(fmt.Errorf("--answers-ignore: %w", err), "answers-ignore"))
		}
		a.parts = append(a.parts, part)
	}
	faults.If(v.env.Fleet != nil, "--answers sends its requests from one process, and a fleet has many; compare the answers by itself, without the fleet")
	faults.If(v.git.on() && v.git.fixed(command), "--answers asks both servers in turn, so they need two ports; write {{.Port}} in --run and in the URL of the load")
	return faults
}

// asking compares answers.
type asking struct {
	*answered
	ctx     context.Context
	v       *verifyCommand
	command []string
	run     string // id of the run in placeholders
	first   answers.Kept
	found   *answers.Comparer
}

// ask sends the requests: all of them to base, and then each to base again and to head.
func (a *answered) ask(ctx context.Context, v *verifyCommand, command []string) error {
	s := &asking{answered: a, ctx: ctx, v: v, command: command, run: engine.NewID(time.Now())}
	fmt.Fprintf(v.env.Stderr, "verify: answers: %d requests of the load, twice to base and once to head, one by one\n", a.n)
	began := time.Now()
	if err := s.side(verify.DuetBase, s.askBase); err != nil {
		return err
	}
	if !pause.For(apart-time.Since(began), ctx.Done()) {
		return context.Cause(ctx)
	}
	err := s.side(verify.DuetBase, func(_ context.Context, base core.Asked) error {
		return s.side(verify.DuetHead, func(ctx context.Context, head core.Asked) error { return s.askBoth(ctx, base, head) })
	})
	if err != nil {
		return err
	}
	r := s.found.Result(a.n, v.options.Confidence)
	a.result = &r
	fmt.Fprintf(v.env.Stderr, "verify: answers: %s\n", r.Sentence())
	return nil
}

// side reads the load for one side, and passes it to with. A server of --git runs meanwhile.
func (s *asking) side(side int, with func(context.Context, core.Asked) error) error {
	var on *visit
	env, name := s.v.env, sideName(side)
	words := append(slices.Clone(s.command), "--progress", "none", "--no-store")
	url := [2]string{s.v.base[0], s.v.head[0]}[side]
	env.Interrupt = s.ctx
	if servers := s.v.servers; servers == nil {
		words = append(words, url)
	} else {
		var err error
		if on, err = servers.sides[side].visit(s.ctx, env.Stderr); err != nil {
			return err
		}
		env.Interrupt, url, words = on.ctx, on.address(), on.words(words)
	}
	err := s.load(env, name, url, words, with)
	if on != nil {
		if died := on.leave(s.v.env.Stderr); died != nil {
			return died
		}
	}
	return err
}

// load is side, once its server runs.
func (s *asking) load(env core.Env, name, url string, words []string, with func(context.Context, core.Asked) error) (err error) {
	var stderr bytes.Buffer
	called := false
	env.Asking = &core.Asking{Run: s.run, With: func(ctx context.Context, load core.Asked) error {
		called = true
		err = with(ctx, load)
		return err
	}}
	env.Stdin, env.Stdout, env.Stderr, env.Side = strings.NewReader(""), io.Discard, &stderr, nil
	code := env.Main(env, words)
	switch {
	case err != nil:
		return err
	case code != core.ExitOK:
		return core.ExitWith(code, fmt.Errorf("cannot read the load of %s for --answers: %s", name, strings.TrimPrefix(strings.TrimSpace(stderr.String()), "takt: ")))
	case !called:
		return core.ExitWith(core.ExitUsage, fmt.Errorf("%q sends nothing to %s whose answers could be compared; leave --answers out", s.command[0], value.HidePassword(url)))
	}
	return nil
}

// askBase gets the first answers of base.
func (s *asking) askBase(ctx context.Context, base core.Asked) error {
	end := time.Now().Add(mostAsking)
	var op takt.Op
	for s.first.Len() < s.n && time.Now().Before(end) && base.Source.Next(&op) {
		a := base.Asker.Ask(ctx, &op)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if s.first.Len() == 0 && a.Failed != "" && a.Failed != engine.ClassTimeout {
			return unanswered("base", a.Failed)
		}
		if !s.first.Add(a) {
			break
		}
	}
	if s.first.Len() == 0 {
		return errors.New("the load has no request whose answers could be compared; leave --answers out")
	}
	return nil
}

func unanswered(side, class string) error {
	return fmt.Errorf("%s does not answer (%s), so its answers cannot be compared; check --%s", side, class, side)
}

// askBoth asks base again, and head. Which of them is first alternates, so that what changes with time affects
// both alike.
func (s *asking) askBoth(ctx context.Context, base, head core.Asked) error {
	s.found = answers.New(s.parts, head.Hide)
	end := time.Now().Add(mostAsking)
	for i := 0; i < s.first.Len() && time.Now().Before(end); i++ {
		var of, to takt.Op
		if !base.Source.Next(&of) || !head.Source.Next(&to) {
			break
		}
		first := s.first.Take(i)
		b, h := both(ctx, base, head, &of, &to, i%2 == 1)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if i == 0 && h.Failed != "" && h.Failed != engine.ClassTimeout {
			return unanswered("head", h.Failed)
		}
		if s.found.Compare(&first, &b, &h) {
			b2, h2 := both(ctx, base, head, &of, &to, i%2 == 0)
			if err := context.Cause(ctx); err != nil {
				return err
			}
			s.found.Repeat(&b, &h, &b2, &h2)
		}
	}
	return nil
}

// both asks base and head.
func both(ctx context.Context, base, head core.Asked, of, to *takt.Op, headFirst bool) (b, h answers.Answer) {
	if headFirst {
		h = head.Asker.Ask(ctx, to)
		return base.Asker.Ask(ctx, of), h
	}
	b = base.Asker.Ask(ctx, of)
	return b, head.Asker.Ask(ctx, to)
}

// add adds the answers to a judgement of the load. err is that of the load: if its runs failed or cannot be judged, a
// wrong answer decides.
func (a *answered) add(j verify.Judgement, err error, v *verifyCommand) (verify.Judgement, error) {
	if a.result == nil {
		return j, err
	}
	if j.Verdict == "" && err != nil {
		var unfit *verify.UnfitError
		failed := core.WithCode(err, core.ExitFailed) != nil || errors.As(err, &unfit)
		if a.result.Verdict != answers.Differ || !failed || core.SignalOf(v.env.Interrupt) != nil {
			return j, err
		}
		j, err = verify.Unjudged(v.options, err), nil
	}
	j.AddAnswers(*a.result)
	return j, err
}
