// Package answer writes for people what the judging commands find: takt capacity, verify,
// compare, collate and runs.
package answer

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/pkg/takt"
)

// CapacityWords is the result of takt capacity in sentences.
func CapacityWords(c capacity.Answer) []string {
	words := []string{limitWords(c)}
	switch c.Ended {
	case capacity.EndSteps:
		words = append(words, fmt.Sprintf("The search ended after %s, before it was sure; raise --max-steps.", page.Plural(len(c.Steps), "step")))
	case capacity.EndBudget:
		words = append(words, fmt.Sprintf("The budget was used up after %s, before the search was sure; raise --budget.", page.Plural(len(c.Steps), "step")))
	case capacity.EndFutile:
		words = append(words, fmt.Sprintf("The search ended early, after %s: the rest of the budget would most probably not make the answer better. Give longer steps with --duration, or a quieter machine.", page.Plural(len(c.Steps), "step")))
	case capacity.EndBroken:
		words = append(words, "The search broke off before it was sure.")
	}
	if c.Repeats == 1 && c.Sustainable > 0 {
		words = append(words, "This is a single measurement: no rate beside the limit was run again. Repeat it before you rely on it.")
	}
	if m := c.Machines; m != nil {
		need := fmt.Sprintf("For %s you need %s.", rate(c, c.Need), machineWords(c))
		if m.Planned > 0 {
			need += fmt.Sprintf(" Plan %d: %s %% headroom, and one more so that one may fail.", m.Planned, page.Short(100*c.Headroom))
		}
		words = append(words, need)
	}
	if c.Knee != nil {
		words = append(words, kneeWords(c))
	}
	if n := c.PerRound(); n > 0 {
		words = append(words, fmt.Sprintf("All rates are of rounds: one has %s requests on average.", page.Short(n)))
	}
	if u := c.USL; u != nil {
		words = append(words, uslWords(c, u))
	}
	return words
}

// rate is a rate of the search, which counts rounds or operations.
func rate(c capacity.Answer, perS float64) string {
	if c.PerRound() > 0 {
		return page.RoundRate(perS)
	}
	return page.Rate(perS)
}

func limitWords(c capacity.Answer) string {
	switch {
	case c.Ended == capacity.EndNone:
		return fmt.Sprintf("%s is met at no rate: it breaks at %s already.", c.SLO, at(c, c.Interval.High))
	case c.Sustainable == 0 && c.Interval.High != nil && c.Ended == capacity.EndBudget:
		return fmt.Sprintf("%s breaks at %s, the lowest rate that the budget was enough for; the limit is below it.", c.SLO, rate(c, *c.Interval.High))
	case c.Sustainable == 0 && c.Interval.High != nil:
		return fmt.Sprintf("%s breaks at %s; below it no step is valid, so the limit is not known.", c.SLO, rate(c, *c.Interval.High))
	case c.Sustainable == 0:
		return "No valid step: the generator was the bottleneck at every rate, so nothing is known of the target."
	case c.Ended == capacity.EndInvalid && c.Interval.High == nil:
		return fmt.Sprintf("%s is met up to %s; above it the generator is the bottleneck, so the limit of the target is not known.", c.SLO, rate(c, c.Sustainable))
	case c.Ended == capacity.EndInvalid:
		return fmt.Sprintf("%s is met at %s and breaks at %s; between them the generator was the bottleneck, so the limit of the target is not known.", c.SLO, rate(c, c.Sustainable), rate(c, *c.Interval.High))
	case c.LimitedBy == "" && c.Interval.High == nil && c.Offered() > c.Sustainable:
		return fmt.Sprintf("%s is met up to %s; no step above it counts, so the limit is not known.", c.SLO, rate(c, c.Sustainable))
	case c.LimitedBy == "" && c.Interval.High == nil:
		return fmt.Sprintf("%s is met up to %s, the highest rate that was offered; the limit is not known.", c.SLO, rate(c, c.Sustainable))
	case c.Confidence == 0 && c.Interval.Wide():
		return fmt.Sprintf("%s is met at %s and breaks at %s: the limit is between them. They are too far apart for a figure; try rates between them, with a smaller --step or --precision.", c.SLO, rate(c, c.Sustainable), at(c, c.Interval.High))
	case c.Confidence == 0 && c.Late():
		return fmt.Sprintf("%s is met at %s and breaks at %s: the limit is between them. takt was late in the steps beside the limit, which show on which side they are, but not how far from it; free the CPU, or load from a larger machine.", c.SLO, rate(c, c.Sustainable), at(c, c.Interval.High))
	case c.Confidence == 0:
		return fmt.Sprintf("%s is met at %s and breaks at %s: the limit is between them. The runs are too few, or scatter too much, for a figure; give more --repeats, or longer steps with --duration.", c.SLO, rate(c, c.Sustainable), at(c, c.Interval.High))
	case c.LimitedBy == "":
		return fmt.Sprintf("%s breaks %s.", c.SLO, figureWords(c))
	}
	what := c.LimitedBy + " breaks"
	if c.LimitedBy == capacity.Overload {
		what = "The target is overloaded"
	}
	if a, err := assert.ParseAssertion(c.LimitedBy); err == nil {
		what = a.Break()
	}
	if c.Ranged() {
		return fmt.Sprintf("%s %s.", what, figureWords(c))
	}
	return fmt.Sprintf("%s at %s.", what, figureWords(c))
}

