package format

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	pageWidth  = 80 // columns; a table or a sentence never needs more
	labelWidth = 13 // of the words at the left edge
	noBreak    = "\u00a0"
)

// The colours, as SGR parameters.
const (
	bold   = "1"
	red    = "1;37;41" // white on red: meant to be seen
	green  = "32"
	yellow = "33"
)

// page is a text report under construction.
type page struct {
	b     strings.Builder
	color bool
}

// linef adds a line, without spaces at its end.
func (p *page) linef(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

// paint colours s when the page has colours.
func (p *page) paint(sgr, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

// item adds a line with a label at its left edge, wrapped when it is long; no
// line when there is nothing to say.
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

// bullet adds a sentence, wrapped, with a mark before its first line.
func (p *page) bullet(mark, text string) {
	for _, line := range wrap(text, pageWidth-2-utf8.RuneCountInString(mark)) {
		p.linef("  %s%s", mark, line)
		mark = strings.Repeat(" ", utf8.RuneCountInString(mark))
	}
}

// left and right pad s by what it takes on the screen, which fmt also counts in
// runes, but never cut it.
func left(s string, width int) string  { return fmt.Sprintf("%-*s", width, s) }
func right(s string, width int) string { return fmt.Sprintf("%*s", width, s) }

// clean makes one line of s that cannot steer a terminal: samples, bodies and
// URLs come from others.
func clean(s string) string { return strings.Join(strings.Fields(visible(s)), " ") }

// visible replaces what a terminal would act on, and keeps the number of spaces.
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

// wrap breaks s at spaces into lines of at most width runes; a longer word
// stands alone on its line, whole, so that it can still be copied. A no-break
// space holds its neighbours together and comes out as a plain one.
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
