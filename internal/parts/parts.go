// Package parts cuts an answer that comes as a stream into its parts: server-sent events, lines of JSON, or
// chunks. It reads bytes in any pieces, and what it says of a part is the same however the bytes were cut.
package parts

import (
	"bytes"
	"errors"
	"strings"
)

// Most is the largest size of an event or a line in bytes, so a server cannot make its reader grow. A chunk may be
// longer: nothing looks for its end.
const Most = 1 << 20

// mostName is how much of the name of an event is kept.
const mostName = 256

// keptBytes is the buffer that a Reader keeps between two parts. Only parts that come in several pieces or
// lines need one.
const keptBytes = 16 << 10

// ErrTooLong is the error of a stream with an event or line longer than Most.
var ErrTooLong = errors.New("an event or line of the stream is longer than 1 MiB")

// Kind is how the parts of a stream end.
type Kind uint8

// The kinds of streams.
const (
	Chunks Kind = iota // a part is what Cut ends: a chunk of HTTP/1.1, or a DATA frame of HTTP/2
	Events             // server-sent events, by the rules of WHATWG
	Lines              // a value of JSON on each line; empty lines are no parts
)

// String is the name of k.
func (k Kind) String() string {
	switch k {
	case Events:
		return "events"
	case Lines:
		return "lines"
	}
	return "chunks"
}

// KindOf is the kind of a stream with that Content-Type. Types that it does not know are Chunks.
func KindOf(contentType string) Kind {
	name, _, _ := strings.Cut(contentType, ";")
	switch name = strings.Trim(name, " \t"); {
	case strings.EqualFold(name, "text/event-stream"):
		return Events
	case strings.EqualFold(name, "application/x-ndjson"), strings.EqualFold(name, "application/ndjson"),
		strings.EqualFold(name, "application/jsonl"), strings.EqualFold(name, "application/x-jsonlines"),
		strings.EqualFold(name, "application/stream+json"):
		return Lines
	}
	return Chunks
}

// Part is one part of a stream. Its bytes change with the next call of the Reader.
type Part struct {
	Name []byte // of an event, its first 256 bytes; empty: the event has no name, which means "message"
	Data []byte // as much as the Reader keeps; all if it has Size bytes
	Size int    // bytes of the data, without line ends and names of fields
}

// Reader cuts one stream. Feed it the bytes as they come, and after each Feed, Cut or End call Next until it
// returns false: the parts that it returns ended there.
//
// A Reader allocates nothing for a part that comes in one piece, and nothing for any part once its buffer has
// grown. It is not safe for concurrent use.
type Reader struct {
	kind Kind
	keep int // most bytes of data that are copied; 0: none
	err  error

	in   []byte // what Feed brought
	at   int    // in[:at] is read
	feed int    // index in in of the next line feed from at on; len(in): there is none

	mark  uint8 // bytes of a byte order mark at the start of the stream; 3: it is over
	cr    bool  // the last line ended with CR: a line feed belongs to it
	begun bool  // the part has bytes
	due   bool  // Cut or End completed the part
	given bool  // the part was returned: it is cleared before the next

	name  []byte
	view  []byte // the first piece of the data, in in
	data  []byte // copy of the data, if it has several pieces
	size  int
	lines int  // lines of data of the event
	last  byte // last byte of the data

	field field
	word  [len("event:")]byte // the name of the line's field, as far as it came
	words int
	blank bool // the value has no byte yet: a space is no part of it
}

// field is what the rest of a line is.
type field uint8

const (
	unnamed field = iota // the name of the field is not complete
	ignored              // a comment, or a field that does not matter
	dataField
	nameField
)

var newline = []byte{'\n'} // between the data of two lines

// byteOrderMark may stand once at the start of a stream.
const byteOrderMark = "\xef\xbb\xbf"

// NewReader returns a Reader that copies up to keep bytes of the data of a part that comes in several pieces. Data
// of parts that come in one piece is whole.
func NewReader(kind Kind, keep int) *Reader {
	r := &Reader{}
	r.Reset(kind, keep)
	return r
}

// Reset prepares r for another stream, and keeps its buffer.
func (r *Reader) Reset(kind Kind, keep int) {
	*r = Reader{kind: kind, keep: min(keep, Most), name: r.name[:0], data: r.data[:0]}
}

// Empty reports whether nothing follows in the bytes that were fed, but a line feed of the line that ended.
func (r *Reader) Empty() bool {
	rest := r.in[r.at:]
	return len(rest) == 0 || len(rest) == 1 && r.cr && rest[0] == '\n'
}

// Err is why the stream cannot be cut any more: ErrTooLong, or nil.
func (r *Reader) Err() error { return r.err }

// Feed brings the next bytes of the stream. They must not change until Next returns false.
func (r *Reader) Feed(b []byte) {
	r.in, r.at, r.feed = b, 0, -1
	if r.mark < 3 && r.kind != Chunks {
		r.skipMark()
	}
}

// skipMark passes over a byte order mark.
func (r *Reader) skipMark() {
	for r.at < len(r.in) && r.mark < 3 {
		if r.in[r.at] != byteOrderMark[r.mark] {
			r.noMark()
			return
		}
		r.mark++
		r.at++
	}
}

// noMark gives the bytes back that only began like a byte order mark.
func (r *Reader) noMark() {
	r.add([]byte(byteOrderMark[:r.mark]))
	r.mark = 3
}

// Cut ends a chunk. In other kinds of streams it means nothing.
func (r *Reader) Cut() { r.due = r.kind == Chunks && r.begun }

// End ends the stream. An event without its empty line is no part; a line or chunk without its end is.
func (r *Reader) End() {
	if r.mark < 3 {
		r.noMark()
	}
	r.due = r.kind != Events && r.begun
}