// kneeWords names the tested rates around the knee, whose exact rate is unknown.
func kneeWords(c capacity.Answer) string {
	where := "near " + rate(c, *c.Knee) // from an older report
	if i := c.KneeRange; i.Low != nil && i.High != nil {
		where = fmt.Sprintf("between %s and %s", rate(c, *i.Low), rate(c, *i.High))
	}
	return fmt.Sprintf("The knee is %s: above it response time grows faster than the rate.", where)
}

func at(c capacity.Answer, perS *float64) string {
	if perS == nil {
		return "an unknown rate"
	}
	return rate(c, *perS)
}

// figureWords is the limit: a figure with its interval, or only the ends of an interval that
// is too wide.
func figureWords(c capacity.Answer) string {
	low, high := page.Ends(*c.Interval.Low, *c.Interval.High)
	confidence := page.Short(c.Confidence * 100)
	if c.Ranged() {
		return fmt.Sprintf("between %s and %s (%s %% interval)", rate(c, low), rate(c, high), confidence)
	}
	return fmt.Sprintf("%s (%s %% interval %s–%s)", rate(c, page.Round3(c.Sustainable)), confidence, bare(c, low), bare(c, high))
}

// bare is a rate without its unit.
func bare(c capacity.Answer, perS float64) string {
	return strings.TrimSuffix(strings.TrimSuffix(rate(c, perS), "/s"), " rounds")
}

func machineWords(c capacity.Answer) string {
	m := c.Machines
	n := page.Plural(m.Count, "machine")
	switch {
	case m.Low == 0 && m.High == 0:
		return "about " + n // no interval
	case m.Low == 0:
		return "at most " + n
	case m.High == 0 || m.Low == m.High:
		return n
	case c.Ranged():
		return fmt.Sprintf("%d to %d machines", m.Low, m.High)
	case c.Confidence == 0:
		return fmt.Sprintf("%d to %d machines by the rates that were measured", m.Low, m.High)
	}
	return fmt.Sprintf("%s (%d to %d by the interval)", n, m.Low, m.High)
}

func uslWords(c capacity.Answer, u *capacity.USL) string {
	s := fmt.Sprintf("Universal scalability law: γ %s, σ %s, κ %s", rate(c, page.Round3(u.Gamma)), fine(u.Sigma), fine(u.Kappa))
	switch {
	case u.Peak == nil && u.Achieved == 0: // from an older report
	case u.Peak == nil:
		s += fmt.Sprintf("; no sign of a peak up to %s", rate(c, page.Round3(u.Achieved)))
	case u.PeakAt == nil:
		s += fmt.Sprintf("; it levels off %s", peakWords(c, u))
	default:
		s += fmt.Sprintf("; it peaks %s, with about %s at once", peakWords(c, u), page.Short(*u.PeakAt))
	}
	return s + fmt.Sprintf("; measured rates deviate by %s %%.", page.Short(u.Deviation*100))
}

// peakWords is the law's highest rate, or only the ends of an interval that is too wide.
func peakWords(c capacity.Answer, u *capacity.USL) string {
	i := u.Interval
	if i.Low == nil || i.High == nil {
		return "at " + rate(c, page.Round3(*u.Peak)) // from an older report
	}
	low, high := page.Ends(*i.Low, *i.High)
	if capacity.BroadRange(i) {
		return fmt.Sprintf("between %s and %s (95 %% interval)", rate(c, low), rate(c, high))
	}
	return fmt.Sprintf("at %s (95 %% interval %s–%s)", rate(c, page.Round3(*u.Peak)), bare(c, low), bare(c, high))
}

// fine writes small and large coefficients with three digits.
func fine(v float64) string { return fmt.Sprintf("%.3g", v) }

