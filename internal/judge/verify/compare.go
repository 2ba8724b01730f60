package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/taktload/takt/internal/judge/stored"
)

// Contrast is the result of compare: it describes two sides, but does not judge them as a whole.
type Contrast struct {
	Tolerance      float64   `json:"tolerance"`
	ErrorTolerance float64   `json:"error_tolerance_points"`
	Confidence     float64   `json:"confidence"` // of each interval by itself
	Base           Side      `json:"base"`
	Head           Side      `json:"head"`
	Method         Method    `json:"method"`
	Verdict        Word      `json:"verdict,omitempty"` // inconclusive if the runs are too few for any metric; else empty, and each metric has its own verdict
	Findings       []Finding `json:"metrics"`
	Differing      []string  `json:"differing"` // variables that differ among the runs
	Unfit          []string  `json:"unfit"`     // runs that prove nothing, each with the reason
	Advice         []string  `json:"advice"`    // what a reader must know about the verdicts
	Overlay        []Overlay `json:"overlay"`
}

// Compare sets two sides side by side, with every metric that all runs have. Its confidence applies
// to each finding by itself: at 95 %, one of twenty is wrong by chance. A metric that is zero or
// negative in some run has absolute differences, and is always Inconclusive, because a relative
// tolerance does not apply. These are a UsageError: a run given twice, a requested metric that a run
// lacks, and a name in Lift that no run has.
func Compare(base, head []stored.Run, o Options) (Contrast, error) {
	if len(base) == 0 || len(head) == 0 {
		return Contrast{}, errors.New("a side has no runs; give at least one of each")
	}
	all := slices.Concat(base, head)
	faults := []error{o.Validate(), stored.AsUsage(o.together(all))}
	for _, name := range o.Metrics {
		faults = append(faults, stored.AsUsage(missing(name, all)))
	}
	if err := errors.Join(faults...); err != nil {
		return Contrast{}, err
	}
	m := match{base: base, head: head}
	c := Contrast{
		Tolerance: o.Tolerance, ErrorTolerance: o.ErrorTolerance, Confidence: o.Confidence,
		Method: m.method(), Findings: []Finding{},
		Differing: differing(all, o.Lift...), Unfit: []string{}, Advice: []string{}, Overlay: []Overlay{},
	}
	c.Base, c.Head = o.sidesOf(base, head, "A", "B")
	for _, r := range all {
		if r.Unfit != "" {
			c.Unfit = append(c.Unfit, r.ID+": "+r.Unfit)
		}
	}
	reason := m.muddled(c.Base.Name, c.Head.Name, o)
	if reason != "" {
		c.Advice = append(c.Advice, reason)
	}
	for _, name := range sharedMetrics(all, o.Metrics) {
		f := contrast(name, m, o)
		if reason != "" && stored.IsLatency(name) {
			f.Verdict = Inconclusive
		}
		c.Findings = append(c.Findings, f)
	}
	c.tooFew(m)
	return c, nil
}

// tooFew sets one verdict instead of the same one in every finding, if the runs are too few for any
// interval.
func (c *Contrast) tooFew(m match) {
	if slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Low != nil || f.High != nil || f.Verdict != Inconclusive }) {
		return
	}
	c.Verdict = Inconclusive
	for i := range c.Findings {
		c.Findings[i].Verdict = ""
	}
	what := fmt.Sprintf("%s against %s", count(len(m.head), "run", "runs"), count(len(m.base), "run", "runs"))
	if len(m.head) == 1 && len(m.base) == 1 {
		what = "one run a side"
	}
	c.Advice = append([]string{fmt.Sprintf("inconclusive: %s cannot tell a change from chance; compare groups of %d runs each, or let takt verify --pairs auto run both sides in turn",
		what, leastRuns(1-c.Confidence))}, c.Advice...)
}

func contrast(name string, m match, o Options) Finding {
	values := slices.Concat(valuesOf(m.base, name), valuesOf(m.head, name))
	metric, _ := stored.MetricOf(name)
	zero := metric.Unit != stored.Percent && slices.Min(values) <= 0
	g := newGate(name, m, o, zero)
	g.P, g.level = g.s.P(g.bound), 1-o.Confidence
	if zero {
		g.P = 1
	}
	g.Verdict = g.word()
	return g.show()
}

// sharedMetrics returns the metrics that all runs have: the requested ones, or if none is requested,
// errors and all that are not zero everywhere.
func sharedMetrics(runs []stored.Run, wanted []string) []string {
	var names []string
	for _, name := range runs[0].Figures.Names {
		all, some := true, false
		for _, r := range runs {
			v, ok := r.Figures.Get(name)
			all, some = all && ok, some || v != 0
		}
		if all && (slices.Contains(wanted, name) || len(wanted) == 0 && (some || name == "errors")) {
			names = append(names, name)
		}
	}
	return names
}
