package hpack

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	peer "golang.org/x/net/http2/hpack"
)

// reader is the decoder of x/net with the limits of ours.
type reader struct {
	*peer.Decoder
	fields []pair
}

func newReader(table int) *reader {
	r := &reader{}
	r.Decoder = peer.NewDecoder(uint32(min(table, defaultTable)), func(f peer.HeaderField) {
		r.fields = append(r.fields, pair{f.Name, f.Value})
	})
	r.SetAllowedMaxDynamicTableSize(uint32(table))
	return r
}

// decode returns the fields of a block.
//
// Each size update at the start of the block is a block of its own for x/net: in one block, x/net
// rejects the second update if the table has an entry. RFC 7541, 4.2 demands two updates after
// the limit was lowered and raised.
func (r *reader) decode(block []byte) ([]pair, error) {
	r.fields = nil
	for len(block) > 0 && block[0]&0xe0 == 0x20 {
		_, n := readInt(block, 0x1f)
		if n <= 0 {
			break
		}
		if err := r.write(block[:n]); err != nil {
			return nil, err
		}
		block = block[n:]
	}
	err := r.write(block)
	return r.fields, err
}

func (r *reader) write(block []byte) error {
	if _, err := r.Write(block); err != nil {
		return err
	}
	return r.Close()
}

// blocks splits a fuzz input: a byte has the length of the next block.
func blocks(input []byte) (list [][]byte) {
	for len(input) > 0 {
		n := min(int(input[0]), len(input)-1)
		list = append(list, input[1:1+n])
		input = input[1+n:]
	}
	return list
}

func joined(list ...[]byte) (input []byte) {
	for _, block := range list {
		input = append(append(input, byte(len(block))), block...)
	}
	return input
}

// listSize is the size of a header list, of RFC 9113, 6.5.2.
func listSize(fields []pair) (size int) {
	for _, f := range fields {
		size += len(f.name) + len(f.value) + 32
	}
	return size
}

// FuzzDecode compares the decoder with that of x/net: both accept the same blocks, with the same
// fields, and have tables of the same size, up to the first error. There are three differences:
//
//   - Several size updates at the start of a block are valid here: see reader.
//   - A size update after a field is an error here, also if the table is empty: x/net accepts it
//     then. RFC 7541, 4.2 allows updates only at the start.
//   - x/net has no limit of the header list.
func FuzzDecode(f *testing.F) {
	for _, tt := range examples {
		var list [][]byte
		for _, x := range tt.blocks {
			list = append(list, unhex(f, x.block))
		}
		f.Add(joined(list...), tt.table, 1<<16)
	}
	for _, tt := range faults {
		f.Add(joined(unhex(f, tt.block)), tt.table, tt.list)
	}
	f.Add(joined(nginx(f), nginx(f), []byte("\x20\x3f\xe1\x1f\x88"), nginx(f)), 8192, 500)
	f.Fuzz(func(t *testing.T, input []byte, table, list int) {
		table, list = table&0x3fff, list&0xffff
		d, r := NewDecoder(table, list), newReader(table)
		for i, block := range blocks(input) {
			got, err := decode(d, block)
			want, failed := r.decode(block)
			if !agree(got, err, want, failed, list) {
				t.Fatalf("block %d %x: %q, %v; x/net: %q, %v", i, block, got, err, want, failed)
			}
			if err != nil || failed != nil {
				return
			}
			checkTable(t, d)
		}
	})
}

// agree reports whether two decoders agree about a block, except for the known differences.
func agree(got []pair, err error, want []pair, failed error, list int) bool {
	switch {
	case listSize(got) > list:
		return false
	case err == ErrTooLarge:
		// The field over the limit may have been invalid, too.
		return failed != nil || listSize(want) > list && isPrefix(got, want)
	case err == errLate:
		return isPrefix(got, want)
	}
	return (err == nil) == (failed == nil) && slices.Equal(got, want)
}

func isPrefix(a, b []pair) bool { return len(a) <= len(b) && slices.Equal(a, b[:len(a)]) }

// checkTable checks that the entries of a table are as large as the table says, and do not
// overlap.
func checkTable(t *testing.T, d *Decoder) {
	size, used := 0, make([]bool, len(d.table.bytes))
	for age := 1; age <= d.table.len; age++ {
		e := d.table.entry(age)
		size += int(e.name+e.value) + overhead
		for i := e.at; i < e.at+e.name+e.value; i++ {
			if used[i] {
				t.Fatalf("entry %d overlaps another one at byte %d", age, i)
			}
			used[i] = true
		}
	}
	if size != d.table.size || size > d.table.max || d.table.max > d.allowed {
		t.Fatalf("entries of %d, table of %d, at most %d of %d", size, d.table.size, d.table.max, d.allowed)
	}
}

