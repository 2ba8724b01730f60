package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/generators"
)

// Honesty is the result of judge.
func Honesty(a generators.Answer) *part.Document {
	d := &part.Document{Command: "judge", Title: "judge", Word: "right", Tone: part.Good, Line: honestyLine(a), More: honestyRest(a), Notes: listed(honestyKey(a))}
	switch {
	case a.Lies() > 0:
		d.Word, d.Tone = "wrong", part.Bad
	case a.Unclear() > 0:
		d.Word, d.Tone = "unclear", part.Warn
	}
	d.Parts = append(d.Parts, part.Part{ID: "picture", Title: "all trials", Blocks: []part.Block{{In: part.HTML, Drawing: HonestyChart{a}}}})
	for i := range a.Generators {
		d.Parts = append(d.Parts, honestyPart(i, &a.Generators[i]))
	}
	return d
}

// HonestyChart is a drawing of all trials.
type HonestyChart struct{ Answer generators.Answer }

// honestyLine says how many figures mislead.
func honestyLine(a generators.Answer) string {
	count, all := a.Count(), 0
	for _, n := range count {
		all += n
	}
	who := page.Plural(len(a.Generators), "generator")
	if len(a.Generators) == 1 {
		who = HonestyName(&a.Generators[0])
	}
	return fmt.Sprintf("%s: %d of %s right, %d wrong, %d silent", page.Cut(who, 30), count[generators.Right], page.Plural(all, "figure"), count[generators.Wrong], count[generators.Silent])
}

// honestyRest are the figures that are neither right nor mislead.
func honestyRest(a generators.Answer) string {
	count := a.Count()
	return fmt.Sprintf("%d more wrong and said to be, %d not printed, %d unclear", count[generators.Admitted], count[generators.NotPrinted], count[generators.Unclear])
}

// honestyRuns says how many runs the figures are from.
func honestyRuns(a generators.Answer) string {
	least, most := 0, 0
	for i := range a.Generators {
		few, many := a.Generators[i].Runs()
		if least == 0 || few > 0 && few < least {
			least = few
		}
		most = max(most, many)
	}
	if least < most {
		return fmt.Sprintf("%d to %s", least, page.Plural(most, "run"))
	}
	return page.Plural(most, "run")
}

// HonestyName is a generator with its version.
func HonestyName(g *generators.Generator) string {
	return page.Clean(strings.TrimSpace(g.Name + " " + g.Version))
}

// HonestyPicture is the picture of all trials.
func HonestyPicture(a generators.Answer) HonestyCurves {
	h := HonestyCurves{Title: honestyLine(a), Columns: honestyColumns(a)}
	for i := range a.Generators {
		g := &a.Generators[i]
		for _, n := range connectionsOf(g) {
			row := HonestyCurve{Name: fmt.Sprintf("%s, %d", HonestyName(g), n), Generator: i}
			for _, name := range h.Columns {
				row.Trials = append(row.Trials, g.Trial(name, n))
			}
			h.Rows = append(h.Rows, row)
		}
	}
	return h
}

// honestyColumns are the pathologies of all generators, in their order.
func honestyColumns(a generators.Answer) (names []string) {
	for i := range a.Generators {
		for _, t := range a.Generators[i].Trials {
			if !slices.Contains(names, t.Pathology) {
				names = append(names, t.Pathology)
			}
		}
	}
	return names
}

func connectionsOf(g *generators.Generator) (list []int) {
	for _, t := range g.Trials {
		if !slices.Contains(list, t.Connections) {
			list = append(list, t.Connections)
		}
	}
	return list
}

