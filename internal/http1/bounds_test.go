package http1

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// What is just within a limit is read, and one byte or line more is not.
func TestLimitsOfAnswers(t *testing.T) {
	fields := func(n int) string { return ok + strings.Repeat("A: b\r\n", n-1) + five + "\r\nhello" }
	head := func(n int) string { // the empty line included
		const rest = ok + five + "A: \r\n\r\n"
		return ok + five + "A: " + strings.Repeat("x", n-len(rest)) + "\r\n\r\nhello"
	}
	chunked := func(sizes ...int) string {
		s := ok + te + "\r\n"
		for _, n := range sizes {
			s += fmt.Sprintf("%x\r\n%s\r\n", n, strings.Repeat("x", n))
		}
		return s + "0\r\n\r\n"
	}
	sized := func(n int) string {
		return ok + fmt.Sprintf("Content-Length: %d\r\n\r\n", n) + strings.Repeat("x", n)
	}
	line := func(n int) string { return ok + te + "\r\n5;" + strings.Repeat("x", n-4) + "\r\nhello\r\n0\r\n\r\n" }
	for _, c := range []struct {
		name, answer string
		opt          Options
		want         error
	}{
		{"lines, default", fields(256), Options{}, nil},
		{"a line too many, default", fields(257), Options{}, errManyFields},
		{"lines", fields(3), Options{MaxFields: 3}, nil},
		{"a line too many", fields(4), Options{MaxFields: 3}, errManyFields},
		{"head, default", head(64 << 10), Options{}, nil},
		{"a longer head, default", head(64<<10 + 1), Options{}, errLongHead},
		{"head", head(100), Options{MaxHead: 100}, nil},
		{"a longer head", head(101), Options{MaxHead: 100}, errLongHead},
		{"body", sized(50), Options{MaxBody: 50}, nil},
		{"a longer body", sized(51), Options{MaxBody: 50}, errLongBody},
		{"chunks", chunked(20, 30), Options{MaxBody: 50}, nil},
		{"a longer chunk", chunked(20, 31), Options{MaxBody: 50}, errLongBody},
		{"until the end", ok + "\r\n" + strings.Repeat("x", 50), Options{MaxBody: 50}, nil},
		{"longer until the end", ok + "\r\n" + strings.Repeat("x", 51), Options{MaxBody: 50}, errLongBody},
		{"line of a chunk", line(4097), Options{}, nil},
		{"longer line of a chunk", line(4098), Options{}, errLongChunk},
	} {
		got := feed(t, NewCodec(nil, c.opt), []byte(c.answer))
		if c.want == nil && (got.err != nil || got.class != "" || got.used != len(c.answer)) || c.want != nil && got.err != c.want {
			t.Errorf("%s: %d of %d bytes, %s, %v, want %v", c.name, got.used, len(c.answer), got.class, got.err, c.want)
		}
	}
}

// A line that fills its limit fails before its line feed comes: the caller's buffer has no more room.
func TestFullLine(t *testing.T) {
	for n, want := range map[int]takt.Progress{99: takt.More, 100: takt.Last} {
		var r takt.Result
		line := (ok + "A: " + strings.Repeat("x", 100))[:n]
		if _, p := NewCodec(nil, Options{MaxHead: 100}).Parse([]byte(line), false, &r); p != want || (r.Err == errLongHead) != (want == takt.Last) {
			t.Errorf("%d bytes of 100: progress %v, %v", n, p, r.Err)
		}
	}
}

// The shortest bodies are read to their ends, and counted.
func TestShortBodies(t *testing.T) {
	for answer, body := range map[string]int64{
		ok + "Content-Length: 0\r\n\r\n":              0,
		ok + "Content-Length: 1\r\n\r\nx":             1,
		ok + te + "\r\n0\r\n\r\n":                     0,
		ok + te + "\r\n1\r\nx\r\n0\r\n\r\n":           1,
		ok + te + "\r\n1\r\nx\r\n1\r\nx\r\n0\r\n\r\n": 2,
		ok + "\r\nx": 1,
	} {
		c := NewCodec(nil, Options{})
		if got := feed(t, c, []byte(answer)); got.used != len(answer) || c.BodyBytes() != body {
			t.Errorf("%q: used %d, body %d", answer, got.used, c.BodyBytes())
		}
	}
}

