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
	rest, err := d.sizes(block)
	room := d.list
	for len(rest) > 0 && err == nil {
		var f field
		if f, rest, err = d.field(rest, room); err != nil {
			break
		}
		if room -= f.size(); room < 0 {
			return ErrTooLarge
		}
		emit(f.name, f.value)
	}
	return err
}

// sizes applies the size updates at the start of a block. The peer sends two if its limit was
// lowered and raised since its last block.
func (d *Decoder) sizes(block []byte) (rest []byte, err error) {
	for len(block) > 0 && block[0]&^resizedMask == resized {
		size, n := readInt(block, resizedMask)
		if n <= 0 {
			return nil, integerError(n)
		}
		if size > uint64(d.allowed) {
			return nil, errSize
		}
		d.table.resize(int(size))
		block = block[n:]
	}
	return block, nil
}

// field reads one field. room is what it may add to the size of the list; field may return a
// larger field if that needs no memory.
func (d *Decoder) field(p []byte, room int) (f field, rest []byte, err error) {
	switch kind := p[0]; {
	case kind >= indexed:
		return d.indexed(p, indexedMask)
	case kind >= added:
		f, rest, err = d.literal(p, addedMask, room)
		if err == nil {
			f = d.table.add(f, 0)
		}
		return f, rest, err
	case kind >= resized:
		return field{}, nil, errLate
	default:
		return d.literal(p, plainMask, room) // never and plain differ for intermediaries only
	}
}

// indexed reads an integer and returns the entry with this index.
func (d *Decoder) indexed(p []byte, mask byte) (f field, rest []byte, err error) {
	i, n := readInt(p, mask)
	switch {
	case n <= 0:
		return f, nil, integerError(n)
	case i == 0:
		return f, nil, errIndex
	case i < uint64(len(static)):
		return static[i], p[n:], nil
	}
	if i -= uint64(len(static)) - 1; i > uint64(d.table.len) {
		return f, nil, errIndex
	}
	return d.table.field(d.table.entry(int(i))), p[n:], nil
}

// literal reads a name or its index, and a value.
func (d *Decoder) literal(p []byte, mask byte, room int) (f field, rest []byte, err error) {
	d.scratch = d.scratch[:0]
	room -= overhead
	if p[0]&mask == 0 {
		f.name, rest, err = d.text(p[1:], room)
	} else {
		f, rest, err = d.indexed(p, mask)
	}
	if err == nil {
		f.value, rest, err = d.text(rest, room-len(f.name))
	}
	return f, rest, err
}

// text reads a string of up to room bytes.
func (d *Decoder) text(p []byte, room int) (text, rest []byte, err error) {
	length, n := readInt(p, lengthMask)
	if n <= 0 {
		return nil, nil, integerError(n)
	}
	if length > uint64(len(p)-n) {
		return nil, nil, errTruncated
	}
	end := n + int(length)
	text, rest = p[n:end:end], p[end:]
	if p[0] >= coded {
		text, err = d.decoded(text, room)
	} else if len(text) > room {
		err = ErrTooLarge
	}
	return text, rest, err
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
