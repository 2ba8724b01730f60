package trace

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
	fields
)

// jsonField is a FIELD of a field map.
type jsonField struct {
	name  string
	field int
	set   setter
}

// fieldNames lists the names of the fields of a map.
func fieldNames() (names []string) {
	for _, f := range jsonFields() {
		names = append(names, f.name)
	}
	return names
}

func jsonFields() []jsonField {
	return []jsonField{
		{"start", fieldTime, setStart},
		{"end", fieldTime, setEnd},
		{"method", fieldMethod, setMethod},
		{"uri", fieldURI, setURI},
		{"request", fieldURI, setRequest},
		{"query", fieldQuery, setQuery},
		{"status", fieldStatus, setStatus},
		{"bytes", fieldBytes, setSize(answerBytes, false)},
		{"request_bytes", fieldRequestBytes, setSize(requestBytes, false)},
		{"latency", fieldLatency, setOwnLatency(time.Second)},
		{"host", fieldHost, setHost},
		{"scheme", fieldScheme, setScheme},
		{"client", fieldClient, setClient},
		{"referer", fieldReferer, setReferer},
		{"agent", fieldAgent, setAgent},
	}
}

// node is a place in an object: what to do with the value there, and with the values below.
type node struct {
	set   setter
	field int
	rank  byte // among the places of the field: the least wins, the first in the map has 1
	below map[string]*node
}

// fieldMap reads objects, one a line.
type fieldMap struct {
	root   node
	timed  bool
	Strict bool // an object is a request only if it has a method or a status, too
}

// newFieldMap compiles FIELD=PATH[|PATH…][:UNIT],… with points between the names of a path.
// The error lists all faults.
func newFieldMap(text string) (*fieldMap, error) {
	m := &fieldMap{}
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
	return jsonField{}, fmt.Errorf("%.60q is not part of a field map; write FIELD=PATH, separated by commas, with a FIELD of %s", name, strings.Join(fieldNames(), ", "))
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
func (m *fieldMap) Doubt(path string) { m.root.at(path).set = setCommonLatency }

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

// setOwnLatency is setLatency for values that may end with a unit, as in "0.5s".
func setOwnLatency(unit time.Duration) setter {
	return func(f *filler, v []byte) error {
		number, actual := ownUnit(v, unit)
		return f.latency(number, actual)
	}
}

// ownUnit cuts the unit off the end of a value; a value without one has the given unit.
func ownUnit(v []byte, unit time.Duration) ([]byte, time.Duration) {
	n := len(v)
	for n > 0 && !isDigit(v[n-1]) && v[n-1] != '.' {
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
func setCommonLatency(f *filler, v []byte) error {
	if digits(v) >= 0 {
		return nil
	}
	number, unit := ownUnit(v, time.Second)
	return f.latency(number, unit)
}
