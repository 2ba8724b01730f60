package part

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/taktload/takt/internal/format/page"
)

// WriteText adds parts to a text.
func WriteText(p *page.Page, parts ...Part) {
	for b := range shown(parts, Text) {
		b.text(p)
	}
}

func (b *Block) text(p *page.Page) {
	if !b.Close {
		p.Linef("")
	}
	title := b.Title
	if len(b.Curves.List) > 0 {
		title += b.Curves.span()
	}
	lines := page.Wrap(page.Clean(title), page.Width)
	if b.Edge {
		lines = []string{page.Visible(title)}
	}
	for _, line := range lines {
		p.Linef("%s", p.Paint(b.titleColour(), line))
	}
	sentences(p, b.Above)
	for _, f := range b.Facts {
		if f.In.Has(Text) {
			f.text(p)
		}
	}
	if b.Table != nil {
		b.Table.text(p, b.Title != "" && !b.Edge)
	}
	b.Curves.text(p)
	if b.Plot != nil {
		b.Plot(p)
	}
	sentences(p, b.Below)
}

func (b *Block) titleColour() string {
	if b.Tone != "" {
		return b.Tone.Colour()
	}
	return page.Bold
}

func sentences(p *page.Page, list []Sentence) {
	for _, s := range list {
		text := s.String()
		if s.Tone != "" {
			text = p.Paint(s.Tone.Colour(), text)
		}
		switch {
		case !s.In.Has(Text):
		case s.Line:
			p.Linef("%s", page.Visible(s.Text))
		default:
			p.Bullet(s.Mark, text)
		}
	}
}

func (f *Fact) text(p *page.Page) {
	if f.Command != nil {
		p.Lines(f.Label, commandLines(f.Command))
		return
	}
	says := strings.Split(f.Says, page.NoBreak) // which stay
	for i := range says {
		says[i] = page.Visible(says[i])
	}
	p.Item(page.Clean(f.Label), strings.Join(says, page.NoBreak))
}

// aligned is the narrowest column in which decimal points are below each other.
const aligned = 10

// text writes a table. A table with widths has its titles in bold at the left edge and its rows two columns
// to the right; a table without is indented below a title that is not at the edge.
func (t *Table) text(p *page.Page, titled bool) {
	l := t.layout()
	indent := ""
	if titled && !l.fixed {
		indent = "  "
	}
	if !t.Headless {
		for _, line := range []string{l.groups(), l.line(p, l.titles, nil)} {
			if line = strings.TrimRight(line, " "); line != "" && l.fixed {
				line = p.Paint(page.Bold, line)
			}
			if line != "" {
				p.Linef("%s%s", indent, line)
			}
		}
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		if !row.In.Has(Text) {
			continue
		}
		if line := strings.TrimRight(l.line(p, l.cells[i], row.Cells), " "); line != "" {
			line = indent + line
			if row.Tone != "" {
				line = p.Paint(row.Tone.Colour(), line)
			}
			p.Linef("%s", line)
		}
		for k, c := range t.Columns {
			if s := row.Cells[k].String(); c.Below && c.In.Has(Text) && s != "" {
				p.Bullet(c.Mark, c.cut(s))
			}
		}
	}
}

func (c *Column) cut(s string) string {
	if c.Cut > 0 {
		return page.Cut(s, c.Cut)
	}
	return s
}

// layout is a table as text: the columns that are not sentences below the rows.
type layout struct {
	*Table
	columns []int
	fixed   bool // the columns have widths
	titles  []string
	cells   [][]string // of all rows
	widths  []int
}

func (t *Table) layout() *layout {
	l := &layout{Table: t}
	for i, c := range t.Columns {
		if c.In.Has(Text) && !c.Below {
			l.columns = append(l.columns, i)
		}
	}
	l.fixed = len(l.columns) > 0 && t.Columns[l.columns[0]].Width > 0
	l.titles, l.cells = make([]string, len(l.columns)), make([][]string, len(t.Rows))
	for k, i := range l.columns {
		c := &t.Columns[i]
		l.titles[k] = page.Clean(t.title(i, c.Title))
		width := utf8.RuneCountInString(l.titles[k])
		for r := range t.Rows {
			s := ""
			if t.Rows[r].In.Has(Text) {
				s = l.cell(i, t.Rows[r].Cells[i])
			}
			l.cells[r] = append(l.cells[r], s)
			width = max(width, utf8.RuneCountInString(s))
		}
		l.widths = append(l.widths, cmp.Or(c.Width, width))
	}
	return l
}

// title is the title of a column, with the unit of the table in the first column of words, or otherwise in
// each column of latencies.
func (t *Table) title(column int, s string) string {
	if t.Unit.Name != "" && (column == 0 && t.Columns[0].Words || !t.Columns[0].Words && t.latencies(column)) {
		s += ", " + t.Unit.Name
	}
	return s
}

// latencies reports whether a column has latencies.
func (t *Table) latencies(column int) bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[column].kind == latency })
}

// cell is a value as text. A column of latencies with room has its decimal points below each other.
func (l *layout) cell(column int, v Value) string {
	c := &l.Columns[column]
	s := v.in(l.Unit)
	switch {
	case c.Width < aligned:
		s = strings.TrimRight(s, " ")
	case v.kind == count && l.Unit.Name != "" && l.latencies(column):
		s = page.AlignedCount(uint64(v.v))
	}
	if s = c.cut(s); column == 0 && c.Words && l.fixed {
		s = "  " + s
	}
	return s
}

// line is a row, without spaces after its last column; a mark is beside its column, so that digits remain
// below each other.
func (l *layout) line(p *page.Page, cells []string, values []Value) string {
	var b strings.Builder
	over := 0
	for k, i := range l.columns {
		c, pad, mark := &l.Columns[i], page.Right, ""
		if values != nil {
			mark = values[i].Mark
		}
		if c.Words || l.Left {
			pad = page.Left
		}
		b.WriteString(strings.Repeat(" ", l.gap(k)))
		s := cells[k] + mark
		if last := k == len(l.columns)-1 && (c.Words || l.Left); !last {
			s = pad(s, l.widths[k]-over+len(mark))
		}
		if values != nil && values[i].Tone != "" {
			s = p.Paint(values[i].Tone.Colour(), s)
		}
		b.WriteString(s)
		over = len(mark)
	}
	return b.String()
}

// gap is the number of spaces before a column.
func (l *layout) gap(k int) int {
	c := &l.Columns[l.columns[k]]
	if c.Gap == 0 && c.Width == 0 && k > 0 {
		return 2
	}
	return c.Gap
}

// groups is the line above the titles; "": there are no groups.
func (l *layout) groups() string {
	var b strings.Builder
	name, width := "", 0
	for k, i := range l.columns {
		if g := l.Columns[i].Group; g != "" {
			b.WriteString(page.Right(name, width))
			name, width = g, 0
		}
		width += l.gap(k) + l.widths[k]
	}
	if name == "" {
		return ""
	}
	return b.String() + page.Right(name, width)
}
