package http1

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"

	"github.com/taktload/takt/pkg/takt"
)

// packed is text in a coding.
func packed(t *testing.T, coding, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := map[string]interface {
		Write([]byte) (int, error)
		Close() error
	}{"gzip": gzip.NewWriter(&b), "br": brotli.NewWriter(&b)}[coding]
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// checked is what a check gets of the answer.
func checked(t *testing.T, header, body string) (content string, why error, r takt.Result) {
	t.Helper()
	called := false
	room := new(Room)
	c := NewCodec(nil, Options{Room: room, Check: func(c Content) error {
		content, why, called = string(c.Bytes), c.Why, true
		return fmt.Errorf("no")
	}})
	answer := []byte(fmt.Sprintf("%s%sContent-Length: %d\r\n\r\n%s", ok, header, len(body), body))
	if _, p := c.Parse(answer, false, &r); p != takt.Done || !called || room.used.Load() != 0 {
		t.Fatalf("progress %v, called %v, %d bytes in use", p, called, room.used.Load())
	}
	return content, why, r
}

// A check gets the body decoded, and the reason why it is not the whole body: cut, not decoded, or empty.
func TestContent(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 3<<20/16)
	for name, c := range map[string]struct{ header, body, want, why string }{
		"plain":            {"", "hello", "hello", ""},
		"gzip":             {"Content-Encoding: gzip\r\n", packed(t, "gzip", "hello"), "hello", ""},
		"x-gzip":           {"content-encoding: X-GZIP\r\n", packed(t, "gzip", "hello"), "hello", ""},
		"br":               {"Content-Encoding: br\r\n", packed(t, "br", "hello"), "hello", ""},
		"identity":         {"Content-Encoding: identity\r\n", "hello", "hello", ""},
		"empty":            {"", "", "", "no body"},
		"empty gzip":       {"Content-Encoding: gzip\r\n", packed(t, "gzip", ""), "", "no body"},
		"zstd":             {"Content-Encoding: zstd\r\n", "hello", "", `"zstd", which takt does not decode`},
		"two":              {"Content-Encoding: gzip\r\nContent-Encoding: br\r\n", "hello", "", `"gzip, br", which takt does not decode`},
		"no gzip":          {"Content-Encoding: gzip\r\n", "hello, this is no gzip", "", "cannot be decoded as gzip"},
		"no br":            {"Content-Encoding: br\r\n", "\xff\xff\xff\xff", "", "cannot be decoded as br"},
		"half a gzip":      {"Content-Encoding: gzip\r\n", packed(t, "gzip", "hello")[:12], "", "ends early"},
		"cut":              {"", long, long[:1<<20], "longer than the first 1 MiB"},
		"cut when decoded": {"Content-Encoding: gzip\r\n", packed(t, "gzip", long), long[:1<<20], "longer than the first 1 MiB"},
		"an everyday list": {"", long[:122<<10], long[:122<<10], ""},
	} {
		content, why, r := checked(t, c.header, c.body)
		if content != c.want || (why == nil) != (c.why == "") || why != nil && !strings.Contains(why.Error(), c.why) {
			t.Errorf("%s: %d bytes %.20q, %v; want %d bytes, %s", name, len(content), content, why, len(c.want), c.why)
		}
		if string(r.Body) != c.want[:min(len(c.want), SampleBytes)] {
			t.Errorf("%s: the report gets %q", name, r.Body)
		}
	}
}

// The bodies of 10 000 connections, which all come at once, use no more memory than 64 KiB each and 256 MiB. A body
// for which there is no room is cut, and says so; room that was used comes back.
func TestRoom(t *testing.T) {
	const connections = 10_000
	room := new(Room)
	var kept []*Kept
	piece := make([]byte, 32<<10)
	for range connections / 10 { // of 1 000 connections 100 KiB each are kept beyond 64 KiB, which is more than the room for a tenth
		k := new(Kept)
		for range 20 {
			k.Add(piece, CheckBytes, room)
		}
		kept = append(kept, k)
	}
	sum, cut := 0, 0
	for _, k := range kept {
		sum += cap(k.b)
		if c, release := ContentOf(k, ""); c.Why == errRoom {
			cut++
			release()
		}
	}
	if most := len(kept)*keptBytes + roomBytes; sum > most || cut == 0 || cut == len(kept) {
		t.Errorf("%d bytes of at most %d; %d of %d were cut", sum, most, cut, len(kept))
	}
	for _, k := range kept {
		k.Reset()
	}
	if n := room.used.Load(); n != 0 {
		t.Errorf("%d bytes did not come back", n)
	}
	k := new(Kept)
	for range 32 {
		k.Add(piece, CheckBytes, room)
	}
	if len(k.b) != CheckBytes {
		t.Errorf("%d bytes afterwards", len(k.b))
	}
}

// What an answer that ends in a failure used comes back with the next connection.
func TestRoomOfAFailure(t *testing.T) {
	room := new(Room)
	c := NewCodec(nil, Options{Room: room, Check: func(Content) error { return nil }})
	var r takt.Result
	c.Parse([]byte(ok+"Content-Length: 1000000\r\n\r\n"), false, &r)
	c.Parse(make([]byte, 900_000), false, &r)
	if room.used.Load() == 0 {
		t.Fatal("nothing is used")
	}
	if c.Reset(); room.used.Load() != 0 {
		t.Errorf("%d bytes did not come back", room.used.Load())
	}
}

// A folded header line is one field, with spaces for its line breaks, in whatever pieces it comes. A server that
// stops behind a line that is wrong in any case fails at once.
func TestFoldedFields(t *testing.T) {
	for head, want := range map[string]string{
		five + "A: b\r\n c\r\nD: e\r\n":       "A: b c|D: e",
		five + "A: b \r\n\t c \r\n   d\r\n":   "A: b c d",
		five + "A:\r\n b\r\n":                 "A: b",
		five + "A: b\n c\n":                   "A: b c",
		"Content-Length:\r\n 5\r\nA: b\r\n":   "A: b",
		five + "Content-\r\n Encoding: x\r\n": "",
	} {
		answer := []byte(ok + head + "\r\nhello")
		for piece := 1; piece <= len(answer); piece++ {
			var got []string
			c := NewCodec(nil, Options{Field: func(name, value []byte) {
				if string(name) != "Content-Length" {
					got = append(got, string(name)+": "+string(value))
				}
			}})
			var cuts []int
			for at := piece; at < len(answer); at += piece {
				cuts = append(cuts, at)
			}
			o := feed(t, c, answer, cuts...)
			if strings.Join(got, "|") != want || (want == "") != (o.class == ClassMalformed) || want != "" && c.BodyBytes() != 5 {
				t.Errorf("%q by %d: %q, %+v, %d bytes; want %q", head, piece, got, o, c.BodyBytes(), want)
			}
		}
	}
	for line, want := range map[string]*fault{"nonsense\r\n": errNoColon, "Content-Length: x\r\n": errLength, "A: b\x00\r\n": errValue} {
		var r takt.Result
		if _, p := NewCodec(nil, Options{}).Parse([]byte(ok+line), false, &r); p != takt.Last || r.Err != want {
			t.Errorf("%q: %v, %v", line, p, r.Err)
		}
	}
	c := NewCodec(nil, Options{MaxFields: 100})
	var r takt.Result
	if c.Parse([]byte(ok+"A: b\r\n"+strings.Repeat(" c\r\n", 200)+"\r\n"), false, &r); r.Class != ClassTooLarge {
		t.Errorf("a field of 200 lines: %v", r.Err)
	}
}
