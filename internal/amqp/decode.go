package amqp

import (
	"math"
	"strings"
)

// decoder reads encoded values from the front of b. After the first fault bad is set, b is
// empty, and all values are null.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() { d.b, d.bad = nil, true }

// take returns the next n bytes; nil if there are fewer.
func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

// sized reads a size of width bytes and returns as many bytes.
func (d *decoder) sized(width uint64) []byte {
	size := d.take(width)
	switch {
	case d.bad:
		return nil
	case width == 1:
		return d.take(uint64(size[0]))
	}
	return d.take(uint64(be.Uint32(size)))
}

// value reads one value. A described value includes its descriptor: see described.
func (d *decoder) value() Value {
	if len(d.b) == 0 {
		d.fail()
		return Value{}
	}
	code := d.b[0]
	if code == codeDescribed {
		return d.span()
	}
	d.b = d.b[1:]
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
	if d.bad {
		return Value{}
	}
	return Value{code, raw}
}

// span reads a described value with its descriptor. A loop, not a recursion: nested
// descriptors cannot exhaust the stack.
func (d *decoder) span() Value {
	all := d.b
	for wanted := 1; wanted > 0; wanted-- {
		for len(d.b) > 0 && d.b[0] == codeDescribed {
			d.b = d.b[1:]
			wanted++
		}
		d.value()
		if d.bad {
			return Value{}
		}
	}
	n := len(all) - len(d.b)
	return Value{codeDescribed, all[:n:n]}
}

// described reads a value and its descriptor. A descriptor that is not a number is 0: the
// standard also allows symbols, but no known broker uses them.
func (d *decoder) described() (is uint64, v Value) {
	v = d.value()
	if d.bad || v.code != codeDescribed {
		return 0, v
	}
	return v.described()
}

// fields are the members of a list, read in order. An absent or null member has the default.
type fields struct {
	decoder
	left uint32
}

func (f *fields) next() Value {
	if f.bad {
		f.left = 0
	}
	if f.left == 0 {
		return Value{}
	}
	f.left--
	return f.value()
}

// maybe returns a number and whether it is present. A number above max is a fault.
func (f *fields) maybe(max uint64) (uint64, bool) {
	v := f.next()
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

func (f *fields) uint(absent uint32) uint32 {
	if n, ok := f.maybe(math.MaxUint32); ok {
		return uint32(n)
	}
	return absent
}

// must is uint for a required field.
func (f *fields) must() uint32 {
	n, ok := f.maybe(math.MaxUint32)
	if !ok {
		f.fail()
	}
	return uint32(n)
}

func (f *fields) bool() bool {
	v := f.next()
	b, ok := v.Bool()
	if !ok && !v.Null() {
		f.fail()
	}
	return b
}

func (f *fields) bytes() []byte {
	v := f.next()
	b, ok := v.Bytes()
	if !ok && !v.Null() {
		f.fail()
	}
	return b
}

func (f *fields) text() string { return toUTF8(f.bytes()) }

func toUTF8(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

func (f *fields) skip(n int) {
	for range n {
		f.next()
	}
}
