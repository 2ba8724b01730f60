package parse

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The fields of a record in a field map.
const (
	fieldTime = iota
	fieldMethod
	fieldURI
	fieldQuery
	fieldStatus
	fieldBytes
	fieldRequestBytes
	fieldLatency
	fieldHost
	fieldScheme
	fieldClient
	fieldReferer
	fieldAgent
	numFields
)

// mapField is a FIELD of a field map.
type mapField struct {
	name  string
	field int
	set   Setter
}

// FieldNames lists the names of the fields of a map.
func FieldNames() (names []string) {
	for _, f := range mapFields() {
		names = append(names, f.name)
	}
	return names
}

func mapFields() []mapField {
	return []mapField{
		{"start", fieldTime, Start},
		{"end", fieldTime, End},
		{"method", fieldMethod, Method},
		{"uri", fieldURI, URI},
		{"path", fieldURI, setPath},
		{"request", fieldURI, Request},
		{"query", fieldQuery, Query},
		{"status", fieldStatus, Status},
		{"bytes", fieldBytes, Size(AnswerBytes, false)},
		{"request_bytes", fieldRequestBytes, Size(RequestBytes, false)},
		{"latency", fieldLatency, setOwnLatency(time.Second)},
		{"host", fieldHost, Host},
		{"scheme", fieldScheme, Scheme},
		{"client", fieldClient, Client},
		{"referer", fieldReferer, Referer},
		{"agent", fieldAgent, Agent},
	}
}

// setPath is URI for a path that may lack its first slash.
func setPath(f *Line, v []byte) error {
	if len(v) > 0 && v[0] != '/' {
		v = f.Rec.Join(nil, "/", v)
	}
	return URI(f, v)
}

// node is a place in an object: what to do with the value there, and with the values below.
type node struct {
	set   Setter
	field int
	rank  byte  // among the places of the field: the least wins, the first in the map has 1
	half  byte  // of a time in two places: 1 is the date, 2 the time of day; 0: neither
	whole *node // what to do with both halves
	below map[string]*node
}

// FieldMap reads objects, one a line.
type FieldMap struct {
	root   node
	timed  bool
	Strict bool // an object is a request only if it has a method or a status, too
}

// NewFieldMap compiles FIELD=PATH[|PATH…][:UNIT],… with points between the names of a path. PATH+PATH are the places of
// the date and of the time of day.
// The error lists all faults.
func NewFieldMap(text string) (*FieldMap, error) {
	m := &FieldMap{}
	var errs []error
	uri := false
	ranks := map[int]int{} // by field: the number of its places so far
	for _, rule := range rulesOf(text) {
		name, paths, _ := strings.Cut(strings.TrimSpace(rule), "=")
		f, err := findField(name, &paths)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		uri = uri || f.field == fieldURI
		m.timed = m.timed || f.field == fieldTime
		for path := range strings.SplitSeq(paths, "|") {
			n := m.root.at(path)
			if date, clock, ok := strings.Cut(path, "+"); ok && f.field == fieldTime {
				n = &node{}
				for i, half := range []string{date, clock} {
					at := m.root.at(half)
					at.half, at.whole = byte(i+1), n
				}
			}
			ranks[f.field]++
			n.set, n.field, n.rank = f.set, f.field, byte(min(ranks[f.field], 254))
			if f.name == "request" {
				n.rank = 255 // a field with only the URI is better
			}
		}
	}
	if !uri && errs == nil {
		errs = append(errs, errors.New("the field map has neither uri nor request; say where the request is, such as uri=path"))
	}
	return m, errors.Join(errs...)
}

// RequestPlaces lists the places where a map looks for the request.
func RequestPlaces(text string) (places []string) {
	for _, rule := range rulesOf(text) {
		name, paths, _ := strings.Cut(strings.TrimSpace(rule), "=")
		if f, err := findField(name, &paths); err == nil && f.field == fieldURI {
			places = append(places, strings.Split(paths, "|")...)
		}
	}
	return places
}

// rulesOf splits a map at its commas, except those in the form of a time, as in %S,%f.
func rulesOf(text string) (rules []string) {
	for rule := range strings.SplitSeq(text, ",") {
		if last := len(rules) - 1; last >= 0 && !strings.Contains(rule, "=") && strings.Contains(rules[last], ":%") {
			rules[last] += "," + rule
			continue
		}
		rules = append(rules, rule)
	}
	return rules
}

