package verifycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/checkout"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/bisect"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
)

// hunt looks for the first worse commit of each regressed metric.
type hunt struct {
	*block
	history []checkout.Commit // after base, up to head
	ends    [2]*commitSide    // base and head
	probe   *commitSide       // the commit that is built; nil: none
	at      int               // its index
	failed  *commitSide       // the side whose run failed
	skipped map[int]string    // why a commit could not be compared
	pairs   []probed
	budget  bool // the rest of the budget was too short for another pair
	invalid int  // disturbed pairs one after the other
}

// probed is a pair of runs of a commit.
type probed struct {
	commit     int
	withHead   bool // the other run is that of head, not that of base
	base, head stored.Run
}

// mostDisturbed is the number of disturbed pairs, one after the other, that end a bisection.
const mostDisturbed = 10

// errDisturbed ends a bisection on a machine that disturbs every pair.
var errDisturbed = fmt.Errorf("%d pairs, one after the other, were disturbed; free the machine, or lower the rate", mostDisturbed)

// hunt adds to a judgement where its regressed metrics became worse.
func (v *verifyCommand) hunt(ctx context.Context, j *verify.Judgement) error {
	h := &hunt{block: v.series.last, ends: v.servers.sides, skipped: map[int]string{}}
	var err error
	if h.history, err = v.servers.repository.History(ctx, h.ends[0].commit, h.ends[1].commit); err != nil {
		return err
	}
	if len(h.history) == 0 {
		j.Advice = append(j.Advice, "there is nothing to bisect: head has no commit that base does not have")
		return nil
	}
	regressed := worst(j)
	h.tell("head is worse in %s; %s after base, along the first parents, and at most %s", metricsOf(regressed), commitsOf(len(h.history)), pairsOf(v.git.most))
	h.run = func(side, url string) (stored.Run, error) {
		r, err := h.side(side, url)
		if err != nil {
			h.failed = v.servers.side(side)
		}
		return r, err
	}
	defer func() { h.leave(); v.servers.sides = h.ends }()
	err = h.all(regressed, j)
	return h.conclude(err, regressed, j)
}

// noSearch says that a bisection has nothing to search.
func noSearch(j *verify.Judgement) {
	j.BisectEnded = verify.BisectNone
	j.Advice = append(j.Advice, "no search for a commit: head is not proven worse")
}

// all searches for the commit of each metric, and ends with the first error.
func (h *hunt) all(regressed []verify.Finding, j *verify.Judgement) error {
	o := h.verifyCommand.options
	base, head := h.base, h.head
	for i, f := range regressed {
		worse := o.Worse(f.Metric, base, head)
		if i == 0 {
			h.forecast(f.Metric, worse)
		}
		culprit, err := h.find(f.Metric, bisect.New(len(h.history), worse), j.Bisect)
		j.Bisect = append(j.Bisect, culprit)
		if err != nil {
			return err
		}
	}
	return nil
}

// forecast says how many pairs, builds and minutes the first search needs.
func (h *hunt) forecast(metric string, worse []float64) {
	v := h.verifyCommand
	f := bisect.NewForecast(len(h.history), worse, v.options.Confidence, v.git.most)
	each, build := h.used()/time.Duration(h.made), max(h.ends[0].built.Took, h.ends[1].built.Took)
	takes := func(e bisect.Effort) time.Duration {
		return (time.Duration(e.Pairs)*each + time.Duration(e.Builds)*build).Round(time.Second)
	}
	text := fmt.Sprintf("%s: likely %s and %d builds, about %v; in 19 of 20 cases at most %s and %d builds, %v", metric, pairsOf(f.Likely.Pairs), f.Likely.Builds, takes(f.Likely), pairsOf(f.Most.Pairs), f.Most.Builds, takes(f.Most))
	if build == 0 {
		text += ", without the time of the builds, which is not known"
	}
	h.tell("%s", text)
}

// conclude adds to the judgement what the search found, and why it ended. Its error is that of the command.
func (h *hunt) conclude(err error, regressed []verify.Finding, j *verify.Judgement) error {
	signal := core.SignalOf(h.ctx)
	var notes []string
	for _, c := range together(j.Bisect) {
		notes = append(notes, sentence(c, err != nil, h.limit()))
	}
	if rest := metricsOf(regressed[len(j.Bisect):]); rest != "" {
		notes = append(notes, rest+": not searched")
	}
	switch {
	case err == nil:
		j.BisectEnded = verify.BisectFound
		if slices.ContainsFunc(j.Bisect, func(c verify.Culprit) bool { return !c.Found }) {
			j.BisectEnded = verify.BisectLimit
		}
	case signal != nil:
		j.BisectEnded = verify.BisectInterrupted
		err = core.ExitBy(signal, fmt.Errorf("%w in the bisection; the judgement says which commits are left", signal))
	case errors.Is(err, errDisturbed):
		j.BisectEnded = verify.BisectDisturbed
		notes = append(notes, "the bisection ended early: "+err.Error())
		err = nil
	default:
		j.BisectEnded = verify.BisectFailed
		notes = append(notes, "the bisection ended early: "+core.OneLine(err))
	}
	j.Advice = append(notes, j.Advice...)
	return err
}

// limit says how to lift the limit that ended the search.
func (h *hunt) limit() string {
	if h.budget {
		return "the budget is used up; raise --budget"
	}
	return "raise --bisect-pairs"
}

func (h *hunt) tell(format string, args ...any) {
	fmt.Fprintf(h.verifyCommand.env.Stderr, "verify: bisect: "+format+"\n", args...)
}

// worst are the regressed findings, the clearest first: the next ones profit from its pairs.
func worst(j *verify.Judgement) (list []verify.Finding) {
	for _, f := range j.Comparisons[0].Findings {
		if f.Verdict == verify.Regressed {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b verify.Finding) int { return cmp.Compare(clarity(b), clarity(a)) })
	return list
}

