package http1

import (
	"strconv"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// nginx's answer to a GET of a small file.
const nginx = "HTTP/1.1 200 OK\r\nServer: nginx/1.24.0\r\nDate: Fri, 21 Nov 2025 14:25:00 GMT\r\n" +
	"Content-Type: text/html\r\nContent-Length: 100\r\nLast-Modified: Fri, 21 Nov 2025 14:00:00 GMT\r\n" +
	"Connection: keep-alive\r\nETag: \"692072d0-64\"\r\nAccept-Ranges: bytes\r\n\r\n" + hundred

const hundred = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"

var answers = []struct{ name, answer string }{
	{"length", nginx},
	{"chunked", ok + te + "Server: x\r\n\r\n64\r\n" + hundred + "\r\n64\r\n" + hundred + "\r\n0\r\n\r\n"},
	{"status failure", oops + five + "\r\nhello"},
	{"malformed", ok + "A b\r\n"},
	{"truncated", ok + five + "\r\nhel"},
	{"too large", ok + "Content-Length: 100000\r\n\r\n"},
	{"closed", ""},
}

// round sends a request and takes its answer in two pieces, then the end.
func round(c *Codec, buf []byte, op *takt.Op, in []byte, r *takt.Result) {
	c.Append(buf[:0], op)
	r.Reset()
	half := len(in) / 2
	n, p := c.Parse(in[:half], false, r)
	for _, eof := range [...]bool{false, true} {
		if p != takt.More {
			return
		}
		var more int
		more, p = c.Parse(in[n:], eof, r)
		n += more
	}
}

func TestAllocs(t *testing.T) {
	buf := make([]byte, 0, 64)
	for _, check := range []func(Content) error{nil, func(Content) error { return nil }} {
		c := NewCodec(&Rendered{Bytes: []byte("GET / HTTP/1.1\r\n\r\n")}, Options{MaxBody: 1000, Fail: failure, Check: check})
		op := takt.Op{}
		r := takt.Result{Body: make([]byte, 0, SampleBytes)}
		for _, tt := range answers {
			in := []byte(tt.answer)
			if n := testing.AllocsPerRun(100, func() { round(c, buf, &op, in, &r) }); n != 0 {
				t.Errorf("%s: %v allocations", tt.name, n)
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, tt := range answers[:3] {
		in := []byte(tt.answer)
		b.Run(tt.name, func(b *testing.B) { parse(b, in, in) })
	}
	later := strings.Replace(nginx, "25:00", "25:01", 1)
	b.Run("never known", func(b *testing.B) { parse(b, []byte(nginx), []byte(later)) })
}

func parse(b *testing.B, in, next []byte) {
	c := NewCodec(nil, Options{Fail: failure})
	var r takt.Result
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r.Reset()
		if n, p := c.Parse(in, false, &r); n != len(in) || p != takt.Done {
			b.Fatal(n, p)
		}
		in, next = next, in
	}
}

func BenchmarkAppend(b *testing.B) {
	q := Request{Method: "GET", Target: "/index.html?n=" + strconv.Itoa(1), Host: "127.0.0.1:8080",
		Header: []Field{{"Accept-Encoding", "gzip"}, {"User-Agent", "takt"}}}
	listed, err := q.Render()
	if err != nil {
		b.Fatal(err)
	}
	c := NewCodec(listed, Options{})
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = c.Append(buf[:0], &takt.Op{})
	}
}
