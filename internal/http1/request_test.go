package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestAppendTo(t *testing.T) {
	tests := []struct {
		name string
		q    Request
		want string
	}{
		{"plain", Request{Method: "GET", Target: "/a?b=c", Host: "h:80"},
			"GET /a?b=c HTTP/1.1\r\nHost: h:80\r\n\r\n"},
		{"through a proxy", Request{Method: "GET", Target: "http://h/a", Host: "h"},
			"GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"all of a server", Request{Method: "OPTIONS", Target: "*", Host: "[::1]:80"},
			"OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"},
		{"order and spelling", Request{Method: "GET", Target: "/", Host: "h",
			Header: []Field{{"x-B", "2"}, {"X-a", "1"}, {"x-B", "caf\xc3\xa9\t3"}, {"E", ""}}},
			"GET / HTTP/1.1\r\nHost: h\r\nx-B: 2\r\nX-a: 1\r\nx-B: caf\xc3\xa9\t3\r\nE: \r\n\r\n"},
		{"body", Request{Method: "POST", Target: "/", Host: "h", Body: []byte("hi")},
			"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"},
		{"body of a GET", Request{Method: "GET", Target: "/", Host: "h", Body: []byte("q")},
			"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nq"},
		{"empty PUT", Request{Method: "PUT", Target: "/", Host: "h"},
			"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
		{"close", Request{Method: "GET", Target: "/", Host: "h", Close: true},
			"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
		{"close said already", Request{Method: "GET", Target: "/", Host: "h", Close: true, Header: []Field{{"connection", "TE, Close"}}},
			"GET / HTTP/1.1\r\nHost: h\r\nconnection: TE, Close\r\n\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.q.AppendTo([]byte("before "))
			if err != nil || string(got) != "before "+tt.want {
				t.Errorf("got %q, %v\nwant %q", got, err, tt.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name, want string
		change     func(q *Request)
	}{
		{"no method", "is not a token", func(q *Request) { q.Method = "" }},
		{"method", "is not a token", func(q *Request) { q.Method = "GE T" }},
		{"method of two lines", "is not a token", func(q *Request) { q.Method = "GET\r\n" }},
		{"tunnel", "CONNECT", func(q *Request) { q.Method = "CONNECT" }},
		{"no target", "neither a path", func(q *Request) { q.Target = "" }},
		{"relative target", "neither a path", func(q *Request) { q.Target = "a" }},
		{"space", "percent-encoded", func(q *Request) { q.Target = "/a b" }},
		{"CR in the target", "percent-encoded", func(q *Request) { q.Target = "/\r\nX: y" }},
		{"NUL in the target", "percent-encoded", func(q *Request) { q.Target = "/\x00" }},
		{"UTF-8 in the target", "percent-encoded", func(q *Request) { q.Target = "/é" }},
		{"fragment", "percent-encoded", func(q *Request) { q.Target = "/a#b" }},
		{"no host", "not a host name", func(q *Request) { q.Host = "" }},
		{"host of two lines", "not a host name", func(q *Request) { q.Host = "h\n" }},
		{"URL as host", "not a host name", func(q *Request) { q.Host = "http://h" }},
		{"no name", "is not a token", func(q *Request) { q.Header[0].Name = "" }},
		{"name with colon", "is not a token", func(q *Request) { q.Header[0].Name = "A:" }},
		{"name not ASCII", "is not a token", func(q *Request) { q.Header[0].Name = "É" }},
		{"LF in a value", "header A: byte 2 of the value is a control character", func(q *Request) { q.Header[0].Value = "a\nb" }},
		{"NUL in a value", "control character", func(q *Request) { q.Header[0].Value = "\x00" }},
		{"DEL in a value", "control character", func(q *Request) { q.Header[0].Value = "\x7f" }},
		{"second host", "cannot be given", func(q *Request) { q.Header[0].Name = "host" }},
		{"second length", "cannot be given", func(q *Request) { q.Header[0].Name = "Content-Length" }},
		{"coding", "cannot be given", func(q *Request) { q.Header[0].Name = "Transfer-Encoding" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := Request{Method: "GET", Target: "/", Host: "h", Header: []Field{{"A", "b"}}}
			tt.change(&q)
			if got, err := q.AppendTo([]byte("x")); string(got) != "x" || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, %v; want an error with %q", got, err, tt.want)
			}
			if got, err := q.Render(); got != nil || err == nil {
				t.Errorf("Render: got %v, %v", got, err)
			}
		})
	}
}

func TestRender(t *testing.T) {
	tests := []struct {
		q           Request
		head, close bool
	}{
		{Request{Method: "GET"}, false, false},
		{Request{Method: "HEAD"}, true, false},
		{Request{Method: "head", Close: true}, false, true}, // methods are case-sensitive
		{Request{Method: "GET", Header: []Field{{"CONNECTION", "x,close"}}}, false, true},
		{Request{Method: "GET", Header: []Field{{"Connection", "keep-alive"}}}, false, false},
	}
	for _, tt := range tests {
		tt.q.Target, tt.q.Host = "/", "h"
		if got, err := tt.q.Render(); err != nil || got.Head != tt.head || got.Close != tt.close {
			t.Errorf("%+v: got %+v, %v", tt.q, got, err)
		}
	}
}

// FuzzRequest: what is not refused is read by a server as it was meant.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "/a?b=c", "h:80", "X-Y", "z", []byte(nil), false)
	f.Add("POST", "http://h/", "h", "Connection", "close", []byte("body"), true)
	f.Add("GET", "/\r\nA: b", "h\n", "A\r", "\x00", []byte(nil), true)
	f.Fuzz(func(t *testing.T, method, target, host, name, value string, body []byte, last bool) {
		q := Request{Method: method, Target: target, Host: host, Header: []Field{{name, value}}, Body: body, Close: last}
		b, err := q.Render()
		if err != nil {
			return
		}
		br := bufio.NewReader(bytes.NewReader(b.Bytes))
		got, err := http.ReadRequest(br)
		if err != nil {
			// net/http also parses the URL, the protocol and some headers' values.
			return
		}
		if got.Method != method || got.RequestURI != target || got.Close != b.Close {
			t.Errorf("%q became %+v", b.Bytes, got)
		}
		if v := got.Header.Values(name); len(v) > 0 && v[0] != strings.Trim(value, " \t") {
			t.Errorf("%q: value %q", b.Bytes, v)
		}
		sent, err := io.ReadAll(got.Body)
		if err != nil || !bytes.Equal(sent, body) || br.Buffered() > 0 {
			t.Errorf("%q: body %q, %v, %d bytes left", b.Bytes, sent, err, br.Buffered())
		}
	})
}
