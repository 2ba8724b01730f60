package http1

import (
	"bytes"
	"encoding/binary"
)

// The bytes of a token (RFC 9110, 5.6.2) as bits: below 64, and from 64 on.
const (
	tokenLow  uint64 = 1<<'!' | 1<<'#' | 1<<'$' | 1<<'%' | 1<<'&' | 1<<'\'' | 1<<'*' | 1<<'+' | 1<<'-' | 1<<'.' | (1<<10-1)<<'0'
	tokenHigh uint64 = (1<<26-1)<<('A'-64) | (1<<26-1)<<('a'-64) | 1<<('^'-64) | 1<<('_'-64) | 1<<('`'-64) | 1<<('|'-64) | 1<<('~'-64)
)

// tokenEnd returns the length of the token at the start of s. It is generic: requests are
// strings, answers bytes.
func tokenEnd[T string | []byte](s T) int {
	for i := range len(s) {
		b := s[i]
		if b < 64 && tokenLow>>b&1 == 0 || b >= 64 && tokenHigh>>(b-64)&1 == 0 {
			return i
		}
	}
	return len(s)
}

func isToken(s string) bool { return s != "" && tokenEnd(s) == len(s) }

// isValue reports whether s has no control character except tabs. Bytes from 0x80 on are
// opaque (RFC 9110, 5.5).
func isValue[T string | []byte](s T) bool {
	for i := range len(s) {
		if b := s[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// cleanValue is isValue for eight bytes at a time: values are three quarters of a head's
// bytes.
func cleanValue(s []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; len(s) >= 8; s = s[8:] {
		x := binary.LittleEndian.Uint64(s)
		del := x ^ 0x7f*ones // a byte of zero where s has 0x7f
		// A borrow can raise a false alarm, so isValue decides.
		if ((x-' '*ones)&^x|(del-ones)&^del)&tops != 0 && !isValue(s[:8]) {
			return false
		}
	}
	return isValue(s)
}

// equalFold compares s with a lower-case word of letters and hyphens. Unlike bytes.EqualFold
// it does not accept U+212A as a k. s must have no control characters: 0x0d would equal a
// hyphen.
func equalFold[T string | []byte](s T, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range len(s) {
		if s[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// trimOWS cuts spaces and tabs off both ends.
func trimOWS(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return trimRightOWS(s)
}

func trimRightOWS(s []byte) []byte {
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// hasWord looks for a lower-case word in a comma-separated list.
func hasWord(list []byte, word string) bool {
	for more := true; more; {
		var item []byte
		item, list, more = bytes.Cut(list, []byte{','})
		if equalFold(trimOWS(item), word) {
			return true
		}
	}
	return false
}

// IsName reports whether b is a header name of HTTP/2: a token in lower case.
func IsName(b []byte) bool {
	for _, c := range b {
		if c-'A' < 26 {
			return false
		}
	}
	return len(b) > 0 && tokenEnd(b) == len(b)
}

// IsValue reports whether b is a header value: without control characters except tabs.
func IsValue(b []byte) bool { return cleanValue(b) }

// Decimal reads digits only, without sign; ok is false for anything else and for too much.
func Decimal(b []byte) (n int64, ok bool) { return parseDecimal(b) }
