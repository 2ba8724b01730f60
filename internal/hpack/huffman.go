package hpack

import (
	"encoding/binary"
	"slices"
)

// lengths are the lengths of the symbols' codes in bits (RFC 7541, appendix B). The code is
// canonical, so they define it: shorter codes are smaller, and equally long ones are in the
// order of their symbols. The last symbol ends a string and must never be sent.
var lengths = [eos + 1]uint8{
	13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
	28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
	6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
	5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
	13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
	7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
	15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
	6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
	20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
	24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
	22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
	21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
	26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
	19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
	20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
	26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
	30,
}

const (
	eos     = 256
	longest = 30
	window  = 12 // bits that the decoder looks up at once: two symbols of 5 to 7 bits
)

// code is the code of a symbol, in the lowest bits.
type code struct {
	bits uint32
	len  uint8
}

// step is what a window begins with: up to two symbols in the lowest bytes, the bits of both,
// and their number. The number is 0 if the first symbol is longer than the window.
type step uint32

func newStep(count, bits, symbols uint) step { return step(count<<24 | bits<<16 | symbols) }

func (s step) bits() uint  { return uint(s >> 16 & 0xff) }
func (s step) count() uint { return uint(s >> 24) }

// coding is the Huffman code, as tables.
type coding struct {
	codes   [eos + 1]code
	steps   [1 << window]step
	symbols [eos + 1]uint16       // by code
	lengths [longest + 1]struct { // the codes of each length
		first, count, symbol uint32 // symbol is the place of the first code in symbols
	}
}

var huffman = newCoding()

func newCoding() *coding {
	c := &coding{}
	c.assign()
	for w := range c.steps {
		c.steps[w] = c.stepOf(uint64(w) << (64 - window))
	}
	return c
}

// assign computes the codes.
func (c *coding) assign() {
	for i := range c.symbols {
		c.symbols[i] = uint16(i)
	}
	slices.SortStableFunc(c.symbols[:], func(a, b uint16) int { return int(lengths[a]) - int(lengths[b]) })
	next, last := uint32(0), uint8(0)
	for i, symbol := range c.symbols {
		n := lengths[symbol]
		next <<= n - last
		l := &c.lengths[n]
		if l.count == 0 {
			l.first, l.symbol = next, uint32(i)
		}
		l.count++
		c.codes[symbol] = code{next, n}
		next++
		last = n
	}
}

// stepOf is the step of the window in the highest bits.
func (c *coding) stepOf(bits uint64) step {
	first, n := c.symbol(bits)
	if n > window {
		return 0
	}
	second, more := c.symbol(bits << n)
	if n+more > window {
		return newStep(1, n, uint(first))
	}
	return newStep(2, n+more, uint(second)<<8|uint(first))
}

// symbol returns the symbol that the highest bits begin with, and its length. The code is
// complete, so each sequence of bits begins with a symbol.
func (c *coding) symbol(bits uint64) (uint16, uint) {
	for n := uint(5); n < longest; n++ {
		l := &c.lengths[n]
		if nth := uint32(bits>>(64-n)) - l.first; nth < l.count {
			return c.symbols[l.symbol+nth], n
		}
	}
	l := &c.lengths[longest]
	return c.symbols[l.symbol+uint32(bits>>(64-longest))-l.first], longest
}

// slack is how many bytes of the destination decode needs beyond those of the result.
const slack = 2

// decode writes the text of src to dst, and returns its length. The text may have slack bytes
// less than dst: else the error is ErrTooLarge.
func (c *coding) decode(dst, src []byte) (int, error) {
	n := 0
	bits, have := uint64(0), uint(0) // the next bits, highest first
	for {
		bits, have, src = refill(bits, have, src)
		if len(src) == 0 {
			return c.finish(dst, n, bits, have)
		}
		for have > longest {
			s := c.steps[bits>>(64-window)]
			if s.count() == 0 {
				s = c.long(bits)
			}
			if n > len(dst)-slack {
				return n, ErrTooLarge
			}
			if s == 0 {
				return n, errHuffman
			}
			dst[n], dst[n+1] = byte(s), byte(s>>8)
			n += int(s.count())
			bits <<= s.bits()
			have -= s.bits()
		}
	}
}

// long is the step of one symbol of any length, or 0 for eos.
//
//go:noinline
func (c *coding) long(bits uint64) step {
	symbol, n := c.symbol(bits)
	if symbol == eos {
		return 0
	}
	return newStep(1, n, uint(symbol))
}

// refill adds the bytes that fit to the bits. Below the bits that have counts may be some of the
// following byte, which the next call sets to the same values.
func refill(bits uint64, have uint, src []byte) (uint64, uint, []byte) {
	if len(src) >= 8 {
		bits |= binary.BigEndian.Uint64(src) >> have
		more := (63 - have) / 8
		return bits, have + 8*more, src[more:]
	}
	for have <= 56 && len(src) > 0 {
		bits |= uint64(src[0]) << (56 - have)
		have += 8
		src = src[1:]
	}
	return bits, have, src
}

// finish decodes the last bits, after the first n bytes of the text. The padding is up to seven
// bits, all of them 1. So finish continues the bits with 1, until only such bits are left. No
// short symbol begins with them, so a step beyond the bits is a symbol that is cut off.
func (c *coding) finish(dst []byte, n int, bits uint64, have uint) (int, error) {
	bits |= ^uint64(0) >> have
	for n <= len(dst)-slack {
		if bits == ^uint64(0) && have < 8 {
			return n, nil
		}
		s := c.steps[bits>>(64-window)]
		if s.count() == 0 {
			s = c.long(bits)
		}
		if s == 0 || s.bits() > have {
			return n, errHuffman
		}
		dst[n], dst[n+1] = byte(s), byte(s>>8)
		n += int(s.count())
		bits = ^(^bits << s.bits())
		have -= s.bits()
	}
	return n, ErrTooLarge
}

// size is the length of the text in Huffman code.
func (c *coding) size(text []byte) int {
	bits := 0
	for _, b := range text {
		bits += int(c.codes[b].len)
	}
	return (bits + 7) / 8
}

// append appends the code of the text, padded with 1.
func (c *coding) append(dst, text []byte) []byte {
	bits, have := uint64(0), uint(0) // the lowest bits are not written yet, at most 31
	for _, b := range text {
		code := c.codes[b]
		bits = bits<<code.len | uint64(code.bits)
		if have += uint(code.len); have >= 32 {
			have -= 32
			dst = binary.BigEndian.AppendUint32(dst, uint32(bits>>have))
		}
	}
	pad := -have % 8
	bits, have = bits<<pad|(1<<pad-1), have+pad
	for have > 0 {
		have -= 8
		dst = append(dst, byte(bits>>have))
	}
	return dst
}
