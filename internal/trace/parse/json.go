package parse

import (
	"bytes"
	"errors"
)

// maxNesting limits the nesting of objects and arrays.
const maxNesting = 64

var (
	// ErrNotJSON is the fault of a line that is not an object.
	ErrNotJSON = errors.New("not a JSON object")
	errNested  = errors.New("more than 64 objects and arrays within each other")
)

// Parse reads one line.
func (m *FieldMap) Parse(line []byte, f *Line) error {
	w := walk{in: line, f: f}
	w.blanks()
	if w.peek() != '{' {
		return ErrNotJSON
	}
	if err := w.value(&m.root, 0); err != nil {
		return err
	}
	if w.blanks(); w.pos != len(w.in) {
		return ErrNotJSON
	}
	return m.finish(f)
}

// finish completes the record of a line.
func (m *FieldMap) finish(f *Line) error {
	if m.Strict && len(f.Rec.Method) == 0 && f.Rec.Status == 0 {
		return Event // other objects have a "path" or "url", too
	}
	return f.Finish(m.timed)
}

// walk reads a line once. It checks only as much of the grammar as it needs.
type walk struct {
	in  []byte
	pos int
	f   *Line

	rank   [numFields]byte // by field: the rank of the value in use, see node; 0: no value yet
	halves [2][]byte       // date and time of day, see node
}

func (w *walk) blanks() {
	for w.pos < len(w.in) && w.in[w.pos] <= ' ' {
		w.pos++
	}
}

func (w *walk) peek() byte {
	if w.pos < len(w.in) {
		return w.in[w.pos]
	}
	return 0
}

// value reads a value. n says what to do with the value; nil: nothing.
func (w *walk) value(n *node, depth int) error {
	if depth > maxNesting {
		return errNested
	}
	switch w.peek() {
	case '{':
		return w.members(n, depth, '}')
	case '[':
		return w.members(n, depth, ']')
	case '"':
		v, err := w.quoted()
		if err != nil {
			return err
		}
		return w.give(n, v)
	}
	from := w.pos
	for w.pos < len(w.in) && !bytes.ContainsRune([]byte(",]} \t"), rune(w.in[w.pos])) {
		w.pos++
	}
	v := w.in[from:w.pos]
	switch {
	case len(v) == 0:
		return ErrNotJSON
	case v[0] == '-' || IsDigit(v[0]):
		return w.give(n, v)
	case string(v) == "null" || string(v) == "true" || string(v) == "false":
		return nil
	}
	return ErrNotJSON
}

// members reads an object or an array. It uses only the first element of an array: Caddy
// has a list for every header.
func (w *walk) members(n *node, depth int, end byte) error {
	w.pos++
	if w.blanks(); w.peek() == end {
		w.pos++
		return nil
	}
	for {
		next := n
		if w.blanks(); end == '}' {
			key, err := w.key()
			if err != nil {
				return err
			}
			next = n.find(key)
		}
		if err := w.value(next, depth+1); err != nil {
			return err
		}
		if end == ']' {
			n = nil
		}
		w.blanks()
		c := w.peek()
		w.pos++
		switch c {
		case ',':
		case end:
			return nil
		default:
			return ErrNotJSON
		}
	}
}

func (w *walk) key() ([]byte, error) {
	key, err := w.quoted()
	if w.blanks(); err != nil || w.peek() != ':' {
		return nil, ErrNotJSON
	}
	w.pos++
	w.blanks()
	return key, nil
}

// quoted reads a string, and leaves its escapes as they are.
func (w *walk) quoted() ([]byte, error) {
	if w.peek() != '"' {
		return nil, ErrNotJSON
	}
	from := w.pos + 1
	n := EndQuote(w.in[from:])
	if n < 0 {
		return nil, ErrNotJSON
	}
	w.pos = from + n + 1
	return w.in[from : from+n], nil
}

// give sets a value, unless the field has one of a lower rank.
func (w *walk) give(n *node, v []byte) error {
	if n == nil || Absent(v) {
		return nil
	}
	if n.half != 0 {
		w.halves[n.half-1] = v
		if date, clock := w.halves[0], w.halves[1]; len(date) > 0 && len(clock) > 0 {
			w.halves = [2][]byte{}
			if err := w.give(n.whole, w.f.Rec.Join(date, " ", clock)); err != nil {
				return err
			}
		}
	}
	if n.set == nil {
		return nil
	}
	if have := w.rank[n.field]; have != 0 && have <= n.rank {
		return nil
	}
	err := n.set(w.f, v)
	if err == nil && (n.field != fieldTime || !w.f.Rec.At.IsZero()) {
		w.rank[n.field] = n.rank
	}
	if n.rank > 1 {
		return nil // a further name for a field may mean something else: no fault
	}
	return err
}
