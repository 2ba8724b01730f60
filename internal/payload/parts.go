package payload

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"strconv"
	"time"
)

// part is a piece of a template. It is only read, and append does not allocate
// when dst has room.
type part interface {
	append(dst []byte, seq uint64) []byte
	longest() int // bytes that append adds at most
}

// literal is text outside placeholders.
type literal string

func (l literal) append(dst []byte, _ uint64) []byte { return append(dst, l...) }
func (l literal) longest() int                       { return len(l) }

// number is {{.Seq}}.
type number struct{}

func (number) append(dst []byte, seq uint64) []byte { return strconv.AppendUint(dst, seq, 10) }
func (number) longest() int                         { return len("18446744073709551615") }

// uuid is {{uuid}}, version 4: 122 random bits, the version and the variant.
type uuid struct{ draw }

func (u uuid) append(dst []byte, seq uint64) []byte {
	high, low := u.at(seq)
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], high&^0xf000|0x4000)
	binary.BigEndian.PutUint64(b[8:], low&^(3<<62)|1<<63)
	dst = append(hex.AppendEncode(dst, b[:4]), '-')
	dst = append(hex.AppendEncode(dst, b[4:6]), '-')
	dst = append(hex.AppendEncode(dst, b[6:8]), '-')
	dst = append(hex.AppendEncode(dst, b[8:10]), '-')
	return hex.AppendEncode(dst, b[10:])
}

func (uuid) longest() int { return 36 }

// randInt is {{randInt MIN MAX}}; count is MAX - MIN + 1, and 0 stands for 2⁶⁴.
type randInt struct {
	draw
	first int64
	count uint64
}

func (r randInt) append(dst []byte, seq uint64) []byte {
	high, low := r.at(seq)
	n := high
	if r.count != 0 {
		n = below(r.count, high, low)
	}
	return strconv.AppendInt(dst, int64(uint64(r.first)+n), 10) // wraps around to what it should be
}

func (randInt) longest() int { return len("-9223372036854775808") }

// randString is {{randString N}}, or {{randHex N}}.
type randString struct {
	draw
	n    int
	from string // its letters
}

// lettersPerWord is how many letters one 64-bit number makes. The last of eight
// is cut from 2⁶⁴ ÷ 62⁷ = 5 million values, so that no letter is favoured by more
// than 1 in 80 000.
const lettersPerWord = 8

func (r randString) append(dst []byte, seq uint64) []byte {
	state, low := r.at(seq)
	for left := r.n; left > 0; left -= lettersPerWord {
		state += gamma
		word := mix(state) ^ low
		for range min(left, lettersPerWord) {
			var digit uint64
			digit, word = bits.Mul64(word, uint64(len(r.from))) // digits in base 62, highest first
			dst = append(dst, r.from[digit])
		}
	}
	return dst
}

func (r randString) longest() int { return r.n }

// now is {{now}}, the instant at which the operation is rendered. Its nine digits
// are never shortened, as time.RFC3339Nano does, so lengths stay the same.
type now struct{}

const instant = "2006-01-02T15:04:05.000000000Z"

func (now) append(dst []byte, _ uint64) []byte { return time.Now().UTC().AppendFormat(dst, instant) }
func (now) longest() int                       { return len(instant) }

// unixMilli is {{unixMilli}}: milliseconds since 1970.
type unixMilli struct{}

func (unixMilli) append(dst []byte, _ uint64) []byte {
	return strconv.AppendInt(dst, time.Now().UnixMilli(), 10)
}

func (unixMilli) longest() int { return len("-9223372036854775808") }
