package format

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/pkg/takt"
)

// CapacityWords is the answer of takt capacity in sentences.
func CapacityWords(c analysis.Capacity) []string {
	words := []string{limitWords(c)}
	switch c.Ended {
	case analysis.EndSteps:
		words = append(words, fmt.Sprintf("The search ended after %s, before it was sure; raise --max-steps.", plural(len(c.Steps), "step")))
	case analysis.EndBroken:
		words = append(words, "The search broke off before it was sure.")
	}
	if m := c.Machines; m != nil {
		words = append(words, fmt.Sprintf("For %s you need %s. Plan %d: %s %% headroom, and one more so that one may fail.", rate(c.Need), machineWords(m, c.Confidence), m.Planned, short(100*c.Headroom)))
	}
	if c.Knee != nil {
		words = append(words, fmt.Sprintf("The knee is near %s: above it response time grows faster than the rate.", rate(*c.Knee)))
	}
	if u := c.USL; u != nil {
		words = append(words, uslWords(u))
	}
	return words
}

func limitWords(c analysis.Capacity) string {
	switch {
	case c.Ended == analysis.EndNone:
		return fmt.Sprintf("%s holds at no rate: it breaks at %s already.", c.SLO, at(c.Interval.High))
	case c.Sustainable == 0 && c.Interval.High != nil:
		return fmt.Sprintf("%s breaks at %s; below it no step is valid, so the limit is not known.", c.SLO, rate(*c.Interval.High))
	case c.Sustainable == 0:
		return "No valid step: the generator was the bottleneck at every rate, so nothing is known of the target."
	case c.Ended == analysis.EndInvalid && c.Interval.High == nil:
		return fmt.Sprintf("%s holds up to %s; above it the generator is the bottleneck, so the limit of the target is not known.", c.SLO, rate(c.Sustainable))
	case c.Ended == analysis.EndInvalid:
		return fmt.Sprintf("%s holds at %s and breaks at %s; between them the generator was the bottleneck, so the limit of the target is not known.", c.SLO, rate(c.Sustainable), rate(*c.Interval.High))
	case c.LimitedBy == "" && c.Interval.High == nil:
		return fmt.Sprintf("%s holds up to %s, the highest rate that was offered; the limit is not known.", c.SLO, rate(c.Sustainable))
	case c.Confidence == 0 && c.Interval.Wide():
		return fmt.Sprintf("%s holds at %s and breaks at %s: the limit is between them. They are too far apart for a figure; try rates between them, with a smaller --step or --precision.", c.SLO, rate(c.Sustainable), at(c.Interval.High))
	case c.Confidence == 0:
		return fmt.Sprintf("%s holds at %s and breaks at %s: the limit is between them. The runs are too few, or scatter too much, for a figure; give more --repeats, or longer steps with --duration.", c.SLO, rate(c.Sustainable), at(c.Interval.High))
	case c.LimitedBy == "":
		return fmt.Sprintf("%s holds up to %s%s.", c.SLO, rate(round3(c.Sustainable)), intervalWords(c))
	}
	what := c.LimitedBy + " breaks"
	if a, err := analysis.ParseAssertion(c.LimitedBy); err == nil {
		what = a.Break()
	}
	return fmt.Sprintf("%s at %s%s.", what, rate(round3(c.Sustainable)), intervalWords(c))
}

func at(perS *float64) string {
	if perS == nil {
		return "an unknown rate"
	}
	return rate(*perS)
}

func intervalWords(c analysis.Capacity) string {
	i := c.Interval
	return fmt.Sprintf(" (%s %% interval %s–%s)", short(c.Confidence*100), bare(outwards(*i.Low, math.Floor)), bare(outwards(*i.High, math.Ceil)))
}

// bare is a rate without its unit.
func bare(perS float64) string { return strings.TrimSuffix(rate(perS), "/s") }

// outwards keeps three digits of the end of an interval, which must not get narrower.
func outwards(v float64, round func(float64) float64) float64 {
	if v <= 0 {
		return 0
	}
	digits := math.Pow10(2 - int(math.Floor(math.Log10(v))))
	return round(v*digits) / digits
}

// round3 keeps three digits: the interval does not allow for more.
func round3(v float64) float64 { return outwards(v, math.Round) }

func machineWords(m *analysis.Machines, confidence float64) string {
	n := plural(m.Count, "machine")
	switch {
	case m.Low == 0 && m.High == 0:
		return "about " + n // there is no interval
	case m.Low == 0:
		return "at most " + n
	case m.High == 0 || m.Low == m.High:
		return n
	}
	if confidence == 0 {
		return fmt.Sprintf("%s (%d to %d by the rates that were measured)", n, m.Low, m.High)
	}
	return fmt.Sprintf("%s (%d to %d by the interval)", n, m.Low, m.High)
}