// honestyPart are the trials of a generator: a table for each load, and the figures that mislead.
func honestyPart(i int, g *generators.Generator) part.Part {
	one := part.Part{ID: fmt.Sprintf("generator-%d", i+1), Title: HonestyName(g)}
	facts := part.Block{Title: one.Title, Bold: true, Facts: []part.Fact{{Label: "command", Command: g.Command, In: part.Text}, {Label: "command", Says: part.CommandLine(g.Command), In: part.HTML | part.Markdown}}}
	if g.Version == "" {
		facts.Facts = append(facts.Facts, part.Fact{Label: "version", Says: "not known"})
	}
	for _, note := range g.Notes {
		facts.Facts = append(facts.Facts, part.Fact{Label: "note", Says: note})
	}
	one.Blocks = append(one.Blocks, facts)
	for _, n := range connectionsOf(g) {
		b := part.Block{Title: page.Plural(n, "connection"), Bold: true, Edge: true, Table: honestyTable(g, n)}
		one.Blocks = append(one.Blocks, b)
		one.Blocks = append(one.Blocks, part.Block{In: part.HTML | part.Markdown, Table: honestyFigures(g, n)})
	}
	if lies := honestyLies(g); lies != nil {
		title := "What misleads"
		if count := g.Count(); count[generators.Wrong]+count[generators.Silent] == 0 {
			title = "What is missing"
		}
		one.Blocks = append(one.Blocks, part.Block{Title: title, Bold: true, Below: lies})
	}
	return one
}

// honestyShown are the figures in the table of a load, with their titles.
func honestyTitle(name string) string {
	return cmp.Or(map[string]string{generators.Spacing: "spaced", generators.Answered: "count"}[name], name)
}

// honestyTable has a row for each trial and a column for each figure: ok, or by how much it is wrong.
func honestyTable(g *generators.Generator, connections int) *part.Table {
	t := &part.Table{Caption: fmt.Sprintf("Trials with %s.", page.Plural(connections, "connection")), Columns: []part.Column{{Title: "trial", Words: true}}}
	for _, name := range generators.Figures() {
		t.Columns = append(t.Columns, part.Column{Title: honestyTitle(name), Width: 6, Gap: 1})
	}
	for i := range g.Trials {
		trial := &g.Trials[i]
		if trial.Connections != connections {
			continue
		}
		cells := []part.Value{part.Words(trial.Pathology)}
		for _, name := range generators.Figures() {
			if trial.LeftOut != "" && name == generators.Sent {
				cells = append(cells, part.Words("no"))
				continue
			}
			cells = append(cells, honestyCell(trial.Cell(name)))
		}
		t.Add(cells...)
	}
	return t
}

// honestyCell is a figure in at most six characters.
func honestyCell(c *generators.Cell) part.Value {
	switch {
	case c == nil:
		return part.Words("")
	}
	switch c.State {
	case generators.Right:
		return part.Words("ok")
	case generators.NotPrinted:
		return part.Words("–")
	case generators.Unclear:
		return part.Words("?")
	case generators.Silent:
		if c.Figure == generators.Words || c.Figure == generators.Errors {
			return part.Words("silent").Toned(part.Bad)
		}
	}
	if c.State == generators.Admitted {
		return part.Words("said").Toned(part.Warn)
	}
	return part.Words(honestyOff(c)).Toned(part.Bad)
}

// honestyOff is by how much a figure is wrong: a share of a count, a time of a latency.
func honestyOff(c *generators.Cell) string {
	off := c.Off()
	sign := "+"
	if off < 0 {
		sign = "−"
	}
	if generators.IsLatency(c.Figure) || c.Figure == generators.Spacing {
		return sign + shortTime(math.Abs(off))
	}
	if c.True == nil || *c.True == 0 {
		return sign + shortCount(math.Abs(off))
	}
	share := math.Abs(off) / *c.True * 100
	switch {
	case share >= 1000:
		return fmt.Sprintf("×%s", shortCount(*c.Said / *c.True))
	case share < 10:
		return fmt.Sprintf("%s%.1f%%", sign, share)
	}
	return fmt.Sprintf("%s%.0f%%", sign, share)
}

// shortTime is a time in ms in at most five characters.
func shortTime(ms float64) string {
	switch {
	case ms >= 9950:
		return fmt.Sprintf("%.0fs", ms/1000)
	case ms >= 1000:
		return fmt.Sprintf("%.1fs", ms/1000)
	}
	return fmt.Sprintf("%.0fms", ms)
}

func shortCount(n float64) string {
	if n >= 10_000 {
		return fmt.Sprintf("%.0fk", n/1000)
	}
	return fmt.Sprintf("%.0f", n)
}

