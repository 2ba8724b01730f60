package wire

import (
	"math"
	"strings"
)

// Decoder reads encoded values from the front of b. After the first fault bad is set, b is
// empty, and all values are null.
type Decoder struct {
	B   []byte
	Bad bool
}

func (d *Decoder) fail() { d.B, d.Bad = nil, true }

// take returns the next n bytes; nil if there are fewer.
func (d *Decoder) take(n uint64) []byte {
	if n > uint64(len(d.B)) {
		d.fail()
		return nil
	}
	out := d.B[:n:n]
	d.B = d.B[n:]
	return out
}

// sized reads a size of width bytes and returns as many bytes.
func (d *Decoder) sized(width uint64) []byte {
	size := d.take(width)
	switch {
	case d.Bad:
		return nil
	case width == 1:
		return d.take(uint64(size[0]))
	}
	return d.take(uint64(order.Uint32(size)))
}

// Value reads one value. A described value includes its descriptor: see described.
func (d *Decoder) Value() Value {
	if len(d.B) == 0 {
		d.fail()
		return Value{}
	}
	code := d.B[0]
	if code == codeDescribed {
		return d.span()
	}
	d.B = d.B[1:]
	var raw []byte
	switch code >> 4 {
	case 0x4:
	case 0x5:
		raw = d.take(1)
	case 0x6:
		raw = d.take(2)
	case 0x7:
		raw = d.take(4)
	case 0x8:
		raw = d.take(8)
	case 0x9:
		raw = d.take(16)
	case 0xa, 0xc, 0xe:
		raw = d.sized(1)
	case 0xb, 0xd, 0xf:
		raw = d.sized(4)
	default:
		d.fail()
	}
	if d.Bad {
		return Value{}
	}
	return Value{code, raw}
}

// span reads a described value with its descriptor. A loop, not a recursion: nested
// descriptors cannot exhaust the stack.
func (d *Decoder) span() Value {
	all := d.B
	for wanted := 1; wanted > 0; wanted-- {
		for len(d.B) > 0 && d.B[0] == codeDescribed {
			d.B = d.B[1:]
			wanted++
		}
		d.Value()
		if d.Bad {
			return Value{}
		}
	}
	n := len(all) - len(d.B)
	return Value{codeDescribed, all[:n:n]}
}

// Described reads a value and its descriptor. A descriptor that is not a number is 0: the
// standard also allows symbols, but no known broker uses them.
func (d *Decoder) Described() (is uint64, v Value) {
	v = d.Value()
	if d.Bad || v.code != codeDescribed {
		return 0, v
	}
	return v.described()
}

// Fields are the members of a list, read in order. An absent or null member has the default.
type Fields struct {
	Decoder
	left uint32
}

// Next returns the next member.
func (f *Fields) Next() Value {
	if f.Bad {
		f.left = 0
	}
	if f.left == 0 {
		return Value{}
	}
	f.left--
	return f.Value()
}

// Maybe returns a number and whether it is present. A number above max is a fault.
func (f *Fields) Maybe(max uint64) (uint64, bool) {
	v := f.Next()
	if v.Null() {
		return 0, false
	}
	n, ok := v.unsigned()
	if !ok || n > max {
		f.fail()
		return 0, false
	}
	return n, true
}

// Uint returns a number, or absent.
func (f *Fields) Uint(absent uint32) uint32 {
	if n, ok := f.Maybe(math.MaxUint32); ok {
		return uint32(n)
	}
	return absent
}

// Must is uint for a required field.
func (f *Fields) Must() uint32 {
	n, ok := f.Maybe(math.MaxUint32)
	if !ok {
		f.fail()
	}
	return uint32(n)
}

// Bool returns a truth value, by default false.
func (f *Fields) Bool() bool {
	v := f.Next()
	b, ok := v.Bool()
	if !ok && !v.Null() {
		f.fail()
	}
	return b
}

// Bytes returns a binary, string or symbol.
func (f *Fields) Bytes() []byte {
	v := f.Next()
	b, ok := v.Bytes()
	if !ok && !v.Null() {
		f.fail()
	}
	return b
}

// Text returns valid UTF-8.
func (f *Fields) Text() string { return toUTF8(f.Bytes()) }

func toUTF8(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// Skip leaves out n members.
func (f *Fields) Skip(n int) {
	for range n {
		f.Next()
	}
}
