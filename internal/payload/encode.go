package payload

import (
	"bytes"
	"encoding/base64"
	"slices"
	"unicode/utf8"
)

// encoder writes a value as the place needs it where it stands. size is the length of what encode makes of src, and
// never less than src; encode writes it to dst, which may overlap with src if src is at its end.
type encoder struct {
	name   string
	size   func(src []byte) int
	encode func(dst, src []byte)
	most   int // bytes for each byte of src, at most
}

// encoders are the words that may be before the name of a placeholder.
var encoders = []*encoder{
	{"url", urlSize, urlEncode, 3},
	{"json", jsonSize, jsonEncode, 6},
	{"base64", base64Size, base64Encode, 4},
}

// encoderOf is the encoder with this name; nil: there is none.
func encoderOf(t token) *encoder {
	i := slices.IndexFunc(encoders, func(e *encoder) bool { return !t.quoted && e.name == t.text })
	if i < 0 {
		return nil
	}
	return encoders[i]
}

// apply encodes what follows from in dst.
func (e *encoder) apply(dst []byte, from int) []byte {
	raw := len(dst) - from
	size := e.size(dst[from:])
	dst = slices.Grow(dst, size-raw)[:from+size]
	src := dst[from+size-raw:]
	copy(src, dst[from:from+raw])
	e.encode(dst[from:], src)
	return dst
}

// encoded is {{url X}}, {{json X}} or {{base64 X}}.
type encoded struct {
	part
	by *encoder
}

func (e encoded) append(dst []byte, seq uint64) []byte {
	from := len(dst)
	return e.by.apply(e.part.append(dst, seq), from)
}

func (e encoded) longest() int { return min(maxBytes, e.part.longest()) * e.by.most }

// plainPart is a part without its encoders.
func plainPart(p part) part {
	for {
		e, is := p.(encoded)
		if !is {
			return p
		}
		p = e.part
	}
}

// makeEncoded makes the part for {{url X}} and the like, where X is a placeholder without its braces, or a text in
// quotes.
func makeEncoded(p *parser, by *encoder, rest []token) (part, error) {
	if len(rest) == 0 {
		return nil, errArguments
	}
	if len(rest) == 1 && rest[0].quoted {
		return encoded{literal(rest[0].text), by}, nil
	}
	inner, err := p.makePart(rest)
	if err != nil {
		return nil, err
	}
	return encoded{inner, by}, nil
}

const upperHex = "0123456789ABCDEF"

// isUnreserved reports whether c means itself everywhere in a URL: RFC 3986, 2.3.
func isUnreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || bytes.IndexByte([]byte("-._~"), c) >= 0
}

func urlSize(src []byte) int {
	n := len(src)
	for _, c := range src {
		if !isUnreserved(c) {
			n += 2
		}
	}
	return n
}

func urlEncode(dst, src []byte) {
	for n := 0; len(src) > 0; src = src[1:] {
		c := src[0]
		if isUnreserved(c) {
			dst[n] = c
			n++
			continue
		}
		dst[n], dst[n+1], dst[n+2] = '%', upperHex[c>>4], upperHex[c&15]
		n += 3
	}
}

// jsonEscape is how the beginning of src stands in a string of JSON (RFC 8259, 7), and how many bytes of src that is.
// The bytes of esc from n on have no meaning.
func jsonEscape(src []byte) (esc [6]byte, n, used int) {
	const short = "\"\\\b\f\n\r\t"
	c := src[0]
	if i := bytes.IndexByte([]byte(short), c); i >= 0 {
		return [6]byte{'\\', `"\bfnrt`[i]}, 2, 1
	}
	if c < ' ' {
		return [6]byte{'\\', 'u', '0', '0', upperHex[c>>4], upperHex[c&15]}, 6, 1
	}
	if c < utf8.RuneSelf {
		return [6]byte{c}, 1, 1
	}
	if r, size := utf8.DecodeRune(src); r != utf8.RuneError || size > 1 {
		copy(esc[:], src[:size])
		return esc, size, size
	}
	return [6]byte{'\\', 'u', 'f', 'f', 'f', 'd'}, 6, 1 // not UTF-8
}

func jsonSize(src []byte) (n int) {
	for len(src) > 0 {
		_, more, used := jsonEscape(src)
		n, src = n+more, src[used:]
	}
	return n
}

func jsonEncode(dst, src []byte) {
	for len(src) > 0 {
		esc, n, used := jsonEscape(src)
		copy(dst, esc[:n])
		dst, src = dst[n:], src[used:]
	}
}

func base64Size(src []byte) int { return base64.StdEncoding.EncodedLen(len(src)) }

func base64Encode(dst, src []byte) {
	for len(src) > 0 {
		var three [3]byte
		n := copy(three[:], src)
		base64.StdEncoding.Encode(dst, three[:n])
		dst, src = dst[min(4, len(dst)):], src[n:]
	}
}
