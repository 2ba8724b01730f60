package hpack

import (
	"slices"
	"strings"
	"testing"
)

// Blocks that a decoder must reject. The peer may change the size of the table up to table.
var faults = []struct {
	name        string
	block       string
	table, list int
	err         error
}{
	{"index 0", "80", 4096, 1000, errIndex},
	{"index over the tables", "be", 4096, 1000, errIndex},
	{"huge index", "ffffffffffffffffff7f", 4096, 1000, errIndex},
	{"name over the tables", "7f000161", 4096, 1000, errIndex},
	{"integer over 63 bits", "ffffffffffffffffffff7f", 4096, 1000, errInteger},
	{"integer cut off", "ffff", 4096, 1000, errTruncated},
	{"literal cut off", "40", 4096, 1000, errTruncated},
	{"name cut off", "40026b", 4096, 1000, errTruncated},
	{"value cut off", "40016b", 4096, 1000, errTruncated},
	{"length cut off", "00017f", 4096, 1000, errTruncated},
	{"huge length", "0001617fffffffffffffffff7f", 4096, 1000, errTruncated},
	{"size over the setting", "3fe21f", 4096, 1000, errSize}, // 4097
	{"huge size", "3fffffffffffffffff7f", 4096, 1000, errSize},
	{"size cut off", "3fff", 4096, 1000, errTruncated},
	{"size after a field", "8220", 4096, 1000, errLate},
	{"size after a field, table not empty", "40016b017620", 4096, 1000, errLate},
	{"padding of zeros", "008118", 4096, 1000, errHuffman}, // "a" with 000
	{"padding of mixed bits", "00811e", 4096, 1000, errHuffman},
	{"padding of eight bits", "00821fff", 4096, 1000, errHuffman},
	{"padding only", "0081ff", 4096, 1000, errHuffman},
	{"end of string", "0084ffffffff", 4096, 1000, errHuffman},
	{"end of string in a long one", "008c1fffffffff18c6318c6318c6", 4096, 1000, errHuffman},
	{"symbol cut off", "0082fffe", 4096, 1000, errHuffman},
	{"list of one byte too many", "000161016200016101", 4096, 33, ErrTooLarge},
	{"value over the list", "00016102" + "6262", 4096, 34, ErrTooLarge},
	{"Huffman over the list", "00016185" + "18c6318c63", 4096, 40, ErrTooLarge},
	{"indexed fields over the list", strings.Repeat("82", 24), 4096, 1000, ErrTooLarge},
	{"any field", "82", 4096, 0, ErrTooLarge},
}

func TestFaults(t *testing.T) {
	for _, tt := range faults {
		if _, err := decode(NewDecoder(tt.table, tt.list), unhex(t, tt.block)); err != tt.err {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
	}
}

// Each prefix of a valid block is valid only where a field ends.
func TestCutOff(t *testing.T) {
	block := nginx(t)
	ends := 0
	for n := range len(block) {
		if _, err := decode(NewDecoder(4096, 1000), block[:n]); err == nil {
			ends++
		} else if err != errTruncated {
			t.Errorf("%d of %d bytes: %v", n, len(block), err)
		}
	}
	if fields, _ := decode(NewDecoder(4096, 1000), block); ends != len(fields) {
		t.Errorf("%d prefixes are valid, want %d", ends, len(fields))
	}
}

func TestAtTheLimit(t *testing.T) {
	d := NewDecoder(4096, 42+34)
	fields, err := decode(d, unhex(t, "82"+"0001610162"))
	if want := []pair{{":method", "GET"}, {"a", "b"}}; err != nil || !slices.Equal(fields, want) {
		t.Errorf("%q, %v; want %q", fields, err, want)
	}
}

// The name of a new entry is that of an entry which it evicts, and overwrites in the ring.
func TestNameOfEvicted(t *testing.T) {
	d := NewDecoder(64, 1<<16)
	name := strings.Repeat("n", 20)
	if _, err := decode(d, slices.Concat([]byte{added, 20}, []byte(name), []byte{1, '0'})); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		value := strings.Repeat("v", i%13)
		fields, err := decode(d, slices.Concat([]byte{added | 62, byte(len(value))}, []byte(value), []byte{indexed | 62}))
		if want := []pair{{name, value}, {name, value}}; err != nil || !slices.Equal(fields, want) {
			t.Fatalf("%d: %q, %v; want %q", i, fields, err, want)
		}
	}
	// A field that is larger than the table empties it, but its name is still needed.
	value := strings.Repeat("v", 40)
	fields, err := decode(d, slices.Concat([]byte{added | 62, 40}, []byte(value)))
	if want := []pair{{name, value}}; err != nil || !slices.Equal(fields, want) || d.table.len != 0 {
		t.Errorf("%q, %v, %d entries; want %q and an empty table", fields, err, d.table.len, want)
	}
}

// A huge table is only allowed: the peer has to ask for it.
func TestTableOverTheDefault(t *testing.T) {
	d := NewDecoder(8192, 1<<16)
	if d.table.max != 4096 {
		t.Errorf("table of %d, want 4096", d.table.max)
	}
	if _, err := decode(d, unhex(t, "3fe13f")); err != nil || d.table.max != 8192 {
		t.Errorf("table of %d, %v, want 8192", d.table.max, err)
	}
	if d.Reset(); d.table.max != 4096 {
		t.Errorf("table of %d after Reset, want 4096", d.table.max)
	}
}

func TestEmptyTexts(t *testing.T) {
	for _, block := range []string{"000000", "008080", "400080", "108000"} {
		if fields, err := decode(NewDecoder(4096, 32), unhex(t, block)); err != nil || !slices.Equal(fields, []pair{{}}) {
			t.Errorf("%s: %q, %v", block, fields, err)
		}
	}
}

// The buffer for Huffman code is as large as one field needs.
func TestBuffer(t *testing.T) {
	d, block := NewDecoder(4096, 1<<16), nginx(t)
	for range 100 {
		if _, err := decode(d, block); err != nil {
			t.Fatal(err)
		}
	}
	if cap(d.scratch) > 100 {
		t.Errorf("buffer of %d bytes", cap(d.scratch))
	}
}

// A server that packs much into few bytes costs no memory beyond the limit of the list.
func TestBombs(t *testing.T) {
	const list = 1 << 12
	huge := huffman.append(nil, []byte(strings.Repeat("a", 1<<20)))
	for _, tt := range []struct {
		name  string
		block []byte
	}{
		{"Huffman code", append(appendInt([]byte{0, 1, 'a'}, coded, lengthMask, uint64(len(huge))), huge...)},
		{"Huffman code as a name", append(appendInt([]byte{0}, coded, lengthMask, uint64(len(huge))), huge...)},
		{"Huffman code after a long name", slices.Concat(appendText([]byte{0}, []byte(strings.Repeat("a", 3000))), appendInt(nil, coded, lengthMask, uint64(len(huge))), huge)},
		{"plain text", append(appendInt([]byte{0}, 0, lengthMask, 1<<20), make([]byte, 1<<20+1)...)},
		{"entry", slices.Concat(appendInt([]byte{0x40, 1, 'a'}, 0, lengthMask, 1000), make([]byte, 1000), slices.Repeat([]byte{0x80 | 62}, 1<<20))},
	} {
		d, sum := NewDecoder(4096, list), 0
		err := d.Decode(tt.block, func(name, value []byte) { sum += len(name) + len(value) })
		if err != ErrTooLarge || sum > list || cap(d.scratch) > 2*list {
			t.Errorf("%s: %v after %d bytes, with a buffer of %d", tt.name, err, sum, cap(d.scratch))
		}
	}
}
