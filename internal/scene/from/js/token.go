package js

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// jsKind is the kind of a token of JavaScript.
type jsKind uint8

const (
	jsEnd jsKind = iota
	jsName
	jsNumber
	jsString
	jsTemplate
	jsRegexp
	jsSign
)

// jsToken is a word, a text or a sign of JavaScript.
type jsToken struct {
	kind  jsKind
	text  string // of a string what it means; of a template its source
	line  int
	fresh bool // it is the first of its line
}

// jsSigns are the signs of more than one character, the longer ones first.
var jsSigns = strings.Fields(">>>= ... === !== **= <<= >>= >>> &&= ||= ??= => == != <= >= && || ?? ?. ++ -- += -= *= /= %= &= |= ^= << >> **")

// jsTokens takes a script apart, which begins at a line.
func jsTokens(text string, line int) (list []jsToken, err error) {
	fresh := true
	add := func(kind jsKind, text string) {
		list, fresh = append(list, jsToken{kind, text, line, fresh}), false
	}
	for text != "" {
		n := 0
		switch c := text[0]; {
		case c == '\n':
			line, fresh, n = line+1, true, 1
		case c == ' ' || c == '\t' || c == '\r':
			n = 1
		case strings.HasPrefix(text, "//") || strings.HasPrefix(text, "#!"):
			if n = strings.IndexByte(text, '\n'); n < 0 {
				n = len(text)
			}
		case strings.HasPrefix(text, "/*"):
			if n = strings.Index(text, "*/"); n < 0 {
				return nil, fmt.Errorf("line %d: a comment is not closed", line)
			}
			n += 2
			fresh = fresh || strings.Contains(text[:n], "\n")
			line += strings.Count(text[:n], "\n")
		case c == '"' || c == '\'':
			s, size, ok := jsText(text)
			if !ok {
				return nil, fmt.Errorf("line %d: a text is not closed", line)
			}
			add(jsString, s)
			n = size
			line += strings.Count(text[:n], "\n")
		case c == '`':
			if n = jsTemplateEnd(text); n < 0 {
				return nil, fmt.Errorf("line %d: a template is not closed", line)
			}
			add(jsTemplate, text[1:n-1])
			line += strings.Count(text[:n], "\n")
		case c >= '0' && c <= '9' || c == '.' && len(text) > 1 && text[1] >= '0' && text[1] <= '9':
			for n = 1; n < len(text) && (isJSName(rune(text[n])) || text[n] == '.'); n++ {
			}
			add(jsNumber, strings.ReplaceAll(text[:n], "_", ""))
		case c == '/' && jsRegexpMayBegin(list):
			if n = jsRegexpEnd(text); n < 0 {
				return nil, fmt.Errorf("line %d: a regular expression is not closed", line)
			}
			add(jsRegexp, text[:n])
		default:
			if n = jsNameEnd(text); n > 0 {
				add(jsName, text[:n])
				break
			}
			_, n = utf8.DecodeRuneInString(text)
			for _, sign := range jsSigns {
				if strings.HasPrefix(text, sign) {
					n = len(sign)
					break
				}
			}
			if r, _ := utf8.DecodeRuneInString(text); !unicode.IsSpace(r) && r != '\ufeff' {
				add(jsSign, text[:n])
			}
		}
		text = text[n:]
	}
	return append(list, jsToken{jsEnd, "the end", line, true}), nil
}

func isJSName(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func jsNameEnd(text string) int {
	for i, r := range text {
		if !isJSName(r) && !(r == '#' && i == 0) {
			return i
		}
	}
	return len(text)
}

// jsText reads a text in quotes, and its size in the script.
func jsText(text string) (s string, size int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == text[0]:
			return b.String(), i + 1, true
		case c == '\n':
			return "", 0, false
		case c != '\\':
			b.WriteByte(c)
		default:
			n := jsEscape(&b, text[i:])
			if n == 0 {
				return "", 0, false
			}
			i += n - 1
		}
	}
	return "", 0, false
}

// jsEscape writes what an escape means, and returns its size; 0: the text ends in it.
func jsEscape(b *strings.Builder, text string) int {
	if len(text) < 2 {
		return 0
	}
	if i := strings.IndexByte("nrtbfv0", text[1]); i >= 0 {
		b.WriteByte("\n\r\t\b\f\v\x00"[i])
		return 2
	}
	digits := map[byte]int{'x': 2, 'u': 4}[text[1]]
	switch {
	case strings.HasPrefix(text, "\\\r\n"):
		return 3
	case text[1] == '\n':
		return 2
	case strings.HasPrefix(text, "\\u{"):
		if end := strings.IndexByte(text, '}'); end > 0 {
			if n, err := strconv.ParseUint(text[3:end], 16, 21); err == nil {
				b.WriteRune(rune(n))
				return end + 1
			}
		}
	case digits > 0 && len(text) >= 2+digits:
		if n, err := strconv.ParseUint(text[2:2+digits], 16, 32); err == nil {
			b.WriteRune(rune(n))
			return 2 + digits
		}
	}
	_, n := utf8.DecodeRuneInString(text[1:])
	b.WriteString(text[1 : 1+n])
	return 1 + n
}

// jsTemplateEnd is the size of a template, with what is nested in it; -1: it is not closed.
func jsTemplateEnd(text string) int {
	depth := 0 // of braces of ${…}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case depth == 0 && c == '`':
			return i + 1
		case c == '$' && i+1 < len(text) && text[i+1] == '{' && depth == 0:
			depth, i = 1, i+1
		case depth > 0 && c == '{':
			depth++
		case depth > 0 && c == '}':
			depth--
		case depth > 0 && (c == '"' || c == '\''):
			if _, n, ok := jsText(text[i:]); ok {
				i += n - 1
			}
		case depth > 0 && c == '`': // a template in a template: without braces of its own that are not closed
			end := strings.IndexByte(text[i+1:], '`')
			if end < 0 {
				return -1
			}
			i += end + 1
		}
	}
	return -1
}

// jsRegexpMayBegin reports whether a slash begins a regular expression and divides nothing.
func jsRegexpMayBegin(before []jsToken) bool {
	if len(before) == 0 {
		return true
	}
	switch last := before[len(before)-1]; last.kind {
	case jsName:
		return last.text == "return" || last.text == "typeof"
	case jsSign:
		return !strings.Contains(")]}", last.text)
	default:
		return false
	}
}

func jsRegexpEnd(text string) int {
	class := false
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			return i + 1 + jsNameEnd(text[i+1:])
		}
	}
	return -1
}

// maxBrackets bounds brackets that are in one another.
const maxBrackets = 100
