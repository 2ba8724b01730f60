package trace

import (
	"bytes"
	"strings"
)

// AppendField appends a line of a header, with its CR LF.
func AppendField(buf []byte, name, value string) []byte {
	return append(append(append(append(buf, name...), ": "...), value...), "\r\n"...)
}

// Fields calls do for each line of Header.
func (r *Record) Fields(do func(name, value string)) {
	for line := range bytes.SplitAfterSeq(r.Header, []byte("\r\n")) {
		if name, value, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\r\n")), []byte(": ")); ok {
			do(string(name), string(value))
		}
	}
}

// Field is the value of the first line of Header with this name; nil: no line has it.
func (r *Record) Field(name string) []byte {
	for line := range bytes.SplitSeq(r.Header, []byte("\r\n")) {
		if n, value, ok := bytes.Cut(line, []byte(": ")); ok && bytes.EqualFold(n, []byte(name)) {
			return value
		}
	}
	return nil
}

// DropFields removes the lines of Header for whose names, in small letters, drop is true.
func (r *Record) DropFields(drop func(name string) bool) {
	kept := r.Header[:0]
	for line := range bytes.SplitAfterSeq(r.Header, []byte("\r\n")) {
		name, _, _ := bytes.Cut(line, []byte(": "))
		lower := strings.ToLower(string(name))
		if !drop(lower) {
			kept = append(kept, line...)
		} else if lower == "content-type" {
			r.Typed = false
		}
	}
	r.Header = kept
}
