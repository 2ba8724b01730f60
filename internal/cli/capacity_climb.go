package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// climb runs the load command at one rate after another.
type climb struct {
	duration time.Duration // measured part of a step
	warmup   time.Duration // warm-up of a step, in which queues settle
	pause    time.Duration // time between steps, in which the target empties its queues
	seed     uint64        // seed of the first step; each step has its own, so repeats are independent
	budget   time.Duration // limit of the whole search; 0: none

	arrivals bool // the command has its own --arrivals
}

func defaultClimb() climb {
	return climb{duration: 30 * time.Second, warmup: 5 * time.Second, pause: time.Second, seed: 1}
}

func (k *climb) addFlags(fs *pflag.FlagSet) {
	fs.VarP(value.Duration(&k.duration), "duration", "z", "measure each step for `TIME`")
	fs.Var(value.Duration(&k.warmup), "warmup", "warm up for `TIME` before each step, so that queues settle")
	fs.Var(value.Duration(&k.pause), "pause", "`TIME` without load between steps")
	fs.Uint64Var(&k.seed, "seed", k.seed, "seed `N` for the first step, N+1 for the next, and so on")
}

// validate checks the load command with takt config, and refuses flags in it that the search
// sets itself.
func (k *climb) validate(env core.Env, command []string) (faults []error) {
	if k.duration <= 0 {
		faults = append(faults, value.Faultf("--duration is %v; give a time above 0", k.duration))
	}
	if k.budget > 0 && k.budget < fewestTimed*k.cost() {
		faults = append(faults, value.Faultf("--budget is %v, and a step takes %v; give %v or more, or shorter steps with --duration", k.budget, k.cost(), fewestTimed*k.cost()))
	}
	if len(command) == 0 || strings.HasPrefix(command[0], "-") {
		return append(faults, errors.New("takt capacity needs a load command after --, as in -- http http://127.0.0.1:8080/"))
	}
	given, err := settingsOf(env, command)
	k.arrivals = slices.Contains(given, "arrivals")
	for _, name := range given {
		switch name {
		case "duration", "warmup", "seed", "output", "store", "store-limit", "no-store":
			faults = append(faults, value.Faultf("--%s comes after --; give it to takt capacity, before --", name))
		case "rate", "rounds", "stages", "requests", "repeat", "shard", "start-at", "run-group", "progress":
			faults = append(faults, value.Faultf("--%s comes after --, but the search sets it; leave it out", name))
		case "assert":
			faults = append(faults, value.Faultf("--assert comes after --; give its conditions with --slo"))
		}
	}
	return core.AppendError(faults, err)
}

// fewestTimed is the number of steps that a budget must allow: one that meets the SLO, one that
// breaks it, and one between them.
const fewestTimed = 3

// cost is how long a step takes.
func (k *climb) cost() time.Duration { return k.warmup + k.duration + k.pause }

// left is how many more steps fit into the budget, after steps steps took the time used.
func (k *climb) left(steps int, used time.Duration) int {
	cost := k.cost()
	if steps > 0 {
		cost = max(cost, used/time.Duration(steps)) // draining takes time too
	}
	return int((k.budget - used) / cost)
}

// settingsOf returns the names of the flags in a load command. If the command is wrong only
// because it lacks a rate, which the search sets, it is fine.
func settingsOf(env core.Env, command []string) (given []string, err error) {
	if given, err = askConfig(env, command); err == nil {
		return given, nil
	}
	rated, also := askConfig(env, slices.Concat(command, []string{"--rate", "1/s"}))
	if also != nil {
		return nil, err
	}
	return slices.DeleteFunc(rated, func(name string) bool { return name == "rate" }), nil
}

// askConfig returns the names of the flags in a load command.
func askConfig(env core.Env, command []string) (given []string, err error) {
	rows, err := env.LoadSettings(command)
	if err == nil {
		err = core.WholeLoad(rows)
	}
	return core.FlagNames(rows), err
}

