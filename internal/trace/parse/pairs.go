package parse

import (
	"bytes"
	"errors"
)

var (
	errLTSV   = errors.New("not label:value between tabs")
	errLogfmt = errors.New("not key=value")
)

// LTSV reads lines of label:value between tabs (ltsv.org).
type LTSV struct{ Map *FieldMap }

// Parse reads one line.
func (p LTSV) Parse(line []byte, f *Line) error {
	w := walk{f: f}
	for column := range bytes.SplitSeq(line, []byte("\t")) {
		label, v, ok := bytes.Cut(column, []byte(":"))
		if !ok && len(bytes.TrimSpace(column)) > 0 {
			return errLTSV
		}
		if err := w.give(p.Map.root.find(label), unbracketed(v)); err != nil {
			return err
		}
	}
	return p.Map.finish(f)
}

// unbracketed is [v] without its brackets: times often have them.
func unbracketed(v []byte) []byte {
	if n := len(v); n > 1 && v[0] == '[' && v[n-1] == ']' {
		return v[1 : n-1]
	}
	return v
}

// Logfmt reads lines of key=value, with values in quotes where they have blanks. A word without =
// is a key without a value.
type Logfmt struct{ Map *FieldMap }

// Parse reads one line.
func (p Logfmt) Parse(line []byte, f *Line) error {
	w := walk{f: f}
	for pairs := 0; ; pairs++ {
		line = bytes.TrimLeft(line, " ")
		if len(line) == 0 {
			if pairs < 2 {
				return errLogfmt
			}
			return p.Map.finish(f)
		}
		n := bytes.IndexAny(line, "= ")
		if n < 0 || line[n] == ' ' {
			if pairs == 0 {
				return errLogfmt
			}
			_, line, _ = bytes.Cut(line, []byte(" "))
			continue
		}
		key, v, rest, err := pair(line, n)
		if err != nil {
			return err
		}
		line = rest
		if err := w.give(p.Map.root.find(key), v); err != nil {
			return err
		}
	}
}

// pair cuts off the pair at the start of a line, whose = is at n.
func pair(line []byte, n int) (key, v, rest []byte, err error) {
	key, rest = line[:n], line[n+1:]
	if len(rest) == 0 || rest[0] != '"' {
		v, rest, _ = bytes.Cut(rest, []byte(" "))
		return key, v, rest, nil
	}
	end := EndQuote(rest[1:])
	if end < 0 {
		return nil, nil, nil, errLogfmt
	}
	return key, rest[1 : end+1], rest[end+2:], nil
}
