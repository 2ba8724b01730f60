package analysis

import (
	"fmt"
	"slices"
	"strings"
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

// spread says between the looks how many pairs are needed, by the metric that needs most.
func (p Pairs) spread(base, head []Run) (Step, error) {
	if err := p.Options.Check(slices.Concat(base, head)...); err != nil {
		return Step{}, err
	}
	s := Step{}
	if len(head) < spreadPairs || len(base) != len(head) {
		return s, nil
	}
	alpha := (1 - p.Options.Confidence) / float64(len(p.Options.Metrics)*len(p.Looks))
	for _, name := range p.Options.Metrics {
		g := newGate(name, match{base: base, head: head, inPairs: true}, p.Options, false)
		s.Needed = max(s.Needed, g.need(len(head), Paired, alpha))
	}
	return s, nil
}
