package analysis

import (
	"fmt"
	"slices"
	"strings"
)

const (
	spreadPairs = 4 // with fewer pairs their spread says nothing
	mostLooks   = 4
)

// Pairs is the plan of a series of pairs of runs. It is a value: the caller keeps the runs.
type Pairs struct {
	Options Options
	// Looks are the numbers of pairs after which a conclusion is sought, ascending. Each
	// look has an equal share of the error probability 1 − confidence: with Bonferroni's
	// inequality, and so at any dependence, all looks together are wrong no more often
	// than one would be. It is the spending of Lan & DeMets (Biometrika 70, 1983,
	// 659–663) in equal parts, without its gain from the dependence of the looks.
	Looks []int
}

// CheckPairs says whether so many pairs can prove anything. For a kind that is not known
// yet, "", it takes the metrics that are gated for all kinds. Faults of the options are
// left to Validate.
func (o Options) CheckPairs(most int, kind string) error {
	if o.Validate() != nil {
		return nil
	}
	names := o.gated(kind)
	if least := leastPairs((1 - o.Confidence) / float64(len(names))); most < least {
		return fmt.Errorf("%d pairs can prove nothing about %d metrics (%s) at a confidence of %s %%; make %d pairs or more, or gate fewer metrics",
			most, len(names), strings.Join(names, ", "), decimal(o.Confidence*100), least)
	}
	return nil
}

// NewPairs plans so many pairs of runs of that kind: auto looks earlier too, and ends the
// series when it can conclude.
func NewPairs(most int, auto bool, kind string, o Options) (Pairs, error) {
	o.Metrics = o.gated(kind)
	if err := o.Validate(); err != nil {
		return Pairs{}, err
	}
	if err := o.CheckPairs(most, kind); err != nil {
		return Pairs{}, err
	}
	alpha := (1 - o.Confidence) / float64(len(o.Metrics))
	p := Pairs{Options: o, Looks: []int{most}}
	for auto && len(p.Looks) < mostLooks {
		earlier := p.Looks[0] * 2 / 3
		if earlier < leastPairs(alpha/float64(len(p.Looks)+1)) {
			break
		}
		p.Looks = slices.Insert(p.Looks, 0, earlier)
	}
	return p, nil
}

// Step is what comes after a pair.
type Step struct {
	Done      bool       // no more pairs
	Judgement *Judgement // at a look, else nil
	Forecast  string     // how many pairs a conclusion takes, a phrase; "": it is there
}

// Next says how to go on after these pairs, as many of each side. Once their number is
// that of a look it may end the series, so it is to be called after every pair.
func (p Pairs) Next(base, head []Run) (Step, error) {
	look := slices.Index(p.Looks, len(head))
	if look < 0 {
		if err := p.Options.Check(slices.Concat(base, head)...); err != nil || len(base) != len(head) {
			return Step{}, err
		}
		return Step{Forecast: p.forecast(base, head)}, nil
	}
	o := p.Options
	o.Confidence = 1 - p.share()
	j, err := Verify(base, head, true, o)
	if err != nil {
		return Step{}, err
	}
	j.Confidence, j.Looks = p.Options.Confidence, len(p.Looks)
	s := Step{Judgement: &j, Done: j.Verdict != Inconclusive || look == len(p.Looks)-1}
	if j.Verdict == Inconclusive {
		s.Forecast = p.forecast(base, head)
	}
	if stuck := p.stuck(base, head); !s.Done && stuck != nil {
		s.Done, j.Futile = true, true
		j.Advice = append([]string{p.futility(len(head), stuck)}, j.Advice...)
	}
	return s, nil
}

// Finish judges the pairs of a series whose time is over, at the error probability of one look:
// time, and not what the pairs show, ended it.
func (p Pairs) Finish(base, head []Run) (Judgement, error) {
	o := p.Options
	o.Confidence = 1 - p.share()
	j, err := Verify(base, head, true, o)
	j.Confidence, j.Looks = p.Options.Confidence, len(p.Looks)
	return j, err
}

// share is the part of the error probability that each look has.
func (p Pairs) share() float64 { return (1 - p.Options.Confidence) / float64(len(p.Looks)) }

// gates are the metrics of these pairs.
func (p Pairs) gates(base, head []Run) (list []gate) {
	for _, name := range p.Options.Metrics {
		list = append(list, newGate(name, match{base: base, head: head, inPairs: true}, p.Options, false))
	}
	return list
}

// forecast says how many pairs a verdict takes: ok wants every metric, regressed only the
// clearest of those that seem to be worse.
func (p Pairs) forecast(base, head []Run) string {
	var all, first need
	for _, g := range p.gates(base, head) {
		n := g.need(len(head), Paired, p.share()/float64(len(p.Options.Metrics)))
		clear, likely := all.clear || n.clear, max(all.likely, n.likely)
		if n.n > all.n {
			all = n
		}
		all.clear, all.likely = clear, likely
		if g.s.estimate() > g.bound && (first.n == 0 || n.n < first.n) {
			first = n
		}
	}
	if first.n > 0 && first.n < all.n {
		all = first
	}
	n := p.lookFor(max(all.n, len(head)+1))
	switch {
	case all.least && all.clear:
		return fmt.Sprintf("%d pairs are the least that can prove anything, and enough for a difference like this", n)
	case all.least:
		return fmt.Sprintf("at least %d pairs are needed to prove anything", n)
	}
	likely := p.lookFor(max(all.likely, len(head)+1))
	switch {
	case likely >= mostNeeded:
		return fmt.Sprintf("not even %d pairs would be enough", mostNeeded)
	case n >= mostNeeded:
		return fmt.Sprintf("likely %d pairs are needed, but it may also be more than %d", likely, mostNeeded)
	case n == likely:
		return fmt.Sprintf("%d pairs are needed", n)
	}
	return fmt.Sprintf("likely %d pairs are needed; %d are enough in 19 of 20 cases", likely, n)
}

// lookFor is the first of several looks after which a series with so many pairs ends; the
// number itself, if there is none.
func (p Pairs) lookFor(n int) int {
	i, _ := slices.BinarySearch(p.Looks, n)
	if i == len(p.Looks) || len(p.Looks) == 1 {
		return n
	}
	return p.Looks[i]
}