// Capacity is a report of kind capacity.
func Capacity(r *takt.Report) (*part.Document, error) {
	c, err := capacity.In(r)
	if err != nil {
		return nil, err
	}
	words := CapacityWords(c)
	d := &part.Document{Command: "capacity", Title: report.Title(r), Tone: part.Warn, Word: "not sure", Line: words[0], Heading: words[0], In: part.Markdown | part.HTML}
	switch c.Ended {
	case capacity.EndInvalid:
		d.Word, d.Tone = "invalid", part.Bad
	case capacity.EndNone:
		d.Word, d.Tone = "not met", part.Bad
	case capacity.EndFound:
		d.Word, d.Tone = "found", part.Good
	}
	for _, s := range append(paragraphs(words[1:]), report.WarningSentences(r)...) {
		s.In = part.HTML
		d.Notes = append(d.Notes, s)
	}
	steps := stepTable(c)
	each := *steps // with a unit for each latency
	each.Unit = page.Unit{}
	d.Parts = []part.Part{
		{Blocks: capacityHead(r, c, words, d.Tone)},
		{Blocks: []part.Block{{In: part.Text, Table: steps}, {In: part.Markdown, Table: &each}, {In: part.Text, Plot: func(p *page.Page) { DrawCapacity(p, c) }}}},
		only(part.Markdown, report.Warnings(r)),
		{
			ID: "curve", Title: "Latency over the rate",
			Lead:   "SLO: " + page.Clean(c.SLO) + ". Each dot is a step of the search, and leads to its row in the table.",
			Blocks: []part.Block{{In: part.HTML, Drawing: c}, {In: part.HTML, Table: searchTable(c)}},
		},
		only(part.HTML, report.About(r, false)),
	}
	return d, nil
}

// only is a part for one writer.
func only(w part.Outputs, one part.Part) part.Part {
	blocks := one.Blocks
	one.Blocks = nil
	for _, b := range blocks {
		if b.In.Has(w) {
			b.In = w
			one.Blocks = append(one.Blocks, b)
		}
	}
	return one
}

// paragraphs are sentences that are paragraphs.
func paragraphs(list []string) (sentences []part.Sentence) {
	for _, s := range list {
		sentences = append(sentences, part.Sentence{Text: s})
	}
	return sentences
}

// capacityHead is the result in sentences, and what was run.
func capacityHead(r *takt.Report, c capacity.Answer, words []string, tone part.Tone) (blocks []part.Block) {
	for _, s := range words {
		blocks = append(blocks, part.Block{In: part.Text, Close: true, Title: s, Tone: tone})
		tone = part.Plain
	}
	run := report.Subject(r).Blocks[0]
	run.Close = false
	run.Facts = append(run.Facts, part.Fact{Label: "slo", Says: page.Clean(c.SLO)})
	summary := part.Block{In: part.Markdown}
	for _, s := range words[1:] {
		summary.Facts = append(summary.Facts, part.Fact{Says: s, Bare: true})
	}
	summary.Facts = append(summary.Facts, part.Fact{Says: fmt.Sprintf("SLO %s, id %s", page.CodeSpan(c.SLO), page.CodeSpan(r.ID)), Bare: true, Marked: true})
	return append(blocks, part.Block{In: part.Text, Close: true, Below: report.WarningSentences(r)}, run, summary)
}

// stepTable has a row for each step, by rising rate.
func stepTable(c capacity.Answer) *part.Table {
	t := &part.Table{Columns: []part.Column{
		{Title: "offered", Width: 11}, {Title: "completed", Width: 11}, {Title: "response " + c.Statistic, Width: 18}, {Title: "service " + c.Statistic, Width: 18},
		{Title: "errors", Width: 11}, {Title: "slo", Words: true, Gap: 2},
	}}
	var first, slowest float64
	for i, s := range c.ByRate() {
		response, service := c.Shown(s)
		if slowest = max(slowest, response); i == 0 {
			first = response
		}
		t.Add(part.Figure(page.Rate(s.Offered)), part.Figure(page.Rate(s.Throughput())), part.Latency(response), part.Latency(service), part.Ratio(s.Errors, 100), part.Words(StepWord(c, s)))
	}
	t.Unit = page.UnitFor(first, slowest)
	return t
}

// searchTable has the steps in their order, for the links of a chart.
func searchTable(c capacity.Answer) *part.Table {
	t := &part.Table{Caption: "The steps of the search, in their order.", Columns: []part.Column{
		{Title: "step", Words: true}, {Title: "offered"}, {Title: "completed"}, {Title: "response " + c.Statistic}, {Title: "service " + c.Statistic}, {Title: "errors"},
		{Title: "slo", Words: true}, {Title: "nearest condition", Words: true},
	}}
	for i, s := range c.Steps {
		response, service := c.Shown(s)
		t.Add(part.Count(uint64(i+1)), part.Figure(page.Rate(s.Offered)), part.Figure(page.Rate(page.Round3(s.Throughput()))), part.Latency(response), part.Latency(service),
			part.Ratio(s.Errors, 100), part.Words(StepWord(c, s)), part.Words(s.Nearest+" "+s.Reason))
		t.Rows[i].ID = StepID(i)
	}
	return t
}

// StepID is the anchor of a step's row.
func StepID(i int) string { return fmt.Sprintf("step-%d", i+1) }

// StepWord says whether a step met the SLO.
func StepWord(c capacity.Answer, s capacity.Step) string {
	switch {
	case s.Warming:
		return "warm-up"
	case s.Verdict == takt.Invalid && !s.Proven:
		return "invalid"
	case s.Proven && s.Met:
		return "held, late"
	case s.Proven:
		return "broke, late"
	case !c.Counts(s):
		return "disturbed"
	case s.Met:
		return "held"
	}
	return "broke"
}
