package answer

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/query"
)

// CollationTable writes the groups of collate as tables for people.
func CollationTable(w io.Writer, c query.Collation, color bool) error {
	p := &page.Page{Color: color}
	for i := range c.Groups {
		g := &c.Groups[i]
		if i > 0 {
			p.Linef("")
		}
		p.Linef("%s", p.Paint(page.Bold, sameLine(g)))
		groupRows(p, c, g)
	}
	for _, note := range collationNotes(c) {
		p.Linef("")
		for _, line := range page.Wrap(note, page.Width) {
			p.Linef("%s", line)
		}
	}
	return p.Print(w)
}

// groupCells are the titles and the rows of a group.
func groupCells(c query.Collation, g *query.Group) [][]string {
	table := make([][]string, 1+len(g.Rows))
	for _, col := range collationColumns(c, g) {
		table[0] = append(table[0], col.title)
		for i := range g.Rows {
			table[i+1] = append(table[i+1], col.cell(&g.Rows[i]))
		}
	}
	return table
}

// groupRows writes columns as wide as their longest cell, two spaces apart.
func groupRows(p *page.Page, c query.Collation, g *query.Group) {
	table := groupCells(c, g)
	index := slices.Index(table[0], "index")
	page.Align(table, func(int) bool { return false })
	p.Linef("%s", strings.Join(table[0], "  "))
	for i, cells := range table[1:] {
		r := g.Rows[i]
		if f, ok := r.Figures["index"]; ok && !r.Sure && index >= 0 {
			cells[index] = paintIndex(p, cells[index], f.Value)
		}
		line := strings.TrimRight(strings.Join(cells, "  "), " ")
		if r.Sure {
			line = p.Paint(page.Green, line)
		}
		p.Linef("%s", line)
	}
}

// paintIndex colours the index ratio of a server that indexed too few accepted events, with
// hey-apm's limits.
func paintIndex(p *page.Page, cell string, ratio float64) string {
	switch {
	case ratio < 0.70:
		return p.Paint(page.Red, cell)
	case ratio < 0.85:
		return p.Paint(page.Yellow, cell)
	}
	return cell
}

// sameLine lists the settings that all rows of a group share.
func sameLine(g *query.Group) string {
	var parts []string
	for _, s := range g.Same {
		parts = append(parts, settingName(s.Name)+" "+settingText(s.Name, s.Value))
	}
	if parts == nil {
		return page.Clean(g.Kind)
	}
	return strings.Join(parts, "  ")
}

// collationNotes explain the marks and what the tables do not show.
func collationNotes(c query.Collation) (notes []string) {
	beside, partly, unsure := 0, 0, false
	for _, g := range c.Groups {
		beside += g.Hidden
		for _, r := range g.Rows {
			unsure = unsure || r.Wanted > 0
			if r.Merged < len(r.IDs) {
				partly++
			}
		}
	}
	for _, g := range c.Groups {
		for _, r := range g.Rows {
			if r.Apart != nil {
				notes = append(notes, apartText(c.Field, &g, &r))
			}
			if r.Unranked != "" {
				notes = append(notes, rowName(c.Field, &g, &r)+" is not ranked: "+r.Unranked)
			}
		}
	}
	if unsure {
		notes = append(notes, "? marks the best so far: it and the second best need that many runs each before this can be told from chance")
	}
	if partly > 0 {
		notes = append(notes, fmt.Sprintf("percentiles of a part of the runs only: %s, where csv and json have fewer merged_runs than runs; add filters for those of all", page.Plural(partly, "row")))
	}
	if len(c.Unreadable) > 0 {
		notes = append(notes, "damaged histograms, which percentiles leave out: "+page.Clean(strings.Join(c.Unreadable, ", ")))
	}
	if beside > 0 {
		notes = append(notes, fmt.Sprintf("not shown: %s of these groups; raise -n, or add filters", page.Plural(beside, "more row")))
	}
	if c.Hidden > 0 {
		notes = append(notes, fmt.Sprintf("not shown: %s of other groups; raise -n, or add filters", page.Plural(c.Hidden, "more row")))
	}
	if c.Unfit > 0 {
		notes = append(notes, fmt.Sprintf("left out: %s, cut short or invalid; --all takes such runs in", page.Plural(c.Unfit, "run")))
	}
	return notes
}

// rowName is the row's value of the variable, with its id if other rows have this value, too.
func rowName(field string, g *query.Group, r *query.Row) string {
	name := settingText(field, r.Value)
	for i := range g.Rows {
		if other := &g.Rows[i]; idCell(other) != idCell(r) && settingText(field, other.Value) == name {
			return idCell(r) + ", " + name + ","
		}
	}
	return name
}

// apartText says which row stands out, and by how much. It speaks of the runs, because the test compares
// their figures, and the row may show that of all their operations together.
func apartText(field string, g *query.Group, r *query.Row) string {
	name := rowName(field, g, r)
	a, word, sign := r.Apart, "better", 1.0
	if a.Worse {
		word = "worse"
	}
	low, high := a.Low, a.High
	if a.Percent < 0 {
		sign, low, high = -1, -a.High, -a.Low
	}
	return fmt.Sprintf("%s is %.0f %% %s than the rest in the runs' %s, %.0f to %.0f %%", name, sign*a.Percent, word, g.Criterion, low, high)
}

// CollationMarkdown writes the groups of collate as tables of GitHub's Markdown.
func CollationMarkdown(w io.Writer, c query.Collation) error {
	var b strings.Builder
	for i := range c.Groups {
		g := &c.Groups[i]
		fmt.Fprintf(&b, "**%s**\n\n", page.Escape(page.Clean(sameLine(g))))
		for i, cells := range groupCells(c, g) {
			b.WriteString(page.MarkdownRow(cells))
			if i == 0 {
				b.WriteString(page.MarkdownRow(slices.Repeat([]string{"---"}, len(cells))))
			}
		}
		b.WriteString("\n")
	}
	for _, note := range collationNotes(c) {
		b.WriteString(page.Escape(page.Clean(note)) + "\n\n")
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}
