package answer

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
)

// JudgementText writes the result of verify for people.
func JudgementText(w io.Writer, j verify.Judgement, color bool) error {
	p := &page.Page{Color: color}
	p.Linef("%s: %s", paintWord(p, j.Verdict, strings.ToUpper(string(j.Verdict))), page.Clean(verdictLine(j)))
	for _, c := range j.Comparisons {
		p.Linef("")
		p.Linef("%s", p.Paint(page.Bold, page.Clean(against(j, c))))
		for _, line := range sideLines(c.Base, j.Head, judged(c, j)) {
			p.Linef("%s", page.Clean(line))
		}
		if j.Duet != nil {
			p.Linef("%s", duetLine(j.Duet))
		}
		findings(p, c.Findings, judged(c, j))
	}
	if len(j.Advice) > 0 {
		p.Linef("")
	}
	for _, s := range j.Advice {
		p.Bullet("- ", page.Clean(s))
	}
	return p.Print(w)
}

// verdictLine names the judged runs and the criteria.
func verdictLine(j verify.Judgement) string {
	s := fmt.Sprintf("%s, tolerance %s %%, errors %s points, confidence %s %%",
		stored.ShortRevision(j.Head.Name), page.Short(j.Tolerance*100), page.Short(j.ErrorTolerance), atLeast(j.Confidence))
	switch {
	case j.Looks > 1 && j.Look > 0:
		s += fmt.Sprintf(", after the %s of at most %d looks", ordinal(j.Look), j.Looks)
	case j.Looks > 1:
		s += fmt.Sprintf(", at most %d looks", j.Looks)
	}
	if j.BisectEnded != "" && j.BisectEnded != verify.BisectFound && j.BisectEnded != verify.BisectNone {
		s += "; bisection: " + string(j.BisectEnded)
	}
	return s
}

// ordinal writes 1 as 1st.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		suffix = []string{"th", "st", "nd", "rd", "th", "th", "th", "th", "th", "th"}[n%10]
	}
	return fmt.Sprint(n) + suffix
}

// judged are the titles of the columns of both sides.
func judged(c verify.Comparison, j verify.Judgement) [2]string {
	return Titles(c.Base.Name, j.Head.Name, "base", "head")
}

// sideLines describe the commits that takt built, and say what a title of a column stands for.
func sideLines(base, head verify.Side, titles [2]string) (lines []string) {
	for i, side := range []verify.Side{base, head} {
		switch {
		case side.Commit != nil:
			lines = append(lines, fmt.Sprintf("%s is %s: %s", []string{"base", "head"}[i], side.Commit.Name, side.Commit.Subject))
		case titles[i] != page.Clean(stored.ShortRevision(side.Name)):
			lines = append(lines, fmt.Sprintf("%s is %s", titles[i], side.Name))
		}
	}
	return lines
}

// against names the baseline and the numbers of runs of a comparison.
func against(j verify.Judgement, c verify.Comparison) string {
	base, head := len(c.Base.Runs), len(j.Head.Runs)
	n := fmt.Sprintf("%s against %s", page.Plural(head, "run"), page.Plural(base, "run"))
	switch c.Method {
	case verify.Paired:
		n = page.Plural(head, "pair")
	case verify.Sided:
		n = duetSlices(j.Duet)
	case verify.Prediction:
		n = "one run against " + page.Plural(base, "run")
	}
	return fmt.Sprintf("%s against %s, %s: %s", stored.ShortRevision(j.Head.Name), stored.ShortRevision(c.Base.Name), n, c.Verdict)
}

// duetSlices says how many slices of a duet count.
func duetSlices(d *verify.DuetFacts) string {
	if d.Fresh {
		return fmt.Sprintf("duet of %s with up to %d pairs of blocks of %s ms", page.Plural(d.Slices, "round"), d.PerEach, page.Short(d.BlockMS))
	}
	return fmt.Sprintf("duet of %s of %d pairs of blocks of %s ms", page.Plural(d.Slices, "slice"), d.PerEach, page.Short(d.BlockMS))
}

// duetLine says which operations of a duet are not counted.
func duetLine(d *verify.DuetFacts) string {
	return fmt.Sprintf("%s of load; counted: %d operations; not counted: %d in the first %s ms of blocks", figure.Micros(d.Seconds*1e6), d.Operations, d.Guarded, page.Short(d.GuardMS))
}

