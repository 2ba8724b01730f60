package session

import (
	"errors"
	"fmt"
	"strings"
)

// ErrCapture is within the error of an answer without a value.
var ErrCapture = errors.New("cannot capture")

// Session is what one user remembers. The zero Session remembers nothing yet.
type Session struct {
	// Draw gives a number from 0 below n, for a capture that takes any of n values; nil: it takes the first.
	Draw   func(n int) int
	values map[string][]byte
	jar    jar
}

// Value is a captured value; nil: there is none.
func (s *Session) Value(name string) []byte { return s.values[name] }

// Drop forgets the values of captures that an answer is about to set.
func (s *Session) Drop(captures []Capture) {
	for i := range captures {
		delete(s.values, captures[i].Name)
	}
}

// Forget makes s new.
func (s *Session) Forget() {
	clear(s.values)
	s.jar.cookies = s.jar.cookies[:0]
}

func (s *Session) set(name string, value []byte) {
	if s.values == nil {
		s.values = map[string][]byte{}
	}
	s.values[name] = append(s.values[name][:0], value...)
}

// Field takes what s remembers of a header line of an answer: cookies, and the captures whose
// source it is. path is that of the request.
func (s *Session) Field(captures []Capture, path string, secure bool, name, value []byte) error {
	lower := strings.ToLower(string(name))
	var set cookie
	if lower == "set-cookie" {
		set = s.jar.set(string(value), path, secure)
	}
	for i := range captures {
		c := &captures[i]
		from := value
		switch {
		case c.source.kind == inCookie && c.source.name == set.name && set.name != "":
			from = []byte(set.value)
		case c.source.kind != inHeader || c.source.name != lower:
			continue
		}
		part, ok := c.source.part(from)
		if !ok || c.pick == first && s.values[c.Name] != nil {
			continue // another line may have it
		}
		if err := check(part); err != nil {
			return fmt.Errorf("%w %s from %s: %w", ErrCapture, c.Name, &c.source, err)
		}
		s.set(c.Name, part)
	}
	return nil
}

// Body takes the captures whose source is the body, and reports the first one without a value. why is the reason if
// body is not the whole body of the answer.
func (s *Session) Body(captures []Capture, body []byte, why error) error {
	for i := range captures {
		c := &captures[i]
		if !c.InBody() {
			if s.Value(c.Name) == nil {
				return fmt.Errorf("%w %s from %s: %w", ErrCapture, c.Name, &c.source, errMissing)
			}
			continue
		}
		values, err := c.source.FromBody(body)
		value := c.of(values, s.Draw)
		switch {
		case err == nil:
			err = check(value)
		case why != nil:
			err = why
		}
		if err != nil {
			return fmt.Errorf("%w %s from %s: %w", ErrCapture, c.Name, &c.source, err)
		}
		s.set(c.Name, value)
	}
	return nil
}

// Cookies appends the value of a Cookie header for a request; nothing if no cookie matches.
func (s *Session) Cookies(dst []byte, path string, secure bool) []byte {
	return s.jar.appendTo(dst, path, secure)
}
