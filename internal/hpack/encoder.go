package hpack

import (
	"encoding/binary"
	"math"
)

// Encoder writes the header blocks of one connection.
type Encoder struct {
	table    table
	signaled int // size of the table that the peer knows
	lowest   int // lowest size since then
}

// NewEncoder returns an encoder with a dynamic table of 4096 bytes.
func NewEncoder() *Encoder {
	e := &Encoder{table: newTable(defaultTable)}
	e.Reset()
	return e
}

// Reset prepares the encoder for a new connection.
func (e *Encoder) Reset() {
	e.table.reset(defaultTable)
	e.signaled, e.lowest = defaultTable, math.MaxInt
}

// SetTableSize applies the peer's SETTINGS_HEADER_TABLE_SIZE from the next block on. The encoder
// uses at most 4096 bytes. It must not be called within a block.
func (e *Encoder) SetTableSize(n uint32) {
	size := int(min(n, defaultTable))
	if size != e.table.max {
		e.table.resize(size)
	}
	e.lowest = min(e.lowest, size)
}

// Begin begins a block: it appends the size updates that the peer has to know (RFC 7541, 4.2).
// They count as a change, so that no block with an update is sent again.
func (e *Encoder) Begin(dst []byte) []byte {
	size := e.table.max
	if e.lowest < min(size, e.signaled) {
		// Go's decoder takes a second update only if the first empties the table.
		e.table.resize(0)
		e.table.resize(size)
		dst = e.signal(dst, 0)
	}
	if size != e.signaled {
		dst = e.signal(dst, size)
	}
	e.lowest = math.MaxInt
	return dst
}

func (e *Encoder) signal(dst []byte, size int) []byte {
	e.signaled = size
	e.table.changes++
	return appendInt(dst, resized, resizedMask, uint64(size))
}

// Field appends a field, whose name is in lower case. keep is for a field that many requests
// repeat: the field is added to the dynamic table, so the next one is an index. Sensitive fields,
// and those that are larger than the table, are literals in any case.
func (e *Encoder) Field(dst, name, value []byte, keep bool) []byte {
	print := fingerprint(name, value)
	if age := e.table.find(name, value, print); age > 0 {
		return appendInt(dst, indexed, indexedMask, uint64(len(static)-1+age))
	}
	first := staticName(name)
	if isSensitive(first, value) {
		return appendLiteral(dst, never, neverMask, first, name, value)
	}
	if i := staticField(first, name, value); i > 0 {
		return appendInt(dst, indexed, indexedMask, uint64(i))
	}
	if first == 0 {
		first = e.dynamicName(name)
	}
	if !keep || size(name, value) > e.table.max {
		return appendLiteral(dst, plain, plainMask, first, name, value)
	}
	e.table.add(name, value, print)
	return appendLiteral(dst, added, addedMask, first, name, value)
}

// Changes is the number of changes of the dynamic table: insertions, evictions, changes of its
// size and updates about it. While it is the same, the bytes of an earlier block mean the same
// fields, so they may be sent again. This does not apply to a block that changed the table itself.
func (e *Encoder) Changes() uint64 { return e.table.changes }

// dynamicName returns the index of an entry with the name, or 0.
func (e *Encoder) dynamicName(name []byte) int {
	if age := e.table.findName(name); age > 0 {
		return len(static) - 1 + age
	}
	return 0
}

// appendLiteral appends a field. index is that of an entry with the name, or 0.
func appendLiteral(dst []byte, kind, mask byte, index int, name, value []byte) []byte {
	dst = appendInt(dst, kind, mask, uint64(index))
	if index == 0 {
		dst = appendText(dst, name)
	}
	return appendText(dst, value)
}

// appendText appends a string, in Huffman code if that is shorter.
func appendText(dst, text []byte) []byte {
	if n := huffman.size(text); n < len(text) {
		return huffman.append(appendInt(dst, coded, lengthMask, uint64(n)), text)
	}
	return append(appendInt(dst, 0, lengthMask, uint64(len(text))), text...)
}

// fingerprint is a quick hash of a field: of its lengths, and of the ends of its texts, where
// similar fields differ.
func fingerprint(name, value []byte) uint32 {
	const factor = 0x9e3779b97f4a7c15
	h := uint64(len(name))<<32 | uint64(len(value))
	h = (h ^ end(name)) * factor
	h = (h ^ h>>32 ^ end(value)) * factor
	return uint32(h >> 32)
}

// end is the last eight bytes of a text.
func end(text []byte) (v uint64) {
	if len(text) >= 8 {
		return binary.LittleEndian.Uint64(text[len(text)-8:])
	}
	for _, b := range text {
		v = v<<8 | uint64(b)
	}
	return v
}
