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
	head  []byte // the first bytes, which are still to be passed on
	err   error  // of the read of head
}

// Read implements io.Reader.
func (t *text) Read(b []byte) (n int, err error) {
	if !t.begun {
		t.begin()
	}
	if len(t.head) == 0 {
		if err = t.err; err != nil {
			return 0, err
		}
		return t.r.Read(b)
	}
	n = copy(b, t.head)
	t.head = t.head[n:]
	return n, nil
}

// begin reads the first bytes, as many as a mark has: fewer if they cannot be one. A pipe is not waited for
// longer than that.
func (t *text) begin() {
	t.begun = true
	var b [len(mark)]byte
	n := 0
	for n < len(b) && t.err == nil && (n == 0 || bytes.HasPrefix([]byte(mark), b[:n]) || isUTF16(b[:n])) {
		var more int
		more, t.err = t.r.Read(b[n:])
		if n += more; isUTF16(b[:n]) && n > 1 {
			t.err = ErrUTF16
			return
		}
	}
	t.head = append(t.head, TextOf(b[:n])...)
}

// isUTF16 reports whether b can be the beginning of a mark of UTF-16, which UTF-8 never has.
func isUTF16(b []byte) bool {
	le, be := []byte{0xff, 0xfe}, []byte{0xfe, 0xff}
	return len(b) > 0 && (bytes.HasPrefix(b, le) || bytes.HasPrefix(b, be) || len(b) == 1 && (b[0] == 0xff || b[0] == 0xfe))
}
