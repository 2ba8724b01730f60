// Package session is what a user of a website remembers between requests: cookies, and values from
// earlier answers.
package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// MaxValue is the longest value that a capture keeps, in bytes.
const MaxValue = 8 << 10

// Capture says which part of an answer becomes a value.
type Capture struct {
	Name   string
	header string         // name of a header, in small letters; "": another source
	path   []string       // members of a JSON body, from the outside to the inside; nil: another source
	re     *regexp.Regexp // the first group, or all of it, in the body; nil: another source
}

// sources is how a capture names its source.
const sources = "json PATH such as data.token, header NAME or regexp EXPRESSION"

// ParseCapture reads NAME SOURCE, such as token json data.token.
func ParseCapture(text string) (c Capture, err error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	kind, arg, _ := strings.Cut(strings.TrimSpace(rest), " ")
	arg = strings.TrimSpace(arg)
	if !isName(name) {
		return c, fmt.Errorf("%.60q is not the name of a value; write letters, digits and _, beginning with a letter", name)
	}
	c.Name = name
	switch {
	case arg == "":
		return c, fmt.Errorf("capture %s has no source; write NAME and then %s", name, sources)
	case kind == "header":
		c.header = strings.ToLower(strings.TrimSuffix(arg, ":"))
	case kind == "json":
		c.path = strings.Split(strings.TrimPrefix(strings.TrimPrefix(arg, "$"), "."), ".")
	case kind == "regexp":
		if c.re, err = regexp.Compile(arg); err != nil {
			return c, fmt.Errorf("capture %s: %w; Go's syntax is at https://pkg.go.dev/regexp/syntax", name, err)
		}
	default:
		return c, fmt.Errorf("capture %s from %.30q is unknown; write %s", name, kind, sources)
	}
	return c, nil
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// InBody reports whether the source is the body of the answer.
func (c *Capture) InBody() bool { return c.header == "" }

var (
	errMissing = errors.New("the answer does not have it")
	errEmpty   = errors.New("the value is empty")
	errLong    = fmt.Errorf("the value is longer than %d bytes", MaxValue)
	errControl = errors.New("the value has a control character, such as a line break, that could end a header")
)

// fromBody finds the value in a body.
func (c *Capture) fromBody(body []byte) ([]byte, error) {
	if c.re == nil {
		return c.fromJSON(body)
	}
	found := c.re.FindSubmatch(body)
	switch {
	case found == nil:
		return nil, errMissing
	case len(found) > 1:
		return found[1], nil
	}
	return found[0], nil
}

// fromJSON finds a string, number or truth value in a JSON body.
func (c *Capture) fromJSON(body []byte) ([]byte, error) {
	at := json.RawMessage(body)
	for _, name := range c.path {
		next, err := member(at, name)
		if err != nil {
			return nil, err
		}
		at = next
	}
	at = bytes.TrimSpace(at)
	if len(at) == 0 {
		return nil, errMissing
	}
	switch at[0] {
	case '"':
		var s string
		err := json.Unmarshal(at, &s)
		return []byte(s), err
	case '{', '[', 'n':
		return nil, errors.New("it is not a string, a number, true or false")
	}
	return at, nil
}

// member is a member of an object, or an element of a list by its number.
func member(at json.RawMessage, name string) (json.RawMessage, error) {
	if at = bytes.TrimSpace(at); len(at) > 0 && at[0] == '[' {
		var list []json.RawMessage
		i, err := strconv.Atoi(name)
		if bad := json.Unmarshal(at, &list); bad != nil || err != nil || i < 0 || i >= len(list) {
			return nil, errMissing
		}
		return list[i], nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(at, &object); err != nil {
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	next, ok := object[name]
	if !ok {
		return nil, errMissing
	}
	return next, nil
}

// check refuses values that are too long, or that could end a header.
func check(value []byte) error {
	if len(value) > MaxValue {
		return errLong
	}
	for _, b := range value {
		if b < ' ' || b == 0x7f {
			return errControl
		}
	}
	if len(value) == 0 {
		return errEmpty
	}
	return nil
}
