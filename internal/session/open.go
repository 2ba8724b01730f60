package session

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// valueIn matches a value of the round in the text of a source.
var valueIn = regexp.MustCompile(`\{\{\s*([A-Za-z_]\w*)\s*\}\}`)

// braces begin a value.
const braces = "{{"

// parseOpen reads a source with values of the round, such as json items.#(id=="{{item}}").price. Each answer has a source
// of its own then, so a value is checked as far as its place allows.
func parseOpen(text string) (s Source, err error) {
	if strings.Contains(valueIn.ReplaceAllString(text, ""), braces) {
		return s, fmt.Errorf("%.60q has %s that begin no value; write {{NAME}} of a value that is captured or set before, or \\{\\{ in an expression", text, braces)
	}
	if s, err = parseFixed(valueIn.ReplaceAllString(text, "0")); err != nil {
		return s, err
	}
	if s.re == nil && s.kind != inJSON && s.kind != inHTML {
		return s, errors.New("a value in the name of a header or cookie has no effect; write it in an expression, a path or a selector")
	}
	s.open = strings.TrimSpace(text)
	return s, nil
}

// Needs are the names of the values in the text of s.
func (s *Source) Needs() (names []string) {
	if s.open == "" {
		return nil
	}
	for _, found := range valueIn.FindAllStringSubmatch(s.open, -1) {
		names = append(names, found[1])
	}
	return names
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
	filled, err := parseFixed(valueIn.ReplaceAllStringFunc(s.open, func(place string) string {
		return s.escape(string(value(valueIn.FindStringSubmatch(place)[1])))
	}))
	return &filled, err
}

// inQuotes escapes a value for a text in quotes, of a path or of a selector.
var inQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// escape makes a value stand for itself.
func (s *Source) escape(value string) string {
	if s.re != nil {
		return regexp.QuoteMeta(value)
	}
	return inQuotes.Replace(value)
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
