package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/taktload/takt/internal/foreign"
)

// word is one word of a line. A quoted word is literal: not the name of a definition, not
// a $ and not a separator.
type word struct {
	text   string
	quoted bool
	given  bool // not the first word of a typed command, nor from its definition: can fill a $
}

const (
	separator = ";"
	variable  = "$"
)

func (w word) is(text string) bool { return !w.quoted && w.text == text }

// split cuts a line into words, with the quotes and backslashes of a POSIX shell. A ;
// separates commands alone or at the end of a word; inside a word, as in a URL, it is an
// ordinary character.
func split(line string) ([]word, error) {
	if err := printable(line); err != nil {
		return nil, err
	}
	var words []word
	rest := strings.TrimLeftFunc(line, unicode.IsSpace)
	for rest != "" {
		w, n, err := nextWord(rest)
		if err != nil {
			return nil, err
		}
		text, ends := strings.CutSuffix(w.text, separator)
		switch {
		case w.quoted || !ends || text == "":
			words = append(words, w)
		default:
			words = append(words, word{text: text}, word{text: separator})
		}
		rest = strings.TrimLeftFunc(rest[n:], unicode.IsSpace)
	}
	return words, nil
}

// unreadable says why a line is not words. It has no word of the line, so the audit log may have it.
type unreadable string

func (u unreadable) Error() string { return string(u) }

// printable refuses characters that a terminal does not show as such: other sessions see the line in the
// queue, and a control character would act on their terminals.
func printable(line string) error {
	if !utf8.ValidString(line) {
		return unreadable("the line is not UTF-8")
	}
	for _, r := range line {
		if r != '\t' && !foreign.Shows(r) {
			return unreadable(fmt.Sprintf("the line has %U, which a terminal does not show; leave it out", r))
		}
	}
	return nil
}

// nextWord reads the word at the start of s. n is its length in s.
func nextWord(s string) (w word, n int, err error) {
	var text strings.Builder
	quote := rune(0) // the open quote; 0: none
	escaped := false
	for i, r := range s {
		switch {
		case escaped:
			text.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, w.quoted = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			text.WriteRune(r)
		case r == '\'' || r == '"':
			quote, w.quoted = r, true
		case unicode.IsSpace(r):
			w.text = text.String()
			return w, i, nil
		default:
			text.WriteRune(r)
		}
	}
	switch {
	case quote != 0:
		return w, 0, unreadable(fmt.Sprintf("a quote %c is not closed; close it, or write \\%c", quote, quote))
	case escaped:
		return w, 0, unreadable(`the line ends with \; write \\ for a backslash`)
	}
	w.text = text.String()
	return w, len(s), nil
}

// texts are the words as a command gets them.
func texts(words []word) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.text
	}
	return list
}

// join writes words so that split returns the same words.
func join(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

func quote(w string) string {
	if w != "" && w != variable && !strings.HasSuffix(w, separator) && !strings.ContainsAny(w, " \t'\"\\") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
