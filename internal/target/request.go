package target

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
)

// Bounds of a request's head; nginx allows lines of 8 KiB too.
const (
	maxLine = 8 << 10
	maxHead = 64 << 10
)

// What can be wrong with a request.
var (
	errMalformed = errors.New("malformed request")
	errTooLarge  = errors.New("request head too large")
)

// request is what the server wants to know of a request.
type request struct {
	head    bool // HEAD: the answer has no body
	close   bool // the connection ends with the answer
	expect  bool // the client waits for 100 Continue before its body
	chunked bool // the body comes in chunks
	path    path
	length  int64 // of the body, if not chunked
	left    int   // bytes that the head may still take
}

// readRequest reads the head of a request. It is tolerant: what it does not need
// it does not look at.
func readRequest(in *bufio.Reader) (q request, err error) {
	q.left = maxHead
	line, err := q.line(in)
	for err == nil && len(line) == 0 { // left over from the last body, RFC 9112 2.2
		line, err = q.line(in)
	}
	if err == nil {
		err = q.first(line)
	}
	for err == nil {
		if line, err = q.line(in); err != nil || len(line) == 0 {
			return q, err
		}
		err = q.field(line)
	}
	return q, err
}

// line reads a line of the head without its end.
func (q *request) line(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if q.left -= len(line); q.left < 0 || errors.Is(err, bufio.ErrBufferFull) {
		return nil, errTooLarge
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// first reads the request line: method, target, version.
func (q *request) first(line []byte) error {
	a, b := bytes.IndexByte(line, ' '), bytes.LastIndexByte(line, ' ')
	if a <= 0 || a == b || !bytes.HasPrefix(line[b+1:], []byte("HTTP/1.")) {
		return errMalformed
	}
	q.head = string(line[:a]) == "HEAD"
	q.path = pathOf(line[a+1 : b])
	q.close = string(line[b+1:]) == "HTTP/1.0"
	return nil
}

// path is what the path of a request means to a model server.
type path uint8

const (
	otherPath path = iota // as completions
	chatPath
	modelsPath
)

func pathOf(target []byte) path {
	switch {
	case bytes.HasSuffix(target, []byte("/chat/completions")):
		return chatPath
	case bytes.HasSuffix(target, []byte("/models")):
		return modelsPath
	}
	return otherPath
}

// field reads a header field if it is one of the four that matter.
func (q *request) field(line []byte) error {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return errMalformed
	}
	name, value := line[:colon], bytes.TrimSpace(line[colon+1:])
	switch {
	case is(name, "content-length"):
		return q.contentLength(value)
	case is(name, "transfer-encoding"):
		q.chunked = has(value, "chunked")
	case is(name, "connection"):
		q.close = has(value, "close") || q.close && !has(value, "keep-alive")
	case is(name, "expect"):
		q.expect = is(value, "100-continue")
	}
	return nil
}

func (q *request) contentLength(value []byte) error {
	n, ok := number(value, 10)
	q.length = n
	if !ok {
		return errMalformed
	}
	return nil
}

// is compares without regard to case; the length decides nearly always.
func is(b []byte, word string) bool {
	return len(b) == len(word) && strings.EqualFold(string(b), word)
}

// has looks for word in a list such as "keep-alive, Upgrade".
func has(list []byte, word string) bool {
	for len(list) > 0 {
		item, rest, _ := bytes.Cut(list, []byte(","))
		if is(bytes.TrimSpace(item), word) {
			return true
		}
		list = rest
	}
	return false
}