// FuzzHuffman compares the Huffman code with that of x/net, in both directions.
func FuzzHuffman(f *testing.F) {
	for _, s := range []string{"", "\xff", "www.example.com", "Fri, 21 Nov 2025 14:25:00 GMT", "\x00\x80 ü", strings.Repeat("a", 100)} {
		f.Add([]byte(s))
		f.Add(huffman.append(nil, []byte(s)))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		code := huffman.append(nil, s)
		if want := peer.AppendHuffmanString(nil, string(s)); !bytes.Equal(code, want) || huffman.size(s) != len(code) {
			t.Fatalf("%q: code %x of length %d, want %x", s, code, huffman.size(s), want)
		}
		checkHuffman(t, code)
		checkHuffman(t, s)
	})
}

// checkHuffman decodes with as much room as the text may need, as it needs, and with less.
func checkHuffman(t *testing.T, code []byte) {
	want, failed := peer.HuffmanDecodeToString(code)
	dst := make([]byte, len(code)*8/5+slack)
	n, err := huffman.decode(dst, code)
	if (err == nil) != (failed == nil) || err == nil && string(dst[:n]) != want {
		t.Fatalf("%x: %q, %v; want %q, %v", code, dst[:n], err, want, failed)
	}
	if err != nil {
		return
	}
	for _, room := range []int{n, max(n-1, 0), n / 2} {
		m, err := huffman.decode(dst[:room+slack], code)
		if room < n && err != ErrTooLarge || room == n && (err != nil || m != n) {
			t.Fatalf("%x with room for %d of %d bytes: %d, %v", code, room, n, m, err)
		}
	}
}

// FuzzEncode sends fields to the decoders of x/net and of this package. The bytes of the input
// decide about fields, blocks, and the peer's settings.
func FuzzEncode(f *testing.F) {
	f.Add([]byte("\x01\x02\x03\x04\x80\x01\x02\x03\xff\x10\x05\x06\x80"))
	f.Add([]byte("\x41\x42\x43\x80\xc0\x02\xc0\x90\x41\x42\x43\x80\x41\x42\xff\x00\x80\x41"))
	f.Fuzz(func(t *testing.T, input []byte) {
		s := newSession(t)
		for len(input) > 1 {
			op, arg := input[0], input[1]
			switch input = input[1:]; {
			case op >= 0xc0:
				s.setTable(uint32(arg) * 40)
				input = input[1:]
			case op >= 0x80:
				s.send()
			default:
				s.add(op&0x40 != 0, op&0x3f, arg)
			}
		}
		s.send()
	})
}

// session is an encoder with two decoders behind it.
type session struct {
	*testing.T
	encoder *Encoder
	own     *Decoder
	other   *reader
	fields  []field
	keep    []bool
	table   uint32
}

func newSession(t *testing.T) *session {
	const table = 255 * 40 // the largest of all settings
	return &session{T: t, encoder: NewEncoder(), own: NewDecoder(table, 1<<20), other: newReader(table), table: table}
}

// setTable is a setting of the peer, between two blocks.
func (s *session) setTable(n uint32) {
	s.send()
	s.table = n
	s.encoder.SetTableSize(n)
}

// add adds a field to the block: one of the static table, or one of 64 names with a value.
func (s *session) add(keep bool, name, value byte) {
	f := field{static[1+name%61].name, bytes.Repeat([]byte{value}, int(value))}
	switch {
	case value < 16:
		f.value = static[1+name%61].value
	case value < 128:
		f.name = bytes.Repeat([]byte{'a' + name%16}, int(name))
	}
	s.fields, s.keep = append(s.fields, f), append(s.keep, keep)
}

// send sends the fields as a block, and again if the encoder says that it may be sent again.
func (s *session) send() {
	s.limit()
	before := s.encoder.Changes()
	block := s.encoder.Begin(nil)
	for i, f := range s.fields {
		block = s.encoder.Field(block, f.name, f.value, s.keep[i])
	}
	s.check(block)
	if s.encoder.Changes() == before {
		s.check(block)
	}
	s.fields, s.keep = s.fields[:0], s.keep[:0]
}

// limit has the decoders allow no more than the peer's setting.
func (s *session) limit() {
	s.other.SetAllowedMaxDynamicTableSize(s.table)
	s.own.allowed = int(s.table)
}

func (s *session) check(block []byte) {
	var want []pair
	for _, f := range s.fields {
		want = append(want, pair{string(f.name), string(f.value)})
	}
	got, err := decode(s.own, block)
	other, failed := s.other.decode(block)
	if err := errors.Join(err, failed); err != nil || !slices.Equal(got, want) || !slices.Equal(other, want) {
		s.Fatalf("%x: %v, %q and x/net: %q, want %q", block, err, got, other, want)
	}
	if e, d := &s.encoder.table, &s.own.table; e.size != d.size || e.len != d.len || e.max != d.max {
		s.Fatalf("%x: table of the encoder %d, %d, %d; of the decoder: %d, %d, %d", block, e.size, e.len, e.max, d.size, d.len, d.max)
	}
}