// clarity is how far the interval of a finding is from no change, in lengths of the interval.
func clarity(f verify.Finding) float64 {
	if f.Low == nil || f.High == nil || *f.High == *f.Low {
		return math.Inf(1)
	}
	return math.Abs(f.Difference) / (*f.High - *f.Low)
}

// find makes pairs until the commit is found in which the metric became worse.
func (h *hunt) find(metric string, s *bisect.Search, earlier []verify.Culprit) (verify.Culprit, error) {
	if at := h.indexes(earlier); len(at) > 0 {
		s.Expect(at...)
	}
	for _, p := range h.pairs {
		h.add(s, metric, p)
	}
	for at := range h.skipped {
		s.Skip(at)
	}
	before, confidence := len(h.pairs), h.verifyCommand.options.Confidence
	var err error
	for err == nil {
		if _, _, chance := s.Found(); chance >= confidence || len(h.pairs) >= h.verifyCommand.git.most {
			break
		}
		if h.budget = h.over(); h.budget {
			break
		}
		at, ok := s.Next()
		if !ok {
			break
		}
		err = h.step(s, metric, at)
	}
	return h.culprit(metric, s, len(h.pairs)-before), err
}

// indexes are the commits that were found for other metrics.
func (h *hunt) indexes(earlier []verify.Culprit) (list []int) {
	for _, c := range earlier {
		for i := range h.history {
			if c.Found && c.Commits[len(c.Commits)-1].Hash == h.history[i].Hash && !slices.Contains(list, i) {
				list = append(list, i)
			}
		}
	}
	return list
}

// add adds a pair to a search.
func (h *hunt) add(s *bisect.Search, metric string, p probed) {
	o := h.verifyCommand.options
	if !p.withHead {
		s.Add(p.commit, o.Worse(metric, []stored.Run{p.base}, []stored.Run{p.head})[0])
		return
	}
	s.AddToHead(p.commit, o.Worse(metric, []stored.Run{p.head}, []stored.Run{p.base})[0])
}

// step makes a pair of a commit, or skips the commit.
func (h *hunt) step(s *bisect.Search, metric string, at int) error {
	c := h.history[at]
	p, why, err := h.compare(at)
	if err != nil {
		return err
	}
	if why != "" {
		h.skipped[at] = why
		s.Skip(at)
		h.tell("%s (%d of %d) is skipped: %s", c, at+1, len(h.history), why)
		return nil
	}
	h.pairs = append(h.pairs, p)
	h.add(s, metric, p)
	first, last, chance := s.Found()
	most := h.history[last].Short()
	if first < last {
		most = fmt.Sprintf("%s or %s before it", most, commitsOf(last-first))
	}
	h.tell("%s: pair %d: %s (%d of %d); most likely %s, %.0f %%%s", metric, len(h.pairs), c, at+1, len(h.history), most, 100*chance, h.usedWords())
	return nil
}

func metricsOf(list []verify.Finding) string {
	var names []string
	for _, f := range list {
		names = append(names, f.Metric)
	}
	return strings.Join(names, ", ")
}

func commitsOf(n int) string {
	if n == 1 {
		return "1 commit"
	}
	return fmt.Sprintf("%d commits", n)
}

// compare makes a pair of a commit and of base or head in turn: the result then does not depend on how
// exactly the change between them is known. why: the commit cannot be compared.
func (h *hunt) compare(at int) (p probed, why string, err error) {
	if why, err := h.enter(at); why != "" || err != nil {
		return p, why, err
	}
	for {
		p = probed{commit: at, withHead: len(h.pairs)%2 == 1}
		h.verifyCommand.servers.sides = [2]*commitSide{h.ends[0], h.probe}
		if p.withHead {
			h.verifyCommand.servers.sides = [2]*commitSide{h.probe, h.ends[1]}
		}
		h.failed = nil
		p.base, p.head, err = h.pair(len(h.pairs) / 2)
		switch mine := p.head; {
		case err != nil && (h.failed != h.probe || core.SignalOf(h.ctx) != nil):
			return p, "", err
		case err != nil:
			return p, core.OneLine(err), nil
		case p.base.InvalidOnly() || p.head.InvalidOnly():
			if h.invalid++; h.invalid >= mostDisturbed {
				return p, "", errDisturbed
			}
			continue
		default:
			if h.invalid = 0; p.withHead {
				mine = p.base
			}
			if mine.Unfit != "" {
				return p, mine.Unfit, nil
			}
			if err := h.verifyCommand.options.Check(p.base, p.head); err != nil { // a metric is 0, for example
				return p, core.OneLine(err), nil
			}
			return p, "", nil
		}
	}
}

// enter builds a commit, unless it is the one of the pair before.
func (h *hunt) enter(at int) (why string, err error) {
	if h.probe != nil && h.at == at {
		return "", nil
	}
	h.leave()
	side := &commitSide{commits: h.ends[0].commits, name: "commit", commit: h.history[at]}
	side.cores.join()
	err = side.make(h.ctx, h.verifyCommand.servers.repository, h.verifyCommand.env.Stderr)
	if err := side.cores.leave(); err != nil {
		return "", err
	}
	if err != nil {
		var failed *checkout.BuildError
		if errors.As(err, &failed) && core.SignalOf(h.ctx) == nil {
			return failed.Error(), nil
		}
		return "", err
	}
	h.probe, h.at = side, at
	return "", nil
}

// leave ends the server of the commit, and lets others remove its build.
func (h *hunt) leave() {
	if h.probe != nil {
		h.probe.stop(h.verifyCommand.env.Stderr)
		h.probe.built.Close()
		h.probe = nil
	}
}
