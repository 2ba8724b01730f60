package hpack

import "slices"

// defaultTable is the size of a dynamic table until SETTINGS_HEADER_TABLE_SIZE changes it.
const defaultTable = 4096

// Decoder reads the header blocks of one connection.
type Decoder struct {
	table   table
	allowed int    // largest size of the table
	list    int    // largest size of a header list
	scratch []byte // strings of one field that were in Huffman code
}

// NewDecoder returns a decoder. table is the largest size in bytes that the peer may choose for
// the dynamic table: our SETTINGS_HEADER_TABLE_SIZE, 4096 by default. list limits the size of a
// header list, as RFC 9113, 6.5.2 counts it: the bytes of all names and values, and 32 for each
// field.
func NewDecoder(table, list int) *Decoder {
	d := &Decoder{table: newTable(table), allowed: table, list: list}
	d.Reset()
	return d
}

// Reset prepares the decoder for a new connection.
func (d *Decoder) Reset() { d.table.reset(min(d.allowed, defaultTable)) }

// Decode reads one whole block and calls emit for each field, in order. Name and value are valid
// only during the call, and must not be changed. Every error ends the connection: it is a
// COMPRESSION_ERROR, unless it is ErrTooLarge. After an error the decoder can only be Reset.
func (d *Decoder) Decode(block []byte, emit func(name, value []byte)) error {
	at, err := d.sizes(block)
	room := d.list
	for at < len(block) && err == nil {
		var name, value []byte
		if name, value, at, err = d.field(block, at, room); err != nil {
			break
		}
		if room -= size(name, value); room < 0 {
			return ErrTooLarge
		}
		emit(name, value)
	}
	return err
}

// sizes applies the size updates at the start of a block, and returns their length. The peer
// sends two if its limit was lowered and raised since its last block.
func (d *Decoder) sizes(block []byte) (at int, err error) {
	for at < len(block) && block[at]&^resizedMask == resized {
		size, n := readInt(block[at:], resizedMask)
		if n <= 0 {
			return at, integerError(n)
		}
		if size > uint64(d.allowed) {
			return at, errSize
		}
		d.table.resize(int(size))
		at += n
	}
	return at, nil
}

// The methods below read what begins at a place of a block, and return the place of its end.
// The results fit the nine registers that Go has for results. A struct of name and value would
// be in memory: 24 ns for a field, instead of 6.

// field reads one field. A text in Huffman code must fit into room, the rest of the list's size:
// no other text needs memory.
func (d *Decoder) field(block []byte, at, room int) (name, value []byte, end int, err error) {
	switch kind := block[at]; {
	case kind >= indexed:
		return d.indexed(block, at, indexedMask)
	case kind >= added:
		name, value, end, err = d.literal(block, at, addedMask, room)
		if err == nil {
			name, value = d.table.add(name, value, 0)
		}
		return name, value, end, err
	case kind >= resized:
		return nil, nil, at, errLate
	default:
		return d.literal(block, at, plainMask, room) // never and plain differ for intermediaries only
	}
}

// indexed reads an index and returns the entry.
func (d *Decoder) indexed(block []byte, at int, mask byte) (name, value []byte, end int, err error) {
	i, n := readInt(block[at:], mask)
	if n <= 0 {
		return nil, nil, at, integerError(n)
	}
	if i-1 < uint64(len(static)-1) {
		return static[i].name, static[i].value, at + n, nil
	}
	i -= uint64(len(static) - 1)
	if i-1 >= uint64(d.table.len) {
		return nil, nil, at, errIndex
	}
	name, value = d.table.field(d.table.entry(int(i)))
	return name, value, at + n, nil
}

// literal reads a name or its index, and a value.
func (d *Decoder) literal(block []byte, at int, mask byte, room int) (name, value []byte, end int, err error) {
	d.scratch = d.scratch[:0]
	if block[at]&mask == 0 {
		name, end, err = d.text(block, at+1, room)
	} else {
		name, _, end, err = d.indexed(block, at, mask)
	}
	if err == nil {
		value, end, err = d.text(block, end, room-len(name))
	}
	return name, value, end, err
}

// text reads a string, decoding up to room bytes.
func (d *Decoder) text(block []byte, at, room int) (text []byte, end int, err error) {
	length, n := readInt(block[at:], lengthMask)
	if n <= 0 {
		return nil, at, integerError(n)
	}
	if length > uint64(len(block)-at-n) {
		return nil, at, errTruncated
	}
	end = at + n + int(length)
	text = block[at+n : end : end]
	if block[at] >= coded {
		text, err = d.decoded(text, room)
	}
	return text, end, err
}

// decoded returns the text of a Huffman code, in scratch. Symbols have at least 5 bits.
func (d *Decoder) decoded(code []byte, room int) ([]byte, error) {
	room = min(room, len(code)*8/5)
	if room < 0 {
		return nil, ErrTooLarge
	}
	at := len(d.scratch)
	d.scratch = slices.Grow(d.scratch, room+slack)
	n, err := huffman.decode(d.scratch[at:at+room+slack], code)
	if err != nil {
		return nil, err
	}
	d.scratch = d.scratch[:at+n]
	return d.scratch[at : at+n : at+n], nil
}