// run runs steps until the search ends, a step cannot be run, or a signal comes.
func (k *climb) run(ctx context.Context, c *capacityCommand, id string, command []string) (steps []capacity.Step, runs []*takt.Report, ended capacity.Ending, err error) {
	began := time.Now()
	search := c.search
	if search.Timed = k.budget > 0; search.Timed {
		if search.Steps == capacity.DefaultSearch().Steps {
			search.Steps = math.MaxInt // the budget ends the search
		}
	}
	k.announce(c.env.Stderr, search)
	for {
		search.Left = k.left(len(steps), time.Since(began))
		rate, ended := search.Next(steps)
		if ended != "" {
			return steps, runs, ended, nil
		}
		if len(steps) > 0 {
			pause.For(k.pause, ctx.Done())
		}
		var step capacity.Step
		r, err := k.run1(ctx, c, id, len(steps), rate, command)
		if err == nil {
			step, err = capacity.StepOf(r, rate, c.slo)
		}
		if err != nil || ctx.Err() != nil { // a signal cut the step short
			return steps, runs, capacity.EndBroken, err
		}
		steps, runs = append(steps, step), append(runs, r)
		fmt.Fprintln(c.env.Stderr, "capacity: "+stepLine(len(steps), step)+k.usedWords(time.Since(began)))
	}
}

// announce says what the search will do, and how long that takes.
func (k *climb) announce(w io.Writer, search capacity.Search) {
	o := search.Outlook()
	var rates []string
	for _, rate := range o.Rates {
		rates = append(rates, page.Amount(stored.PerSecond, rate))
	}
	length := func(steps int) time.Duration { return (time.Duration(steps) * k.cost()).Round(time.Second) }
	fmt.Fprintf(w, "capacity: the rates are %s … until the SLO breaks, then about %s around the limit; a step takes %v, so a limit near %s takes about %s, %v\n",
		strings.Join(rates, ", "), page.Plural(o.Around, "step"), k.cost(), page.Amount(stored.PerSecond, o.Limit), page.Plural(o.Steps, "step"), length(o.Steps))
	switch {
	case k.budget > 0:
		fmt.Fprintf(w, "capacity: the budget of %v is enough for about %d steps; disturbed ones are replaced within it\n", k.budget, k.left(0, 0))
	case o.Most > 0:
		fmt.Fprintf(w, "capacity: the search ends after at most %s, %v\n", page.Plural(o.Most, "step"), length(o.Most))
	}
}

// usedWords says how much of the budget is used; "": there is no budget.
func (k *climb) usedWords(used time.Duration) string {
	if k.budget == 0 {
		return ""
	}
	return "; " + core.OfBudget(used, k.budget)
}

func stepLine(n int, s capacity.Step) string {
	word := "breaks"
	switch {
	case s.Proven && s.Met:
		word = "holds, although takt was late"
	case s.Proven:
		word = "breaks; takt was late, which is not the cause"
	case s.Verdict == takt.Invalid:
		word = "invalid, the generator was the bottleneck"
	case s.Met:
		word = "holds"
	}
	if s.Disturbed() {
		word += fmt.Sprintf(", but the hypervisor took %.0f %% of the CPU time", s.Stolen)
	}
	rate := page.Rate
	if s.PerRound > 0 {
		rate = page.RoundRate
	}
	return fmt.Sprintf("step %d: %s offered, %s completed: %s, %s", n, rate(s.Offered), rate(s.Throughput()), s.Reason, word)
}

// run1 makes one run, in this process. A run that --abort-on ended, or without one successful
// operation, counts, too.
func (k *climb) run1(ctx context.Context, c *capacityCommand, id string, number int, rate float64, command []string) (*takt.Report, error) {
	var stdout, stderr bytes.Buffer
	env := c.env
	env.Stdin, env.Stdout, env.Stderr, env.Interrupt = strings.NewReader(""), &stdout, &stderr, ctx
	code := env.Main(env, append(slices.Clone(command), k.flags(c, id, number, rate)...))
	r, err := document.Parse(stdout.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the step at %s ended with exit code %d: %s", schedule.FormatRate(rate), code, strings.TrimSpace(stderr.String()))
	}
	return r, nil
}

// flags returns the flags that the search adds to the load command.
func (k *climb) flags(c *capacityCommand, id string, number int, rate float64) []string {
	flags := []string{
		"--rate", schedule.FormatRate(rate), "--duration", k.duration.String(), "--warmup", k.warmup.String(),
		"--seed", strconv.FormatUint(k.seed+uint64(number), 10), "--run-group", id, "-o", "json=-", "--progress", "none",
		"--store-limit", "0", // nobody reads what a step prints; the answer removes old runs, and says so
	}
	if !k.arrivals {
		flags = append(flags, "--arrivals", "poisson")
	}
	if c.noStore {
		flags = append(flags, "--no-store")
	}
	if c.store.Where != "" {
		flags = append(flags, "--store", c.store.Where)
	}
	return flags
}
