package verifycmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/value"
)

const (
	defaultLoad = time.Minute     // default budget of load
	duetWarmup  = 2 * time.Second // load before the first round, from which the guard is computed
	// duetSpend limits the load when blocks are left out: after this many times the budget, the
	// duet starts no other round.
	duetSpend = 2
	// fewestPerBlock is the least mean number of operations per block: below it, many blocks
	// would be empty.
	fewestPerBlock = 3
)

// duet divides one schedule between both sides in turn, block by block.
type duet struct {
	on     bool
	block  time.Duration
	budget time.Duration
}

func (d *duet) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&d.on, "duet", false, "send the load of the command after -- to base and head in turn, in blocks of some milliseconds, so that disturbances of the machine affect both alike")
	fs.Var(value.Duration(&d.block), "block", "`TIME` of a block of --duet, 20ms to 200ms")
}

func (d *duet) validate(v *verifyCommand, command []string) (faults value.Faults) {
	faults.If(v.series.pairs != "", "--duet and --pairs are two ways to compare; give one of them")
	d.budget = cmp.Or(v.budget, defaultLoad)
	faults = append(faults, core.Unjoin(v.options.CheckDuet(d.parts(v, verify.FreshRound), d.budget, ""))...)
	faults.If(v.env.Fleet != nil, "a duet deals blocks of milliseconds to two sides in one process, so a fleet cannot play it; use --pairs")
	faults.If(len(v.base) != 1 || len(v.head) != 1, "--duet needs one --base URL and one --head URL")
	faults.If(v.inProgram(command), "--duet lets both sides take turns in one process, and a program is a process of its own; use --pairs")
	faults.If(v.lacksCommand(command), "--duet needs the command to run after --, without the URL: -- http --rate 500/s -z 5s")
	for _, name := range []string{"repeat", "shard", "start-at", "contrast"} {
		faults.If(setsFlag(command, name), "--%s does not work in a duet, which decides itself what each side sends and when; leave it out", name)
	}
	faults.If(slices.ContainsFunc(command, func(word string) bool { return strings.HasPrefix(word, "-o") || strings.HasPrefix(word, "--output") }), "-o comes after --, and both sides would write to the same file; leave it out")
	return faults
}

// parts says how the duet divides its load, if the schedule of the command lasts so long.
func (d *duet) parts(v *verifyCommand, schedule time.Duration) verify.DuetParts {
	parts := verify.DuetParts{Block: d.block}
	if v.git.on() && !v.git.keep {
		parts.Round = min(schedule, verify.FreshRound)
	}
	return parts
}

// run plays the duet. After a signal it judges the load so far, if that is enough.
func (d *duet) run(ctx context.Context, v *verifyCommand, command []string) (verify.Judgement, error) {
	v.options.Lift = append(slices.Clone(v.options.Lift), placeVariables()...)
	p := &play{duet: d, ctx: ctx, verifyCommand: v, command: command}
	p.run = p.round
	j, err := p.judge()
	if signal := core.SignalOf(ctx); err != nil && signal != nil {
		if p.plan != nil {
			if step := p.plan.Next(true); step.Judgement != nil {
				j = *step.Judgement
				j.Advice = append([]string{fmt.Sprintf("ended after %v of load: %v", p.plan.Load().Round(time.Second), signal)}, j.Advice...)
			}
		}
		err = core.ExitBy(signal, fmt.Errorf("%w after %v of load; a duet keeps no runs, so the same command begins again", signal, p.spent.Round(time.Second)))
	}
	for side, list := range j.Reports {
		for _, r := range list {
			r.Command = p.own[side]
		}
	}
	return j, err
}

// play is a duet in progress.
type play struct {
	*duet
	ctx           context.Context
	verifyCommand *verifyCommand
	command       []string
	run           func(number uint64, most time.Duration) (verify.DuetRound, [2]*stored.Run, error)

	plan   *verify.Duet
	whole  time.Duration // length of the command's schedule, without warm-up
	rounds int
	spent  time.Duration // load so far, without warm-up
	own    [2][]string   // commands of both sides, as their reports have them
}

