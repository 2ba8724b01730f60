package wire

import (
	"math"
)

// Value is one encoded value of a received message. It points into the message and is valid
// as long as the message. The zero Value is null.
type Value struct {
	code byte
	Raw  []byte // bytes after the constructor and, for variable width, the size
}

// Null reports whether v is null.
func (v Value) Null() bool { return v.code == CodeNull || v.code == 0 && v.Raw == nil }

// Int returns a whole number up to math.MaxInt64, or a timestamp in milliseconds since 1970.
func (v Value) Int() (int64, bool) {
	switch v.code {
	case CodeByte, codeSmallInt, codeSmallLong:
		return int64(int8(v.Raw[0])), true
	case codeShort:
		return int64(int16(order.Uint16(v.Raw))), true
	case codeInt:
		return int64(int32(order.Uint32(v.Raw))), true
	case CodeLong, CodeTimestamp:
		return int64(order.Uint64(v.Raw)), true
	}
	n, ok := v.unsigned()
	return int64(n), ok && n <= math.MaxInt64
}

func (v Value) unsigned() (uint64, bool) {
	switch v.code {
	case codeUint0, codeUlong0:
		return 0, true
	case codeUbyte, codeSmallUint, CodeSmallUlong:
		return uint64(v.Raw[0]), true
	case codeUshort:
		return uint64(order.Uint16(v.Raw)), true
	case CodeUint:
		return uint64(order.Uint32(v.Raw)), true
	case codeUlong:
		return order.Uint64(v.Raw), true
	}
	return 0, false
}

// Bool returns a boolean.
func (v Value) Bool() (value, ok bool) {
	switch v.code {
	case CodeTrue:
		return true, true
	case CodeFalse:
		return false, true
	case codeBool:
		return v.Raw[0] != 0, true
	}
	return false, false
}

// Bytes returns a binary, string or symbol.
func (v Value) Bytes() ([]byte, bool) {
	switch v.code {
	case CodeBin8, CodeBin32, codeStr8, CodeStr32, codeSym8, CodeSym32:
		return v.Raw, true
	}
	return nil, false
}

// described splits off the descriptor.
func (v Value) described() (is uint64, inner Value) {
	d := Decoder{B: v.Raw[1:]}
	is, _ = d.Value().unsigned()
	return is, d.Value()
}

// Composite returns the descriptor and members of a described list; 0 for any other value.
func (v Value) Composite() (is uint64, members Fields) {
	if v.code != codeDescribed || len(v.Raw) == 0 {
		return 0, Fields{}
	}
	is, inner := v.described()
	return is, inner.List()
}

// List returns the members of a list or a map (names and values in turn), and no members of
// null or after a fault. A list has at most as many members as bytes.
func (v Value) List() Fields {
	f := Fields{Decoder: Decoder{B: v.Raw}}
	switch v.code {
	case codeList0:
		return Fields{}
	case CodeList8, codeMap8:
		if n := f.take(1); n != nil {
			f.left = uint32(n[0])
		}
	case codeList32, CodeMap32:
		if n := f.take(4); n != nil {
			f.left = order.Uint32(n)
		}
	default:
		if !v.Null() {
			f.fail()
		}
	}
	if uint64(f.left) > uint64(len(f.B)) {
		f.fail()
	}
	return f
}

// Find returns the value of a name in a map.
func (v Value) Find(name string) Value {
	for l := v.List(); l.left > 1; {
		key, value := l.Next(), l.Next()
		if b, ok := key.Bytes(); ok && string(b) == name && !l.Bad {
			return value
		}
	}
	return Value{}
}

// Symbols returns the members of an array of symbols; a single symbol is an array of one.
func (v Value) Symbols() []string {
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
	d := Decoder{B: v.Raw}
	d.take(width) // the count is not needed: the bytes show it
	code := d.take(1)
	if d.Bad || code[0] != codeSym8 && code[0] != CodeSym32 {
		return nil
	}
	var out []string
	for len(d.B) > 0 {
		name := d.sized(symbolWidth(code[0]))
		if d.Bad {
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
