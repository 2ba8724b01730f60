// Package foreign makes texts of others fit for a terminal: answers of servers, names of hosts, errors of
// other processes, labels of reports. A terminal executes some characters: ESC and the control
// characters, also those from U+0080 to U+009F, move the cursor, set titles or fill the input; others,
// such as U+202E, change the order in which a text is shown.
package foreign

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
)

// dot stands for a character that is not shown.
const dot = '·'

// Shows reports whether a terminal shows r as a character, or as a space, and does nothing else.
func Shows(r rune) bool {
	return r != unicode.ReplacementChar && (unicode.IsPrint(r) || unicode.Is(unicode.Zs, r))
}

// Text is s in one line, with a dot for each character that a terminal does not show. Each white space is
// one space.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !Shows(r):
			return dot
		}
		return r
	}, s)
}

// Line is Text with one space between words.
func Line(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// Lines is s with its line ends and tabs, and otherwise as Text.
func Lines(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return -1
		case !Shows(r):
			return dot
		}
		return r
	}, s)
}

// Cut is Line with at most so many characters.
func Cut(s string, most int) string {
	cut := len(s) > 4*most
	if cut { // a character has at most 4 bytes
		s = strings.ToValidUTF8(s[:4*most], "")
	}
	text := []rune(Line(s))
	if !cut && len(text) <= most {
		return string(text)
	}
	return string(text[:min(len(text), most-1)]) + "…"
}

// Cause is an error of http.Client without the method and the URL that net/http puts before it. The URL
// may have secrets.
func Cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
