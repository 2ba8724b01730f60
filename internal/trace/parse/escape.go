package parse

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// text undoes the escapes of the servers: \xHH, \", \\, \n, \t …, and \uHHHH of JSON.
func (f *Line) text(v []byte) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v
	}
	at := len(f.Rec.Memory)
	f.Rec.Memory = Unescape(f.Rec.Memory, v)
	return f.Rec.Memory[at:]
}

// Unescape appends v to buf without its escapes.
func Unescape(buf, v []byte) []byte {
	for len(v) > 0 {
		i := bytes.IndexByte(v, '\\')
		if i < 0 || i == len(v)-1 {
			return append(buf, v...)
		}
		buf, v = unescape(append(buf, v[:i]...), v[i:])
	}
	return buf
}

// unescape appends the meaning of the escape at the start of v, or the backslash itself if
// the escape is unknown. v has at least two bytes.
func unescape(buf, v []byte) (to, rest []byte) {
	const names, controls = "nrtbfv", "\n\r\t\b\f\v"
	switch c := v[1]; {
	case c == 'x' && len(v) >= 4 && HexOf(v[2:4]) >= 0:
		return append(buf, byte(HexOf(v[2:4]))), v[4:]
	case c == 'u' && len(v) >= 6 && HexOf(v[2:6]) >= 0:
		return appendRune(buf, v)
	case bytes.IndexByte([]byte(names), c) >= 0:
		return append(buf, controls[bytes.IndexByte([]byte(names), c)]), v[2:]
	case c == '"' || c == '\\' || c == '/':
		return append(buf, c), v[2:]
	}
	return append(buf, v[0]), v[1:]
}

// appendRune appends the character of \uHHHH at the start of v, or of a surrogate pair.
func appendRune(buf, v []byte) (to, rest []byte) {
	r := rune(HexOf(v[2:6]))
	v = v[6:]
	if utf16.IsSurrogate(r) {
		low := utf8.RuneError
		if len(v) >= 6 && v[0] == '\\' && v[1] == 'u' && HexOf(v[2:6]) >= 0 {
			low = utf16.DecodeRune(r, rune(HexOf(v[2:6])))
		}
		if r = low; r != utf8.RuneError {
			v = v[6:]
		}
	}
	return utf8.AppendRune(buf, r), v
}

// EndQuote is the index of the first quote that no backslash escapes, or -1.
func EndQuote(v []byte) int {
	for from := 0; ; {
		n := bytes.IndexByte(v[from:], '"')
		if n < 0 {
			return -1
		}
		if n += from; !IsEscaped(v, n) {
			return n
		}
		from = n + 1
	}
}

// IsEscaped reports whether an odd number of backslashes precedes v[i].
func IsEscaped(v []byte, i int) bool {
	n := 0
	for n < i && v[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}
