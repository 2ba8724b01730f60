package session

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// valueIn matches a value of the round in the text of a source, or a text between quotes, which stands for itself.
var valueIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{\s*(?:([A-Za-z_]\w*)|("(?:[^"\\]|\\.)*"))\s*\}\}`)
})

// braces begin a value.
const braces = "{{"

// parseOpen reads a source with values of the round, such as json items.#(id=="{{item}}").price. Each answer has a source
// of its own then, so a value is checked as far as its place allows.
func parseOpen(text string) (s Source, err error) {
	if strings.Contains(valueIn().ReplaceAllString(text, ""), braces) {
		return s, fmt.Errorf(`%.60q has %s that begin no value; write {{NAME}} of a value that is captured or set before, or {{"{{"}} for the braces themselves`, text, braces)
	}
	if s, err = parseFixed(replaceIn(text, func(string, string) string { return "x" })); err != nil || len(needs(text)) == 0 {
		return s, err
	}
	if s.re == nil && s.kind != inJSON && s.kind != inHTML {
		return s, errors.New("a value in the name of a header or cookie has no effect; write it in an expression, a path or a selector")
	}
	if s.open = strings.TrimSpace(text); s.kind == inJSON {
		s.open = "json " + gjsonPath(strings.TrimSpace(strings.TrimPrefix(s.open, "json"))) // whose quotes are not those of JSONPath
	}
	return s, nil
}

// replaceIn puts values into a text, and the texts between quotes. value is asked with the text before.
func replaceIn(text string, value func(name, before string) string) string {
	var b strings.Builder
	end := 0
	for _, at := range valueIn().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[end:at[0]])
		if end = at[1]; at[2] >= 0 {
			b.WriteString(value(text[at[2]:at[3]], text[:at[0]]))
		} else if one, err := strconv.Unquote(text[at[4]:at[5]]); err == nil {
			b.WriteString(one)
		} else {
			b.WriteString(text[at[4]:at[5]]) // with an escape that Go does not have
		}
	}
	return b.String() + text[end:]
}

// needs are the names of the values in a text.
func needs(text string) (names []string) {
	for _, found := range valueIn().FindAllStringSubmatch(text, -1) {
		if found[1] != "" {
			names = append(names, found[1])
		}
	}
	return names
}

// Needs are the names of the values in the text of s.
func (s *Source) Needs() []string {
	return needs(s.open)
}

// with is s with values; nil: there is no such value.
func (s *Source) with(value func(name string) []byte) (*Source, error) {
	if s.open == "" {
		return s, nil
	}
	for _, name := range s.Needs() {
		if value(name) == nil {
			return nil, fmt.Errorf("there is no value {{%s}}: the step that captures it was passed over, or failed", name)
		}
	}
	filled, err := parseFixed(s.fill(value))
	return &filled, err
}

// fill is the text of s with values.
func (s *Source) fill(value func(name string) []byte) string {
	return replaceIn(s.open, func(name, before string) string { return s.escape(string(value(name)), before) })
}

var (
	inQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`) // escapes a value for a text in quotes
	inEither = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `'`, `\'`)

	number  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`) })
	special = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]|[^A-Za-z0-9_\x{80}-\x{10ffff}]`) }) // what a name does not have
)

// escape makes a value behind this text stand for itself, whatever a server sends: a path that it chooses could cost seconds
// of CPU.
func (s *Source) escape(value, before string) string {
	quotes, within, operators := `"`, inQuotes, "=<>%" // of GJSON
	if s.kind == inHTML {
		quotes, within, operators = `"'`, inEither, "="
	}
	switch {
	case s.re != nil:
		return regexp.QuoteMeta(value)
	case isQuoted(before, quotes):
		return within.Replace(value)
	case s.kind == inJSON && number().MatchString(value):
		return value
	case strings.IndexByte(operators, before[len(before)-1]) >= 0:
		return `"` + inQuotes.Replace(value) + `"`
	}
	return special().ReplaceAllStringFunc(value, func(c string) string {
		if s.kind == inHTML {
			return fmt.Sprintf(`\%06x`, c[0]) // CSS Syntax 3, 4.3.7
		}
		return `\` + c
	})
}

// isQuoted reports whether a text ends within quotes.
func isQuoted(text, quotes string) bool {
	in := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case in == 0 && strings.IndexByte(quotes, c) >= 0:
			in = c
		case c == in:
			in = 0
		}
	}
	return in != 0
}

// Needs are the names of the values in the text of the source.
func (c *Capture) Needs() []string { return c.source.Needs() }

// Needs are the names of the values in the text of the source.
func (c *Check) Needs() []string { return c.source.Needs() }

// With is c for a round with these values.
func (c Check) With(value func(name string) []byte) (Check, error) {
	s, err := c.source.with(value)
	if err == nil {
		c.source = *s
	}
	return c, err
}
