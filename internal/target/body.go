package target

import (
	"bufio"
	"bytes"
	"io"
)

// maxBody bounds a number that a client writes: 1 TiB, far below overflow.
const maxBody = 1 << 40

// skipBody reads the body of q and forgets it.
func (q *request) skipBody(in *bufio.Reader) error { return q.takeBody(in, discard) }

// readBody reads the body of q, of at most limit bytes.
func (q *request) readBody(in *bufio.Reader, limit int) (body []byte, err error) {
	err = q.takeBody(in, func(in *bufio.Reader, n int64) error {
		if n > int64(limit-len(body)) {
			return errLong
		}
		for n > 0 {
			step := int(min(n, maxLine)) // a client that promises much and sends nothing costs nothing
			body = append(body, make([]byte, step)...)
			if _, err := io.ReadFull(in, body[len(body)-step:]); err != nil {
				return err
			}
			n -= int64(step)
		}
		return nil
	})
	return body, err
}

// takeBody reads the body of q, whose pieces take reads.
func (q *request) takeBody(in *bufio.Reader, take func(in *bufio.Reader, n int64) error) error {
	if q.chunked {
		return q.takeChunks(in, take)
	}
	return take(in, q.length)
}

// takeChunks reads chunks up to the empty one, and the trailer.
func (q *request) takeChunks(in *bufio.Reader, take func(in *bufio.Reader, n int64) error) error {
	for {
		size, err := q.chunkSize(in)
		if err != nil {
			return err
		}
		if size == 0 {
			return q.skipTrailer(in)
		}
		if err := take(in, size); err != nil {
			return err
		}
		if err := discard(in, int64(len("\r\n"))); err != nil {
			return err
		}
	}
}

// chunkSize reads the line before a chunk. Each has the head's bound for itself:
// a long body has many.
func (q *request) chunkSize(in *bufio.Reader) (int64, error) {
	q.left = maxHead
	line, err := q.line(in)
	if err != nil {
		return 0, err
	}
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, ok := number(bytes.TrimSpace(digits), 16)
	if !ok {
		return 0, errMalformed
	}
	return size, nil
}

func (q *request) skipTrailer(in *bufio.Reader) error {
	for {
		if line, err := q.line(in); err != nil || len(line) == 0 {
			return err
		}
	}
}

// discard skips n bytes, in steps that fit an int of 32 bits.
func discard(in *bufio.Reader, n int64) error {
	for n > 0 {
		step := min(n, 1<<30)
		if _, err := in.Discard(int(step)); err != nil {
			return err
		}
		n -= step
	}
	return nil
}

// number reads an unsigned number without allocating, which strconv does for
// what is not a string.
func number(b []byte, base int64) (n int64, ok bool) {
	for _, c := range b {
		d := digit(c)
		if d >= base || n > maxBody {
			return 0, false
		}
		n = n*base + d
	}
	return n, len(b) > 0
}

// digit is the value of a digit, 16 of anything else.
func digit(c byte) int64 {
	switch {
	case '0' <= c && c <= '9':
		return int64(c - '0')
	case 'a' <= c && c <= 'f':
		return int64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int64(c-'A') + 10
	}
	return 16
}
