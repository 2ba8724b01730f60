package format

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	pageWidth  = 80 // largest width in columns
	labelWidth = 13 // width of the labels at the left edge
	noBreak    = "\u00a0"
)

// The colours, as SGR parameters.
const (
	bold   = "1"
	red    = "1;37;41" // white on red, to be noticed
	green  = "32"
	yellow = "33"
)

// page is an unfinished text report.
type page struct {
	b     strings.Builder
	color bool
}

// linef adds a line without trailing spaces.
func (p *page) linef(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

// writeTo writes the page.
func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

// paint colours s if the page has colours.
func (p *page) paint(sgr, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

// item adds a line with a label at its left edge, wrapped if it is long; no line for an empty
// text.
func (p *page) item(label, text string) {
	p.lines(label, wrap(text, pageWidth-labelWidth))
}

// lines adds lines with a label beside the first.
func (p *page) lines(label string, lines []string) {
	for _, line := range lines {
		p.linef("%s%s", p.paint(bold, left(label, labelWidth)), line)
		label = ""
	}
}

// bullet adds a wrapped sentence with a mark before its first line.
func (p *page) bullet(mark, text string) {
	for _, line := range wrap(text, pageWidth-2-utf8.RuneCountInString(mark)) {
		p.linef("  %s%s", mark, line)
		mark = strings.Repeat(" ", utf8.RuneCountInString(mark))
	}
}

// left and right pad s to a width in runes, and never cut it.
func left(s string, width int) string  { return fmt.Sprintf("%-*s", width, s) }
func right(s string, width int) string { return fmt.Sprintf("%*s", width, s) }

// clean makes one line of s without terminal control characters: samples, bodies and URLs are
// not trusted.
func clean(s string) string { return strings.Join(strings.Fields(visible(s)), " ") }

// visible replaces terminal control characters, and keeps the number of spaces.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == ' ':
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '·'
		default:
			return r
		}
	}, s)
}

// cut shortens s to at most n runes.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// wrap breaks s at spaces into lines of at most width runes. A longer word has its own line
// and is not cut, so that it can be copied. A no-break space joins its neighbours and is
// written as a plain space.
func wrap(s string, width int) []string {
	var lines []string
	length := 0
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }) {
		n := utf8.RuneCountInString(word)
		word = strings.ReplaceAll(word, noBreak, " ")
		if len(lines) == 0 || length+1+n > width {
			lines, length = append(lines, word), n
			continue
		}
		lines[len(lines)-1] += " " + word
		length += 1 + n
	}
	return lines
}

// sorted lists the keys of m in alphabetical order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
