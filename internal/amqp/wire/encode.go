package wire

import (
	"encoding/binary"
	"math"
)

var order = binary.BigEndian

func appendUint(b []byte, v uint32) []byte {
	switch {
	case v == 0:
		return append(b, codeUint0)
	case v <= math.MaxUint8:
		return append(b, codeSmallUint, byte(v))
	}
	return order.AppendUint32(append(b, CodeUint), v)
}

// appendUlong appends an unsigned number of up to 64 bits.
func appendUlong(b []byte, v uint64) []byte {
	switch {
	case v == 0:
		return append(b, codeUlong0)
	case v <= math.MaxUint8:
		return append(b, CodeSmallUlong, byte(v))
	}
	return order.AppendUint64(append(b, codeUlong), v)
}

// AppendLong appends 8 bytes after their constructor.
func AppendLong(b []byte, code byte, v int64) []byte {
	return order.AppendUint64(append(b, code), uint64(v))
}

// AppendBool appends a truth value.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, CodeTrue)
	}
	return append(b, CodeFalse)
}

// AppendVar appends a value of variable width. long is its 32-bit constructor; the 8-bit one
// is 0x10 below.
func AppendVar[T string | []byte](b []byte, long byte, v T) []byte {
	if len(v) <= math.MaxUint8 {
		b = append(b, long-0x10, byte(len(v)))
	} else {
		b = order.AppendUint32(append(b, long), uint32(len(v)))
	}
	return append(b, v...)
}

// AppendString and appendSymbol append a text.
func AppendString(b []byte, v string) []byte { return AppendVar(b, CodeStr32, v) }
func appendSymbol(b []byte, v string) []byte { return AppendVar(b, CodeSym32, v) }

// AppendDescriptor appends what a described value begins with.
func AppendDescriptor(b []byte, is uint64) []byte { return appendUlong(append(b, codeDescribed), is) }

// appendSymbols appends an array of symbols.
func appendSymbols(b []byte, names []string) []byte {
	b = append(b, codeArray32, 0, 0, 0, 0)
	at := len(b)
	b = append(order.AppendUint32(b, uint32(len(names))), CodeSym32)
	for _, n := range names {
		b = append(order.AppendUint32(b, uint32(len(n))), n...)
	}
	return patchSize(b, at)
}

// patchSize writes the size of the bytes after at into the four bytes before at.
func patchSize(b []byte, at int) []byte {
	order.PutUint32(b[at-4:], uint32(len(b)-at))
	return b
}

// Compound is a list or map that is being appended. Absent members of a list are null. Nulls
// at its end are omitted, which means the same (part 1, 1.4).
type Compound struct {
	B           []byte
	start       int // offset of the count, after the size
	count, null int // members written; nulls pending until a later member
}

// OpenList begins a list, with a descriptor unless is is 0.
func OpenList(b []byte, is uint64) Compound {
	if is != 0 {
		b = AppendDescriptor(b, is)
	}
	return OpenCompound(b, codeList32)
}

// OpenCompound begins a list or a map, whose 32-bit constructor is code.
func OpenCompound(b []byte, code byte) Compound {
	b = append(b, code, 0, 0, 0, 0)
	return Compound{B: order.AppendUint32(b, 0), start: len(b)}
}

// Next prepares the next member, which the caller appends to the result.
func (c *Compound) Next() []byte {
	for ; c.null > 0; c.null-- {
		c.B = append(c.B, CodeNull)
		c.count++
	}
	c.count++
	return c.B
}

// Skip leaves out n members: they are null.
func (c *Compound) Skip(n int) { c.null += n }

// Close ends the list or map, and returns all bytes.
func (c *Compound) Close() []byte {
	order.PutUint32(c.B[c.start:], uint32(c.count))
	return patchSize(c.B, c.start)
}

func (c *Compound) Uint(v uint32)   { c.B = appendUint(c.Next(), v) }
func (c *Compound) ushort(v uint16) { c.B = order.AppendUint16(append(c.Next(), codeUshort), v) }
func (c *Compound) Ubyte(v byte)    { c.B = append(c.Next(), codeUbyte, v) }
func (c *Compound) Text(v string)   { c.B = AppendString(c.Next(), v) }
func (c *Compound) Symbol(v string) { c.B = appendSymbol(c.Next(), v) }
func (c *Compound) Binary(v []byte) { c.B = AppendVar(c.Next(), CodeBin32, v) }

// Bool omits false, the default of every boolean written here.
func (c *Compound) Bool(v bool) {
	if !v {
		c.Skip(1)
		return
	}
	c.B = append(c.Next(), CodeTrue)
}

// UintSet, StringSet, SymbolSet and SymbolsSet omit zero values.
func (c *Compound) UintSet(v uint32) {
	if v == 0 {
		c.Skip(1)
		return
	}
	c.Uint(v)
}

func (c *Compound) StringSet(v string) {
	if v == "" {
		c.Skip(1)
		return
	}
	c.Text(v)
}

func (c *Compound) SymbolSet(v string) {
	if v == "" {
		c.Skip(1)
		return
	}
	c.Symbol(v)
}

func (c *Compound) SymbolsSet(v []string) {
	if len(v) == 0 {
		c.Skip(1)
		return
	}
	c.B = appendSymbols(c.Next(), v)
}
