package payload

import (
	"bytes"
	"encoding/base64"
	"slices"
	"unicode/utf8"
)

// encoder writes a value as the place needs it where it stands.
type encoder struct {
	name   string
	append func(dst, src []byte) []byte
	most   int // bytes for each byte of src, at most
	least  int // bytes beside
}

var urlEncoder = &encoder{"url", appendURL, 3, 0}

// encoders are the words that may be before the name of a placeholder.
var encoders = []*encoder{
	urlEncoder, {"json", appendJSON, 6, 0}, {"base64", base64.StdEncoding.AppendEncode, 4, 0},
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
	end := len(dst)
	dst = e.append(dst, dst[from:end])
	return dst[:from+copy(dst[from:], dst[end:])]
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

func (e encoded) longest() int { return min(maxBytes, e.part.longest())*e.by.most + e.by.least }

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

func appendURL(dst, src []byte) []byte {
	for _, c := range src {
		if isUnreserved(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
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

func appendJSON(dst, src []byte) []byte {
	for len(src) > 0 {
		esc, n, used := jsonEscape(src)
		dst, src = append(dst, esc[:n]...), src[used:]
	}
	return dst
}
