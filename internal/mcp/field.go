package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of a field.
type kind int

const (
	text kind = iota
	number
	whole // a number without a fraction
	truth
	texts
)

// field is an argument of a tool. What has no field cannot be said: the fields are the list of what an agent may set.
type field struct {
	name, about string
	kind        kind
	flag        string // the flag of takt; "": the tool reads the field itself
	unit        string // after a number in the flag, such as /s
	must        bool
	least, most float64  // bounds of a number; most 0: none
	limit       string   // the flag of takt mcp that sets most; "": nobody can change it
	choices     []string // of a text; nil: any
	example     any
}

// Limits of texts, in bytes, and of their number.
const (
	maxText  = 64 << 10
	maxTexts = 100
)

// schema is the field in JSON Schema.
func (f *field) schema() map[string]any {
	s := map[string]any{"description": f.about}
	switch f.kind {
	case text:
		s["type"] = "string"
	case number, whole:
		s["type"] = map[kind]string{number: "number", whole: "integer"}[f.kind]
		s["minimum"] = f.least
		if f.most > 0 {
			s["maximum"] = f.most
		}
	case truth:
		s["type"] = "boolean"
	case texts:
		s["type"], s["items"], s["maxItems"] = "array", map[string]any{"type": "string"}, maxTexts
	}
	if f.choices != nil {
		s["enum"] = f.choices
	}
	if f.example != nil {
		s["examples"] = []any{f.example}
	}
	return s
}

// values are the arguments of a call, each as one text or several.
type values map[string][]string

// one is the text of a field that has one; "": it is not given.
func (v values) one(name string) string {
	if len(v[name]) == 0 {
		return ""
	}
	return v[name][0]
}

// number is the number of a field; 0: it is not given.
func (v values) number(name string) float64 {
	n, _ := strconv.ParseFloat(v.one(name), 64) // read has checked it
	return n
}

// read reads the value of a field. The error is for the agent.
func (f *field) read(raw json.RawMessage) (list []string, err error) {
	switch f.kind {
	case text:
		var s string
		if err = json.Unmarshal(raw, &s); err == nil {
			list = []string{s}
		}
	case number, whole:
		var n float64
		if err = json.Unmarshal(raw, &n); err == nil {
			list, err = []string{strconv.FormatFloat(n, 'f', -1, 64)}, f.bounds(n)
		}
	case truth:
		var b bool
		if err = json.Unmarshal(raw, &b); err == nil && b {
			list = []string{"true"}
		}
	case texts:
		if err = json.Unmarshal(raw, &list); err != nil {
			var s string
			if json.Unmarshal(raw, &s) == nil { // agents often leave out the brackets around one
				list, err = []string{s}, nil
			}
		}
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return nil, fmt.Errorf("%s has the wrong type; give a value of type %v", f.name, f.schema()["type"])
	}
	if err == nil {
		err = f.check(list)
	}
	return list, err
}

// bounds checks a number.
func (f *field) bounds(n float64) error {
	switch {
	case f.kind == whole && n != math.Trunc(n):
		return fmt.Errorf("%s is %v; give a whole number", f.name, n)
	case n < f.least:
		return fmt.Errorf("%s is %v; give %v or more", f.name, n, f.least)
	case f.most > 0 && n > f.most:
		return f.above(f.name, n, f.most)
	}
	return nil
}

// above is the refusal of a number above a limit.
func (f *field) above(what string, n, most float64) error {
	if f.limit == "" {
		return fmt.Errorf("%s is %v; give at most %v", what, n, most)
	}
	return overLimit(what, n, most, f.limit)
}

// overLimit is the refusal of what the user does not allow.
func overLimit(what string, n, most float64, flag string) error {
	return fmt.Errorf("%s is %v, and the limit is %v; %s", what, n, most, whose(flag))
}

// whose says who can change a limit.
func whose(flag string) string {
	return "only the user who starts takt mcp can raise it, with " + flag + ": stay below the limit, or ask the user"
}

// check checks texts.
func (f *field) check(list []string) error {
	if len(list) > maxTexts {
		return fmt.Errorf("%s has %d texts; give at most %d", f.name, len(list), maxTexts)
	}
	for _, s := range list {
		switch {
		case len(s) > maxText:
			return fmt.Errorf("%s has %d bytes; give at most %d", f.name, len(s), maxText)
		case strings.ContainsRune(s, 0):
			return fmt.Errorf("%s has a NUL character; leave it out", f.name)
		case f.choices != nil && !slices.Contains(f.choices, s):
			return fmt.Errorf("%s is %q; give one of %s", f.name, shorten(s, 100), strings.Join(f.choices, ", "))
		}
	}
	return nil
}

// words are the flags for the value of a field.
func (f *field) words(list []string) (words []string) {
	for _, s := range list {
		words = append(words, "--"+f.flag+"="+s+f.unit)
	}
	return words
}

// readAll reads the arguments of a call, and returns every fault.
func readAll(raw json.RawMessage, fields []field) (v values, faults []error) {
	given := map[string]json.RawMessage{}
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		if err := d.Decode(&given); err != nil && !errors.Is(err, io.EOF) {
			return nil, []error{errors.New("arguments is not an object; give one")}
		}
	}
	v = values{}
	for i := range fields {
		f := &fields[i]
		raw, is := given[f.name]
		delete(given, f.name)
		if !is || string(raw) == "null" {
			if f.must {
				faults = append(faults, fmt.Errorf("%s is missing: %s", f.name, f.about))
			}
			continue
		}
		list, err := f.read(raw)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		v[f.name] = list
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		faults = append(faults, fmt.Errorf("there is no argument %q; those of this tool are %s", shorten(name, 100), names(fields)))
	}
	return v, faults[:min(len(faults), maxTexts)]
}

func names(fields []field) string {
	var list []string
	for _, f := range fields {
		list = append(list, f.name)
	}
	return strings.Join(list, ", ")
}

// shorten cuts a text of a client for a message.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