// judge plays rounds until the plan reaches a judgement, or gives up.
func (p *play) judge() (verify.Judgement, error) {
	if err := p.warmUp(); err != nil {
		return verify.Judgement{}, err
	}
	for {
		p.rounds++
		r, sides, err := p.run(uint64(p.rounds), p.plan.Round)
		if err != nil {
			return verify.Judgement{}, err
		}
		p.spent += r.End - r.Warmup
		last := p.spent >= duetSpend*p.budget
		if fit, err := p.fit(sides); err != nil {
			return verify.Judgement{}, err
		} else if fit {
			r.Guard = p.plan.Guard
			p.plan.Add(r)
			p.plan.AddRuns(*sides[verify.DuetBase], *sides[verify.DuetHead])
		}
		if why := p.plan.GiveUp(p.spent); why != "" {
			return verify.Judgement{}, &verify.UnfitError{Why: why}
		}
		step := p.plan.Next(last)
		p.progress(step.Forecast)
		switch {
		case step.Done:
			return *step.Judgement, nil
		case last:
			return verify.Judgement{}, &verify.UnfitError{Why: fmt.Sprintf("only %[2]v of %[1]v of load counts, which is too little to conclude anything: quieten the machine, lower the rate, or raise --budget", p.spent, p.plan.Load())}
		}
	}
}

// warmUp plays a round that does not count, because caches are cold. It computes the guard from
// that round, and checks that later rounds can be judged.
func (p *play) warmUp() error {
	r, sides, err := p.run(0, duetWarmup)
	if err != nil {
		return err
	}
	for _, run := range sides {
		if run.InvalidOnly() {
			run.Unfit = "" // the warm-up may be invalid
		}
	}
	if err := p.verifyCommand.options.Check(*sides[0], *sides[1]); err != nil {
		return err
	}
	if r.End-r.Warmup < 2*p.block {
		return core.ExitWith(core.ExitUsage, fmt.Errorf("a round of %v is shorter than a pair of blocks, %v; raise --duration after --", r.End-r.Warmup, 2*p.block))
	}
	if p.plan, err = verify.NewDuet(p.parts(p.verifyCommand, p.whole), p.budget, sides[0].Kind, p.verifyCommand.options); err != nil {
		return unsuited(err)
	}
	r.Guard = r.GuardOf()
	p.plan.Guard = r.Guard
	if n := r.PerBlock(); n < fewestPerBlock {
		return unsuited(value.Faultf("a block of %v has %.2g operations after its guard of %v, and needs %d; raise --block or the rate, or use --pairs", p.block, n, r.Guard.Round(10*time.Microsecond), fewestPerBlock))
	}
	p.announce()
	return nil
}

func (p *play) announce() {
	var looks []string
	for _, n := range p.plan.Looks {
		looks = append(looks, p.plan.LoadOf(n).String())
	}
	if p.plan.Round > 0 {
		fmt.Fprintf(p.verifyCommand.env.Stderr, "verify: rounds of %v with freshly started servers; each counts as one value\n", p.plan.Round)
	}
	fmt.Fprintf(p.verifyCommand.env.Stderr, "verify: blocks of %v in turn, the first %v of each not counted; looks after %s of load\n",
		p.block, p.plan.Guard.Round(10*time.Microsecond), strings.Join(looks, ", "))
}

func (p *play) progress(forecast string) {
	c := p.plan.Counts()
	line := fmt.Sprintf("verify: round %d: %v of load count", p.rounds, p.plan.Load().Round(10*time.Millisecond))
	if c.LatePairs > 0 {
		line += fmt.Sprintf(", the generator was late in %d of %d pairs of blocks", c.LatePairs, c.LatePairs+c.Pairs+c.EmptyPairs)
	}
	if forecast != "" {
		line += "; " + forecast
	}
	fmt.Fprintln(p.verifyCommand.env.Stderr, line)
}

