package verify

import (
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
)

// fewestEarlier is the least number of runs to compare a single new run with. With fewer, the spread of
// runs is hardly known: the factor of Student's t at 98.75 % is 2.7 with 10 runs and 3.5 with 5.
const fewestEarlier = 10

// match is the runs of the head and of one base.
type match struct {
	side       Side
	base, head []stored.Run
	inPairs    bool
}

// judge compares all matches at once: the confidence applies to all verdicts together.
func judge(matches []match, head Side, o Options) Judgement {
	j := Judgement{Tolerance: o.Tolerance, ErrorTolerance: o.ErrorTolerance, Confidence: o.Confidence, Head: head}
	var gates []gate
	for _, m := range matches {
		c := Comparison{Base: m.side, Method: m.method()}
		for _, name := range o.Metrics {
			g := newGate(name, m, o, false)
			gates = append(gates, g)
			c.Findings = append(c.Findings, g.Finding)
		}
		j.Comparisons = append(j.Comparisons, c)
	}
	decide(gates, 1-o.Confidence)
	reasons := muddle(gates, matches, head.Name, o)
	var all []Word
	for i := range j.Comparisons {
		c := &j.Comparisons[i]
		var words []Word
		own := gates[i*len(c.Findings) : (i+1)*len(c.Findings)]
		for k := range c.Findings {
			c.Findings[k] = own[k].show()
			words = append(words, c.Findings[k].Verdict)
		}
		c.weigh(own, matches[i], o, (1-o.Confidence)/float64(len(matches)))
		c.Verdict = overall(words)
		all = append(all, c.Verdict)
	}
	j.Verdict = overall(all)
	advise(&j, gates)
	j.Advice = append(j.Advice, reasons...)
	return j
}

func (m match) method() Method {
	switch {
	case m.inPairs:
		return Paired
	case len(m.head) == 1 && len(m.base) >= fewestEarlier:
		return Prediction
	default:
		return Unpaired
	}
}

// overall is Regressed if any word is, otherwise Inconclusive if any word is, otherwise OK.
func overall(words []Word) Word {
	for _, w := range []Word{Regressed, Inconclusive} {
		if slices.Contains(words, w) {
			return w
		}
	}
	return OK
}

// gate is one metric of one match: how much worse the head is, and the tolerance.
type gate struct {
	Finding
	s       stats.Shift // positive is worse; on the scale of logarithms unless Absolute
	bound   float64     // the tolerance, on the scale of s
	sign    float64     // −1 if higher is better
	level   float64     // error probability that decide allots to this gate
	sd      float64     // standard deviation of the differences of pairs, of the runs of one side, or of a duet's slices
	muddled bool        // errors distort the latency, so more runs would not help
}

// newGate creates a gate with the evidence of runs.
func newGate(name string, m match, o Options, absolute bool) gate {
	g := gateOf(name, o, absolute)
	base, head := valuesOf(m.base, name), valuesOf(m.head, name)
	g.Base, g.Head = stats.MedianOf(base), stats.MedianOf(head)
	g.s, g.sd = shiftOf(m.method(), g.worse(base), g.worse(head))
	return g
}

// gateOf creates a gate without evidence. It compares logarithms of values, but percentages themselves,
// because zero has no logarithm. absolute compares the values of other metrics themselves, too.
func gateOf(name string, o Options, absolute bool) gate {
	metric, _ := stored.MetricOf(name)
	g := gate{sign: 1, bound: math.Log1p(o.Tolerance)}
	g.Metric, g.Unit, g.Better, g.Absolute = name, metric.Unit, "lower", absolute || metric.Unit == stored.Percent
	if metric.Higher {
		g.sign, g.Better = -1, "higher"
	}
	if metric.Unit == stored.Percent {
		g.bound = o.ErrorTolerance
	}
	return g
}

func valuesOf(runs []stored.Run, name string) []float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i], _ = r.Figures.Get(name)
	}
	return values
}

// worse converts values to the scale on which more is worse.
func (g *gate) worse(values []float64) []float64 {
	scaled := make([]float64, len(values))
	for i, v := range values {
		if !g.Absolute {
			v = math.Log(v)
		}
		scaled[i] = g.sign * v
	}
	return scaled
}

// shiftOf returns the evidence of the values, and their spread; NaN: there are too few values.
func shiftOf(method Method, base, head []float64) (s stats.Shift, sd float64) {
	switch method {
	case Paired:
		d := make(stats.Paired, len(base))
		for i := range d {
			d[i] = head[i] - base[i]
		}
		_, sd = stats.MeanAndSD(d)
		return d, sd
	case Prediction:
		_, sd = stats.MeanAndSD(base)
		return stats.Prediction{Earlier: base, Value: head[0]}, sd
	}
	meanBase, _ := stats.MeanAndSD(base)
	meanHead, _ := stats.MeanAndSD(head)
	var squares float64
	for _, v := range base {
		squares += (v - meanBase) * (v - meanBase)
	}
	for _, v := range head {
		squares += (v - meanHead) * (v - meanHead)
	}
	return stats.Groups{Base: base, Head: head}, math.Sqrt(squares / float64(len(base)+len(head)-2))
}

// decide sets the words of all gates. With the probability 1 − alpha, no regressed or ok is wrong.
func decide(gates []gate, alpha float64) {
	p := make([]float64, len(gates))
	for i, g := range gates {
		p[i] = g.s.P(g.bound)
	}
	for i, level := range stats.Holm(p, alpha) {
		gates[i].P, gates[i].level = p[i], level
		gates[i].Verdict = gates[i].word()
	}
}

// word is the verdict of one gate at its level. It is Improved if the whole interval is better by more
// than the tolerance.
func (g *gate) word() Word {
	switch {
	case g.P > g.level:
		return Inconclusive
	case g.s.Estimate() > g.bound:
		return Regressed
	case g.s.Estimate() < -g.bound && g.s.P(-g.bound) <= g.level:
		return Improved
	default:
		return OK
	}
}

// show sets the difference and its interval, and returns the finding.
func (g *gate) show() Finding {
	low, high := g.s.Interval(g.level)
	if g.sign < 0 {
		low, high = high, low
	}
	g.Confidence = 1 - g.level
	g.Difference, _ = g.shown(g.s.Estimate())
	if v, finite := g.shown(low); finite {
		g.Low = &v
	}
	if v, finite := g.shown(high); finite {
		g.High = &v
	}
	g.Pairs = g.pairs()
	return g.Finding
}

// pairs returns the differences of the single pairs; nil: there are no pairs, or one has no difference.
func (g *gate) pairs() (list []float64) {
	paired, _ := g.s.(stats.Paired)
	for _, d := range paired {
		v, finite := g.shown(d)
		if !finite || math.IsNaN(v) {
			return nil
		}
		list = append(list, v)
	}
	return list
}

// shown converts a shift to the difference head − base, absolute or relative.
func (g *gate) shown(v float64) (shown float64, finite bool) {
	if finite = !math.IsInf(v, 0); g.Absolute {
		return g.sign*v + 0, finite // + 0 turns −0 into 0
	}
	return math.Expm1(g.sign * v), finite
}
