package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/answers"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/takt"
)

// Tones are those of the words of a verdict.
var tones = map[verify.Word]part.Tone{verify.Regressed: part.Bad, verify.Inconclusive: part.Warn, verify.OK: part.Good, verify.Improved: part.Good}

// Tone is how good the word of a verdict is.
func Tone(w verify.Word) part.Tone { return tones[w] }

// Judgement is the result of verify.
func Judgement(j verify.Judgement) *part.Document {
	d := &part.Document{Command: "verify", Title: judgedTitle(j.Head), Word: string(j.Verdict), Tone: Tone(j.Verdict), Line: found(j), More: criteria(j)}
	next, advice := following(j)
	d.Next, d.Notes = next, listed(advice)
	if j.Answers != nil {
		d.Parts = append(d.Parts, answered(j.Answers))
	}
	for i, c := range j.Comparisons {
		titles := judged(c, j)
		sides := sideLines(c.Base, j.Head, titles)
		one := part.Part{ID: fmt.Sprintf("comparison-%d", i+1), Title: page.Clean(against(j, c)), Lead: strings.Join(sides, " · ")}
		b := part.Block{Title: one.Title, Bold: true, Edge: true, Table: findingTable(c.Findings, titles)}
		if j.Duet != nil {
			one.Title += "; " + duetLine(j.Duet)
			sides = append(sides, duetLine(j.Duet))
		}
		for _, line := range sides {
			b.Above = append(b.Above, part.Sentence{Text: line, Line: true, In: part.Text | part.Markdown})
		}
		one.Blocks = []part.Block{{In: part.HTML, Drawing: Forest{slices.Concat(c.Findings, c.Costs), j.Tolerance, titles[1]}}, b}
		if c.Costs != nil {
			one.Blocks = append(one.Blocks, costs(c.Costs, titles, j))
		}
		if len(j.Head.Runs) > 0 {
			one.Blocks = append(one.Blocks, runsOf(c.Base, j.Head))
		}
		d.Parts = append(d.Parts, one)
	}
	if j.Bisect != nil {
		d.Parts = append(d.Parts, bisected(j.Bisect))
	}
	if j.Functions != nil {
		d.Parts = append(d.Parts, profiled(j.Functions))
	}
	if head := j.Reports[1]; len(j.Comparisons) == 1 && len(head) > 0 {
		d.Parts = append(d.Parts, bothSides(judged(j.Comparisons[0], j), j.Reports[0], head)...)
	}
	d.Parts = append(d.Parts, unproven(j))
	if j.Command != nil {
		d.Parts = append(d.Parts, part.Part{ID: "command", Title: "Command", Blocks: []part.Block{{In: part.HTML, Pre: part.CommandLine(j.Command)}}})
	}
	return d
}

// judgedTitle names the judged side, with the subject of its commit.
func judgedTitle(head verify.Side) string {
	if head.Commit == nil {
		return "verify " + Revision(head.Name)
	}
	return "verify " + Revision(head.Name) + ": " + page.Clean(head.Commit.Subject)
}

// listed are sentences as a list.
func listed(list []string) (sentences []part.Sentence) {
	for _, s := range list {
		sentences = append(sentences, part.Sentence{Text: s, Mark: "- "})
	}
	return sentences
}

// Forest is a drawing of the intervals of relative differences.
type Forest struct {
	Findings  []verify.Finding
	Tolerance float64
	Head      string // name of the side whose more is on the right
}

// Spectra is a drawing of a latency of all runs of both sides, laid over each other.
type Spectra struct {
	Latency string
	Names   [2]string
	Sides   [2][]*takt.Report
}

// bothSides have the latencies of both sides.
func bothSides(names [2]string, base, head []*takt.Report) (list []part.Part) {
	for _, latency := range []string{takt.LatencyResponse, takt.LatencyService, takt.LatencySend, "transfer"} {
		list = append(list, part.Part{
			ID: "spectrum-" + latency, Title: page.Capital(page.Words(latency)) + " time of both sides",
			Blocks: []part.Block{{In: part.HTML, Drawing: Spectra{latency, names, [2][]*takt.Report{base, head}}}},
		})
	}
	return list
}

