package verify

import (
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
)

// Change is a difference that is proven: its interval does not contain 0. It may be smaller than the tolerance.
type Change struct {
	Metric     string   `json:"metric"`
	Absolute   bool     `json:"absolute"` // as in Finding
	Difference float64  `json:"difference"`
	Low        *float64 `json:"low"`        // lower end of the interval; nil: too few runs for a bound
	High       *float64 `json:"high"`       // upper end; nil: as Low
	Confidence float64  `json:"confidence"` // of this interval, after Holm, so that all Changes together have that of the judgement
}

// weigh adds what operations cost, from the runs of m, and the changes that are proven. Costs decide nothing, so
// they have an error probability of their own, alpha for all of them together; and the changes of gates and costs
// have alpha together, too.
func (c *Comparison) weigh(gates []gate, m match, o Options, alpha float64) {
	costs := costGates(m, o)
	decide(costs, alpha)
	for i := range costs {
		c.Costs = append(c.Costs, costs[i].show())
	}
	c.Changes = changes(slices.Concat(gates, costs), alpha)
}

// costGates are those of the costs that all runs have and that do not decide. A cost that is the same in all runs is
// left out.
func costGates(m match, o Options) (list []gate) {
	for _, cost := range stored.Costs() {
		all, missing := []float64{}, false
		for _, r := range slices.Concat(m.base, m.head) {
			v, _ := r.Figures.Get(cost.Name)
			all, missing = append(all, v), missing || v <= 0
		}
		if missing || len(all) == 0 || slices.Contains(o.Metrics, cost.Name) || slices.Min(all) == slices.Max(all) {
			continue
		}
		list = append(list, newGate(cost.Name, m, o, false))
	}
	return list
}

// changes are the gates that differ from 0. With the probability 1 − alpha, no change is said of a metric without one.
func changes(gates []gate, alpha float64) (list []Change) {
	p := make([]float64, len(gates))
	for i, g := range gates {
		p[i] = g.s.P(0)
	}
	for i, level := range stats.Holm(p, alpha) {
		g := gates[i]
		if low, high := g.s.Interval(level); g.muddled || !(p[i] <= level) || !(low > 0 || high < 0) {
			continue
		}
		g.level = level
		f := g.show()
		list = append(list, Change{f.Metric, f.Absolute, f.Difference, f.Low, f.High, f.Confidence})
	}
	return list
}
