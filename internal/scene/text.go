package scene

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/taktload/takt/internal/http1"
)

// Text is a text with placeholders, as a file has it.
type Text string

// Literal is a text without placeholders, whatever it has: braces, line breaks, bytes that are no characters.
func Literal(s string) Text {
	var b strings.Builder
	for s != "" {
		n, quoted := 0, 0
		for size := strange(s); size > 0; size = strange(s[quoted:]) {
			quoted += size
		}
		if quoted > 0 {
			fmt.Fprintf(&b, "{{%s}}", strconv.Quote(s[:quoted]))
		} else {
			_, n = utf8.DecodeRuneInString(s)
			b.WriteString(s[:n])
		}
		s = s[n+quoted:]
	}
	return Text(b.String())
}

// strange is the length of what s begins with, if that has to be between quotes: what is no character of a line, and a
// brace before another one, or before what follows the text.
func strange(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == '{' && (len(s) == n || s[n] == '{' || strange(s[n:]) > 0), r == utf8.RuneError && n == 1,
		unicode.IsControl(r), r == '\ufeff', r == '\u2028', r == '\u2029':
		return n
	}
	return 0
}

// controls matches what Literal makes of a control character.
var controls = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{"\{*\\`) })

// Value is the placeholder of a captured value.
func Value(name string) Text { return Text("{{" + name + "}}") }

// Column is the placeholder of a column of a file, with words such as random behind it.
func Column(file string, column int, words string) Text {
	return Text("{{" + strings.TrimSpace(fmt.Sprintf("file %s %d %s", strconv.Quote(file), column, words)) + "}}")
}

// In is a placeholder with an encoder such as url or json; a text without a placeholder, or with more than one, stays.
func (t Text) In(encoder string) Text {
	inner, ok := strings.CutPrefix(string(t), "{{")
	if inner, closed := strings.CutSuffix(inner, "}}"); ok && closed && !strings.Contains(inner, "}}") {
		return Text("{{" + encoder + " " + inner + "}}")
	}
	return t
}

// URLText is a URL as a request line has it: what may not be in one is percent-encoded, and a fragment is left out.
func URLText(s string) Text {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "#")
	return Literal(http1.PercentEncoded(s, ""))
}

// edged is a text whose blanks at its ends are kept: lines are read without those.
func (t Text) edged() Text {
	s := string(t)
	core := strings.TrimLeftFunc(s, unicode.IsSpace)
	before := s[:len(s)-len(core)]
	inner := strings.TrimRightFunc(core, unicode.IsSpace)
	quote := func(blanks string) string {
		if blanks == "" {
			return ""
		}
		return "{{" + strconv.Quote(blanks) + "}}"
	}
	return Text(quote(before) + inner + quote(core[len(inner):]))
}

// bracesIn matches braces that would begin a placeholder.
var bracesIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{{2,}`) })

// Source is a source of a capture or a check, such as json data.token, whose braces stand for themselves.
func Source(s string) string { return bracesIn().ReplaceAllString(s, `{{"$0"}}`) }

// URLRaw is a text with placeholders as a URL: what may not be in one is percent-encoded, and a fragment is left out.
func URLRaw(t Text) Text {
	var b strings.Builder
	for rest := string(t); rest != ""; {
		before, after, found := strings.Cut(rest, "{{")
		text, _, ends := strings.Cut(before, "#")
		b.WriteString(http1.PercentEncoded(text, ""))
		if ends || !found {
			break
		}
		inner, more, _ := strings.Cut(after, "}}")
		if s, err := strconv.Unquote(inner); err == nil { // a literal
			b.WriteString(string(URLText(s)))
		} else {
			b.WriteString("{{" + inner + "}}")
		}
		rest = more
	}
	return Text(b.String())
}
