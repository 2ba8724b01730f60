package analysis

import (
	"errors"
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
	Findings       []Finding `json:"metrics"`
	Differing      []string  `json:"differing"` // variables that are not the same in all runs
	Unfit          []string  `json:"unfit"`     // runs that prove nothing, with the reason
	Overlay        []Overlay `json:"overlay"`
}

// Compare sets two sides side by side, with every metric that all runs have. Each finding
// stands for itself: of twenty at 95 % one is wrong by chance. A metric that is zero
// somewhere, or negative, has absolute differences and no word of judgement but
// Inconclusive, since a tolerance of it is not known.
func Compare(base, head []Run, o Options) (Contrast, error) {
	if len(base) == 0 || len(head) == 0 {
		return Contrast{}, errors.New("a side has no runs; give at least one of each")
	}
	o.Metrics = sharedMetrics(slices.Concat(base, head), o.Metrics)
	if err := o.Validate(); err != nil {
		return Contrast{}, err
	}
	m := match{base: base, head: head}
	c := Contrast{
		Tolerance: o.Tolerance, ErrorTolerance: o.ErrorTolerance, Confidence: o.Confidence,
		Base: sideOf("A", base), Head: sideOf("B", head), Method: m.method(), Findings: []Finding{},
		Differing: Differing(slices.Concat(base, head), o.Lift...), Unfit: []string{}, Overlay: []Overlay{},
	}
	for _, r := range slices.Concat(base, head) {
		if r.Unfit != "" {
			c.Unfit = append(c.Unfit, r.ID+": "+r.Unfit)
		}
	}
	for _, name := range o.Metrics {
		c.Findings = append(c.Findings, contrast(name, m, o))
	}
	return c, nil
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

// sharedMetrics are the metrics, of the wanted ones if there are any, that all runs have. Those
// that are zero in all of them tell nothing.
func sharedMetrics(runs []Run, wanted []string) []string {
	var names []string
	for _, name := range runs[0].Figures.Names {
		all, some := true, false
		for _, r := range runs {
			v, ok := r.Figures.Get(name)
			all, some = all && ok, some || v != 0
		}
		if all && (some || name == "errors") && (len(wanted) == 0 || slices.Contains(wanted, name)) {
			names = append(names, name)
		}
	}
	return names
}
