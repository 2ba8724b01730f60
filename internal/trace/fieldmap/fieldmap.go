// Package fieldmap reads lines that are JSON objects, by a map that says where the values are.
package fieldmap

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace/fill"
	"github.com/taktload/takt/internal/trace/stamp"
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
	fields
)

// jsonField is a FIELD of a field map.
type jsonField struct {
	name  string
	field int
	set   fill.Setter
}

// Names lists the names of the fields of a map.
func Names() (names []string) {
	for _, f := range jsonFields() {
		names = append(names, f.name)
	}
	return names
}

func jsonFields() []jsonField {
	return []jsonField{
		{"start", fieldTime, fill.Start},
		{"end", fieldTime, fill.End},
		{"method", fieldMethod, fill.Method},
		{"uri", fieldURI, fill.URI},
		{"request", fieldURI, fill.Request},
		{"query", fieldQuery, fill.Query},
		{"status", fieldStatus, fill.Status},
		{"bytes", fieldBytes, fill.Size(fill.AnswerBytes, false)},
		{"request_bytes", fieldRequestBytes, fill.Size(fill.RequestBytes, false)},
		{"latency", fieldLatency, setOwnLatency(time.Second)},
		{"host", fieldHost, fill.Host},
		{"scheme", fieldScheme, fill.Scheme},
		{"client", fieldClient, fill.Client},
		{"referer", fieldReferer, fill.Referer},
		{"agent", fieldAgent, fill.Agent},
	}
}

// node is a place in an object: what to do with the value there, and with the values below.
type node struct {
	set   fill.Setter
	field int
	rank  byte // among the places of the field: the least wins, the first in the map has 1
	below map[string]*node
}

// Map reads objects, one a line.
type Map struct {
	root   node
	timed  bool
	Strict bool // an object is a request only if it has a method or a status, too
}

// New compiles FIELD=PATH[|PATH…][:UNIT],… with points between the names of a path.
// The error lists all faults.
func New(text string) (*Map, error) {
	m := &Map{}
	var errs []error
	uri := false
	for rule := range strings.SplitSeq(text, ",") {
		name, paths, _ := strings.Cut(strings.TrimSpace(rule), "=")
		f, err := findField(name, &paths)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		uri = uri || f.field == fieldURI
		m.timed = m.timed || f.field == fieldTime
		for i, path := range strings.Split(paths, "|") {
			n := m.root.at(path)
			n.set, n.field, n.rank = f.set, f.field, byte(min(i+1, 255))
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

// findField finds a field by name, and cuts the unit of a latency off its paths.
func findField(name string, paths *string) (jsonField, error) {
	for _, f := range jsonFields() {
		if f.name == name && *paths != "" {
			return withUnit(f, paths)
		}
	}
	return jsonField{}, fmt.Errorf("%.60q is not part of a field map; write FIELD=PATH, separated by commas, with a FIELD of %s", name, strings.Join(Names(), ", "))
}

func withUnit(f jsonField, paths *string) (jsonField, error) {
	list, unit, ok := strings.Cut(*paths, ":")
	if !ok || f.field != fieldLatency {
		return f, nil
	}
	d, known := map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond}[unit]
	if !known {
		return f, fmt.Errorf("latency has the unknown unit %.20q; use s, ms, us or ns", unit)
	}
	*paths, f.set = list, setOwnLatency(d)
	return f, nil
}

// Doubt makes m ignore a latency at path that is a whole number without a unit: it may be in
// milliseconds.
func (m *Map) Doubt(path string) { m.root.at(path).set = setCommonLatency }

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

// setOwnLatency is fill.Latency for values that may end with a unit, as in "0.5s".
func setOwnLatency(unit time.Duration) fill.Setter {
	return func(f *fill.Line, v []byte) error {
		number, actual := ownUnit(v, unit)
		return f.Latency(number, actual)
	}
}

// ownUnit cuts the unit off the end of a value; a value without one has the given unit.
func ownUnit(v []byte, unit time.Duration) ([]byte, time.Duration) {
	n := len(v)
	for n > 0 && !stamp.IsDigit(v[n-1]) && v[n-1] != '.' {
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

// setCommonLatency is the setter for a name in common use. It ignores a whole number
// without a unit, which may be in milliseconds.
func setCommonLatency(f *fill.Line, v []byte) error {
	if stamp.Digits(v) >= 0 {
		return nil
	}
	number, unit := ownUnit(v, time.Second)
	return f.Latency(number, unit)
}
