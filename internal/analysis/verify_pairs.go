package analysis

import (
	"fmt"
	"slices"
)

const (
	spreadPairs = 4 // after so many pairs their spread is told
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

// NewPairs plans so many pairs of runs of that kind: auto looks earlier too, and ends the
// series when it can conclude.
func NewPairs(most int, auto bool, kind string, o Options) (Pairs, error) {
	o.Metrics = o.gated(kind)
	if err := o.Validate(); err != nil {
		return Pairs{}, err
	}
	alpha := (1 - o.Confidence) / float64(len(o.Metrics))
	if least := leastPairs(alpha); most < least {
		return Pairs{}, fmt.Errorf("%d pairs can prove nothing about %d metrics at a confidence of %s %%; make %d pairs or more, or gate fewer metrics",
			most, len(o.Metrics), decimal(o.Confidence*100), least)
	}
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
	Needed    int        // about so many pairs in all; 0: not known yet
}

// Next says how to go on after these pairs, as many of each side. Once their number is
// that of a look it may end the series, so it is to be called after every pair.
func (p Pairs) Next(base, head []Run) (Step, error) {
	if !slices.Contains(p.Looks, len(head)) {
		return p.spread(base, head)
	}
	o := p.Options
	o.Confidence = 1 - (1-o.Confidence)/float64(len(p.Looks))
	j, err := Verify(base, head, true, o)
	if err != nil {
		return Step{}, err
	}
	j.Confidence, j.Looks = p.Options.Confidence, len(p.Looks)
	s := Step{Judgement: &j, Done: j.Verdict != Inconclusive || len(head) >= p.Looks[len(p.Looks)-1]}
	s.Needed = neededOf(&j.Comparisons[0])
	return s, nil
}

// spread says between the looks how many pairs are needed, by the metric that varies most.
func (p Pairs) spread(base, head []Run) (Step, error) {
	if err := check(slices.Concat(base, head), p.Options); err != nil {
		return Step{}, err
	}
	s := Step{}
	if len(head) < spreadPairs || len(base) != len(head) {
		return s, nil
	}
	alpha := (1 - p.Options.Confidence) / float64(len(p.Options.Metrics)*len(p.Looks))
	for _, name := range p.Options.Metrics {
		g := newGate(name, match{base: base, head: head, inPairs: true}, p.Options, false)
		s.Needed = max(s.Needed, pairsNeeded(g.sd/g.bound, alpha))
	}
	return s, nil
}
