package exchange

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/taktload/takt/internal/hpack"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/internal/parts"
	"github.com/taktload/takt/pkg/takt"
)

// exchanged is the last exchange of an operation that sent and got these bytes, the answer in pieces, 1 ms apart.
func exchanged(sent string, came ...string) *Exchange {
	var last *Exchange
	tap := NewTap(func(x *Exchange) { last = x })
	tap.Opens(1)
	tap.Begins(1, new(takt.Op))
	begun := time.Now()
	tap.Sent(1, []byte(sent))
	for i, b := range came {
		tap.Came(1, []byte(b), begun.Add(time.Duration(i+1)*time.Millisecond))
	}
	tap.Ends(1, &takt.Result{Status: 200}, 9*time.Millisecond)
	return last
}

// text is what people see of an exchange. hide hides the word geheim.
func text(x *Exchange) string {
	var b bytes.Buffer
	hide := func(s string) string { return strings.ReplaceAll(s, "geheim", takt.Redacted) }
	_ = x.Show(1, hide).WriteText(&b) // a buffer takes all
	return b.String()
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s)) // a buffer takes all
	_ = z.Close()
	return b.String()
}

const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

// Whatever a server answers, what is shown is short, has no character that a terminal executes, and no secret.
func TestHostileAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		came []string
		want string
	}{
		"escapes":           {[]string{"HTTP/1.1 200 \x1b[2J\r\nX: \x1b]0;owned\a\r\nContent-Length: 54\r\n\r\na\x1b[31m \u009b \u202eb, and much text that is no attack"}, "a·[31m"},
		"no HTTP":           {[]string{"SSH-2.0-OpenSSH_9.6\r\n"}, "SSH-2.0-OpenSSH_9.6"},
		"binary":            {[]string{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\x00\x01\x02\xff\xfe"}, "(5 bytes, no text: 000102fffe…)"},
		"bomb":              {[]string{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", zipped(strings.Repeat("0", 64<<20))}, "000"},
		"broken gzip":       {[]string{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip"}, "gzip"},
		"unknown coding":    {[]string{"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\nzzz"}, "takt does not decode"},
		"many headers":      {[]string{"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 5000) + "\r\n"}, "… (4900 headers more)"},
		"long header":       {[]string{"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 2<<20)}, "X: yyy"},
		"long line":         {[]string{"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("y", 3<<20)}, "… (3145728 bytes)"},
		"many lines":        {[]string{"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("\n", 100000)}, "… (100000 bytes)"},
		"cut chunk":         {[]string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc"}, "< abc"},
		"wrong chunk":       {[]string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc"}, "HTTP/1.1 200 OK"},
		"secret at the cut": {[]string{"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("y", shownBody-3) + "geheim"}, "xxx"},
		"secret in header":  {[]string{"HTTP/1.1 200 OK\r\nX: geheim\r\nY:geheim\r\n\r\n"}, "X: xxxxx"},
		"hints":             {[]string{"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n", "Content-Length: 1\r\n\r\nz"}, "< HTTP/1.1 200 OK"},
		"hints only":        {[]string{"HTTP/1.1 103 Early Hints\r\n\r\n"}, "(no answer came)"},
		"malformed":         {[]string{"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nbody"}, "< body"},
		"events":            {[]string{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\x1b\n\n", "event: e\ndata: geheim\n\n" + strings.Repeat("data: z\n\n", 100)}, "(82 parts more)"},
		"nothing":           {nil, "(no answer came)"},
	} {
		x := exchanged(get, c.came...)
		x.Answer.SplitEvents()
		got := text(x)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%.2000s", name, c.want, got)
		}
		checkShown(t, name, got)
	}
}

func checkShown(t *testing.T, name, got string) {
	t.Helper()
	if len(got) > 100<<10 || strings.Contains(got, "geheim") {
		t.Errorf("%s: %d bytes, or a secret: %.2000q", name, len(got), got)
	}
	for _, r := range got {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			t.Errorf("%s: the character %q is shown", name, r)
			break
		}
	}
}

// Parts of a stream have the instants at which their last bytes came, also through chunks.
func TestPartsHaveTheirTime(t *testing.T) {
	x := exchanged(get, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n", "9\r\ndata: a\n\n\r\n7\r\nda", "ta: b\r\n", "2\r\n\n\n\r\n0\r\nX-Sum: 1\r\n\r\n")
	x.Answer.SplitEvents()
	if p := x.Answer.Parts; len(p) != 2 || p[0].Text != "a" || p[1].Text != "b" || p[1].At-p[0].At < 1900*time.Microsecond || p[1].At-p[0].At > 2100*time.Microsecond {
		t.Errorf("%+v", p)
	}
	if len(x.Answer.Trailer) != 1 || x.Answer.Size != 18 {
		t.Errorf("%+v", x.Answer)
	}
	if x.Answer.EachPart(parts.Chunks, nil) {
		t.Error("a body without parts is split")
	}
}

// The exchange of a request that the client repeated by itself, as redirects are followed, is one of its own.
func TestHops(t *testing.T) {
	var all []*Exchange
	tap := NewTap(func(x *Exchange) { all = append(all, x) })
	tap.Begins(1, nil)
	tap.Sent(1, []byte(get))
	tap.Came(1, []byte("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), time.Now())
	tap.Sent(1, []byte("GET /b HTTP/1.1\r\n\r\n"))
	tap.Came(1, []byte("HTTP/1.1 500 No\r\n\r\nx"), time.Now())
	tap.Ends(1, &takt.Result{Status: 500, Class: "5xx", Err: errors.New("a \x1b error")}, time.Millisecond)
	if len(all) != 2 || !all[0].Follows || all[0].Result.Status != 302 || all[1].Request.Line != "GET /b HTTP/1.1" || all[1].Follows {
		t.Fatalf("%+v", all)
	}
	if got := text(all[1]); !strings.Contains(got, "failed       class 5xx: a · error") {
		t.Error(got)
	}
	s := all[1].Show(1, strings.Clone)
	if again := *s; !s.Failed() || all[0].Show(1, strings.Clone).Failed() {
		t.Error("a redirect failed, or the last request did not")
	} else if again.Again = true; again.Failed() {
		t.Error("what is sent again failed")
	}
	if b, err := json.Marshal(s); err != nil || !strings.Contains(string(b), `"class":"5xx","error":"a · error"`) {
		t.Errorf("%s %v", b, err)
	}
}

// block is a HEADERS frame of fields.
func block(enc *hpack.Encoder, flags byte, fields ...string) string {
	b := enc.Begin(nil)
	for i := 0; i < len(fields); i += 2 {
		b = enc.Field(b, []byte(fields[i]), []byte(fields[i+1]), true)
	}
	return string(wire.AppendHeader(nil, len(b), wire.Headers, flags|wire.FlagEndHeaders, 1)) + string(b)
}

func data(text string) string {
	return string(wire.AppendHeader(nil, len(text), wire.Data, 0, 1)) + text
}

// Frames of HTTP/2 become messages, however they are cut.
func TestHTTP2(t *testing.T) {
	in, out := hpack.NewEncoder(), hpack.NewEncoder()
	sent := wire.Preface + block(out, 0, ":method", "POST", ":path", "/a", ":authority", "h", "x-token", "geheim") + data("ask")
	came := block(in, 0, ":status", "103", "link", "a") + block(in, 0, ":status", "200", "x", "\x1b") +
		data("ans") + string(wire.AppendHeader(nil, 8, wire.Ping, 0, 0)) + "12345678" + data("wer") + block(in, wire.FlagEndStream, "grpc-status", "0") +
		string(wire.AppendNumber(nil, wire.Reset, 1, uint32(wire.Cancel)))
	for _, cut := range []int{len(came), 1, 7} {
		var list []string
		for rest := came; len(rest) > 0; rest = rest[min(cut, len(rest)):] {
			list = append(list, rest[:min(cut, len(rest))])
		}
		x := exchanged(sent, list...)
		got := text(x)
		for _, want := range []string{"> POST /a HTTP/2\n     > Host: h\n     > x-token: xxxxx\n     >\n     > ask\n     < HTTP/2 200\n     < x: ·\n     <\n     < answer\n     < trailer grpc-status: 0\n     < (the server reset the stream: CANCEL)"} {
			if !strings.Contains(got, want) {
				t.Errorf("in pieces of %d bytes: no %q in\n%s", cut, want, got)
			}
		}
	}
	x := exchanged(sent, "HTTP/1.1 400 Bad Request\r\n\r\n")
	if got := text(x); !strings.Contains(got, "< HTTP/1.1 400 Bad Request") {
		t.Errorf("a server of HTTP/1.1: %s", got)
	}
}

func FuzzTap(f *testing.F) {
	in := hpack.NewEncoder()
	f.Add(get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 3)
	f.Add(wire.Preface+block(hpack.NewEncoder(), 0, ":method", "GET", ":path", "/"), block(in, 0, ":status", "200")+data("a"), 5)
	f.Add(get, "\x1b[2J", 1)
	f.Fuzz(func(t *testing.T, sent, came string, cut int) {
		cut = max(0, min(cut, len(came)))
		x := exchanged(sent, came[:cut], came[cut:])
		x.Answer.SplitEvents()
		checkShown(t, "fuzz", text(x))
	})
}
