package exchange

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"time"
)

var headEnd = []byte("\r\n\r\n")

// head reads the first line and the headers of a head.
func (m *Message) head(b []byte) {
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	m.Line = strings.TrimRight(string(first), "\r")
	for line := range bytes.Lines(rest) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			name, value, _ := bytes.Cut(line, []byte(":"))
			m.Header = append(m.Header, field(name, value))
		}
	}
}

// request1 is a request of HTTP/1.1.
func request1(b []byte, size int) (m Message) {
	head, body, _ := bytes.Cut(b, headEnd)
	m.head(head)
	m.add(body, 0)
	m.Size += size - len(b)
	return m
}

// answer1 is an answer of HTTP/1.1 to a request with that method, of which there may be only a part. Answers before it,
// such as 103, are left out.
func answer1(in *arrivals, method string) (m Message) {
	defer func() { m.Size += in.size - len(in.b) }()
	for bytes.HasPrefix(in.b[in.read:], []byte("HTTP/")) {
		at := in.read
		head, rest, found := bytes.Cut(in.b[at:], headEnd)
		from := bufio.NewReaderSize(in, 16) // so that it reads nothing ahead of what came at once
		answer, err := http.ReadResponse(from, &http.Request{Method: method})
		if err != nil || !found {
			m.head(head)
			m.add(rest, 0) // as it came
			return m
		}
		if answer.StatusCode < 200 && answer.StatusCode != http.StatusSwitchingProtocols {
			in.seek(at + len(head) + len(headEnd))
			continue
		}
		m.head(head)
		m.body(answer.Body, in)
		for name, values := range answer.Trailer {
			for _, v := range values {
				m.Trailer = append(m.Trailer, name+": "+v)
			}
		}
		m.decode()
		return m
	}
	m.add(in.b[in.read:], 0) // no HTTP
	return m
}

// body reads a body, with the instants at which its pieces came.
func (m *Message) body(from io.Reader, in *arrivals) {
	b := make([]byte, 4<<10)
	for {
		n, err := from.Read(b)
		m.add(b[:n], in.at())
		if err != nil {
			return
		}
	}
}

// arrivals are the bytes that came, and when.
type arrivals struct {
	b      []byte
	size   int // of all that came; b has the first mostBytes
	pieces []piece
	read   int
	now    int // piece of the last byte that was read
}

func (a *arrivals) add(b []byte, at time.Duration) {
	a.size += len(b)
	if b = b[:min(len(b), mostBytes-len(a.b))]; len(b) > 0 {
		a.b = append(a.b, b...)
		a.pieces = append(a.pieces, piece{len(a.b), at})
	}
}

func (a *arrivals) seek(to int) {
	a.read, a.now = to, 0
}

// Read implements io.Reader. It reads no more than what came at once.
func (a *arrivals) Read(b []byte) (int, error) {
	if a.read == len(a.b) {
		return 0, io.EOF
	}
	for a.pieces[a.now].end <= a.read {
		a.now++
	}
	n := copy(b, a.b[a.read:a.pieces[a.now].end])
	a.read += n
	return n, nil
}

// at is when the last byte that was read came.
func (a *arrivals) at() time.Duration {
	if len(a.pieces) == 0 {
		return 0
	}
	return a.pieces[a.now].at
}