// fit reports whether a round counts. An invalid round does not count, and is replaced. A late
// generator does not make a round invalid; only the affected pairs of blocks are left out.
func (p *play) fit(sides [2]*stored.Run) (bool, error) {
	base, head := sides[0], sides[1]
	if !base.InvalidOnly() && !head.InvalidOnly() {
		return true, p.verifyCommand.options.Check(*base, *head)
	}
	side := verify.DuetBase
	if !base.InvalidOnly() {
		side = verify.DuetHead
	}
	p.plan.LeaveOut(side)
	if c := p.plan.Counts(); c.BadBase+c.BadHead > 2+p.rounds/2 {
		return false, &verify.UnfitError{Why: fmt.Sprintf("%d of %d rounds were invalid", c.BadBase+c.BadHead, p.rounds), Runs: []stored.Run{*sides[side]}}
	}
	fmt.Fprintf(p.verifyCommand.env.Stderr, "verify: %s: %s; this round does not count\n", sideName(side), sides[side].Unfit)
	return false, nil
}

// sideName is the name of the side verify.DuetBase or verify.DuetHead.
func sideName(side int) string {
	if side == verify.DuetHead {
		return "head"
	}
	return "base"
}

// round runs both sides at once, in this process.
func (p *play) round(number uint64, most time.Duration) (r verify.DuetRound, runs [2]*stored.Run, err error) {
	ctx, fail := context.WithCancelCause(p.ctx)
	defer fail(nil)
	both := newMeeting()
	r.Deal = verify.Deal{Block: p.block, Seed: number}
	var sides [2]*duetSide
	var all sync.WaitGroup
	visits, err := p.visit()
	if err != nil {
		return r, runs, err
	}
	for i, url := range []string{p.verifyCommand.base[0], p.verifyCommand.head[0]} {
		d := &duetSide{side: i, deal: r.Deal, most: most, meet: both}
		sides[i] = d
		all.Go(func() {
			if err := p.side(ctx, d, url, visits[i]); err != nil {
				fail(err) // the other side must not wait for this one
			}
		})
	}
	all.Wait()
	if err := p.leave(visits); err != nil {
		return r, runs, err
	}
	if err := context.Cause(ctx); err != nil {
		return r, runs, err
	}
	p.verifyCommand.options.Rows = sides[0].rows
	r.Warmup, r.End, p.whole = sides[0].warmup, sides[0].end, sides[0].whole
	for i, d := range sides {
		run := verify.DuetRunOf(d.report)
		runs[i], r.Ops[i] = &run, d.ops
	}
	return r, runs, nil
}

// side runs one side. on is its server of --git; nil: it has a URL.
func (p *play) side(ctx context.Context, d *duetSide, url string, on *visit) error {
	name := sideName(d.side)
	var stderr bytes.Buffer
	env := p.verifyCommand.env
	env.Stdin, env.Stdout, env.Stderr, env.Interrupt, env.Side = strings.NewReader(""), io.Discard, &stderr, ctx, d
	words := append(slices.Clone(p.command), "--progress", "none", "--no-store", "--label", "side="+name)
	if on != nil {
		var over context.CancelCauseFunc
		env.Interrupt, over = on.within(ctx)
		defer over(nil)
		words, url = on.words(words), on.address()
		env.Side = served{d, on}
	} else {
		words = append(words, url)
	}
	code := env.Main(env, words)
	if code != core.ExitOK && code != core.ExitInvalid { // ExitInvalid: --strict and an invalid run
		return sideFailed(name, url, code, stderr.String())
	}
	if d.report == nil {
		return fmt.Errorf("the %s run made no report; is %q a load command?", name, p.command[0])
	}
	p.own[d.side] = p.verifyCommand.own(d.report, name, p.command)
	return d.complete()
}
