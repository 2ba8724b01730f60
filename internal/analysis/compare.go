package analysis

import (
	"errors"
	"fmt"
	"slices"
)

// Contrast is what compare says about two sides: a description, no verdict.
type Contrast struct {
	Tolerance      float64   `json:"tolerance"`
	ErrorTolerance float64   `json:"error_tolerance_points"`
	Confidence     float64   `json:"confidence"` // of each interval by itself
	Base           Side      `json:"base"`
	Head           Side      `json:"head"`
	Method         Method    `json:"method"`
	Verdict        Word      `json:"verdict,omitempty"` // of all metrics together, where none has a word of its own: inconclusive, of single runs
	Findings       []Finding `json:"metrics"`
	Differing      []string  `json:"differing"` // variables that are not the same in all runs
	Unfit          []string  `json:"unfit"`     // runs that prove nothing, with the reason
	Advice         []string  `json:"advice"`    // what to know of the words
	Overlay        []Overlay `json:"overlay"`
}

// Compare sets two sides side by side, with every metric that all runs have. Each finding
// stands for itself: of twenty at 95 % one is wrong by chance. A metric that is zero
// somewhere, or negative, has absolute differences and no word of judgement but
// Inconclusive, since a tolerance of it is not known. A run given twice, a wanted metric
// that a run lacks and a name to lift that no run has are a UsageError.
func Compare(base, head []Run, o Options) (Contrast, error) {
	if len(base) == 0 || len(head) == 0 {
		return Contrast{}, errors.New("a side has no runs; give at least one of each")
	}
	all := slices.Concat(base, head)
	faults := []error{o.Validate(), asked(o.together(all))}
	for _, name := range o.Metrics {
		faults = append(faults, asked(missing(name, all)))
	}
	if err := errors.Join(faults...); err != nil {
		return Contrast{}, err
	}
	m := match{base: base, head: head}
	c := Contrast{
		Tolerance: o.Tolerance, ErrorTolerance: o.ErrorTolerance, Confidence: o.Confidence,
		Method: m.method(), Findings: []Finding{},
		Differing: Differing(all, o.Lift...), Unfit: []string{}, Advice: []string{}, Overlay: []Overlay{},
	}
	c.Base, c.Head = sidesOf("A", base, "B", head)
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
		if reason != "" && isLatency(name) {
			f.Verdict = Inconclusive
		}
		c.Findings = append(c.Findings, f)
	}
	c.tooFew(m)
	return c, nil
}

// tooFew says once, where the runs are too few for any interval, what every finding would
// have to say.
func (c *Contrast) tooFew(m match) {
	if slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Low != nil || f.High != nil || f.Verdict != Inconclusive }) {
		return
	}
	c.Verdict = Inconclusive
	for i := range c.Findings {
		c.Findings[i].Verdict = ""
	}
	c.Advice = append([]string{fmt.Sprintf("inconclusive: %s against %s show a difference, and not whether it is chance; compare groups of %d runs each, or let takt verify --pairs auto make them in turn",
		count(len(m.head), "run", "runs"), count(len(m.base), "run", "runs"), leastRuns(1-c.Confidence))}, c.Advice...)
}

func contrast(name string, m match, o Options) Finding {
	values := slices.Concat(valuesOf(m.base, name), valuesOf(m.head, name))
	metric, _ := MetricOf(name)
	zero := metric.Unit != Percent && slices.Min(values) <= 0
	g := newGate(name, m, o, zero)
	g.P, g.level = g.s.p(g.bound), 1-o.Confidence
	if zero {
		g.P = 1
	}
	g.Verdict = g.word()
	return g.show()
}

// sharedMetrics are the metrics that all runs have: the wanted ones, or else all but those
// that are zero everywhere and so tell nothing.
func sharedMetrics(runs []Run, wanted []string) []string {
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