// The codec takes all that is complete, also where an answer goes on behind it. A header line is when the next one begins.
func TestParseTakesWhatIsThere(t *testing.T) {
	for _, in := range []string{
		ok, ok + te + "\r\n", ok + te + "\r\n5\r\nhello", ok + te + "\r\n5\r\nhello\r\n", ok + te + "\r\n5\r\nhello\r\n0\r\n", ok + te + "\r\n1\r\nx\r\n0\r\nA: b\r\n",
		ok + five + "\r\nhell",
	} {
		var r takt.Result
		if n, p := NewCodec(nil, Options{}).Parse([]byte(in), false, &r); n != len(in) || p != takt.More {
			t.Errorf("%q: %d of %d bytes, progress %v", in, n, len(in), p)
		}
	}
}

// Sizes of chunks have all digits in both cases, 16 at most.
func TestHex(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "9": 9, "a": 10, "b": 11, "c": 12, "d": 13, "e": 14, "f": 15, "A": 10, "B": 11, "C": 12, "D": 13, "E": 14, "F": 15,
		"10": 16, "fF": 255, "123456789abcdef": 0x123456789abcdef, "0000000000000005": 5, "7fffffffffffffff": 1<<63 - 1,
	} {
		if n, ok := parseHex([]byte(s)); n != want || !ok {
			t.Errorf("%s: %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "g", "/", ":", "`", "@", "G", "-1", "00000000000000005", "8000000000000000"} {
		if n, ok := parseHex([]byte(s)); ok {
			t.Errorf("%q is taken for %d", s, n)
		}
	}
}

// Content-Length goes up to 2⁶³−1.
func TestDecimal(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "9": 9, "0010": 10, "9223372036854775807": 1<<63 - 1} {
		if n, ok := parseDecimal([]byte(s)); n != want || !ok {
			t.Errorf("%s: %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "/", ":", "-1", "9223372036854775808", "9223372036854775810", "99999999999999999999"} {
		if n, ok := parseDecimal([]byte(s)); ok {
			t.Errorf("%q is taken for %d", s, n)
		}
	}
}

// A token has the characters of RFC 9110, 5.6.2, and no others; a value has no control
// character but the tab. Eight bytes at a time give the same.
func TestOctets(t *testing.T) {
	const token = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for i := range 256 {
		b := byte(i)
		if got, want := isToken(string([]byte{b})), strings.IndexByte(token, b) >= 0; got != want {
			t.Errorf("byte %#x in a token: %v", b, got)
		}
		want := b == '\t' || b >= ' ' && b != 0x7f
		if got := isValue([]byte{b}); got != want {
			t.Errorf("byte %#x in a value: %v", b, got)
		}
		for at := range 17 {
			value := []byte("0123456789 23456\x80")
			value[at] = b
			if got := cleanValue(value); got != want {
				t.Errorf("byte %#x at %d of a value: %v", b, at, got)
			}
		}
		visible := b > ' ' && b < 0x7f
		if got := isVisible(string([]byte{b})); got != visible {
			t.Errorf("byte %#x is visible: %v", b, got)
		}
	}
	for b, want := range map[byte]bool{0x1f: false, 0x7f: false, ' ': true} {
		if value := []byte{'0', '1', '2', '3', '4', '5', '6', b}; cleanValue(value[:8:8]) != want {
			t.Errorf("byte %#x at the end of eight: %v", b, !want)
		}
	}
	if isToken("") || !isValue("") || !isVisible("") || tokenEnd("ab: c") != 2 {
		t.Error("of no bytes, or up to a colon")
	}
}

// Names are compared without regard to case, byte by byte, and blanks around words are none of
// them.
func TestWords(t *testing.T) {
	for s, want := range map[string]bool{"close": true, "CLOSE": true, "cLosE": true, "clos": false, "closed": false, "xlose": false, "clxse": false, "closx": false, "": false} {
		if got := equalFold(s, "close"); got != want {
			t.Errorf("%q is close: %v", s, got)
		}
	}
	for s, want := range map[string]string{"": "", " ": "", "\t": "", " \t ": "", "a": "a", " a": "a", "a ": "a", "\ta b\t ": "a b"} {
		if got := trimOWS([]byte(s)); string(got) != want {
			t.Errorf("%q without blanks is %q", s, got)
		}
	}
	if got := trimRightOWS([]byte(" ")); len(got) != 0 {
		t.Errorf("a blank without blanks is %q", got)
	}
	for s, want := range map[string]bool{"close": true, "a,close": true, "a, close ,b": true, "a,b": false, "": false, "closed, a": false, "a close": false} {
		if got := hasWord([]byte(s), "close"); got != want {
			t.Errorf("%q has close: %v", s, got)
		}
	}
}

// Of a name that is none only what is one is shown: a secret may follow.
func TestBadName(t *testing.T) {
	for name, want := range map[string]string{
		"":           "a header name is not a token: it is empty",
		" secret":    `header name "…" is not a token: it has a space or another character that no name has`,
		"Auth: abc":  `header name "Auth…" is not a token: it has a space or another character that no name has`,
		"X-A\x80abc": `header name "X-A…" is not a token: it has a space or another character that no name has`,
	} {
		if err := CheckField(Field{name, ""}); err == nil || err.Error() != want {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := CheckField(Field{"A", "ab\x00secret"}); err == nil || err.Error() != "header A: byte 3 of the value is a control character" {
		t.Error(err)
	}
}

// A head of up to 1 KiB is remembered.
func TestKnownBounds(t *testing.T) {
	for n, want := range map[int]int{1024: 1024, 1025: 0} {
		c := NewCodec(nil, Options{})
		head := ok + five + "A: "
		answer := head + strings.Repeat("x", n-len(head)-4) + "\r\n\r\nhello"
		if feed(t, c, []byte(answer)); len(c.known.bytes) != want {
			t.Errorf("of a head of %d bytes %d are known", n, len(c.known.bytes))
		}
	}
}

// whole are requests that exist before the run.
type whole struct{ *Rendered }

func (w whole) Append([]byte, *takt.Op) ([]byte, bool, bool) { panic("there is no need to copy it") }

// A request that exists needs no copy, and what it means to the answer is known.
func TestWhole(t *testing.T) {
	for _, q := range []Rendered{{Bytes: []byte("HEAD"), Head: true}, {Bytes: []byte("close"), Close: true}, {Bytes: []byte("plain")}} {
		c := NewCodec(whole{&q}, Options{})
		if got := c.Request(&takt.Op{}); string(got) != string(q.Bytes) {
			t.Errorf("the request is %q, want %q", got, q.Bytes)
		}
		answer := ok + five + "\r\n"
		if !q.Head {
			answer += "hello"
		}
		want := takt.Done
		if q.Close {
			want = takt.Last
		}
		if got := feed(t, c, []byte(answer)); got.progress != want || got.err != nil {
			t.Errorf("%s: %+v", q.Bytes, got)
		}
	}
	if got := NewCodec(nil, Options{}).Request(&takt.Op{}); got != nil {
		t.Errorf("without requests there is %q", got)
	}
}

// The next answer's Result has nothing of the last one, and no answer that was right has a
// body.
func TestBodyOfTheNext(t *testing.T) {
	c, r := NewCodec(nil, Options{Fail: failure, Sample: 3}), takt.Result{}
	for _, s := range []struct{ answer, body string }{
		{oops + five + "\r\nhello", "hel"}, {oops + "Content-Length: 2\r\n\r\nno", "no"}, {ok + five + "\r\nhello", ""},
	} {
		if _, p := c.Parse([]byte(s.answer), false, &r); p != takt.Done || string(r.Body) != s.body {
			t.Errorf("%q: progress %v, body %q, want %q", s.answer, p, r.Body, s.body)
		}
	}
}

// A check sees the first MiB, in whatever pieces they come; of what it refuses 256 bytes
// stay.
func TestCheckSees(t *testing.T) {
	const most = 1 << 20
	for _, n := range []int{0, 1, 255, 256, 257, most - 1, most, most + 1, 2 * most} {
		for _, piece := range []int{10_000, most} {
			seen := -1
			c := NewCodec(nil, Options{Check: func(b Content) error { seen = len(b.Bytes); return errors.New("no") }})
			answer := []byte(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, n, strings.Repeat("x", n)))
			var cuts []int
			for at := piece; at < len(answer); at += piece {
				cuts = append(cuts, at)
			}
			got := feed(t, c, answer, cuts...)
			if seen != min(n, most) || got.class != ClassBody || len(got.body) != min(n, 256) {
				t.Errorf("%d bytes by %d: the check saw %d, %d stay, %s", n, piece, seen, len(got.body), got.class)
			}
		}
	}
}

// A status has three digits, from 100 on, and nothing but a blank behind them.
func TestStatusBounds(t *testing.T) {
	for line, want := range map[string]int{
		"HTTP/1.1 100": 100, "HTTP/1.0 999": 999, "HTTP/1.1 200 ": 200, "HTTP/1.1 200 OK": 200, "HTTP/1.1  200": 200,
		"HTTP/1.1 099": 0, "HTTP/1.1 2000": 0, "HTTP/1.1 20000": 0, "HTTP/1.1 20x": 0, "HTTP/1.1 20 ": 0, "HTTP/1.2 200": 0, "HTTP/1.1\t200": 0, "HTTP/1.1 20": 0,
	} {
		if h, f := parseStatus([]byte(line)); h.status != want || (f == nil) != (want > 0) {
			t.Errorf("%q: status %d, %v, want %d", line, h.status, f, want)
		}
	}
}
