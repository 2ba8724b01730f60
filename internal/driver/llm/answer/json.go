package answer

import (
	"encoding/json"
	"iter"
)

// members are the members of the object b, as far as it is JSON: names as they are written, without their
// quotes, and values in their raw form. It allocates nothing and does not check the values. b may be any bytes.
func members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		rest, ok := opened(b, '{')
		for ok {
			var name, value []byte
			if name, rest, ok = cutValue(rest); !ok || name[0] != '"' {
				return
			}
			rest = blank(rest)
			if len(rest) == 0 || rest[0] != ':' {
				return
			}
			if value, rest, ok = cutValue(rest[1:]); !ok || !yield(name[1:len(name)-1], value) {
				return
			}
			rest, ok = opened(rest, ',')
		}
	}
}

// elements are the elements of the array b in their raw form, as members.
func elements(b []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		rest, ok := opened(b, '[')
		for ok {
			var value []byte
			if value, rest, ok = cutValue(rest); !ok || !yield(value) {
				return
			}
			rest, ok = opened(rest, ',')
		}
	}
}

// opened is what follows the byte c, which b begins with, apart from blanks.
func opened(b []byte, c byte) (rest []byte, ok bool) {
	if b = blank(b); len(b) == 0 || b[0] != c {
		return nil, false
	}
	return b[1:], true
}

// blank is b without the blanks at its start. With bytes.TrimLeft, a part took twice as long.
func blank(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	return b
}

// cutValue cuts the value at the start of b. The value has a byte at least; a string has both quotes.
func cutValue(b []byte) (value, rest []byte, ok bool) {
	b = blank(b)
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := stringEnd(b[i:])
			if n == 0 {
				return nil, nil, false
			}
			if i += n - 1; depth == 0 {
				return b[:i+1], b[i+1:], true
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return b[:i+1], b[i+1:], true
			}
			if depth < 0 {
				return b[:i], b[i:], i > 0
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return b[:i], b[i:], i > 0
			}
		}
	}
	return b, nil, depth == 0 && len(b) > 0
}

// stringEnd is the length of the string at the start of b with its quotes; 0: it does not end.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// filled reports whether value is a string, an array or an object that is not empty.
func filled(value []byte) bool {
	if len(value) <= 2 {
		return false
	}
	switch value[0] {
	case '"':
		return true
	case '[', '{':
		return len(blank(value[1:])) > 1
	}
	return false
}

// mostNumber is the largest number of tokens that is believed.
const mostNumber = 1 << 30

// number is a number of tokens; −1: value is none.
func number(value []byte) int {
	n := 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return -1
		}
		if n = 10*n + int(c-'0'); n > mostNumber {
			return -1
		}
	}
	if len(value) == 0 {
		return -1
	}
	return n
}

// is reports whether value is the string want, which needs no escapes.
func is(value []byte, want string) bool {
	return len(value) == len(want)+2 && value[0] == '"' && string(value[1:len(value)-1]) == want
}

// null reports whether value is absent.
func null(value []byte) bool { return string(value) == "null" || len(value) == 0 }

// text is the text of a string, or value as it is.
func text(value []byte) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		s = string(value)
	}
	return s
}