func uslWords(u *analysis.USL) string {
	s := fmt.Sprintf("Universal scalability law: γ %s, σ %s, κ %s", rate(round3(u.Gamma)), fine(u.Sigma), fine(u.Kappa))
	switch {
	case u.Peak == nil && u.Sigma == 0 && u.Kappa == 0:
		s += ", no contention seen"
	case u.Peak == nil:
		s += "; for its highest rate the runs are too few, or scatter too much"
	case u.PeakAt == nil:
		s += fmt.Sprintf(", at most %s%s", rate(round3(*u.Peak)), peakWords(u))
	default:
		s += fmt.Sprintf(", at most %s%s with %s at once", rate(round3(*u.Peak)), peakWords(u), short(*u.PeakAt))
		if *u.PeakAt > u.Measured {
			s += fmt.Sprintf(", beyond the %s measured", short(u.Measured))
		}
	}
	return s + fmt.Sprintf("; measured rates deviate by %s %%.", short(u.Deviation*100))
}

func peakWords(u *analysis.USL) string {
	if u.Interval.Low == nil || u.Interval.High == nil {
		return "" // of a report from before
	}
	return fmt.Sprintf(" (95 %% interval %s–%s)", bare(outwards(*u.Interval.Low, math.Floor)), bare(outwards(*u.Interval.High, math.Ceil)))
}

// fine writes small and large coefficients with three digits.
func fine(v float64) string { return fmt.Sprintf("%.3g", v) }

// capacityText is the report of kind capacity for people.
func capacityText(w io.Writer, r *takt.Report, color bool) error {
	c, err := analysis.CapacityIn(r)
	if err != nil {
		return fmt.Errorf("the report %s is damaged: %w", r.ID, err)
	}
	p := &page{color: color}
	for i, s := range CapacityWords(c) {
		for _, line := range wrap(clean(s), pageWidth) {
			if i == 0 {
				line = p.paint(capacityColour(c), line)
			}
			p.linef("%s", line)
		}
	}
	doubts(p, r)
	p.linef("")
	if err := subject(p, r); err != nil {
		return err
	}
	p.item("slo", clean(c.SLO))
	capacityTable(p, c)
	p.linef("")
	capacityPlot(p, c)
	_, err = io.WriteString(w, p.b.String())
	return err
}

func capacityColour(c analysis.Capacity) string {
	switch {
	case c.Ended == analysis.EndInvalid, c.Ended == analysis.EndNone:
		return red
	case c.Ended == analysis.EndFound:
		return green
	}
	return yellow
}

// capacityTable has a line for each step, by rising rate.
func capacityTable(p *page, c analysis.Capacity) {
	steps := c.ByRate()
	if len(steps) == 0 {
		return
	}
	var slowest float64
	for _, s := range steps {
		response, _ := c.Shown(s)
		slowest = max(slowest, response)
	}
	first, _ := c.Shown(steps[0])
	u := unitFor(first, slowest)
	row := func(cells []string) string {
		s := right(cells[0], 11) + right(cells[1], 11)
		for _, cell := range cells[2:4] {
			s += right(cell, 18)
		}
		return s + right(cells[4], 11) + "  " + cells[5]
	}
	p.linef("")
	head := capacityHead(c)
	head[2], head[3] = head[2]+", "+u.name, head[3]+", "+u.name
	p.linef("%s", p.paint(bold, row(head)))
	for _, s := range steps {
		response, service := c.Shown(s)
		p.linef("%s", row([]string{rate(s.Offered), rate(s.Achieved), u.aligned(response), u.aligned(service), percent(s.Errors, 100), stepWord(c, s)}))
	}
}

func capacityHead(c analysis.Capacity) []string {
	return []string{"offered", "achieved", "response " + c.Statistic, "service " + c.Statistic, "errors", "slo"}
}

// stepWord says whether the SLO held in a step.
func stepWord(c analysis.Capacity, s analysis.CapacityStep) string {
	switch {
	case s.Verdict == takt.Invalid:
		return "invalid"
	case !c.Counts(s):
		return "disturbed"
	case s.Met:
		return "held"
	}
	return "broke"
}

// capacityMarkdown is the same for a comment on GitHub.
func capacityMarkdown(w io.Writer, r *takt.Report) error {
	c, err := analysis.CapacityIn(r)
	if err != nil {
		return fmt.Errorf("the report %s is damaged: %w", r.ID, err)
	}
	var b strings.Builder
	words := CapacityWords(c)
	fmt.Fprintf(&b, "### takt capacity: %s\n\n", escape(clean(words[0])))
	for _, s := range words[1:] {
		fmt.Fprintf(&b, "- %s\n", escape(clean(s)))
	}
	fmt.Fprintf(&b, "- SLO %s, id %s\n\n", codeSpan(c.SLO), codeSpan(r.ID))
	b.WriteString(markdownRow(capacityHead(c)) + "|---:|---:|---:|---:|---:|---|\n")
	for _, s := range c.ByRate() {
		response, service := c.Shown(s)
		b.WriteString(markdownRow([]string{rate(s.Offered), rate(s.Achieved), human(response), human(service), percent(s.Errors, 100), stepWord(c, s)}))
	}
	markdownWarnings(&b, r)
	_, err = io.WriteString(w, b.String())
	return err
}
