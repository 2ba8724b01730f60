package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/store/document"
)

// block runs the command against one target after the other.
type block struct {
	ctx     context.Context
	verify  *verify
	command []string

	warm       bool // the pair to warm up was made
	base, head []analysis.Run
	said       bool // that a run is not stored
}

// stopped says what is left of a series that a signal ended.
func (b *block) stopped(signal *SignalError) error {
	kept := "; their runs are kept"
	if setsFlag(b.command, "no-store") {
		kept = ""
	}
	switch n := len(b.base); n {
	case 0:
		return fmt.Errorf("%w before the first pair was made", signal)
	case 1:
		return fmt.Errorf("%w after 1 pair%s", signal, kept)
	default:
		return fmt.Errorf("%w after %d pairs%s", signal, n, kept)
	}
}

// fitPair makes the i-th pair, and makes it once more when nothing can be concluded
// from a run of it: a stall of the machine should not cost all pairs before.
func (b *block) fitPair(i int) (base, head analysis.Run, err error) {
	base, head, err = b.pair(i)
	if why := cmp.Or(base.Unfit, head.Unfit); err == nil && why != "" {
		fmt.Fprintf(b.verify.env.Stderr, "verify: %s; this pair is made again\n", why)
		base, head, err = b.pair(i)
	}
	if err == nil {
		err = b.verify.options.Check(base, head)
	}
	return base, head, err
}

// pair makes the i-th pair: base first when i is even, head first when it is odd.
func (b *block) pair(i int) (base, head analysis.Run, err error) {
	first := func() error { base, err = b.side("base", b.verify.base[0]); return err }
	second := func() error { head, err = b.side("head", b.verify.head[0]); return err }
	if i%2 == 1 {
		first, second = second, first
	}
	if err := first(); err != nil {
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
	if code != exitOK {
		return analysis.Run{}, &exitError{code, fmt.Errorf("the %s run against %s ended with exit code %d:\n%s", name, hidePassword(url), code, strings.TrimSpace(stderr.String()))}
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
