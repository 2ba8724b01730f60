// Package session is what a user of a website remembers between requests: cookies, and values from
// earlier answers.
package session

import (
	"errors"
	"fmt"
	"strings"
)

// MaxValue is the longest value that a capture keeps, in bytes.
const MaxValue = 8 << 10

// Capture says which part of an answer becomes a value.
type Capture struct {
	Name   string
	pick   pick
	source Source
}

// pick is which of several values a capture takes.
type pick int

const (
	first pick = iota
	last
	random
	all
)

// picks are the words that may be before the source of a capture.
var picks = map[string]pick{"first": first, "last": last, "random": random, "all": all}

// ParseCapture reads NAME SOURCE or NAME PICK SOURCE, such as token json data.token or id random json items.#.id.
func ParseCapture(text string) (c Capture, err error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if !IsName(name) {
		return c, fmt.Errorf("%.60q is not the name of a value; write letters, digits and _, beginning with a letter", name)
	}
	c.Name = name
	rest = strings.TrimSpace(rest)
	if word, after, _ := strings.Cut(rest, " "); after != "" {
		if p, ok := picks[word]; ok {
			c.pick, rest = p, strings.TrimSpace(after)
		}
	}
	if strings.HasPrefix(rest, "= ") {
		return c, fmt.Errorf("capture %s: leave the = out; write @capture %s %.60s", name, name, rest[2:])
	}
	if c.source, err = ParseSource(rest); err != nil {
		return c, fmt.Errorf("capture %s: %w", name, err)
	}
	return c, nil
}

// IsName reports whether s can be the name of a value.
func IsName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// InBody reports whether the source is the body of the answer.
func (c *Capture) InBody() bool { return c.source.InBody() }

// Draws reports whether c takes any of several values.
func (c Capture) Draws() bool { return c.pick == random }

// IsList reports whether c takes all values.
func (c *Capture) IsList() bool { return c.pick == all }

// of is the one of several values that c takes; draw gives a number from 0 below n.
func (c *Capture) of(values [][]byte, draw func(n int) int) []byte {
	switch {
	case len(values) == 0:
		return nil
	case c.pick == last:
		return values[len(values)-1]
	case c.pick == random && draw != nil:
		return values[draw(len(values))]
	}
	return values[0]
}

var (
	errMissing = errors.New("the answer does not have it")
	errEmpty   = errors.New("the value is empty")
	errLong    = fmt.Errorf("the value is longer than %d bytes", MaxValue)
	errControl = errors.New("the value has a control character, such as a line break, that could end a header")
)

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
