package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/store/document"
)

// pairsAuto goes on until the pairs suffice.
const pairsAuto = "auto"

// series makes pairs of runs, base and head in turn, so that what the machine does
// meanwhile hits both.
type series struct {
	pairs string // N or auto; "": none are made
	most  int    // of auto

	count int
}

func (s *series) addFlags(fs *goFlagSet) {
	fs.StringVar(&s.pairs, "pairs", "", "make `N|auto` pairs of runs with the command after --, against the URLs of --base and --head in turn")
	fs.IntVar(&s.most, "max-pairs", s.most, "`N` pairs at most, with --pairs auto")
}

func (s *series) validate(args []string, base, head list) (faults []error) {
	s.count = s.most
	if s.pairs != pairsAuto {
		n, err := strconv.Atoi(s.pairs)
		if s.count = n; err != nil || n < 1 {
			faults = append(faults, fmt.Errorf("bad --pairs %q; give a number above 0, or auto", s.pairs))
		}
	} else if s.most < 1 {
		faults = append(faults, fmt.Errorf("--max-pairs is %d; give a number above 0", s.most))
	}
	if len(base) != 1 || len(head) != 1 {
		faults = append(faults, errors.New("--pairs needs one --base URL and one --head URL"))
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		faults = append(faults, errors.New("--pairs needs the command to run, behind --, without the URL: -- http --rate 500/s -z 5s"))
	}
	return faults
}

// run makes the pairs. The first of all is thrown away: caches are cold in it.
func (s *series) run(ctx context.Context, v *verify, command []string) (analysis.Judgement, error) {
	v.options.Lift = append(slices.Clone(v.options.Lift), "scheme", "host", "path", "apm_host")
	b := block{ctx: ctx, verify: v, command: command}
	fmt.Fprintln(v.env.Stderr, "verify: a pair to warm up, which does not count")
	if _, _, err := b.pair(0); err != nil {
		return analysis.Judgement{}, err
	}
	var base, head []analysis.Run
	for {
		one, other, err := b.pair(len(base))
		if err != nil {
			return analysis.Judgement{}, err
		}
		base, head = append(base, one), append(head, other)
		step, err := s.step(v, base, head)
		if err != nil {
			return analysis.Judgement{}, err
		}
		s.progress(v, base, head, step.Needed)
		if step.Done {
			return *step.Judgement, nil
		}
	}
}

// step says how to go on. So many pairs as were asked for are made and judged, also
// when so few cannot prove anything: the judgement says so.
func (s *series) step(v *verify, base, head []analysis.Run) (analysis.Step, error) {
	plan, err := analysis.NewPairs(s.count, s.pairs == pairsAuto, base[0].Kind, v.options)
	switch {
	case err == nil:
		return plan.Next(base, head)
	case s.pairs == pairsAuto:
		return analysis.Step{}, err
	case len(base) < s.count:
		return analysis.Step{}, nil
	}
	j, err := analysis.Verify(base, head, true, v.options)
	return analysis.Step{Done: true, Judgement: &j}, err
}

func (s *series) progress(v *verify, base, head []analysis.Run, needed int) {
	metric := "p50"
	if len(v.metrics) > 0 {
		metric = v.metrics[0]
	}
	b, _ := base[len(base)-1].Figures.Get(metric)
	h, _ := head[len(head)-1].Figures.Get(metric)
	m, _ := analysis.MetricOf(metric)
	line := fmt.Sprintf("verify: pair %d of %d: %s %s, %s", len(base), s.count, metric, format.Amount(m.Unit, b), format.Amount(m.Unit, h))
	if needed > 0 {
		line += fmt.Sprintf("; about %d pairs are needed", needed)
	}
	fmt.Fprintln(v.env.Stderr, line)
}

// block runs the command against one target after the other.
type block struct {
	ctx     context.Context
	verify  *verify
	command []string
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
	var stdout, stderr bytes.Buffer
	env := b.verify.env
	env.Stdin, env.Stdout, env.Stderr, env.Interrupt = strings.NewReader(""), &stdout, &stderr, b.ctx
	args := append(slices.Clone(b.command), "-o", "json=-", "--progress", "none", "--label", "side="+name)
	if b.verify.store.where != "" {
		args = append(args, "--store", b.verify.store.where)
	}
	if code := Main(env, append(args, url)); code != exitOK {
		return analysis.Run{}, &exitError{code, fmt.Errorf("the %s run against %s ended with exit code %d:\n%s", name, url, code, strings.TrimSpace(stderr.String()))}
	}
	r, err := document.Parse(stdout.Bytes())
	if err != nil {
		return analysis.Run{}, fmt.Errorf("the %s run made no report: %w; is %q a load command?", name, err, b.command[0])
	}
	return analysis.RunOf(r), nil
}
