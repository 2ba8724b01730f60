package answer

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/query"
)

// Collation is the result of collate.
func Collation(c query.Collation) *part.Document {
	d := &part.Document{
		Command: "collate", Title: "collate " + page.Clean(c.Variable), Word: page.Plural(len(c.Groups), "group"), In: part.HTML,
		Line: "Within a group all settings are equal, except " + page.Clean(c.Variable) + ".",
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		same := sameLine(g)
		d.Parts = append(d.Parts, part.Part{ID: fmt.Sprintf("group-%d", i+1), Title: page.Clean(same), Blocks: []part.Block{
			{In: part.HTML, Title: page.Clean(g.Criterion), Drawing: GroupChart{c, g}},
			{Close: i == 0, Title: same, Bold: true, Edge: true, Table: groupTable(c, g)},
		}})
	}
	for _, note := range collationNotes(c) {
		d.Notes = append(d.Notes, part.Sentence{Text: note})
	}
	return d
}

// GroupChart is a drawing of the criterion of a group.
type GroupChart struct {
	query.Collation
	*query.Group
}

// groupTable has the rows of a group.
func groupTable(c query.Collation, g *query.Group) *part.Table {
	t := &part.Table{Caption: "Runs with equal settings, side by side.", Left: true}
	for i, col := range collationColumns(c, g) {
		figures := i >= 2 && i < 2+len(g.Metrics)
		t.Column(part.Column{Title: col.title, Words: !figures}, len(g.Rows), func(i int) part.Value {
			r := &g.Rows[i]
			v := part.Words(col.cell(r))
			if f, ok := r.Figures["index"]; ok && !r.Sure && col.title == "index" {
				v.Tone = indexTone(f.Value)
			}
			return v
		})
	}
	for i := range t.Rows {
		if g.Rows[i].Sure {
			t.Rows[i].Tone = part.Good
		}
	}
	return t
}

// indexTone is the tone of the index ratio of a server that indexed too few accepted events, with hey-apm's
// limits.
func indexTone(ratio float64) part.Tone {
	switch {
	case ratio < 0.70:
		return part.Bad
	case ratio < 0.85:
		return part.Warn
	}
	return ""
}

// sameLine lists the settings that all rows of a group share.
func sameLine(g *query.Group) string {
	return strings.Join(settings(g.Kind, g.Same), "  ")
}

// settings are the settings that identify a group of runs; the kind of its load if there are none.
func settings(kind string, same []query.Setting) (list []string) {
	for _, s := range same {
		list = append(list, settingName(s.Name)+" "+settingText(s.Name, s.Value))
	}
	if list == nil {
		list = []string{page.Clean(kind)}
	}
	return list
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
