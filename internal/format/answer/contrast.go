package answer

import (
	"fmt"
	"math"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/takt"
)

// Contrast is the result of compare, with the reports of both sides.
func Contrast(c verify.Contrast, base, head []*takt.Report) *part.Document {
	names, sides := [2]string{Revision(c.Base.Name), Revision(c.Head.Name)}, contrasted(c)
	d := &part.Document{
		Command: "compare", Title: "compare " + names[1] + " with " + names[0], Word: "compared", Line: contrastTitle(c), Notes: contrastNotes(c, sides), First: true,
	}
	told := telling(c.Findings)
	metrics := part.Part{ID: "metrics", Title: "Differences", Blocks: []part.Block{
		{In: part.HTML, Drawing: Forest{told, c.Tolerance, sides[1]}}, {Table: findingTable(told, sides)},
	}}
	for _, o := range c.Overlay {
		if o.Latency == takt.LatencyResponse || o.Latency == takt.LatencyService {
			metrics.Blocks = append(metrics.Blocks, part.Block{In: part.Text, Plot: func(p *page.Page) { overlay(p, o, sides) }})
		}
	}
	metrics.Blocks = append(metrics.Blocks, runsOf(c.Base, c.Head))
	d.Parts = append([]part.Part{metrics}, bothSides(names, base, head)...)
	return d
}

// telling omits findings without news for people: response_ok and send delay, which mostly
// repeat other latencies, and for all but the response time everything except p50, p99 and
// max. JSON has them.
func telling(all []verify.Finding) (some []verify.Finding) {
	for _, f := range all {
		of, statistic, named := strings.Cut(f.Metric, ".")
		switch {
		case !named, of == "p99": // the response time's figures, including p99.9
			some = append(some, f)
		case of == takt.LatencyResponseOK, of == takt.LatencySendDelay:
		case statistic == "p50", statistic == "p99", statistic == "max":
			some = append(some, f)
		}
	}
	return some
}

func contrastTitle(c verify.Contrast) string {
	return fmt.Sprintf("%s against %s: %s against %s, tolerance %s %%, each interval by itself at %s %%",
		stored.ShortRevision(c.Head.Name), stored.ShortRevision(c.Base.Name), page.Plural(len(c.Head.Runs), "run"), page.Plural(len(c.Base.Runs), "run"), page.Short(c.Tolerance*100), atLeast(c.Confidence))
}

// contrasted are the titles of the columns of both sides.
func contrasted(c verify.Contrast) [2]string { return Titles(c.Base.Name, c.Head.Name, "A", "B") }

// contrastNotes say why the sides may not be comparable, and what the figures are.
func contrastNotes(c verify.Contrast, sides [2]string) []part.Sentence {
	notes := sideLines(c.Base, c.Head, sides)
	if len(c.Differing) > 0 {
		notes = append(notes, "not the same in all runs: "+strings.Join(c.Differing, ", "))
	}
	for _, s := range c.Unfit {
		notes = append(notes, "proves nothing: "+s)
	}
	list := listed(append(notes, c.Advice...))
	if len(c.Base.Runs) > 1 || len(c.Head.Runs) > 1 { // Markdown has no curves
		medians := fmt.Sprintf("%s and %s: medians of the runs", sides[0], sides[1])
		list = append(list, part.Sentence{Text: medians + "; the curves: all runs merged", Mark: "- ", In: part.Text | part.HTML}, part.Sentence{Text: medians, Mark: "- ", In: part.Markdown})
	}
	return list
}

// overlayWidth is the width of an overlay's plot in columns.
const overlayWidth = 48

// letters says which side a letter of an overlay is.
func letters(sides [2]string) string {
	if sides == [2]string{"A", "B"} {
		return "A and B"
	}
	return "A " + sides[0] + ", B " + sides[1]
}

// overlay plots both sides of a latency on one axis, logarithmic in time: A is the base, B
// the head, * both.
func overlay(p *page.Page, o verify.Overlay, sides [2]string) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, q := range o.Points {
		low, high = min(low, q.Base, q.Head), max(high, q.Base, q.Head)
	}
	low = max(low, 1e-3) // a nanosecond, a histogram's smallest value
	p.Linef("%s", p.Paint(page.Bold, fmt.Sprintf("%s time, %s to %s, logarithmic", page.Clean(page.Words(o.Latency)), figure.Micros(low), figure.Micros(high))))
	p.Linef("%s, * both", letters(sides))
	at := func(v float64) int {
		if high <= low {
			return 0
		}
		return int(math.Round(math.Log(max(v, low)/low) / math.Log(high/low) * (overlayWidth - 1)))
	}
	for _, q := range o.Points {
		line := []byte(strings.Repeat(" ", overlayWidth))
		line[at(q.Base)], line[at(q.Head)] = 'A', 'B'
		if at(q.Base) == at(q.Head) {
			line[at(q.Base)] = '*'
		}
		p.Linef("%s %s %s  %s", page.Right(page.TrimZeros(fmt.Sprintf("%.2f", q.Quantile*100)), 6)+" %", page.Right(figure.Micros(q.Base), 8), page.Right(figure.Micros(q.Head), 8), line)
	}
}
