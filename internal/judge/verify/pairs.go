package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/stored"
)

const (
	spreadPairs = 4 // with fewer pairs, their spread says nothing
	mostLooks   = 4
)

// Pairs is the plan of a series of pairs of runs. The caller stores the runs.
type Pairs struct {
	Options Options
	// Looks are the numbers of pairs after which the series may end with a conclusion,
	// ascending. Each look has an equal share of the error probability 1 − confidence. By
	// Bonferroni's inequality, all looks together are wrong no more often than a single one
	// with the whole probability, however they depend on each other. This is the alpha
	// spending of Lan & DeMets (Biometrika 70, 1983, 659–663) in equal parts, without the
	// gain from the dependence of the looks.
	Looks []int

	said *estimate // nil: each forecast is the first
}

// CheckPairs reports if most pairs are too few to prove anything. For a kind that is not known yet, "",
// it assumes the default gated metrics. If Validate finds faults, it reports nothing.
func (o Options) CheckPairs(most int, kind string) error {
	if o.Validate() != nil {
		return nil
	}
	names := o.gated(kind)
	if least := leastPairs((1 - o.Confidence) / float64(len(names))); most < least {
		return fmt.Errorf("%s can prove nothing about %d metrics (%s) at a confidence of %s %%; make %d pairs or more, or gate fewer metrics",
			pairsOf(most), len(names), strings.Join(names, ", "), stored.Decimal(o.Confidence*100), least)
	}
	return nil
}

// NewPairs plans at most most pairs of runs of that kind. With auto, the series has earlier looks, and
// ends at the first one that concludes.
func NewPairs(most int, auto bool, kind string, o Options) (Pairs, error) {
	o.Metrics = o.gated(kind)
	if err := o.Validate(); err != nil {
		return Pairs{}, err
	}
	if err := o.CheckPairs(most, kind); err != nil {
		return Pairs{}, err
	}
	alpha := (1 - o.Confidence) / float64(len(o.Metrics))
	p := Pairs{Options: o, Looks: []int{most}, said: &estimate{}}
	for auto && len(p.Looks) < mostLooks {
		earlier := p.Looks[0] * 2 / 3
		if earlier < leastPairs(alpha/float64(len(p.Looks)+1)) {
			break
		}
		p.Looks = slices.Insert(p.Looks, 0, earlier)
	}
	return p, nil
}

// Step is how to continue after a pair of runs or a round of a duet.
type Step struct {
	Done      bool       // the series ends
	Judgement *Judgement // at a look, otherwise nil
	Forecast  string     // a phrase: how many pairs or how much load a conclusion requires; "": no forecast
}

// Next says how to continue after these pairs; base and head have equally many runs. At a look it may
// end the series, so call it after every pair.
func (p Pairs) Next(base, head []stored.Run) (Step, error) {
	look := slices.Index(p.Looks, len(head))
	if look < 0 {
		if err := p.Options.Check(slices.Concat(base, head)...); err != nil || len(base) != len(head) {
			return Step{}, err
		}
		return Step{Forecast: p.forecast(p.gates(base, head), len(head))}, nil
	}
	o := p.Options
	o.Confidence = 1 - p.share()
	j, err := Verify(base, head, true, o)
	if err != nil {
		return Step{}, err
	}
	j.Confidence, j.Look, j.Looks = p.Options.Confidence, look+1, len(p.Looks)
	s := Step{Judgement: &j, Done: j.Verdict != Inconclusive || look == len(p.Looks)-1}
	if j.Verdict == Inconclusive {
		s.Forecast = p.forecast(p.gates(base, head), len(head))
	}
	if stuck := p.stuck(base, head); !s.Done && stuck != nil {
		s.Done, j.Futile = true, true
		j.Advice = append([]string{p.futility(len(head), stuck)}, j.Advice...)
	}
	return s, nil
}

// Finish judges the pairs of a series whose time is over. It uses the error probability of one look,
// because the time and not the result of the pairs ended the series.
func (p Pairs) Finish(base, head []stored.Run) (Judgement, error) {
	o := p.Options
	o.Confidence = 1 - p.share()
	j, err := Verify(base, head, true, o)
	j.Confidence, j.Looks = p.Options.Confidence, len(p.Looks)
	return j, err
}

// share is the error probability of each look.
func (p Pairs) share() float64 { return (1 - p.Options.Confidence) / float64(len(p.Looks)) }

// gates returns a gate for each metric of these pairs.
func (p Pairs) gates(base, head []stored.Run) (list []gate) {
	for _, name := range p.Options.Metrics {
		list = append(list, newGate(name, match{base: base, head: head, inPairs: true}, p.Options, false))
	}
	return list
}

// forecast says how many pairs a verdict requires; "": these pairs cannot tell. ok requires every metric; regressed requires only
// the clearest of the metrics that seem worse.
func (p Pairs) forecast(gates []gate, have int) string {
	var all, first need
	for _, g := range gates {
		n := g.need(have, Paired, p.share()/float64(len(p.Options.Metrics)))
		clear, unknown, likely := all.clear || n.clear, all.unknown || n.unknown, max(all.likely, n.likely)
		if n.n > all.n {
			all = n
		}
		all.clear, all.unknown, all.likely = clear, unknown, likely
		if g.s.Estimate() > g.bound && (first.n == 0 || n.n < first.n) {
			first = n
		}
	}
	if first.n > 0 && first.n < all.n {
		all = first
	}
	n := p.lookFor(max(all.n, have+1))
	switch {
	case all.least && all.clear:
		return fmt.Sprintf("%d pairs are the least that can prove anything, and enough for a difference like this", n)
	case all.least:
		return fmt.Sprintf("at least %d pairs are needed to prove anything", n)
	}
	likely, said := p.lookFor(max(all.likely, have+1)), p.said
	if said == nil {
		said = &estimate{}
	}
	if all.unknown || likely >= mostNeeded || !said.narrow(likely, n) {
		return ""
	}
	likely, n = said.low, said.high
	switch {
	case n >= mostNeeded:
		return fmt.Sprintf("likely %d pairs are needed, but it may also be more than %d", likely, mostNeeded)
	case n == likely:
		return fmt.Sprintf("about %d pairs are needed", n)
	}
	return fmt.Sprintf("likely %d pairs are needed, perhaps %d", likely, n)
}

// lookFor is the first look with at least n pairs. It is n if there is none, or if the plan has only one
// look.
func (p Pairs) lookFor(n int) int {
	i, _ := slices.BinarySearch(p.Looks, n)
	if i == len(p.Looks) || len(p.Looks) == 1 {
		return n
	}
	return p.Looks[i]
}

// Worse returns by how much head is worse than base in a metric, in each pair: logarithms of ratios, or
// for percentages differences in points.
func (o Options) Worse(metric string, base, head []stored.Run) []float64 {
	g := gateOf(metric, o, false)
	from, to := g.worse(valuesOf(base, metric)), g.worse(valuesOf(head, metric))
	for i := range to {
		to[i] -= from[i]
	}
	return to
}

func pairsOf(n int) string {
	if n == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", n)
}
