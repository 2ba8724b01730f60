package amqp

import (
	"math"
)

// Value is one encoded value of a received message. It points into the message and is valid
// as long as the message. The zero Value is null.
type Value struct {
	code byte
	raw  []byte // bytes after the constructor and, for variable width, the size
}

// Null reports whether v is null.
func (v Value) Null() bool { return v.code == codeNull || v.code == 0 && v.raw == nil }

// Int returns a whole number up to math.MaxInt64, or a timestamp in milliseconds since 1970.
func (v Value) Int() (int64, bool) {
	switch v.code {
	case codeByte, codeSmallInt, codeSmallLong:
		return int64(int8(v.raw[0])), true
	case codeShort:
		return int64(int16(be.Uint16(v.raw))), true
	case codeInt:
		return int64(int32(be.Uint32(v.raw))), true
	case codeLong, codeTimestamp:
		return int64(be.Uint64(v.raw)), true
	}
	n, ok := v.unsigned()
	return int64(n), ok && n <= math.MaxInt64
}

func (v Value) unsigned() (uint64, bool) {
	switch v.code {
	case codeUint0, codeUlong0:
		return 0, true
	case codeUbyte, codeSmallUint, codeSmallUlong:
		return uint64(v.raw[0]), true
	case codeUshort:
		return uint64(be.Uint16(v.raw)), true
	case codeUint:
		return uint64(be.Uint32(v.raw)), true
	case codeUlong:
		return be.Uint64(v.raw), true
	}
	return 0, false
}

// Float returns a float or double.
func (v Value) Float() (float64, bool) {
	switch v.code {
	case codeFloat:
		return float64(math.Float32frombits(be.Uint32(v.raw))), true
	case codeDouble:
		return math.Float64frombits(be.Uint64(v.raw)), true
	}
	return 0, false
}

// Bool returns a boolean.
func (v Value) Bool() (value, ok bool) {
	switch v.code {
	case codeTrue:
		return true, true
	case codeFalse:
		return false, true
	case codeBool:
		return v.raw[0] != 0, true
	}
	return false, false
}

// Bytes returns a binary, string or symbol.
func (v Value) Bytes() ([]byte, bool) {
	switch v.code {
	case codeBin8, codeBin32, codeStr8, codeStr32, codeSym8, codeSym32:
		return v.raw, true
	}
	return nil, false
}

// described splits off the descriptor.
func (v Value) described() (is uint64, inner Value) {
	d := decoder{b: v.raw[1:]}
	is, _ = d.value().unsigned()
	return is, d.value()
}

// composite returns the descriptor and members of a described list; 0 for any other value.
func (v Value) composite() (is uint64, members fields) {
	if v.code != codeDescribed || len(v.raw) == 0 {
		return 0, fields{}
	}
	is, inner := v.described()
	return is, inner.list()
}

// list returns the members of a list or a map (names and values in turn), and no members of
// null or after a fault. A list has at most as many members as bytes.
func (v Value) list() fields {
	f := fields{decoder: decoder{b: v.raw}}
	switch v.code {
	case codeList0:
		return fields{}
	case codeList8, codeMap8:
		if n := f.take(1); n != nil {
			f.left = uint32(n[0])
		}
	case codeList32, codeMap32:
		if n := f.take(4); n != nil {
			f.left = be.Uint32(n)
		}
	default:
		if !v.Null() {
			f.fail()
		}
	}
	if uint64(f.left) > uint64(len(f.b)) {
		f.fail()
	}
	return f
}

// symbols returns the members of an array of symbols; a single symbol is an array of one.
func (v Value) symbols() []string {
	if one, ok := v.Bytes(); ok {
		return []string{string(one)}
	}
	width := uint64(1)
	switch v.code {
	case codeArray8:
	case codeArray32:
		width = 4
	default:
		return nil
	}
	d := decoder{b: v.raw}
	d.take(width) // the count is not needed: the bytes show it
	code := d.take(1)
	if d.bad || code[0] != codeSym8 && code[0] != codeSym32 {
		return nil
	}
	var out []string
	for len(d.b) > 0 {
		name := d.sized(symbolWidth(code[0]))
		if d.bad {
			break
		}
		out = append(out, string(name))
	}
	return out
}

// symbolWidth is the number of bytes of a symbol's size.
func symbolWidth(code byte) uint64 {
	if code == codeSym8 {
		return 1
	}
	return 4
}
