package grpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/taktload/takt/internal/http1"
)

// prefix is the size of what stands before each message: a flag, and the length.
const prefix = 5

// appendMessage appends a message in its frame.
func appendMessage(dst, message []byte, compressed bool) []byte {
	flag := byte(0)
	if compressed {
		flag = 1
	}
	dst = binary.BigEndian.AppendUint32(append(dst, flag), uint32(len(message)))
	return append(dst, message...)
}

// fault is an error with a class. All but those of messages that are too long are made once.
type fault struct{ class, text string }

func (f *fault) Error() string { return f.text }

// Class is the class of failures.
func (f *fault) Class() string { return f.class }

// Faults of answers.
var (
	errFlag       = &fault{http1.ClassMalformed, "the flag before a message is neither 0 nor 1"}
	errUncoded    = &fault{http1.ClassMalformed, "a message is marked as compressed, and the answer has no grpc-encoding"}
	errCoding     = &fault{http1.ClassMalformed, "the answer has a grpc-encoding that takt does not know; takt knows gzip"}
	errGzip       = &fault{http1.ClassMalformed, "a message cannot be decompressed with gzip"}
	errUnfinished = &fault{http1.ClassTruncated, "the answer ended in the middle of a message"}
)

// coding is how the compressed messages of an answer are compressed.
type coding uint8

const (
	codingNone coding = iota
	codingGzip
	codingUnknown
)

func codingOf(value []byte) coding {
	switch string(value) {
	case "", "identity":
		return codingNone
	case "gzip":
		return codingGzip
	}
	return codingUnknown
}

// frames cuts the body of an answer into messages. It keeps no message, unless it has to decompress it or keeps is set.
type frames struct {
	keeps  bool
	kept   []byte // the messages so far, if keeps is set
	most   int64  // bytes of a message, also decompressed
	coding coding
	head   [prefix]byte
	have   int   // bytes of head; prefix: the message follows
	left   int64 // bytes of the message
	packed []byte
	gzip   *gzip.Reader
	in     source
	out    []byte
}

// reset prepares f for another answer.
func (f *frames) reset() {
	f.coding, f.have, f.left, f.packed = codingNone, 0, 0, f.packed[:0]
}

// inside reports whether a message has begun and not ended.
func (f *frames) inside() bool { return f.have > 0 }

// next takes the bytes of one message at most, and reports whether the message ended with them.
func (f *frames) next(b []byte) (n int, ended bool, err error) {
	if f.have < prefix {
		n = copy(f.head[f.have:], b)
		if f.have += n; f.have < prefix {
			return n, false, nil
		}
		if err := f.begin(); err != nil {
			return n, false, err
		}
	}
	take := int(min(f.left, int64(len(b)-n)))
	switch {
	case f.head[0] == 1:
		f.packed = append(f.packed, b[n:n+take]...)
	case f.keeps:
		f.kept = append(f.kept, b[n:n+take]...)
	}
	n += take
	if f.left -= int64(take); f.left > 0 {
		return n, false, nil
	}
	f.have = 0
	if f.head[0] == 1 {
		err = f.unpack()
	}
	return n, err == nil, err
}

// begin checks what stands before a message.
func (f *frames) begin() error {
	f.left = int64(binary.BigEndian.Uint32(f.head[1:]))
	switch {
	case f.head[0] > 1:
		return errFlag
	case f.left > f.most:
		return f.tooLong(f.left)
	case f.head[0] == 1 && f.coding == codingNone:
		return errUncoded
	case f.head[0] == 1 && f.coding == codingUnknown:
		return errCoding
	}
	return nil
}

func (f *frames) tooLong(n int64) error {
	return &fault{http1.ClassTooLarge, fmt.Sprintf("a message has %d bytes, and --message-max is %d", n, f.most)}
}

// keptBytes is the buffer that f keeps between two compressed messages.
const keptBytes = 64 << 10

// unpack decompresses a message, and keeps nothing of it.
func (f *frames) unpack() error {
	f.in.b = f.packed
	defer func() {
		if f.in.b, f.packed = nil, f.packed[:0]; cap(f.packed) > keptBytes {
			f.packed = nil
		}
	}()
	if f.gzip == nil {
		f.gzip, f.out = new(gzip.Reader), make([]byte, 4<<10)
	}
	if f.gzip.Reset(&f.in) != nil {
		return errGzip
	}
	for size := int64(0); ; {
		n, err := f.gzip.Read(f.out)
		if size += int64(n); size > f.most {
			return &fault{http1.ClassTooLarge, fmt.Sprintf("a message has more than %d bytes after decompression, and --message-max is that", f.most)}
		}
		if f.keeps {
			f.kept = append(f.kept, f.out[:n]...)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errGzip
		}
	}
}

// source reads a slice, without a buffer of gzip's own.
type source struct{ b []byte }

func (s *source) Read(b []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.b)
	s.b = s.b[n:]
	return n, nil
}

// ReadByte implements io.ByteReader.
func (s *source) ReadByte() (byte, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c, nil
}
