package target

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadRequest(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, c := range []struct {
		text string
		want request
		err  error
	}{
		{text: "GET / HTTP/1.1\r\n\r\n"},
		{text: "\r\nGET / HTTP/1.1\nHost: a\n\n"},
		{text: "HEAD /a b HTTP/1.1\r\nconnection: Foo, Close\r\n\r\n", want: request{head: true, close: true}},
		{text: "GET / HTTP/1.0\r\n\r\n", want: request{close: true}},
		{text: "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"},
		{text: "POST / HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc", want: request{length: 3, expect: true}},
		{text: "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: t\r\n\r\n", want: request{chunked: true}},
		{text: "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", err: errMalformed},
		{text: "POST / HTTP/1.1\r\nContent-Length: -3\r\n\r\n", err: errMalformed},
		{text: "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", err: errMalformed},
		{text: "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", err: io.EOF},
		{text: "GET / HTTP/2.0\r\n\r\n", err: errMalformed},
		{text: "nonsense\r\n\r\n", err: errMalformed},
		{text: "GET / HTTP/1.1\r\nno colon\r\n\r\n", err: errMalformed},
		{text: "GET / HTTP/1.1\r\nA: b", err: io.EOF},
		{text: "GET /" + long + " HTTP/1.1\r\n\r\n", err: errTooLarge},
		{text: "GET / HTTP/1.1\r\n" + strings.Repeat("A: "+long[:4000]+"\r\n", 17) + "\r\n", err: errTooLarge},
		{text: "", err: io.EOF},
	} {
		got, err := readWhole(c.text + "next")
		got.left = 0
		if c.err == io.EOF {
			got, err = readWhole(c.text)
		} else if err == nil && got != c.want {
			t.Errorf("%.80q: %+v, want %+v", c.text, got, c.want)
		}
		if !errors.Is(err, c.err) {
			t.Errorf("%.80q: error %v, want %v", c.text, err, c.err)
		}
	}
}

// readWhole reads a request and its body; "next" must be left over.
func readWhole(text string) (request, error) {
	in := bufio.NewReaderSize(strings.NewReader(text), maxLine)
	q, err := readRequest(in)
	if err == nil {
		err = q.skipBody(in)
	}
	if rest, _ := in.Peek(5); err == nil && string(rest) != "next" {
		return q, errors.New("left over: " + string(rest))
	}
	return q, err
}

// FuzzRequest: nothing that a client sends makes the parser crash or loop, and a
// request costs no more than its bounds.
func FuzzRequest(f *testing.F) {
	f.Add("GET / HTTP/1.1\r\n\r\n")
	f.Add("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
	f.Add("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		in := bufio.NewReaderSize(strings.NewReader(text), maxLine)
		for range len(text) + 1 {
			q, err := readRequest(in)
			if err == nil {
				err = q.skipBody(in)
			}
			if err != nil {
				return
			}
			if q.length < 0 {
				t.Fatalf("length %d", q.length)
			}
		}
		t.Fatal("more requests than bytes")
	})
}

// Reading, admitting and answering take no allocation.
func TestParseAllocatesNothing(t *testing.T) {
	const text = "POST /path HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc"
	source := strings.NewReader("")
	in := bufio.NewReaderSize(source, maxLine)
	if n := testing.AllocsPerRun(100, func() {
		source.Reset(text)
		in.Reset(source)
		q, err := readRequest(in)
		if err != nil || q.skipBody(in) != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
}