// paintWord colours s by the word.
func paintWord(p *page.Page, w verify.Word, s string) string {
	switch w {
	case verify.Regressed:
		return p.Paint(page.Red, s)
	case verify.Inconclusive:
		return p.Paint(page.Yellow, s)
	default:
		return p.Paint(page.Green, s)
	}
}

// longestTitle is the longest name of a side that is the title of a column.
const longestTitle = 16

// Titles are the titles of the columns of two sides: their names, or if these are too long, a and b.
func Titles(base, head, a, b string) [2]string {
	base, head = page.Clean(stored.ShortRevision(base)), page.Clean(stored.ShortRevision(head))
	if max(utf8.RuneCountInString(base), utf8.RuneCountInString(head)) > longestTitle {
		return [2]string{a, b}
	}
	return [2]string{base, head}
}

// FindingTable is a comparison with its titles. It has no columns of intervals if no finding has an
// interval, and no words if no finding has a verdict.
func FindingTable(list []verify.Finding, sides [2]string) [][]string {
	table := [][]string{{"metric", sides[0], sides[1], "difference", "interval", "at", "verdict"}}
	bounded, worded := false, false
	for _, f := range list {
		table = append(table, FindingCells(f))
		bounded, worded = bounded || interval(f) != noInterval, worded || f.Verdict != ""
	}
	for row, cells := range table {
		for i := range cells {
			cells[i] = page.Clean(cells[i])
		}
		if !worded {
			cells = cells[:6]
		}
		if !bounded {
			cells = slices.Delete(cells, 4, 6)
		}
		table[row] = cells
	}
	return table
}

// FindingCells are the columns of a finding.
func FindingCells(f verify.Finding) []string {
	u := unitOf(f)
	word := string(f.Verdict)
	switch {
	case f.Least:
		word += fmt.Sprintf(", needs at least %d", f.Needed)
	case f.Unknown:
		word += fmt.Sprintf(", may need more than %d", f.Needed)
	case f.Needed > 0:
		word += fmt.Sprintf(", needs about %d", f.Needed)
	}
	return []string{f.Metric, page.Amount(u, f.Base), page.Amount(u, f.Head), difference(f, f.Difference), interval(f), atLeast(f.Confidence) + " %", word}
}

// findings writes columns as wide as their longest cell, two spaces apart.
func findings(p *page.Page, list []verify.Finding, sides [2]string) {
	table := FindingTable(list, sides)
	last := len(table[0]) - 1
	words := table[0][last] == "verdict"
	for row, cells := range table[1:] {
		if words {
			cells[last] = paintWord(p, list[row].Verdict, cells[last])
		}
	}
	page.Align(table, func(column int) bool { return column > 0 && !(words && column == last) })
	for _, cells := range table {
		p.Linef("%s", strings.Join(cells, "  "))
	}
}

func unitOf(f verify.Finding) stored.Unit {
	m, _ := stored.MetricOf(f.Metric)
	return m.Unit
}

// difference writes a signed difference: in per cent, in percentage points, or in the
// metric's unit.
func difference(f verify.Finding, v float64) string {
	switch {
	case !f.Absolute:
		return signed(v*100, 1) + " %"
	case unitOf(f) == stored.Percent:
		return signed(v, 2) + " points"
	case v < 0:
		return "-" + page.Amount(unitOf(f), -v)
	}
	return "+" + page.Amount(unitOf(f), v)
}

// signed writes v with its sign; a value that rounds to zero has zero's sign.
func signed(v float64, decimals int) string {
	scale := math.Pow10(decimals)
	return fmt.Sprintf("%+.*f", decimals, math.Round(v*scale)/scale+0)
}

const noInterval = "none"

// interval is the confidence interval, or noInterval if there are too few runs.
func interval(f verify.Finding) string {
	if f.Low == nil || f.High == nil {
		return noInterval
	}
	low, high := difference(f, *f.Low), difference(f, *f.High)
	for _, unit := range []string{" %", " points"} {
		if strings.HasSuffix(high, unit) {
			low = strings.TrimSuffix(low, unit)
		}
	}
	return low + " to " + high
}

// atLeast writes a confidence in per cent, rounded down.
func atLeast(v float64) string {
	return page.TrimZeros(fmt.Sprintf("%.2f", math.Floor(v*1e4+1e-6)/100))
}