// runsOf lists the runs of both sides.
func runsOf(sides ...verify.Side) part.Block {
	t := &part.Table{Caption: "The runs of both sides.", Columns: []part.Column{{Title: "side", Words: true}, {Title: "runs", Words: true}}}
	for _, side := range sides {
		t.Add(part.Words(Revision(side.Name)), part.Words(strings.Join(side.Runs, " ")))
	}
	return part.Block{In: part.HTML, Fold: "Runs", Table: t}
}

// found is what was found, in one sentence.
func found(j verify.Judgement) string {
	head := stored.ShortRevision(j.Head.Name)
	if j.Answers != nil && j.Answers.Verdict == answers.Differ {
		return j.Answers.Sentence() + ", so its speed decides nothing"
	}
	var said []string
	for _, c := range j.Comparisons {
		if c.Verdict == j.Verdict {
			said = append(said, fmt.Sprintf(foundWords[j.Verdict], stored.ShortRevision(c.Base.Name))+": "+decisive(c))
		}
	}
	switch {
	case len(said) > 0:
		return head + " " + strings.Join(said, "; and ")
	case j.Answers != nil && j.Answers.Verdict == answers.Unproven:
		return j.Answers.Sentence()
	}
	return head + " could not be judged"
}

// foundWords begin the sentence about a comparison.
var foundWords = map[verify.Word]string{verify.Regressed: "is worse than %s", verify.Inconclusive: "may be worse than %s, which is not decided", verify.OK: "is not worse than %s"}

// decisive are the metrics that made the verdict of a comparison, with their differences if head is worse.
func decisive(c verify.Comparison) string {
	var list []string
	for _, f := range c.Findings {
		switch {
		case c.Verdict == verify.Regressed && f.Verdict == verify.Regressed:
			list = append(list, f.Metric+" "+difference(f, f.Difference))
		case c.Verdict == f.Verdict, c.Verdict == verify.OK:
			list = append(list, f.Metric)
		}
	}
	return strings.Join(list, ", ")
}

// criteria are the differences that are proven, and the conditions of the verdict.
func criteria(j verify.Judgement) string {
	s := fmt.Sprintf("tolerance %s %%, errors %s points, confidence %s %%", page.Short(j.Tolerance*100), page.Short(j.ErrorTolerance), atLeast(j.Confidence))
	switch {
	case j.Looks > 1 && j.Look > 0:
		s += fmt.Sprintf(", after the %s of at most %d looks", ordinal(j.Look), j.Looks)
	case j.Looks > 1:
		s += fmt.Sprintf(", at most %d looks", j.Looks)
	}
	if told := changed(j); told != "" {
		s = told + "; " + s
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
			lines = append(lines, page.Clean(fmt.Sprintf("%s is %s: %s", []string{"base", "head"}[i], side.Commit.Name, side.Commit.Subject)))
		case titles[i] != page.Clean(stored.ShortRevision(side.Name)):
			lines = append(lines, page.Clean(fmt.Sprintf("%s is %s", titles[i], side.Name)))
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

// findingTable is a comparison. It has no columns of intervals if no finding has an interval, and no words if
// no finding has a verdict.
func findingTable(list []verify.Finding, sides [2]string) *part.Table {
	t := &part.Table{Caption: sides[1] + " against " + sides[0] + ", every metric."}
	bounded := slices.ContainsFunc(list, func(f verify.Finding) bool { return interval(f) != noInterval })
	worded := slices.ContainsFunc(list, func(f verify.Finding) bool { return f.Verdict != "" })
	for i, title := range []string{"metric", sides[0], sides[1], "difference", "interval", "at", "verdict"} {
		if (i == 4 || i == 5) && !bounded || i == 6 && !worded {
			continue
		}
		t.Column(part.Column{Title: title, Words: i == 0 || i == 6}, len(list), func(row int) part.Value {
			v, f := part.Words(FindingCells(list[row])[i]), list[row]
			if i == 6 {
				v.Tone = Tone(f.Verdict)
				v.Strong = v.Tone == part.Bad || v.Tone == part.Warn
			}
			return v
		})
	}
	return t
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
