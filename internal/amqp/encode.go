package amqp

import (
	"encoding/binary"
	"math"
)

var be = binary.BigEndian

func appendUint(b []byte, v uint32) []byte {
	switch {
	case v == 0:
		return append(b, codeUint0)
	case v <= math.MaxUint8:
		return append(b, codeSmallUint, byte(v))
	}
	return be.AppendUint32(append(b, codeUint), v)
}

func appendUlong(b []byte, v uint64) []byte {
	switch {
	case v == 0:
		return append(b, codeUlong0)
	case v <= math.MaxUint8:
		return append(b, codeSmallUlong, byte(v))
	}
	return be.AppendUint64(append(b, codeUlong), v)
}

func appendLong(b []byte, code byte, v int64) []byte {
	return be.AppendUint64(append(b, code), uint64(v))
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, codeTrue)
	}
	return append(b, codeFalse)
}

// appendVar appends a value of variable width. long is its 32-bit constructor; the 8-bit one
// is 0x10 below.
func appendVar[T string | []byte](b []byte, long byte, v T) []byte {
	if len(v) <= math.MaxUint8 {
		b = append(b, long-0x10, byte(len(v)))
	} else {
		b = be.AppendUint32(append(b, long), uint32(len(v)))
	}
	return append(b, v...)
}

func appendString(b []byte, v string) []byte { return appendVar(b, codeStr32, v) }
func appendSymbol(b []byte, v string) []byte { return appendVar(b, codeSym32, v) }

func appendDescriptor(b []byte, is uint64) []byte { return appendUlong(append(b, codeDescribed), is) }

// appendSymbols appends an array of symbols.
func appendSymbols(b []byte, names []string) []byte {
	b = append(b, codeArray32, 0, 0, 0, 0)
	at := len(b)
	b = append(be.AppendUint32(b, uint32(len(names))), codeSym32)
	for _, n := range names {
		b = append(be.AppendUint32(b, uint32(len(n))), n...)
	}
	return patchSize(b, at)
}

// patchSize writes the size of the bytes after at into the four bytes before at.
func patchSize(b []byte, at int) []byte {
	be.PutUint32(b[at-4:], uint32(len(b)-at))
	return b
}

// compound is a list or map that is being appended. Absent members of a list are null. Nulls
// at its end are omitted, which means the same (part 1, 1.4).
type compound struct {
	b           []byte
	start       int // offset of the count, after the size
	count, null int // members written; nulls pending until a later member
}

// openList begins a list, with a descriptor unless is is 0.
func openList(b []byte, is uint64) compound {
	if is != 0 {
		b = appendDescriptor(b, is)
	}
	return openCompound(b, codeList32)
}

func openCompound(b []byte, code byte) compound {
	b = append(b, code, 0, 0, 0, 0)
	return compound{b: be.AppendUint32(b, 0), start: len(b)}
}

// next prepares the next member, which the caller appends to the result.
func (c *compound) next() []byte {
	for ; c.null > 0; c.null-- {
		c.b = append(c.b, codeNull)
		c.count++
	}
	c.count++
	return c.b
}

func (c *compound) skip(n int) { c.null += n }

func (c *compound) close() []byte {
	be.PutUint32(c.b[c.start:], uint32(c.count))
	return patchSize(c.b, c.start)
}

func (c *compound) uint(v uint32)   { c.b = appendUint(c.next(), v) }
func (c *compound) ushort(v uint16) { c.b = be.AppendUint16(append(c.next(), codeUshort), v) }
func (c *compound) ubyte(v byte)    { c.b = append(c.next(), codeUbyte, v) }
func (c *compound) string(v string) { c.b = appendString(c.next(), v) }
func (c *compound) symbol(v string) { c.b = appendSymbol(c.next(), v) }
func (c *compound) binary(v []byte) { c.b = appendVar(c.next(), codeBin32, v) }

// bool omits false, the default of every boolean written here.
func (c *compound) bool(v bool) {
	if !v {
		c.skip(1)
		return
	}
	c.b = append(c.next(), codeTrue)
}

// uintSet, stringSet and symbolSet omit zero values.
func (c *compound) uintSet(v uint32) {
	if v == 0 {
		c.skip(1)
		return
	}
	c.uint(v)
}

func (c *compound) stringSet(v string) {
	if v == "" {
		c.skip(1)
		return
	}
	c.string(v)
}

func (c *compound) symbolSet(v string) {
	if v == "" {
		c.skip(1)
		return
	}
	c.symbol(v)
}

func (c *compound) symbolsSet(v []string) {
	if len(v) == 0 {
		c.skip(1)
		return
	}
	c.b = appendSymbols(c.next(), v)
}
