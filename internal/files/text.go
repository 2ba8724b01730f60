package files

import (
	"bytes"
	"errors"
	"io"
)

// mark is what editors of Windows write at the beginning of a text in UTF-8. It is no part of the text.
const mark = "\ufeff"

// ErrUTF16 is the error of a text that a program of Windows wrote in its own encoding.
var ErrUTF16 = errors.New("it is in UTF-16; save it as UTF-8")

// Text is the text of a file without the byte order mark at its beginning. Every file that takt reads as text
// is read through it or through TextOf.
func Text(r io.Reader) io.Reader { return &text{r: r} }

// TextOf is Text for a file that is in memory, or for its beginning.
func TextOf(b []byte) []byte { return bytes.TrimPrefix(b, []byte(mark)) }

type text struct {
	r     io.Reader
	begun bool
	head  []byte // the rest of the first bytes, if the caller asked for fewer than a mark has
	err   error  // of the first reads
}

// Read implements io.Reader.
func (t *text) Read(b []byte) (n int, err error) {
	if !t.begun {
		t.begun = true
		t.head, t.err = t.first(b)
	}
	if len(t.head) > 0 {
		n = copy(b, t.head) // into itself, unless b is shorter than a mark
		t.head = t.head[n:]
		return n, nil
	}
	if err = t.err; err != nil {
		return 0, err
	}
	return t.r.Read(b)
}

// first reads into b as much as comes at once, and more only while it can be a mark: a pipe is not waited for longer
// than that.
func (t *text) first(b []byte) (head []byte, err error) {
	if len(b) < len(mark) {
		b = make([]byte, len(mark))
	}
	n := 0
	for err == nil && (n == 0 || n < len(mark) && bytes.HasPrefix([]byte(mark), b[:n]) || n == 1 && isUTF16(b[:n])) {
		var more int
		more, err = t.r.Read(b[n:])
		n += more
	}
	if n > 1 && isUTF16(b[:n]) {
		return nil, ErrUTF16
	}
	return TextOf(b[:n]), err
}

// isUTF16 reports whether b can be the beginning of a mark of UTF-16, which UTF-8 never has.
func isUTF16(b []byte) bool {
	le, be := []byte{0xff, 0xfe}, []byte{0xfe, 0xff}
	return len(b) > 0 && (bytes.HasPrefix(b, le) || bytes.HasPrefix(b, be) || len(b) == 1 && (b[0] == 0xff || b[0] == 0xfe))
}
