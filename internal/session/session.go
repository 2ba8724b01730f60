package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ErrCapture is within the error of an answer without a value.
var ErrCapture = errors.New("cannot capture")

// Session is what one user remembers. The zero Session remembers nothing yet.
type Session struct {
	// Draw gives a number from 0 below n, for a capture that takes any of n values; nil: it takes the first.
	Draw   func(n int) int
	Status int // of the answer that Body takes values from
	values map[string][]byte
	lists  map[string][][]byte
	jar    jar
}

// Value is a captured value; nil: there is none.
func (s *Session) Value(name string) []byte { return s.values[name] }

// List are all values of a capture that takes all; nil: there are none.
func (s *Session) List(name string) [][]byte { return s.lists[name] }

// Set sets a value that is not captured, and may be empty.
func (s *Session) Set(name string, value []byte) { s.set(name, value) }

// Begin begins a round: s forgets all values but these, and knows those of another session, which nobody changes
// meanwhile. Cookies stay.
func (s *Session) Begin(keep []string, from *Session) {
	s.values, s.lists = keeping(s.values, keep, from.values), keeping(s.lists, keep, from.lists)
}

// keeping are those of values that have these names, and others.
func keeping[V any](values map[string]V, names []string, others map[string]V) map[string]V {
	kept := maps.Clone(others)
	for _, name := range names {
		if v, is := values[name]; is {
			if kept == nil {
				kept = map[string]V{}
			}
			kept[name] = v
		}
	}
	return kept
}

// Drop forgets the values of captures that an answer is about to set.
func (s *Session) Drop(captures []Capture) {
	for i := range captures {
		s.Unset(captures[i].Name)
	}
}

// Unset forgets a value, and its list.
func (s *Session) Unset(name string) {
	delete(s.values, name)
	delete(s.lists, name)
}

// Forget makes s new.
func (s *Session) Forget() {
	clear(s.values)
	clear(s.lists)
	s.jar.cookies = s.jar.cookies[:0]
}

func (s *Session) set(name string, value []byte) {
	if s.values == nil {
		s.values = map[string][]byte{}
	}
	s.values[name] = append([]byte{}, value...) // not nil, and not over a value that another session may have, too
}

// maxList bounds the values of a list.
const maxList = 1000

// setList sets a list, which may be empty, and its first value.
func (s *Session) setList(name string, values [][]byte) error {
	if len(values) > maxList {
		return fmt.Errorf("the answer has %d values, more than %d", len(values), maxList)
	}
	if s.lists == nil {
		s.lists = map[string][][]byte{}
	}
	var list [][]byte
	for _, v := range values {
		if err := check(v); err != nil {
			return err
		}
		list = append(list, slices.Clone(v))
	}
	if s.lists[name] = list; len(list) > 0 {
		s.set(name, list[0])
	}
	return nil
}

// Field takes what s remembers of a header line of an answer: cookies, and the captures whose
// source it is. at is where the request went.
func (s *Session) Field(captures []Capture, at Place, name, value []byte) error {
	lower := strings.ToLower(string(name))
	var set cookie
	if lower == "set-cookie" {
		set = s.jar.set(string(value), at)
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
		source, err := c.source.with(s.Value)
		if err != nil {
			return fmt.Errorf("%w %s: %w", ErrCapture, c.Name, err)
		}
		part, ok := source.part(from)
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
		if c.source.kind == inStatus {
			s.set(c.Name, strconv.AppendInt(nil, int64(s.Status), 10))
			continue
		}
		if !c.InBody() {
			if s.Value(c.Name) == nil {
				return fmt.Errorf("%w %s from %s: %w", ErrCapture, c.Name, &c.source, errMissing)
			}
			continue
		}
		source, err := c.source.with(s.Value)
		if err != nil {
			return fmt.Errorf("%w %s: %w", ErrCapture, c.Name, err)
		}
		values, err := source.FromBody(body)
		if c.pick == all && (err == nil || errors.Is(err, errMissing) || errors.Is(err, errNull)) { // APIs say with null that there is no next page
			if err = s.setList(c.Name, values); err == nil {
				continue
			}
		}
		value := c.of(values, s.Draw)
		switch {
		case err == nil:
			err = check(value)
		case why != nil:
			err = why
		case errors.Is(err, errNull):
			err = fmt.Errorf("%w; with all before json, null is an empty list", err)
		}
		if err != nil {
			return fmt.Errorf("%w %s from %s: %w", ErrCapture, c.Name, &c.source, err)
		}
		s.set(c.Name, value)
	}
	return nil
}

// Cookies appends the value of a Cookie header for a request; nothing if no cookie matches.
func (s *Session) Cookies(dst []byte, at Place) []byte {
	return s.jar.appendTo(dst, at)
}
