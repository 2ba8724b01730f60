// Package page has the parts of takt's texts: lines, colours, text that is not trusted, and
// figures with their units.
package page

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/taktload/takt/internal/foreign"
)

const (
	Width      = 80 // largest width in columns
	LabelWidth = 13 // width of the labels at the left edge
	NoBreak    = "\u00a0"
)

// The colours, as SGR parameters.
const (
	Bold   = "1"
	Red    = "1;37;41" // white on red, to be noticed
	Green  = "32"
	Yellow = "33"
)

// Page is an unfinished text report.
type Page struct {
	b     strings.Builder
	Color bool
}

// Linef adds a line without trailing spaces.
func (p *Page) Linef(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

// Print writes the page to w.
func (p *Page) Print(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

// Paint colours s if the page has colours; "": no colour.
func (p *Page) Paint(sgr, s string) string {
	if !p.Color || sgr == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

// Item adds a line with a label at its left edge, wrapped if it is long; no line for an empty
// text.
func (p *Page) Item(label, text string) {
	p.Lines(label, Wrap(text, Width-LabelWidth))
}

// Lines adds lines with a label beside the first.
func (p *Page) Lines(label string, lines []string) {
	for _, line := range lines {
		p.Linef("%s%s", p.Paint(Bold, Left(label, LabelWidth)), line)
		label = ""
	}
}

// Bullet adds a wrapped sentence with a mark before its first line.
func (p *Page) Bullet(mark, text string) {
	for _, line := range Wrap(text, Width-2-utf8.RuneCountInString(mark)) {
		p.Linef("  %s%s", mark, line)
		mark = strings.Repeat(" ", utf8.RuneCountInString(mark))
	}
}

// Left and right pad s to a width in runes, and never cut it.
func Left(s string, width int) string  { return fmt.Sprintf("%-*s", width, s) }
func Right(s string, width int) string { return fmt.Sprintf("%*s", width, s) }

// Align pads the cells of each column to its widest cell: to the right the columns for which
// figures returns true.
func Align(table [][]string, figures func(column int) bool) {
	for i := range table[0] {
		width, pad := 0, Left
		if figures(i) {
			pad = Right
		}
		for _, cells := range table {
			width = max(width, utf8.RuneCountInString(cells[i]))
		}
		for _, cells := range table {
			cells[i] = pad(cells[i], width)
		}
	}
}

// Clean makes one line of s without terminal control characters: samples, bodies and URLs are
// not trusted.
func Clean(s string) string { return foreign.Line(s) }

// Visible is Clean with the number of spaces as it is.
func Visible(s string) string { return foreign.Text(s) }

// Capital begins a sentence or a heading.
func Capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// Cut shortens s to at most n runes.
func Cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// Wrap breaks s at spaces into lines of at most width runes. A longer word has its own line
// and is not cut, so that it can be copied. A no-break space joins its neighbours and is
// written as a plain space, and a short flag stays beside its value: -z 3s.
func Wrap(s string, width int) []string {
	var lines []string
	length := 0
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' })
	for i := 0; i < len(words); i++ {
		word := words[i]
		if shortFlag(word) && i+1 < len(words) {
			i++
			word += NoBreak + words[i]
		}
		n := utf8.RuneCountInString(word)
		word = strings.ReplaceAll(word, NoBreak, " ")
		if len(lines) == 0 || length+1+n > width {
			lines, length = append(lines, word), n
			continue
		}
		lines[len(lines)-1] += " " + word
		length += 1 + n
	}
	return lines
}

func shortFlag(word string) bool {
	return len(word) == 2 && word[0] == '-' && 'a' <= word[1] && word[1] <= 'z'
}

// Sorted lists the keys of m in alphabetical order.
func Sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Words is the name of a latency with spaces.
func Words(name string) string { return strings.ReplaceAll(Clean(name), "_", " ") }
