package verifycmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// block runs the command against both targets in turn, pair by pair.
type block struct {
	ctx           context.Context
	verifyCommand *verifyCommand
	command       []string
	run           func(side, url string) (stored.Run, error)

	warm       bool // the warm-up pair is complete
	base, head []stored.Run
	fit        int // number of undisturbed pairs, including the warm-up pair
	disturbed  verify.Disturbed
	said       bool                    // the user was told that a run is not stored
	reports    map[string]*takt.Report // what the page needs of each run, by its id

	budget time.Duration // limit of the whole series; 0: none
	made   int           // number of pairs, including disturbed ones
	used   func() time.Duration
}

// errBudget ends a series whose budget is not enough for another pair.
var errBudget = errors.New("the budget is used up")

// over reports whether the rest of the budget is shorter than the mean pair so far.
func (b *block) over() bool {
	if b.budget == 0 || b.made == 0 {
		return false
	}
	used := b.used()
	return used+used/time.Duration(b.made) > b.budget
}

// usedWords says how much of the budget is used; "": there is no budget.
func (b *block) usedWords() string {
	if b.budget == 0 {
		return ""
	}
	return "; " + core.OfBudget(b.used(), b.budget)
}

// stopped is the error of a series that a signal ended, with the number of its pairs and the command
// that continues it.
func (b *block) stopped(signal *core.SignalError, of int) error {
	if len(b.base) == 0 {
		return fmt.Errorf("%w before the first pair was made", signal)
	}
	again := ""
	if !setsFlag(b.command, "no-store") {
		again = "; their runs are kept: make more with the same command, and judge all of them with " + b.again()
	}
	return fmt.Errorf("%w after %s of %d%s", signal, pairsOf(len(b.base)), of, again)
}

// again is the command that judges the runs of the series and later ones of the same sides, in the same
// way.
func (b *block) again() string {
	base, head := b.base[0], b.head[0]
	since := base.StartedAt
	if head.StartedAt.Before(since) {
		since = head.StartedAt
	}
	from := fmt.Sprintf("date>=%s", since.UTC().Truncate(time.Second).Format(time.RFC3339))
	words := []string{"takt", "verify"}
	for _, side := range []struct {
		flag string
		run  stored.Run
	}{{"--base", base}, {"--head", head}} {
		words = append(words, side.flag, sideFilter(side.run), side.flag, from)
	}
	for _, name := range placeVariables() {
		if base.Settings.Variables[name] != head.Settings.Variables[name] {
			words = append(words, "--vary", name)
		}
	}
	if settings := b.verifyCommand.env.Settings; settings != nil {
		for _, g := range settings.Given {
			if slices.Contains([]string{"metric", "tolerance", "error-tolerance", "confidence", "vary"}, g.Name) && g.Origin.Kind == core.FromFlag {
				words = append(words, "--"+g.Name, g.Value)
			}
		}
	}
	if where := b.verifyCommand.store.Where; where != "" && where == value.HidePassword(where) { // else TAKT_STORE has it
		words = append(words, "--store", where)
	}
	return part.CommandLine(words)
}

// sideFilter is the label that the runs of one side have, and those of the other have not.
func sideFilter(r stored.Run) string {
	if revision := r.Labels[stored.LabelRevision]; revision != "" && r.Labels["side"] == "" {
		return stored.LabelRevision + "=" + revision
	}
	return "side=" + r.Labels["side"]
}

func pairsOf(n int) string {
	if n == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", n)
}

// fitPair makes the i-th pair. It replaces a pair with an invalid run, so that a stall of the
// machine does not cost the pairs before. Any other reason against judging a run would persist,
// so it ends the series.
func (b *block) fitPair(i int) (base, head stored.Run, err error) {
	for {
		if b.over() {
			return base, head, errBudget
		}
		base, head, err = b.pair(i)
		b.made++
		if err == nil && !base.InvalidOnly() && !head.InvalidOnly() {
			err = b.verifyCommand.options.Check(base, head)
			b.fit++
			return base, head, err
		}
		if err == nil {
			err = b.disturb(base, head)
		}
		if err != nil {
			return base, head, err
		}
	}
}