// Next returns the next part that ended in what was fed last; false: no further part ended there.
func (r *Reader) Next() (p Part, ok bool) {
	if r.given {
		r.clear()
	}
	for r.err == nil && r.at < len(r.in) {
		if r.step() {
			return r.part(), true
		}
	}
	if r.err != nil {
		return Part{}, false
	}
	if r.due && !r.empty() {
		return r.part(), true
	}
	r.spill()
	return Part{}, false
}

// step reads up to the end of a line, or of the bytes, and reports whether a part ended there.
func (r *Reader) step() bool {
	if r.kind == Chunks {
		r.add(r.in[r.at:])
		r.at = len(r.in)
		return false
	}
	line, ended := r.line()
	r.add(line)
	switch {
	case !ended || r.err != nil:
		return false
	case r.kind == Lines:
		return r.endLine()
	}
	return r.endField()
}

// line takes a line, or the part of it that is there, out of the bytes.
func (r *Reader) line() (line []byte, ended bool) {
	if r.cr && r.in[r.at] == '\n' {
		r.at++
	}
	r.cr = false
	if r.feed < r.at { // else a stream of CRs would search all bytes for each line
		r.feed = len(r.in)
		if i := bytes.IndexByte(r.in[r.at:], '\n'); i >= 0 {
			r.feed = r.at + i
		}
	}
	line = r.in[r.at:r.feed]
	if r.kind == Events {
		if i := bytes.IndexByte(line, '\r'); i >= 0 {
			r.cr = true
			r.at += i + 1
			return line[:i], true
		}
	}
	ended = r.feed < len(r.in)
	r.at = min(r.feed+1, len(r.in))
	return line, ended
}

// add adds a piece of a line or chunk to the part.
func (r *Reader) add(b []byte) {
	if r.kind != Events {
		r.extend(b)
		return
	}
	if r.field == unnamed {
		b = r.named(b)
	}
	if r.blank && len(b) > 0 {
		r.blank = false
		if b[0] == ' ' {
			b = b[1:]
		}
	}
	switch r.field {
	case dataField:
		r.extend(b)
	case nameField:
		r.extendName(b)
	}
}

// named reads the name of a field and its colon, and returns what follows.
func (r *Reader) named(b []byte) []byte {
	if r.words == 0 && len(b) > len("data:") && string(b[:len("data:")]) == "data:" { // nearly every line
		r.begin(dataField)
		return b[len("data:"):]
	}
	for i, c := range b {
		if c == ':' {
			r.begin(fieldOf(r.word[:r.words]))
			return b[i+1:]
		}
		if r.words == len(r.word)-1 {
			r.field = ignored
			return nil
		}
		r.word[r.words] = c
		r.words++
	}
	return nil
}

// fieldOf is the field of that name. A comment has none.
func fieldOf(name []byte) field {
	switch string(name) {
	case "data":
		return dataField
	case "event":
		return nameField
	}
	return ignored
}

// begin begins the value of a field.
func (r *Reader) begin(f field) {
	r.field, r.blank = f, true
	switch f {
	case dataField:
		if r.lines++; r.lines > 1 {
			r.extend(newline)
		}
	case nameField:
		r.name = r.name[:0]
	}
}

// endField ends a line of an event stream, and reports whether an event ended with it.
func (r *Reader) endField() bool {
	if r.field == unnamed && r.words > 0 { // a name without a colon has an empty value
		r.begin(fieldOf(r.word[:r.words]))
	}
	none := r.field == unnamed
	r.field, r.words, r.blank = unnamed, 0, false
	if !none {
		return false
	}
	if r.lines == 0 {
		r.clear() // an event without data is none, and its name does not outlive it
		return false
	}
	return true
}

// endLine ends a line of JSON.
func (r *Reader) endLine() bool {
	if r.empty() {
		r.clear()
		return false
	}
	return true
}

// empty reports whether a line has nothing but its end.
func (r *Reader) empty() bool { return r.size == 0 || r.kind == Lines && r.size == 1 && r.last == '\r' }

// extend adds b to the data. The first piece is not copied until another one comes, or the bytes go.
func (r *Reader) extend(b []byte) {
	if len(b) == 0 {
		return
	}
	first := r.size == 0
	r.size += len(b)
	r.begun, r.last = true, b[len(b)-1]
	if r.size > Most && r.kind != Chunks {
		r.fail()
		return
	}
	if first {
		r.view = b
		return
	}
	r.spill()
	r.copy(b)
}

// extendName adds b to the name of the event.
func (r *Reader) extendName(b []byte) {
	r.name = append(r.name, b[:min(len(b), mostName-len(r.name))]...)
}

// spill copies the first piece of the data.
func (r *Reader) spill() {
	r.copy(r.view)
	r.view = nil
}

func (r *Reader) copy(b []byte) {
	if n := min(len(b), r.keep-len(r.data)); n > 0 {
		r.data = append(r.data, b[:n]...)
	}
}

func (r *Reader) fail() {
	r.err = ErrTooLong
	r.view, r.data = nil, nil
}

// part is the part that has just ended.
func (r *Reader) part() Part {
	r.given = true
	p := Part{Name: r.name, Data: r.data, Size: r.size}
	if r.view != nil {
		p.Data = r.view
	}
	if r.kind == Lines && r.last == '\r' {
		p.Size--
		p.Data = p.Data[:min(len(p.Data), p.Size)]
	}
	return p
}

// clear forgets the part. A long buffer goes with it.
func (r *Reader) clear() {
	if cap(r.data) > keptBytes {
		r.data = nil
	}
	r.name, r.view, r.data = r.name[:0], nil, r.data[:0]
	r.size, r.lines, r.last = 0, 0, 0
	r.begun, r.due, r.given = false, false, false
}
