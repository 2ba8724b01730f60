package grpc

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/test/h2test"
	"github.com/taktload/takt/pkg/takt"
)

// frame is a message as it is on the wire.
func frame(flag byte, length uint32, message string) string {
	return string([]byte{flag, byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)}) + message
}

func zipped(t testing.TB, s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What a server may do wrong has its class, and no answer is good that is not.
func TestWrongServers(t *testing.T) {
	head := []string{":status", "200", "content-type", "application/grpc"}
	ok := []string{"grpc-status", "0"}
	one := frame(0, 2, "\x0a\x00")
	answer := func(head []string, body string, trailers ...string) func(c *h2test.Conn, r *h2test.Request) {
		return func(c *h2test.Conn, r *h2test.Request) {
			c.Head(r.ID, false, head...)
			if body != "" {
				c.Data(r.ID, trailers == nil, body)
			}
			if trailers != nil {
				c.Head(r.ID, true, trailers...)
			}
		}
	}
	only := func(fields ...string) func(c *h2test.Conn, r *h2test.Request) {
		return func(c *h2test.Conn, r *h2test.Request) { c.Head(r.ID, true, fields...) }
	}
	coded := append(head[:4:4], "grpc-encoding", "gzip")
	bomb := zipped(t, strings.Repeat("a", 2<<20))
	for _, c := range []struct {
		name   string
		do     func(c *h2test.Conn, r *h2test.Request)
		class  string
		sample string
	}{
		{"good", answer(head, one, ok...), "", ""},
		{"a type with a suffix", answer([]string{":status", "200", "content-type", "application/grpc+proto; a=b"}, one, ok...), "", ""},
		{"in pieces", func(c *h2test.Conn, r *h2test.Request) {
			c.Head(r.ID, false, head...)
			for i := range one {
				c.Data(r.ID, false, one[i:i+1])
			}
			c.Head(r.ID, true, ok...)
		}, "", ""},
		{"an empty message", answer(head, frame(0, 0, ""), ok...), "", ""},
		{"compressed", answer(coded, frame(1, uint32(len(zipped(t, "ab"))), zipped(t, "ab")), ok...), "", ""},
		{"not compressed beside an encoding", answer(coded, one, ok...), "", ""},
		{"a status in the head of an answer with a body", answer(append(head[:4:4], "grpc-status", "5"), one, ok...), "", ""},

		{"trailers alone", only(append(head[:4:4], "grpc-status", "14", "grpc-message", "a%20b%zz%")...), "unavailable", "unavailable: a b%zz%"},
		{"trailers alone that say ok", only(append(head[:4:4], "grpc-status", "0")...), classAmount, "no message came"},
		{"status of a proxy", only(":status", "503", "content-type", "text/html"), "5xx", ""},
		{"a redirect", only(":status", "302", "location", "/"), "3xx", ""},
		{"status 204", only(":status", "204"), "2xx", ""},
		{"a page", answer([]string{":status", "200", "content-type", "text/html"}, "<html>", ok...), classNotGRPC, `"text/html"`},
		{"no type", answer([]string{":status", "200"}, one, ok...), classNotGRPC, "no content type"},
		{"no trailers", answer(head, one), classNoStatus, "without grpc-status"},
		{"trailers without a status", answer(head, one, "a", "b"), classNoStatus, ""},
		{"a status that is no number", answer(head, one, "grpc-status", "OK"), http1.ClassMalformed, `"OK"`},
		{"two statuses", answer(head, one, "grpc-status", "0", "grpc-status", "5"), http1.ClassMalformed, "two different"},
		{"no message", answer(head, "", ok...), classAmount, "no message"},
		{"two messages", answer(head, one+one, ok...), classAmount, "more than one"},
		{"half a message", answer(head, one[:6], ok...), http1.ClassTruncated, "middle of a message"},
		{"half a prefix", answer(head, one[:3], ok...), http1.ClassTruncated, ""},
		{"half a message and no trailers", answer(head, one[:6]), http1.ClassTruncated, ""},
		{"a failure after half a message", answer(head, one[:6], "grpc-status", "13"), "internal", ""},
		{"4 GiB - 1", answer(head, frame(0, 1<<32-1, "a"), ok...), http1.ClassTooLarge, "4294967295 bytes"},
		{"a flag of 2", answer(head, frame(2, 0, ""), ok...), http1.ClassMalformed, "flag"},
		{"compressed without an encoding", answer(head, frame(1, 1, "a"), ok...), http1.ClassMalformed, "no grpc-encoding"},
		{"another encoding", answer(append(head[:4:4], "grpc-encoding", "snappy"), frame(1, 1, "a"), ok...), http1.ClassMalformed, "takt knows gzip"},
		{"no gzip", answer(coded, frame(1, 3, "abc"), ok...), http1.ClassMalformed, "gzip"},
		{"a bomb", answer(coded, frame(1, uint32(len(bomb)), bomb), ok...), http1.ClassTooLarge, "after decompression"},
		{"a reset", func(c *h2test.Conn, r *h2test.Request) { c.Reset(r.ID, http2.ErrCodeInternal) }, "reset", "INTERNAL_ERROR"},
		{"a reset in the answer", func(c *h2test.Conn, r *h2test.Request) {
			c.Head(r.ID, false, head...)
			c.Reset(r.ID, http2.ErrCodeCancel)
		}, "reset", "CANCEL"},
		{"the end of the connection", func(c *h2test.Conn, r *h2test.Request) {
			if r.ID > 1 { // the other call is on this connection, too
				c.Head(r.ID-2, false, head...)
				c.Head(r.ID, false, head...)
				c.Close()
			}
		}, http1.ClassTruncated, ""},
	} {
		for _, streams := range []string{streamsNone, streamsServer} {
			t.Run(c.name+" "+streams, func(t *testing.T) {
				s := h2test.Start(t, h2test.Script{Request: c.do})
				o := with("\x0a\x00")
				o.Raw, o.Streams, o.MessageMax = true, streams, 1<<20
				class := c.class
				if streams == streamsServer && class == classAmount {
					class = ""
				}
				r := load(t, o, s.Addr+"/a.B/C", 2)
				if class == "" && r.Counts.OK != 2 || class != "" && (len(r.Errors) != 1 || r.Errors[0].Class != class || r.Errors[0].Count != 2) {
					t.Fatalf("%+v, %+v; want %q", r.Counts, r.Errors, class)
				}
				if class != "" && !strings.Contains(r.Errors[0].Sample, c.sample) {
					t.Errorf("sample %q; want %q", r.Errors[0].Sample, c.sample)
				}
			})
		}
	}
}

// The silence before a status other than OK is a gap that a user has waited for.
func TestSilenceBeforeAFailure(t *testing.T) {
	s := h2test.Start(t, h2test.Script{Request: func(c *h2test.Conn, r *h2test.Request) {
		c.Head(r.ID, false, ":status", "200", "content-type", "application/grpc")
		c.Data(r.ID, false, frame(0, 2, "\x0a\x00"))
		time.Sleep(50 * time.Millisecond)
		c.Head(r.ID, true, "grpc-status", "14")
	}})
	o := with("\x0a\x00")
	o.Raw, o.Streams = true, streamsServer
	r := load(t, o, s.Addr+"/a.B/C", 1)
	all, first, gap := r.Latency[takt.LatencyResponse].Max, r.Latency["first_part_due"].Max, r.Latency["maxgap"].Max
	if r.Counts.Failed != 1 || first == 0 || gap < (all-first)/2 {
		t.Errorf("%+v: the longest gap is %v µs, although the only message came after %v and the status after %v", r.Errors, gap, first, all)
	}
}

// A server that speaks something else is told apart from one that is down.
func TestOtherProtocols(t *testing.T) {
	s := h2test.Start(t, h2test.Script{Greet: func(c *h2test.Conn) { c.Bytes([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }})
	o := with("")
	o.Raw = true
	r := load(t, o, s.Addr+"/a.B/C", 1)
	if len(r.Errors) != 1 || r.Errors[0].Class != "protocol" || strings.Contains(r.Errors[0].Sample, "--h2") {
		t.Errorf("%+v", r.Errors)
	}
}
