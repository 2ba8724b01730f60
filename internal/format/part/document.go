package part

import (
	"io"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/page"
)

// Document is what a judging command found.
type Document struct {
	Command    string  // verify, compare …
	Title      string  // of a page
	Word       string  // the verdict
	Tone       Tone    // of the verdict; "": there is none
	Line, More string  // what was found, and the criteria
	Next       string  // what to do about it
	In         Outputs // of the verdict and the line
	Heading    string  // of Markdown, instead of the verdict and the line
	Notes      []Sentence
	First      bool // text and Markdown have the notes before the parts; a page always
	Parts      []Part
}

// Headline is what was found, with the criteria.
func (d *Document) Headline() string {
	if d.More != "" {
		return page.Clean(d.Line + "; " + d.More)
	}
	return page.Clean(d.Line)
}

// parts are the parts and the notes of a writer.
func (d *Document) parts(w Outputs, b Block) []Part {
	if !slices.ContainsFunc(d.Notes, func(s Sentence) bool { return s.In.Has(w) }) {
		return d.Parts
	}
	b.Below = d.Notes
	notes := []Part{{Blocks: []Block{b}}}
	if d.Notes[0].Mark == "" && w == Text { // paragraphs
		notes[0].Blocks = nil
		for _, s := range d.Notes {
			notes[0].Blocks = append(notes[0].Blocks, Block{Title: s.Text, Tone: Plain})
		}
	}
	if d.First {
		return append(notes, d.Parts...)
	}
	return append(slices.Clip(d.Parts), notes...)
}

// WriteText writes the document as text, in colours if color.
func (d *Document) WriteText(w io.Writer, color bool) error {
	p := &page.Page{Color: color}
	switch {
	case !d.In.Has(Text):
	case d.Tone == "":
		p.Linef("%s", p.Paint(page.Bold, page.Clean(d.Line)))
	default:
		p.Linef("%s: %s", p.Paint(d.Tone.Colour(), strings.ToUpper(d.Word)), page.Clean(d.Line))
	}
	if d.Next != "" && d.In.Has(Text) {
		p.Item("next", page.Clean(d.Next))
	}
	if d.More != "" && d.In.Has(Text) {
		p.Linef("%s", page.Clean(d.More))
	}
	WriteText(p, d.parts(Text, Block{Close: d.First})...)
	return p.Print(w)
}

// WriteMarkdown writes the document for a comment on GitHub.
func (d *Document) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	switch {
	case !d.In.Has(Markdown):
	case d.Heading != "":
		b.WriteString("### takt " + d.Command + ": " + page.Escape(page.Clean(d.Heading)) + "\n")
	case d.Next != "":
		b.WriteString("### takt " + d.Command + ": " + d.Word + "\n\n" + page.Escape(page.Clean(d.Line)) + "\n\n**Next:** " + page.Escape(page.Clean(d.Next)) + "\n\n" + page.Escape(page.Clean(d.More)) + "\n")
	case d.Tone != "":
		b.WriteString("### takt " + d.Command + ": " + d.Word + "\n\n" + page.Escape(d.Headline()) + "\n")
	default:
		b.WriteString("### takt " + d.Command + "\n\n" + page.Escape(d.Headline()) + "\n")
	}
	WriteMarkdown(&b, d.parts(Markdown, Block{})...)
	_, err := io.WriteString(w, b.String())
	return err
}