// disturb counts a disturbed pair. It returns an UnfitError if that pair is not replaced.
func (b *block) disturb(base, head stored.Run) error {
	side, run, counted := "base", base, &b.disturbed.Base
	if head.InvalidOnly() {
		side, run, counted = "head", head, &b.disturbed.Head
	}
	*counted++
	if why := b.disturbed.GiveUp(b.fit, b.used().Seconds()); why != "" {
		return &verify.UnfitError{Why: why, Runs: []stored.Run{run}}
	}
	again := fmt.Sprintf("takt repeats this pair (%d of at most %d)", b.disturbed.Total(), b.disturbed.Most)
	if b.disturbed.Most == 0 {
		again = fmt.Sprintf("takt repeats this pair within the budget (%d so far)", b.disturbed.Total())
	}
	fmt.Fprintf(b.verifyCommand.env.Stderr, "verify: %s: %s; %s%s\n", side, run.Unfit, again, b.usedWords())
	return nil
}

// pair makes the i-th pair: base first if i is even, head first if i is odd. If the first run is
// invalid, it skips the second.
func (b *block) pair(i int) (base, head stored.Run, err error) {
	first := func() error { base, err = b.run("base", b.verifyCommand.base[0]); return err }
	second := func() error { head, err = b.run("head", b.verifyCommand.head[0]); return err }
	if i%2 == 1 {
		first, second = second, first
	}
	if err := first(); err != nil || base.InvalidOnly() || head.InvalidOnly() {
		return base, head, err
	}
	return base, head, second()
}

// both makes the runs of a pair whose figures do not count, base first if i is even.
func (b *block) both(i int) error {
	for _, side := range []string{sideName(i % 2), sideName(1 - i%2)} {
		if _, err := b.run(side, side); err != nil {
			return err
		}
	}
	return nil
}

// side makes one run, in this process. With --git it starts the server for it.
func (b *block) side(name, url string) (stored.Run, error) {
	env := b.verifyCommand.env
	env.Interrupt = b.ctx
	servers := b.verifyCommand.servers
	if servers == nil {
		return b.once(env, name, url, b.verifyCommand.line(b.words(name), url))
	}
	on, err := servers.side(name).visit(b.ctx, env.Stderr)
	if err != nil {
		return stored.Run{}, err
	}
	env.Interrupt, env.Side = on.ctx, on
	r, err := b.once(env, name, on.address(), on.words(b.words(name)))
	if died := on.leave(b.verifyCommand.env.Stderr); died != nil {
		return stored.Run{}, died
	}
	return r, err
}

// once makes a run with these words.
func (b *block) once(env core.Env, name, address string, words []string) (stored.Run, error) {
	var stdout, stderr, unstored bytes.Buffer
	env.Stdin, env.Stdout, env.Stderr, env.Unstored = strings.NewReader(""), &stdout, &stderr, &unstored
	code := env.Main(env, words)
	if unstored.Len() > 0 && !b.said {
		b.said = true
		fmt.Fprint(b.verifyCommand.env.Stderr, unstored.String())
	}
	if code != core.ExitOK && (code != core.ExitInvalid || stdout.Len() == 0) { // ExitInvalid: --strict and an invalid run
		return stored.Run{}, sideFailed(name, address, code, stderr.String())
	}
	r, err := document.Parse(stdout.Bytes())
	if err != nil {
		return stored.Run{}, fmt.Errorf("the %s run made no report: %w; is %q a load command?", name, err, strings.Join(b.command, " "))
	}
	if b.reports != nil {
		b.reports[r.ID] = &takt.Report{ID: r.ID, Command: b.verifyCommand.own(r, name, b.command), Latency: r.Latency}
	}
	return stored.RunOf(r), nil
}

// own is the command of a run of that side, as the user gave it: without the words that takt adds, and with the place of
// the port.
func (v *verifyCommand) own(r *takt.Report, side string, command []string) []string {
	words := slices.Clone(r.Command[:min(len(r.Command), 1+len(command))])
	if v.servers != nil {
		for i, word := range words {
			words[i] = v.servers.side(side).server.PlaceOf(word)
		}
	}
	return words
}

// words is the command line for a run of that side, without the URL.
func (b *block) words(side string) []string {
	words := append(slices.Clone(b.command), "-o", "json=-", "--progress", "none")
	if b.verifyCommand.servers == nil { // a revision is base of one series and head of another, and all its runs can be compared
		words = append(words, "--label", "side="+side)
	}
	if !b.warm {
		words = append(words, "--no-store")
	}
	if b.verifyCommand.store.Where != "" {
		words = append(words, "--store", b.verifyCommand.store.Where)
	}
	return words
}

// sideFailed is the error of a failed run of base or head. said is its standard error.
func sideFailed(name, url string, code int, said string) error {
	why := strings.TrimPrefix(strings.TrimSpace(said), "takt: ")
	return core.ExitWith(code, fmt.Errorf("the %s run against %s ended with exit code %d: %s", name, value.HidePassword(url), code, why))
}
