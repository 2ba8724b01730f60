package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/store/document"
)

// block runs the command against one target after the other.
type block struct {
	ctx     context.Context
	verify  *verify
	command []string
	run     func(side, url string) (analysis.Run, error)

	warm       bool // the pair to warm up was made
	base, head []analysis.Run
	fit        int // pairs that were not disturbed, with the one to warm up
	disturbed  analysis.Disturbed
	said       bool // that a run is not stored

	budget time.Duration // of the whole series; 0: none
	made   int           // pairs, disturbed ones too
	used   func() time.Duration
}

// errBudget ends a series whose budget is not enough for another pair.
var errBudget = errors.New("the budget is used up")

// over reports whether the budget is not enough for another pair as long as those so far.
func (b *block) over() bool {
	if b.budget == 0 || b.made == 0 {
		return false
	}
	used := b.used()
	return used+used/time.Duration(b.made) > b.budget
}

// usedWords says how much of the budget is used.
func (b *block) usedWords() string {
	if b.budget == 0 {
		return ""
	}
	return "; " + ofBudget(b.used(), b.budget)
}

// stopped says what is left of a series that a signal ended.
func (b *block) stopped(signal *SignalError) error {
	kept := "; their runs are kept"
	if setsFlag(b.command, "no-store") {
		kept = ""
	}
	if len(b.base) == 0 {
		return fmt.Errorf("%w before the first pair was made", signal)
	}
	return fmt.Errorf("%w after %s%s", signal, pairsOf(len(b.base)), kept)
}

func pairsOf(n int) string {
	if n == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", n)
}

// fitPair makes the i-th pair. A pair with an invalid run is replaced: a stall of the
// machine should not cost the pairs before. What else keeps a run from being judged is no
// chance, and ends the series.
func (b *block) fitPair(i int) (base, head analysis.Run, err error) {
	for {
		if b.over() {
			return base, head, errBudget
		}
		base, head, err = b.pair(i)
		b.made++
		if err == nil && !base.InvalidOnly() && !head.InvalidOnly() {
			err = b.verify.options.Check(base, head)
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

// disturb counts a disturbed pair. It is an UnfitError when that pair is not replaced.
func (b *block) disturb(base, head analysis.Run) error {
	side, run, counted := "base", base, &b.disturbed.Base
	if head.InvalidOnly() {
		side, run, counted = "head", head, &b.disturbed.Head
	}
	*counted++
	if why := b.disturbed.GiveUp(b.fit, b.used().Seconds()); why != "" {
		return &analysis.UnfitError{Why: why, Runs: []analysis.Run{run}}
	}
	again := fmt.Sprintf("this pair is made again (%d of at most %d)", b.disturbed.Total(), b.disturbed.Most)
	if b.disturbed.Most == 0 {
		again = fmt.Sprintf("this pair is made again within the budget (%d so far)", b.disturbed.Total())
	}
	fmt.Fprintf(b.verify.env.Stderr, "verify: %s: %s; %s%s\n", side, run.Unfit, again, b.usedWords())
	return nil
}

// pair makes the i-th pair: base first when i is even, head first when it is odd. An
// invalid first run is not worth a second one.
func (b *block) pair(i int) (base, head analysis.Run, err error) {
	first := func() error { base, err = b.run("base", b.verify.base[0]); return err }
	second := func() error { head, err = b.run("head", b.verify.head[0]); return err }
	if i%2 == 1 {
		first, second = second, first
	}
	if err := first(); err != nil || base.InvalidOnly() || head.InvalidOnly() {
		return base, head, err
	}
	return base, head, second()
}

// side makes one run, in this process.
func (b *block) side(name, url string) (analysis.Run, error) {
	var stdout, stderr, unstored bytes.Buffer
	env := b.verify.env
	env.Stdin, env.Stdout, env.Stderr, env.Interrupt, env.unstored = strings.NewReader(""), &stdout, &stderr, b.ctx, &unstored
	code := Main(env, append(b.words(name), url))
	if unstored.Len() > 0 && !b.said {
		b.said = true
		fmt.Fprint(b.verify.env.Stderr, unstored.String())
	}
	if code != exitOK && (code != exitInvalid || stdout.Len() == 0) { // --strict of an invalid run
		return analysis.Run{}, sideFailed(name, url, code, stderr.String())
	}
	r, err := document.Parse(stdout.Bytes())
	if err != nil {
		return analysis.Run{}, fmt.Errorf("the %s run made no report: %w; is %q a load command?", name, err, b.command[0])
	}
	return analysis.RunOf(r), nil
}

// words are the command line of a run of that side, without the URL.
func (b *block) words(side string) []string {
	words := append(slices.Clone(b.command), "-o", "json=-", "--progress", "none", "--label", "side="+side)
	if !b.warm {
		words = append(words, "--no-store")
	}
	if b.verify.store.where != "" {
		words = append(words, "--store", b.verify.store.where)
	}
	return words
}

// sideFailed is the error of a run of base or head that could not be made. said is what it wrote.
func sideFailed(name, url string, code int, said string) error {
	why := strings.TrimPrefix(strings.TrimSpace(said), "takt: ")
	return &exitError{code, fmt.Errorf("the %s run against %s ended with exit code %d: %s", name, hidePassword(url), code, why)}
}
