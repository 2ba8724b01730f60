package session

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrCheck is within the error of an answer that is not what a check wants.
var ErrCheck = errors.New("check")

// Check is a question to an answer: a part of it, and what it has to be.
type Check struct {
	Text   string // as written
	Value  string // what the part is compared with, which may have placeholders; "": it only has to be there
	source Source
	is     relation
	re     *regexp.Regexp // of matches
}

// relation is how a check compares.
type relation string

const (
	exists   relation = ""
	equal    relation = "=="
	unequal  relation = "!="
	atMost   relation = "<="
	atLeast  relation = ">="
	below    relation = "<"
	above    relation = ">"
	contains relation = "contains"
	matches  relation = "matches"
)

// relations in the order in which they are looked for: < is a part of <=.
var relations = []relation{equal, unequal, atMost, atLeast, below, above, contains, matches}

// accepts reports what is wrong with the value behind r in a text.
func (r relation) accepts(text, want string) error {
	if r != exists && want == "" {
		return fmt.Errorf("%.60q compares with nothing; write a value behind %s", text, r)
	}
	switch r {
	case atMost, atLeast, below, above:
		if _, err := strconv.ParseFloat(want, 64); err != nil && !strings.Contains(want, braces) {
			return fmt.Errorf("%.60q compares numbers, and %.30q is not one; write a number behind %s, or compare with ==, != or matches", text, want, r)
		}
	}
	return nil
}

// ParseCheck reads SOURCE, or SOURCE RELATION VALUE, such as json data.state == done.
func ParseCheck(text string) (c Check, err error) {
	c.Text = text
	where, is, want := relate(text)
	c.is, c.Value = is, want
	if err := c.is.accepts(text, c.Value); err != nil {
		return c, err
	}
	if c.source, err = ParseSource(where); err != nil {
		return c, err
	}
	if c.source.kind == inJSON && c.is == exists {
		if err := checkPath(where); err != nil {
			return c, err
		}
	}
	if c.is == matches {
		if c.re, err = regexp.Compile(c.Value); err != nil {
			return c, fmt.Errorf("%w; Go's syntax is at https://pkg.go.dev/regexp/syntax", err)
		}
		c.Value = ""
	}
	return c, nil
}

// checkPath refuses a path whose last words say how other tools compare: the path would be in no answer.
func checkPath(where string) error {
	if path, is := strings.CutSuffix(where, " exists"); is {
		return fmt.Errorf("write @check %.60s, without a word behind the path", path)
	}
	if path, want, is := strings.Cut(where, " = "); is && !strings.ContainsAny(path, "([") {
		return fmt.Errorf("write @check %.60s == %.60s", path, want)
	}
	return nil
}

// ParseCondition reads NAME, which is captured and not empty, or NAME RELATION VALUE, such as state == done.
func ParseCondition(text string) (name string, c Check, err error) {
	name, is, want := relate(text)
	if inside, rest, ok := strings.Cut(strings.TrimPrefix(text, "{{"), "}}"); ok && strings.HasPrefix(text, "{{") && IsName(strings.TrimSpace(inside)) {
		return "", c, fmt.Errorf("%.60q is not a condition: it has braces around the name; write %s%.60s", text, strings.TrimSpace(inside), rest)
	}
	if !IsName(name) {
		return "", c, fmt.Errorf("%.60q is not a condition; write NAME of a captured value, or NAME == VALUE, also with != < <= > >= contains or matches", text)
	}
	if is == exists {
		return name, Check{Text: text}, nil
	}
	if err := is.accepts(text, want); err != nil {
		return "", c, err
	}
	c, err = ParseCheck(strings.Replace(text, name, string(inBody), 1))
	c.Text = text
	return name, c, err
}

// relate takes a check apart at its first relation outside of brackets, which a path in JSON may have.
func relate(text string) (where string, is relation, value string) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ' ':
			rest := strings.TrimLeft(text[i:], " ")
			k := slices.IndexFunc(relations, func(r relation) bool { return strings.HasPrefix(rest+" ", string(r)+" ") })
			if depth == 0 && k >= 0 && !(relations[k] == above && isChild(text, rest)) {
				return text[:i], relations[k], strings.TrimSpace(rest[len(relations[k]):])
			}
		}
	}
	return text, exists, ""
}

// isChild reports whether the rest of a text, which begins with >, goes on with a selector of CSS and is no comparison.
func isChild(text, rest string) bool {
	value := strings.TrimSpace(rest[1:])
	_, err := strconv.ParseFloat(value, 64)
	return strings.HasPrefix(strings.TrimSpace(text), string(inHTML)+" ") && err != nil && !strings.HasPrefix(value, "{{")
}

// InBody reports whether the part is in the body of the answer.
func (c *Check) InBody() bool { return c.source.InBody() }

// Header is the value of the part in a header line of an answer, for Holds.
func (c *Check) Header(name, value []byte) (part []byte, ok bool) {
	switch {
	case c.source.kind == inHeader && strings.EqualFold(c.source.name, string(name)):
	case c.source.kind == inCookie && strings.EqualFold("set-cookie", string(name)):
		k, ok := parseCookie(string(value), time.Now())
		if !ok || k.name != c.source.name {
			return nil, false
		}
		value = []byte(k.value)
	default:
		return nil, false
	}
	return c.source.part(value)
}

// Body are the values of the part in the body of an answer, for Holds.
func (c *Check) Body(body []byte) (values [][]byte, err error) { return c.source.FromBody(body) }

// Holds reports what is wrong with the values of the part, of which one has to be as Value, with its placeholders
// filled in, says; nil: nothing is.
func (c *Check) Holds(values [][]byte, want string) error {
	if len(values) == 0 {
		return fmt.Errorf("%w %q: %w", ErrCheck, c.Text, errMissing)
	}
	if slices.ContainsFunc(values, func(v []byte) bool { return c.compare(v, want) }) {
		return nil
	}
	quotes := ""
	if bare := strings.Trim(want, `"'`); c.is == equal && bare != want && bare == string(values[0]) {
		quotes = ", without the quotes in the check: leave them out"
	}
	return fmt.Errorf("%w %q: it is %.80q%s", ErrCheck, c.Text, values[0], quotes)
}

// compare reports whether a value is what is wanted. Two numbers are compared as numbers.
func (c *Check) compare(value []byte, want string) bool {
	switch c.is {
	case exists:
		return true
	case contains:
		return bytes.Contains(value, []byte(want))
	case matches:
		return c.re.Match(value)
	}
	order := strings.Compare(string(value), want)
	a, err1 := strconv.ParseFloat(string(value), 64)
	b, err2 := strconv.ParseFloat(want, 64)
	numbers := err1 == nil && err2 == nil
	if numbers {
		order = cmp.Compare(a, b)
	}
	switch c.is {
	case equal:
		return order == 0
	case unequal:
		return order != 0
	case atMost:
		return numbers && order <= 0
	case atLeast:
		return numbers && order >= 0
	case below:
		return numbers && order < 0
	}
	return numbers && order > 0
}
