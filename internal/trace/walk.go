package trace

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting limits the nesting of objects and arrays.
const maxNesting = 64

var (
	errNotJSON = errors.New("not a JSON object")
	errNested  = errors.New("more than 64 objects and arrays within each other")
)

func (m *fieldMap) parse(line []byte, f *filler) error {
	f.rank = [fields]byte{}
	w := walk{in: line, f: f}
	w.blanks()
	if w.peek() != '{' {
		return errNotJSON
	}
	if err := w.value(&m.root, 0); err != nil {
		return err
	}
	if w.blanks(); w.pos != len(w.in) {
		return errNotJSON
	}
	if m.strict && len(f.rec.Method) == 0 && f.rec.Status == 0 {
		return errNoRequest // other objects have a "path" or "url", too
	}
	return f.finish(m.timed)
}

// walk reads a line once. It checks only as much of the grammar as it needs.
type walk struct {
	in  []byte
	pos int
	f   *filler
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
		return errNotJSON
	case v[0] == '-' || isDigit(v[0]):
		return w.give(n, v)
	case string(v) == "null" || string(v) == "true" || string(v) == "false":
		return nil
	}
	return errNotJSON
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
			return errNotJSON
		}
	}
}

func (w *walk) key() ([]byte, error) {
	key, err := w.quoted()
	if w.blanks(); err != nil || w.peek() != ':' {
		return nil, errNotJSON
	}
	w.pos++
	w.blanks()
	return key, nil
}

// quoted reads a string, and leaves its escapes as they are.
func (w *walk) quoted() ([]byte, error) {
	if w.peek() != '"' {
		return nil, errNotJSON
	}
	from := w.pos + 1
	n := endQuote(w.in[from:])
	if n < 0 {
		return nil, errNotJSON
	}
	w.pos = from + n + 1
	return w.in[from : from+n], nil
}

// endQuote is the index of the first quote that no backslash escapes, or -1.
func endQuote(v []byte) int {
	for from := 0; ; {
		n := bytes.IndexByte(v[from:], '"')
		if n < 0 {
			return -1
		}
		if n += from; !isEscaped(v, n) {
			return n
		}
		from = n + 1
	}
}

// isEscaped reports whether an odd number of backslashes precedes v[i].
func isEscaped(v []byte, i int) bool {
	n := 0
	for n < i && v[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// give sets a value, unless the field has one of a lower rank.
func (w *walk) give(n *node, v []byte) error {
	if n == nil || n.set == nil || absent(v) {
		return nil
	}
	if have := w.f.rank[n.field]; have != 0 && have <= n.rank {
		return nil
	}
	err := n.set(w.f, v)
	if err == nil {
		w.f.rank[n.field] = n.rank
	}
	if n.rank > 1 {
		return nil // a further name for a field may mean something else: no fault
	}
	return err
}

// appendRune appends the character of \uHHHH at the start of v, or of a surrogate pair.
func appendRune(buf, v []byte) (to, rest []byte) {
	r := rune(hexOf(v[2:6]))
	v = v[6:]
	if utf16.IsSurrogate(r) {
		low := utf8.RuneError
		if len(v) >= 6 && v[0] == '\\' && v[1] == 'u' && hexOf(v[2:6]) >= 0 {
			low = utf16.DecodeRune(r, rune(hexOf(v[2:6])))
		}
		if r = low; r != utf8.RuneError {
			v = v[6:]
		}
	}
	return utf8.AppendRune(buf, r), v
}
