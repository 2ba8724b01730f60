package http1

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// outcome is all that a caller sees of one answer.
type outcome struct {
	used     int
	progress takt.Progress
	status   int
	class    string
	err      error
	body     string
}

// feed gives answer to c in the pieces that end at cuts, as a caller with one
// buffer does, and then the end of the connection if c still wants more.
func feed(t testing.TB, c *Codec, answer []byte, cuts ...int) outcome {
	t.Helper()
	var r takt.Result
	used, p := 0, takt.More
	give := func(end int, eof bool) {
		n, next := c.Parse(answer[used:end:end], eof, &r)
		if n < 0 || n > end-used {
			t.Fatalf("%q: used %d of %d bytes", answer, n, end-used)
		}
		used, p = used+n, next
	}
	for i := 0; i < len(cuts) && p == takt.More; i++ {
		give(cuts[i], false)
	}
	if p == takt.More {
		give(len(answer), false)
	}
	if p == takt.More {
		give(len(answer), true)
	}
	if p == takt.More {
		t.Fatalf("%q: wants more after the end", answer)
	}
	return outcome{used, p, r.Status, r.Class, r.Err, string(r.Body)}
}

// every returns the cuts after each single byte.
func every(n int) []int {
	cuts := make([]int, n)
	for i := range cuts {
		cuts[i] = i + 1
	}
	return cuts
}

func failure(status int) string {
	if status >= 400 {
		return "bad"
	}
	return ""
}

const (
	ok   = "HTTP/1.1 200 OK\r\n"
	old  = "HTTP/1.0 200 OK\r\n"
	oops = "HTTP/1.1 503 Service Unavailable\r\n"
	five = "Content-Length: 5\r\n"
	te   = "Transfer-Encoding: chunked\r\n"
)

// limits are those of the corpus, low enough to be reached.
var limits = Options{MaxHead: 200, MaxFields: 6, MaxBody: 1000, Fail: failure}