// honestyFigures has what was said, recorded and felt, for pages.
func honestyFigures(g *generators.Generator, connections int) *part.Table {
	t := &part.Table{Caption: "What the generator said / what is true; times in ms, medians of the runs."}
	t.Columns = []part.Column{{Title: "trial", Words: true}}
	for _, name := range generators.Figures()[:len(generators.Figures())-1] {
		t.Columns = append(t.Columns, part.Column{Title: honestyTitle(name)})
	}
	t.Columns = append(t.Columns, part.Column{Title: "CPU µs/request"}, part.Column{Title: "memory"}, part.Column{Title: "end", Words: true}, part.Column{Title: "words", Words: true})
	for i := range g.Trials {
		trial := &g.Trials[i]
		if trial.Connections != connections || trial.Runs == nil {
			continue
		}
		cells := []part.Value{part.Words(trial.Pathology)}
		for _, name := range generators.Figures()[:len(generators.Figures())-1] {
			cells = append(cells, part.Figure(saidAndTrue(trial.Cell(name))))
		}
		last := &trial.Runs[len(trial.Runs)-1]
		memory := part.Known(last.Memory > 0, part.Figure(page.Size(float64(last.Memory))))
		cells = append(cells, part.Figure(fmt.Sprintf("%.0f", last.CPU)), memory, part.Words(cmp.Or(last.Unread, last.Exit)), part.Words(strings.Join(last.Said.Words, "; ")))
		t.Add(cells...)
	}
	return t
}

func saidAndTrue(c *generators.Cell) string {
	if c == nil {
		return ""
	}
	one := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return page.Short(*v)
	}
	if c.Figure == generators.Spacing {
		return one(c.Said)
	}
	return one(c.Said) + " / " + one(c.True)
}

// honestyLies are sentences about the figures that mislead, and about trials that were left out or cannot be read.
func honestyLies(g *generators.Generator) (list []part.Sentence) {
	add := func(format string, args ...any) {
		list = append(list, part.Sentence{Mark: "- ", Text: fmt.Sprintf(format, args...)})
	}
	for i := range g.Trials {
		t := &g.Trials[i]
		where := fmt.Sprintf("%s, %s: ", t.Pathology, page.Plural(t.Connections, "connection"))
		if t.LeftOut != "" {
			add("%sleft out, because %s", where, t.LeftOut)
			continue
		}
		var said []string
		for k := range t.Cells {
			if c := &t.Cells[k]; c.State == generators.Wrong || c.State == generators.Silent {
				said = append(said, honestySentence(c))
			}
		}
		if said != nil {
			add("%s%s", where, strings.Join(said, "; "))
		}
		for k := range t.Runs {
			if r := &t.Runs[k]; r.Unread != "" {
				add("%srun %d cannot be read: %s (it ended with %s)", where, k+1, r.Unread, r.Exit)
			}
		}
	}
	return list
}

// honestySentence says what a figure says, and what is true.
func honestySentence(c *generators.Cell) string {
	switch c.Figure {
	case generators.Words:
		return "the generator could not send on time, and says nothing about it"
	case generators.Sent:
		return fmt.Sprintf("%.0f of %.0f requests came", *c.Said, *c.True)
	case generators.Spacing:
		return "requests came up to " + figure.Micros(*c.Said*1000) + " late (p99)"
	case generators.Rate:
		return fmt.Sprintf("the rate is said to be %s, and was %s", page.Rate(page.Round3(*c.Said)), page.Rate(page.Round3(*c.True)))
	case generators.Answered, generators.Errors:
		return fmt.Sprintf("%s: %.0f said, %.0f recorded", c.Figure, *c.Said, *c.True)
	}
	return fmt.Sprintf("%s %s said, %s felt", c.Figure, figure.Micros(*c.Said*1000), figure.Micros(*c.True*1000))
}

// honestyKey explains the cells.
func honestyKey(a generators.Answer) []string {
	return []string{
		fmt.Sprintf("asked for %s for %s; %s of each trial", page.Rate(a.Rate), page.Span(a.Duration), honestyRuns(a)),
		"ok: right; a figure: by how much it is wrong; said: wrong, and the generator says that its run is invalid, how late it sent, or what it did not send; silent: it says nothing; –: not printed; ?: the machine was busy; no: left out",
		"sent, spaced: what came, and how late (p99); count, errors, rate: said to the target's record; p50 to max: said to what users of the schedule felt; words: it says that it was late",
	}
}
