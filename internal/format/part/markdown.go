package part

import (
	"strings"

	"github.com/taktload/takt/internal/format/page"
)

// WriteMarkdown adds parts to a text in GitHub's Markdown.
func WriteMarkdown(b *strings.Builder, parts ...Part) {
	for one := range shown(parts, Markdown) {
		one.markdown(b)
	}
}

// apart adds an empty line, unless the text begins or has one.
func apart(b *strings.Builder) {
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n\n") {
		b.WriteString("\n")
	}
}

func (one *Block) markdown(b *strings.Builder) {
	apart(b)
	if one.Bold {
		b.WriteString("**" + page.Escape(page.Clean(one.Title)) + "**\n\n")
	}
	markdownSentences(b, one.Above)
	for _, f := range one.Facts {
		if f.In.Has(Markdown) && f.Says != "" {
			f.markdown(b)
		}
	}
	if one.Table != nil {
		apart(b)
		one.Table.markdown(b)
	}
	markdownSentences(b, one.Below)
}

// markdownSentences adds a list of the sentences with a mark, and a paragraph for each other one.
func markdownSentences(b *strings.Builder, list []Sentence) {
	listed := false
	for _, s := range list {
		if !s.In.Has(Markdown) {
			continue
		}
		if !listed || s.Mark == "" {
			apart(b)
		}
		if listed = s.Mark != ""; listed {
			b.WriteString("- ")
		}
		b.WriteString(page.Escape(page.Clean(s.Text)))
		if s.Code != "" {
			b.WriteString(" (" + page.CodeSpan(s.Code) + ")")
		}
		b.WriteString("\n")
	}
}

func (f *Fact) markdown(b *strings.Builder) {
	s := f.Says
	if !f.Marked {
		s = page.Escape(page.Clean(s))
	}
	if !f.Bare {
		s = f.Label + ": " + s
	}
	b.WriteString("- " + s + "\n")
}

// markdown writes a table. A group is the beginning of its first title.
func (t *Table) markdown(b *strings.Builder) {
	head, rule := "|", "|"
	for i, c := range t.Columns {
		if !c.In.Has(Markdown) {
			continue
		}
		title := c.Title
		if c.Markdown != "" {
			title = c.Markdown
		}
		if c.Group != "" {
			title = c.Group + " " + title
		}
		head += cell(page.Escape(page.Clean(t.title(i, title))), title == "")
		switch {
		case t.Left:
			rule += " --- |"
		case c.Words:
			rule += "---|"
		default:
			rule += "---:|"
		}
	}
	b.WriteString(head + "\n" + rule + "\n")
	for i := range t.Rows {
		if row := &t.Rows[i]; row.In.Has(Markdown) {
			b.WriteString("|")
			for k, c := range t.Columns {
				if c.In.Has(Markdown) {
					b.WriteString(cell(row.Cells[k].markdown(t.Unit), row.Cells[k].kind == empty))
				}
			}
			b.WriteString("\n")
		}
	}
}

func cell(s string, empty bool) string {
	if empty {
		return " |"
	}
	return " " + s + " |"
}