// corpus: what is after the answer's end stands in rest, not in answer.
var corpus = []struct {
	name, answer, rest string
	head               bool // the request was HEAD
	want               outcome
}{
	{"length", ok + five + "\r\nhello", "", false, outcome{status: 200}},
	{"something after it", ok + five + "\r\nhello", "HTTP/1.1", false, outcome{status: 200}},
	{"length 0", ok + "content-LENGTH:0\r\n\r\n", "x", false, outcome{status: 200}},
	{"no reason", "HTTP/1.1 200\r\n" + five + "\r\nhello", "", false, outcome{status: 200}},
	{"spaces before the status", "HTTP/1.1   200 \r\n" + five + "\r\nhello", "", false, outcome{status: 200}},
	{"odd status", "HTTP/1.1 799 What\r\n" + five + "\r\nhello", "", false, outcome{status: 799, class: "bad", body: "hello"}},
	{"bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 5\nA: b\n\nhello", "", false, outcome{status: 200}},
	{"lengths that agree", ok + five + five + "\r\nhello", "", false, outcome{status: 200}},
	{"empty value", ok + "A:\r\nB: \t \r\n" + five + "\r\nhello", "", false, outcome{status: 200}},
	{"tabs and bytes over 127", ok + "A: b\tc \xff long value, over eight bytes\r\n" + five + "\r\nhello", "", false, outcome{status: 200}},
	{"no content", "HTTP/1.1 204 No Content\r\n" + five + "\r\n", "", false, outcome{status: 204}},
	{"not modified", "HTTP/1.1 304 Not Modified\r\n" + te + "\r\n", "", false, outcome{status: 304}},
	{"HEAD", ok + five + "\r\n", "", true, outcome{status: 200}},
	{"HEAD of a long body", ok + "Content-Length: 5000\r\n\r\n", "", true, outcome{status: 200}},
	{"HEAD without length", ok + "\r\n", "", true, outcome{status: 200}},
	{"HEAD chunked", ok + te + "\r\n", "", true, outcome{status: 200}},

	{"close", ok + "Connection: close\r\n" + five + "\r\nhello", "", false, outcome{status: 200, progress: takt.Last}},
	{"close in a list", ok + "Connection: keep-alive , CLOSE\r\n" + five + "\r\nhello", "", false, outcome{status: 200, progress: takt.Last}},
	{"close in a second line", ok + "Connection: x\r\nConnection: close\r\n" + five + "\r\nhello", "", false, outcome{status: 200, progress: takt.Last}},
	{"close in the first line", ok + "Connection: close\r\nConnection: x\r\n" + five + "\r\nhello", "", false, outcome{status: 200, progress: takt.Last}},
	{"not quite close", ok + "Connection: closed\r\n" + five + "\r\nhello", "", false, outcome{status: 200}},
	{"1.0", old + five + "\r\nhello", "", false, outcome{status: 200, progress: takt.Last}},
	{"1.0 keep-alive", old + "Connection: Keep-Alive\r\n" + five + "\r\nhello", "", false, outcome{status: 200}},
	{"1.0 both", old + "Connection: keep-alive, close\r\n" + five + "\r\nhello", "", false, outcome{status: 200, progress: takt.Last}},
	{"1.0 chunked", old + "Connection: keep-alive\r\n" + te + five + "\r\nhello", "", false, outcome{status: 200, progress: takt.Last}},
	{"until the end", ok + "\r\nhello", "", false, outcome{status: 200, progress: takt.Last}},
	{"until the end, nothing", old + "\r\n", "", false, outcome{status: 200, progress: takt.Last}},

	{"chunked", ok + te + "\r\n5\r\nhello\r\n0\r\n\r\n", "x", false, outcome{status: 200}},
	{"chunks", ok + "transfer-encoding:\tCHUNKED \r\n\r\n3\r\nabc\r\n00A \t\r\n0123456789\r\n000\r\n\r\n", "", false, outcome{status: 200}},
	{"extensions", ok + te + "\r\n5;a=b; c=\"d\"\r\nhello\r\n0;e\r\n\r\n", "", false, outcome{status: 200}},
	{"trailers", ok + te + "\r\n1\r\nx\r\n0\r\nA: b\r\nContent-Length: 7\r\n\r\n", "x", false, outcome{status: 200}},
	{"line ends inside a chunk", ok + te + "\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n", "", false, outcome{status: 200}},
	{"chunked and no length", ok + "Content-Length: 0\r\n" + te + "\r\n1\r\nx\r\n0\r\n\r\n", "", false, outcome{status: 200, progress: takt.Last}},
	{"chunked and length", ok + five + te + "\r\n1\r\nx\r\n0\r\n\r\n", "", false, outcome{status: 200, progress: takt.Last}},

	{"continue", "HTTP/1.1 100 Continue\r\n\r\n" + ok + five + "\r\nhello", "", false, outcome{status: 200}},
	{"hints", "HTTP/1.1 103 Early Hints\r\nConnection: close\r\nContent-Length: 3\r\n\r\nHTTP/1.1 102 P\r\n\r\n" + ok + five + "\r\nhello", "", false, outcome{status: 200}},
	{"only hints", "HTTP/1.1 103 Early Hints\r\n\r\n", "", false, outcome{class: ClassTruncated, err: errTruncated}},
	{"switch", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "x", false, outcome{status: 101, class: ClassMalformed, err: ErrSwitched}},

	{"status failure", oops + five + "\r\nhello", "", false, outcome{status: 503, class: "bad", body: "hello"}},
	{"status failure, chunked", oops + te + "\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "", false, outcome{status: 503, class: "bad", body: "hello"}},
	{"status failure, long", oops + "Content-Length: 300\r\n\r\n" + strings.Repeat("0123456789", 30), "", false,
		outcome{status: 503, class: "bad", body: strings.Repeat("0123456789", 30)[:SampleBytes]}},
	{"status failure until the end", oops + "\r\nhello", "", false, outcome{status: 503, class: "bad", body: "hello", progress: takt.Last}},
	{"status failure of HEAD", oops + five + "\r\n", "", true, outcome{status: 503, class: "bad"}},
	{"status failure, truncated", oops + five + "\r\nhel", "", false, outcome{status: 503, class: ClassTruncated, err: errTruncated, body: "hel"}},

	{"nothing", "", "", false, outcome{class: ClassClosed, err: errClosed}},
	{"half a protocol", "HTT", "", false, outcome{class: ClassTruncated, err: errTruncated}},
	{"half a status line", "HTTP/1.1 200 OK\r", "", false, outcome{class: ClassTruncated, err: errTruncated}},
	{"half a head", ok + five, "", false, outcome{class: ClassTruncated, err: errTruncated}},
	{"half a header", ok + "Content-Le", "", false, outcome{class: ClassTruncated, err: errTruncated}},
	{"half a body", ok + five + "\r\nhell", "", false, outcome{status: 200, class: ClassTruncated, err: errTruncated}},
	{"no body", ok + five + "\r\n", "", false, outcome{status: 200, class: ClassTruncated, err: errTruncated}},
	{"half a chunk size", ok + te + "\r\n5", "", false, outcome{status: 200, class: ClassTruncated, err: errTruncated}},
	{"half a chunk", ok + te + "\r\n5\r\nhe", "", false, outcome{status: 200, class: ClassTruncated, err: errTruncated}},
	{"half a chunk's end", ok + te + "\r\n5\r\nhello\r", "", false, outcome{status: 200, class: ClassTruncated, err: errTruncated}},
	{"no last chunk", ok + te + "\r\n5\r\nhello\r\n", "", false, outcome{status: 200, class: ClassTruncated, err: errTruncated}},
	{"half a trailer", ok + te + "\r\n0\r\nA: b\r\n", "", false, outcome{status: 200, class: ClassTruncated, err: errTruncated}},

	{"TLS alert", "", "\x15\x03\x01\x00\x02", false, outcome{err: errNotHTTP}},
	{"SSH greeting", "", "SSH-2.0-x\r\n", false, outcome{err: errNotHTTP}},
	{"empty line first", "", "\r\n" + ok, false, outcome{err: errNotHTTP}},
	{"HTTP/2", "", "HTTP/2.0 200 OK\r\n\r\n", false, outcome{err: errNotHTTP}},
	{"HTTP/1.2", "HTTP/1.2 200 OK\r\n", "", false, outcome{err: errNotHTTP}},
	{"no status", "HTTP/1.1 \r\n", "", false, outcome{err: errStatus}},
	{"short status", "HTTP/1.1 20 OK\r\n", "", false, outcome{err: errStatus}},
	{"long status", "HTTP/1.1 2000 OK\r\n", "", false, outcome{err: errStatus}},
	{"signed status", "HTTP/1.1 +20 OK\r\n", "", false, outcome{err: errStatus}},
	{"status under 100", "HTTP/1.1 099 OK\r\n", "", false, outcome{err: errStatus}},
	{"tab before the status", "HTTP/1.1\t200 OK\r\n", "", false, outcome{err: errStatus}},
	{"no colon", ok + "A\r\n", "", false, outcome{err: errNoColon}},
	{"no name", ok + ": b\r\n", "", false, outcome{err: errName}},
	{"blank before the colon", ok + "Content-Length : 5\r\n", "", false, outcome{err: errName}},
	{"name not ASCII", ok + "\xc3\x89: b\r\n", "", false, outcome{err: errName}},
	{"fold too late", ok + te + "\r\n0\r\nA: b\r\n c\r\n", "", false, outcome{status: 200, err: errFold}},
	{"fold of nothing", ok + "\tA: b\r\n", "", false, outcome{err: errFold}},
	{"NUL in a value", ok + "A: b\x00c\r\n", five + "\r\nhello", false, outcome{err: errValue}},
	{"DEL in a long value", ok + "A: 0123456789\x7f0123456789\r\n", five + "\r\nhello", false, outcome{err: errValue}},
	{"CR in a value", ok + "A: b\r\r\n", "", false, outcome{err: errValue}},
	{"empty length", ok + "Content-Length:\r\n", "\r\n", false, outcome{err: errLength}},
	{"signed length", ok + "Content-Length: +5\r\n", "", false, outcome{err: errLength}},
	{"list of lengths", ok + "Content-Length: 5, 5\r\n", "\r\nhello", false, outcome{err: errLength}},
	{"length over 63 bits", ok + "Content-Length: 9223372036854775808\r\n", "", false, outcome{err: errLength}},
	{"lengths that differ", ok + five + "Content-Length: 6\r\n", "\r\nhello!", false, outcome{err: errLengths}},
	{"a length after 0", ok + "Content-Length: 0\r\n" + five, "\r\nhello", false, outcome{err: errLengths}},
	{"other coding", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", "0\r\n\r\n", false, outcome{err: errCoding}},
	{"two codings", ok + te + te + "\r\n", "0\r\n\r\n", false, outcome{err: errCoding}},
	{"no chunk size", ok + te + "\r\n\r\n", "", false, outcome{status: 200, err: errChunkSize}},
	{"chunk size not hex", ok + te + "\r\n5g\r\n", "", false, outcome{status: 200, err: errChunkSize}},
	{"prefixed chunk size", ok + te + "\r\n0x5\r\n", "", false, outcome{status: 200, err: errChunkSize}},
	{"chunk size of 17 digits", ok + te + "\r\n00000000000000005\r\n", "", false, outcome{status: 200, err: errChunkSize}},
	{"chunk size over 63 bits", ok + te + "\r\n8000000000000000\r\n", "", false, outcome{status: 200, err: errChunkSize}},
	{"bare LF for a chunk size", ok + te + "\r\n\n", "", false, outcome{status: 200, err: errChunkSize}},
	{"chunk size and bare LF", ok + te + "\r\n5\n", "", false, outcome{status: 200, err: errChunkSize}},
	{"chunk too long", ok + te + "\r\n5\r\nhello", "!\r\n", false, outcome{status: 200, err: errChunkEnd}},
	{"chunk ends with CR only", ok + te + "\r\n5\r\nhello", "\r!0\r\n\r\n", false, outcome{status: 200, err: errChunkEnd}},
	{"trailer and bare LF", ok + te + "\r\n0\r\nA: b\n", "", false, outcome{status: 200, err: errTrailerEnd}},
	{"end of trailers and bare LF", ok + te + "\r\n0\r\n\n", "", false, outcome{status: 200, err: errTrailerEnd}},
	{"bad trailer", ok + te + "\r\n0\r\nA b\r\n", "", false, outcome{status: 200, err: errName}},

	{"endless status line", "", "HTTP/1.1 200 " + strings.Repeat("x", 300), false, outcome{err: errLongHead}},
	{"long header", ok, "A: " + strings.Repeat("x", 300) + "\r\n", false, outcome{err: errLongHead}},
	{"head of 200 bytes", ok + "A: " + strings.Repeat("x", 176) + "\r\n\r\nhi", "", false, outcome{status: 200, progress: takt.Last}},
	{"head of 201 bytes", ok + "A: " + strings.Repeat("x", 177) + "\r\n", "\r\nhi", false, outcome{err: errLongHead}},
	{"endless hints", strings.Repeat("HTTP/1.1 103 \r\n\r\n", 11), "HTTP/1.1 103 \r\n\r\n", false, outcome{err: errLongHead}},
	{"headers", ok + strings.Repeat("A: b\r\n", 7), "", false, outcome{err: errManyFields}},
	{"trailer after headers", ok + te + strings.Repeat("A: b\r\n", 5) + "\r\n0\r\nA: b\r\n", "", false, outcome{status: 200, err: errManyFields}},
	{"long body", ok + "Content-Length: 1001\r\n\r\n", "x", false, outcome{status: 200, err: errLongBody}},
	{"long chunk", ok + te + "\r\n1\r\nx\r\n3e8\r\n", "x", false, outcome{status: 200, err: errLongBody}},
	{"long rest", ok + "\r\n" + strings.Repeat("x", 1000), "x", false, outcome{status: 200, err: errLongBody}},
	{"rest of 1000 bytes", ok + "\r\n" + strings.Repeat("x", 1000), "", false, outcome{status: 200, progress: takt.Last}},
	{"long chunk extension", ok + te + "\r\n", "1;" + strings.Repeat("x", 4094) + "\r\n", false, outcome{status: 200, err: errLongChunk}},
}

// expected completes what the table leaves out because it follows.
func expected(answer string, want outcome) outcome {
	want.used = len(answer)
	var f *fault
	if errors.As(want.err, &f) {
		want.class, want.progress = f.class, takt.Last
	} else if want.progress == takt.More {
		want.progress = takt.Done
	}
	return want
}

func TestParse(t *testing.T) {
	for _, tt := range corpus {
		t.Run(tt.name, func(t *testing.T) {
			want := expected(tt.answer, tt.want)
			c := NewCodec(nil, limits)
			c.head = tt.head
			all := []byte(tt.answer + tt.rest)
			if got := feed(t, c, all); got != want {
				t.Errorf("whole: got  %+v\nwant %+v", got, want)
			}
			if got := feed(t, c, all, every(len(all))...); got != want {
				t.Errorf("byte by byte: got  %+v\nwant %+v", got, want)
			}
			for i := range all {
				if got := feed(t, c, all, i); got != want {
					t.Fatalf("split at %d: got  %+v\nwant %+v", i, got, want)
				}
			}
		})
	}
}

// TestEndWithAnswer: no answer follows the end of the connection, so an answer
// that comes together with it is the last.
func TestEndWithAnswer(t *testing.T) {
	c := NewCodec(nil, Options{})
	var r takt.Result
	in := []byte(ok + five + "\r\nhello")
	if n, p := c.Parse(in, true, &r); n != len(in) || p != takt.Last || r.Class != "" || r.Err != nil {
		t.Errorf("got %d, %v, %+v", n, p, r)
	}
}

// TestAnswers: what is left after one answer is the beginning of the next, and
// no state goes over from one to the other.
func TestAnswers(t *testing.T) {
	c := NewCodec(nil, Options{Fail: failure})
	in := []byte(oops + te + "\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n" + ok + five + "\r\nhello" + "HTTP/1.1 204 \r\n\r\n")
	var r takt.Result
	for i, want := range []takt.Result{{Status: 503, Class: "bad"}, {Status: 200}, {Status: 204}} {
		r.Reset()
		n, p := c.Parse(in, false, &r)
		if p != takt.Done || r.Status != want.Status || r.Class != want.Class {
			t.Errorf("answer %d: used %d, %v, %+v", i, n, p, r)
		}
		in = in[n:]
	}
	if len(in) > 0 {
		t.Errorf("%q left over", in)
	}
}

// TestReset: a new connection knows nothing of the old one's answer, but
// everything of the request.
func TestReset(t *testing.T) {
	c := NewCodec(&Rendered{Bytes: []byte("HEAD / HTTP/1.1\r\n\r\n"), Head: true}, Options{})
	c.Append(nil, &takt.Op{})
	var r takt.Result
	c.Parse([]byte(ok+five), false, &r)
	c.Reset()
	r.Reset()
	if _, p := c.Parse([]byte(ok+five+"\r\n"), false, &r); p != takt.Done || r.Status != 200 {
		t.Errorf("got %v, %+v", p, r)
	}
}

// TestTakesBodyInPieces: a body is not kept in the buffer, however long it is.
func TestTakesBodyInPieces(t *testing.T) {
	c := NewCodec(nil, Options{})
	var r takt.Result
	if n, p := c.Parse([]byte(ok+"Content-Length: 1000000000000\r\n\r\nabc"), false, &r); n != len(ok)+len("Content-Length: 1000000000000\r\n\r\nabc") || p != takt.More {
		t.Errorf("head: used %d, %v", n, p)
	}
	if n, p := c.Parse(make([]byte, 4096), false, &r); n != 4096 || p != takt.More {
		t.Errorf("body: used %d, %v", n, p)
	}
}

// numbered sends another request for each operation; every second is a HEAD and
// every third the connection's last.
type numbered struct{}

func (numbered) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	return strconv.AppendUint(dst, op.Seq, 10), op.Seq%2 == 1, op.Seq%3 == 2
}

func TestAppend(t *testing.T) {
	c := NewCodec(numbered{}, Options{})
	for seq := range uint64(6) {
		got := string(c.Append([]byte("before "), &takt.Op{Seq: seq}))
		if want := "before " + strconv.FormatUint(seq, 10); got != want || c.head != (seq%2 == 1) || c.last != (seq%3 == 2) {
			t.Errorf("%d: got %q, head %v, last %v", seq, got, c.head, c.last)
		}
	}
}

// TestCheck: an answer that did not fail is held against its body, of which a
// failure shows the beginning only.
func TestCheck(t *testing.T) {
	long := strings.Repeat("x", SampleBytes) + "hello"
	for _, tt := range []struct{ answer, class, body string }{
		{ok + five + "\r\nhello", "", ""},
		{ok + five + "\r\nhullo", ClassBody, "hullo"},
		{ok + te + "\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "", ""},
		{ok + "Content-Length: " + strconv.Itoa(len(long)) + "\r\n\r\n" + long, "", ""},
		{ok + "Content-Length: " + strconv.Itoa(len(long)) + "\r\n\r\n" + strings.ToUpper(long), ClassBody, strings.ToUpper(long)[:SampleBytes]},
		{"HTTP/1.1 204 \r\n\r\n", ClassBody, ""},
		{oops + five + "\r\nhullo", "bad", "hullo"}, // its status says it already
	} {
		c := NewCodec(nil, Options{Fail: failure, Check: func(body Content) error {
			if !strings.Contains(string(body.Bytes), "hello") {
				return errors.New("no greeting")
			}
			return nil
		}})
		var r takt.Result
		if _, p := c.Parse([]byte(tt.answer), false, &r); p != takt.Done || r.Class != tt.class || string(r.Body) != tt.body || (r.Err != nil) != (tt.class == ClassBody) {
			t.Errorf("%.40q: %v, %+v, body %q", tt.answer, p, r, r.Body)
		}
	}
}

// TestCheckIsBounded: of a long body the check sees the first MiB, however they
// come, and no more than 64 KiB are kept for the next answer.
func TestCheckIsBounded(t *testing.T) {
	const long = 3_000_000
	answer := []byte(ok + "Content-Length: " + strconv.Itoa(long) + "\r\n\r\n" + strings.Repeat("x", long))
	for _, size := range []int{100, 16 << 10, len(answer)} {
		seen := 0
		room := new(Room)
		c := NewCodec(nil, Options{Room: room, Check: func(body Content) error { seen = len(body.Bytes); return nil }})
		var r takt.Result
		for part := range slices.Chunk(answer, size) {
			c.Parse(part, false, &r)
		}
		if seen != 1<<20 || cap(r.Body)+cap(c.kept.b) > 64<<10 || room.used.Load() != 0 {
			t.Errorf("in parts of %d: %d bytes seen, room for %d and %d kept, %d in use", size, seen, cap(r.Body), cap(c.kept.b), room.used.Load())
		}
	}
}

// The buffer of a body that comes in pieces doubles about: a buffer that grew by a quarter would leave
// four times its size as garbage, and one of the full size would be too large for most bodies.
func TestBodyDoubles(t *testing.T) {
	c := NewCodec(nil, Options{Check: func(Content) error { return nil }})
	var r takt.Result
	c.Parse([]byte(ok+"Content-Length: 65536\r\n\r\n"), false, &r)
	piece, grown, size := make([]byte, 1024), 0, 0
	for range 63 {
		c.Parse(piece, false, &r)
		if cap(c.kept.b) == size {
			continue
		}
		grown, size = grown+1, cap(c.kept.b)
		if size > 3*len(c.kept.b) {
			t.Errorf("a buffer of %d bytes for %d", size, len(c.kept.b))
		}
	}
	if grown > 7 {
		t.Errorf("the buffer grew %d times to %d bytes", grown, size)
	}
}

// TestCloseOfRequest: after a request with Connection: close nothing may be sent,
// whatever the server says.
func TestCloseOfRequest(t *testing.T) {
	c := NewCodec(&Rendered{Bytes: []byte("own"), Close: true}, Options{})
	c.Append(nil, &takt.Op{})
	if got := feed(t, c, []byte(ok+five+"\r\nhello")); got.progress != takt.Last || got.class != "" {
		t.Errorf("got %+v", got)
	}
}

// BodyBytes is the length of the body alone, however it is framed.
func TestBodyBytes(t *testing.T) {
	c := NewCodec(nil, Options{})
	for _, tt := range []struct {
		answer string
		eof    bool
		want   int64
	}{
		{ok + five + "\r\nhello", false, 5}, {ok + "Content-Length: 0\r\n\r\n", false, 0},
		{ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n\r\n", false, 5},
		{ok + "\r\nuntil the end", true, 13}, {"HTTP/1.1 100 Continue\r\n\r\n" + ok + five + "\r\nhello", false, 5},
	} {
		var r takt.Result
		if _, p := c.Parse([]byte(tt.answer), tt.eof, &r); p == takt.More || c.BodyBytes() != tt.want || r.Class != "" {
			t.Errorf("%q: %d, want %d; %+v", tt.answer, c.BodyBytes(), tt.want, r)
		}
		c.Reset()
	}
}