// findField finds a field by name, and cuts the form of its values off its paths.
func findField(name string, paths *string) (mapField, error) {
	for _, f := range mapFields() {
		if f.name != name || *paths == "" {
			continue
		}
		if f.field != fieldLatency && f.field != fieldTime {
			return f, nil
		}
		list, form, ok := strings.Cut(*paths, ":")
		if !ok {
			return f, nil
		}
		set, err := f.withForm(form)
		if err != nil {
			return f, fmt.Errorf("%s: %w", name, err)
		}
		*paths, f.set = list, set
		return f, nil
	}
	return mapField{}, fmt.Errorf("%.60q is not part of a field map; write FIELD=PATH, separated by commas, with a FIELD of %s", name, strings.Join(FieldNames(), ", "))
}

// FieldSetter returns the setter of a field, with the form of its values: a unit, or a strftime format.
func FieldSetter(name, form string) (Setter, error) {
	for _, f := range mapFields() {
		if f.name == name {
			return f.withForm(form)
		}
	}
	return nil, fmt.Errorf("%.60q is not a field; use one of %s, or - for a value to skip", name, strings.Join(FieldNames(), ", "))
}

// withForm is the setter for values in a form.
func (f mapField) withForm(form string) (Setter, error) {
	switch {
	case f.field == fieldTime:
		return inForm(form, f.set)
	case form == "":
		return f.set, nil
	case f.field != fieldLatency:
		return nil, fmt.Errorf("%s has no form; only start, end and latency have one", f.name)
	}
	if unit, ok := unitOf(form); ok {
		return setOwnLatency(unit), nil
	}
	switch form {
	case "s?":
		return setFraction, nil
	case "?":
		return setUnitLatency, nil
	}
	return nil, fmt.Errorf("latency has the unknown unit %.20q; use s, ms, us, ns, s? or ?", form)
}

// at finds or creates the node of a path.
func (n *node) at(path string) *node {
	for name := range strings.SplitSeq(path, ".") {
		next := n.below[name]
		if next == nil {
			next = &node{}
			if n.below == nil {
				n.below = map[string]*node{}
			}
			n.below[name] = next
		}
		n = next
	}
	return n
}

// find returns the node of a key, which may itself be a path ("url.path"), or nil.
func (n *node) find(key []byte) *node {
	if n == nil || n.below == nil {
		return nil
	}
	if next := n.below[string(key)]; next != nil {
		return next
	}
	head, rest, ok := bytes.Cut(key, []byte("."))
	if !ok {
		return nil
	}
	return n.below[string(head)].find(rest)
}

// setOwnLatency is Latency for values that may end with a unit, as in "0.5s".
func setOwnLatency(unit time.Duration) Setter {
	return func(f *Line, v []byte) error {
		number, actual := ownUnit(v, unit)
		return f.Latency(number, actual)
	}
}

// setUnitLatency is the setter of ?: it uses only values with a unit.
func setUnitLatency(f *Line, v []byte) error {
	number, unit := ownUnit(v, 0)
	if unit == 0 {
		return nil
	}
	return f.Latency(number, unit)
}

// ownUnit cuts the unit off the end of a value; a value without one has the given unit.
func ownUnit(v []byte, unit time.Duration) ([]byte, time.Duration) {
	n := len(v)
	for n > 0 && !IsDigit(v[n-1]) && v[n-1] != '.' {
		n--
	}
	switch string(v[n:]) {
	case "s":
		return v[:n], time.Second
	case "ms":
		return v[:n], time.Millisecond
	case "us", "µs":
		return v[:n], time.Microsecond
	case "ns":
		return v[:n], time.Nanosecond
	}
	return v, unit
}

// setFraction is the setter of s?, seconds with a fraction. It ignores a whole number without a
// unit, which may be in milliseconds.
func setFraction(f *Line, v []byte) error {
	if Digits(v) >= 0 {
		return nil
	}
	number, unit := ownUnit(v, time.Second)
	return f.Latency(number, unit)
}
