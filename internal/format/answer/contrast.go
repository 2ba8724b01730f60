package answer

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/takt"
)

// ContrastText writes the result of compare for people.
func ContrastText(w io.Writer, c verify.Contrast, color bool) error {
	p := &page.Page{Color: color}
	p.Linef("%s", p.Paint(page.Bold, page.Clean(contrastTitle(c))))
	for _, note := range contrastNotes(c, "; the curves: all runs merged") {
		p.Bullet("- ", page.Clean(note))
	}
	p.Linef("")
	sides := contrasted(c)
	findings(p, telling(c.Findings), sides)
	for _, o := range c.Overlay {
		if o.Latency == takt.LatencyResponse || o.Latency == takt.LatencyService {
			p.Linef("")
			overlay(p, o, sides)
		}
	}
	return p.Print(w)
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

// contrastNotes say why the sides may not be comparable, and what the figures are; curves
// describes the plot, if there is one.
func contrastNotes(c verify.Contrast, curves string) (notes []string) {
	notes = sideLines(c.Base, c.Head, contrasted(c))
	if len(c.Differing) > 0 {
		notes = append(notes, "not the same in all runs: "+strings.Join(c.Differing, ", "))
	}
	for _, s := range c.Unfit {
		notes = append(notes, "proves nothing: "+s)
	}
	notes = append(notes, c.Advice...)
	if len(c.Base.Runs) > 1 || len(c.Head.Runs) > 1 {
		sides := contrasted(c)
		notes = append(notes, fmt.Sprintf("%s and %s: medians of the runs%s", sides[0], sides[1], curves))
	}
	return notes
}

// ContrastMarkdown writes the result of compare for a comment on GitHub.
func ContrastMarkdown(w io.Writer, c verify.Contrast) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### takt compare\n\n%s\n\n", page.Escape(page.Clean(contrastTitle(c))))
	notes := contrastNotes(c, "")
	for _, note := range notes {
		fmt.Fprintf(&b, "- %s\n", page.Escape(page.Clean(note)))
	}
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	markdownFindings(&b, telling(c.Findings), contrasted(c))
	_, err := io.WriteString(w, b.String())
	return err
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
