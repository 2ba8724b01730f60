package http1

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
)

// CheckBytes is how much of a body Options.Check receives at most, decoded.
const CheckBytes = 1 << 20

// keptBytes is the buffer that a connection keeps between two answers for Options.Check.
const keptBytes = 64 << 10

// roomBytes is the memory that all connections of a Room may use beyond keptBytes each.
const roomBytes = 256 << 20

// Room limits the memory for bodies of all connections that share it: 10 000 connections use 64 KiB each, and
// 256 MiB together for the longer bodies. A nil Room has no limit.
type Room struct{ used atomic.Int64 }

// take asks for n bytes.
func (m *Room) take(n int) bool {
	if m == nil {
		return true
	}
	if m.used.Add(int64(n)) <= roomBytes {
		return true
	}
	m.used.Add(-int64(n))
	return false
}

func (m *Room) give(n int) {
	if m != nil {
		m.used.Add(-int64(n))
	}
}

// Kept is the beginning of a body for Options.Check. The zero Kept is empty.
type Kept struct {
	b    []byte
	size int64 // of the body so far
	room *Room
	used int // bytes of room
}

// Add keeps b, as far as limit and room allow.
func (k *Kept) Add(b []byte, limit int, room *Room) {
	whole := k.size == int64(len(k.b)) // else there is a gap
	k.size += int64(len(b))
	if b = b[:max(0, min(len(b), limit-len(k.b)))]; !whole || len(b) == 0 {
		return
	}
	if need := len(k.b) + len(b); need > cap(k.b) {
		// By doubling: append grows by a quarter, and leaves garbage of four times the final size.
		grown := min(max(need, 2*cap(k.b)), limit)
		if more := grown - keptBytes - k.used; more > 0 {
			if !room.take(more) {
				return
			}
			k.room, k.used = room, k.used+more
		}
		k.b = append(make([]byte, 0, grown), k.b...)
	}
	k.b = append(k.b, b...)
}

// Reset empties k, and gives a long buffer back.
func (k *Kept) Reset() {
	if k.used > 0 {
		k.room.give(k.used)
		k.b, k.room, k.used = nil, nil, 0
	}
	k.b, k.size = k.b[:0], 0
}

// Content is a body for Options.Check, decoded.
type Content struct {
	Bytes []byte
	Size  int64 // of the whole body as it came
	Why   error // why Bytes are only a part of the body, or none of it; nil: they are all
}

// ContentOf is the content of a body, whose Content-Encoding is coding. release gives its memory back.
func ContentOf(k *Kept, coding string) (c Content, release func()) {
	release = func() {}
	defer func() { c.Size = k.size }()
	switch {
	case k.size == 0:
		c.Why = errNoBody
	case coding == "":
		c.Bytes = k.b
	case coding == "gzip", coding == "br":
		c, release = decode(coding, k.b)
	default:
		c.Why = fmt.Errorf("the body is compressed with %.40q, which takt does not decode; ask for another coding with -H 'Accept-Encoding: gzip', or for none", coding)
	}
	if k.size > int64(len(k.b)) && c.Why == nil {
		c.Why = errCut
		if len(k.b) < CheckBytes {
			c.Why = errRoom
		}
	}
	return c, release
}

var (
	errNoBody = errors.New("the answer has no body")
	errCut    = fmt.Errorf("the body is longer than the first %d MiB that takt reads for it", CheckBytes>>20)
	errRoom   = fmt.Errorf("the body is cut, since the bodies of all connections use %d MiB at once, the most that takt keeps; use fewer connections", roomBytes>>20)
)

// codingOf is the value of Content-Encoding without those that mean nothing.
func codingOf(value []byte) string {
	switch {
	case equalFold(value, "identity"), len(value) == 0:
		return ""
	case equalFold(value, "gzip"), equalFold(value, "x-gzip"): // RFC 9110, 8.4.1.3
		return "gzip"
	case equalFold(value, "br"):
		return "br"
	}
	return strings.ToLower(string(value))
}

// JoinCodings adds the value of another Content-Encoding header to the coding of those before it.
func JoinCodings(coding string, value []byte) string {
	if coding == "" {
		return codingOf(value)
	}
	return strings.TrimSuffix(coding+", "+codingOf(value), ", ")
}

// CodingOf is the coding of a body by the values of its Content-Encoding headers, for ContentOf.
func CodingOf(values []string) (coding string) {
	for _, v := range values {
		coding = JoinCodings(coding, []byte(v))
	}
	return coding
}

// decoder is what decodes one body after the other, without allocating for each.
type decoder struct {
	in     sliceReader
	gzip   *gzip.Reader
	brotli *brotli.Reader
	out    []byte
}

// sliceReader reads a slice, which bytes.Reader would keep alive.
type sliceReader struct{ b []byte }

func (r *sliceReader) Read(b []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.b)
	r.b = r.b[n:]
	return n, nil
}

// ReadByte implements io.ByteReader: without it gzip would read ahead with a buffer of its own.
func (r *sliceReader) ReadByte() (byte, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c, nil
}

// decoders are those that nobody uses now. The garbage collector takes them.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decode decodes b, up to CheckBytes. A body that was cut is decoded as far as it goes.
func decode(coding string, b []byte) (c Content, release func()) {
	d := decoders.Get().(*decoder)
	release = func() { d.in.b = nil; decoders.Put(d) }
	d.in.b = b
	from, err := d.begin(coding)
	d.out = d.out[:0]
	for err == nil && len(d.out) <= CheckBytes {
		d.out = slices.Grow(d.out, 4<<10)
		var n int
		n, err = from.Read(d.out[len(d.out):cap(d.out)])
		d.out = d.out[:len(d.out)+n]
	}
	c.Bytes = d.out[:min(len(d.out), CheckBytes)]
	switch {
	case len(d.out) > CheckBytes:
		c.Why = errCut
	case err == io.ErrUnexpectedEOF || err == io.EOF && len(d.out) == 0: // cut, see ContentOf, or by the server
		if c.Why = errEarly; err == io.EOF {
			c.Why = errNoBody
		}
	case err != io.EOF:
		c.Why = fmt.Errorf("the body cannot be decoded as %s: %w", coding, err)
	}
	return c, release
}

// errEarly is the reason of an encoded body that ends too early.
var errEarly = errors.New("the encoded body ends early, or is longer than what takt reads of it")

func (d *decoder) begin(coding string) (io.Reader, error) {
	if coding == "br" {
		if d.brotli == nil {
			d.brotli = brotli.NewReader(&d.in)
			return d.brotli, nil
		}
		return d.brotli, d.brotli.Reset(&d.in)
	}
	if d.gzip == nil {
		var err error
		d.gzip, err = gzip.NewReader(&d.in)
		if err != nil {
			d.gzip = nil
			return nil, err
		}
		return d.gzip, nil
	}
	return d.gzip, d.gzip.Reset(&d.in)
}
