package http1

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// step is one answer on a connection that has seen others.
type step struct {
	answer string
	head   bool // the request was HEAD
	want   outcome
}

// TestKnownHead: what the head before was may change nothing.
func TestKnownHead(t *testing.T) {
	const long = ok + "Content-Length: 1001\r\n\r\n"
	hello := step{ok + five + "\r\nhello", false, outcome{status: 200}}
	tests := []struct {
		name  string
		steps []step
	}{
		{"the same", []step{hello, hello, hello}},
		{"another length", []step{hello, {ok + "Content-Length: 6\r\n\r\nhello!", false, outcome{status: 200}}, hello}},
		{"another status", []step{hello, {oops + five + "\r\nhello", false, outcome{status: 503, class: "bad", body: "hello"}},
			{oops + five + "\r\nhello", false, outcome{status: 503, class: "bad", body: "hello"}}, hello}},
		{"a longer head", []step{hello, {ok + five + "Connection: close\r\n\r\nhello", false, outcome{status: 200, progress: takt.Last}},
			{ok + five + "Connection: close\r\n\r\nhello", false, outcome{status: 200, progress: takt.Last}}, hello}},
		{"HEAD between GETs", []step{hello, {ok + five + "\r\n", true, outcome{status: 200}}, hello}},
		{"HEAD, then a body over the limit", []step{{long, true, outcome{status: 200}},
			{long, false, outcome{status: 200, err: errLongBody}}, {long, true, outcome{status: 200}}}},
		{"HEAD without length, then until the end", []step{{ok + "\r\n", true, outcome{status: 200}},
			{ok + "\r\nhello", false, outcome{status: 200, progress: takt.Last}}, {ok + "\r\n", true, outcome{status: 200}}}},
		{"lines of the trailer count on", []step{{ok + te + strings.Repeat("A: b\r\n", 5) + "\r\n0\r\n\r\n", false, outcome{status: 200}},
			{ok + te + strings.Repeat("A: b\r\n", 5) + "\r\n0\r\nA: b\r\n", false, outcome{status: 200, err: errManyFields}}}},
		{"interim answers", []step{hello, {"HTTP/1.1 100 Continue\r\n\r\n" + hello.answer, false, outcome{status: 200}},
			{"HTTP/1.1 100 Continue\r\n\r\n" + hello.answer, false, outcome{status: 200}}, hello,
			{"HTTP/1.1 103 Early Hints\r\n\r\n" + hello.answer, false, outcome{status: 200}}}},
		{"another protocol", []step{{"HTTP/1.1 101 X\r\n\r\n", false, outcome{status: 101, err: ErrSwitched}},
			{"HTTP/1.1 101 X\r\n\r\n", false, outcome{status: 101, err: ErrSwitched}}, hello}},
		{"cut short", []step{hello, {ok + five + "\r\nhell", false, outcome{status: 200, err: errTruncated}},
			{ok + five, false, outcome{err: errTruncated}}, {"", false, outcome{err: errClosed}}, hello}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := NewCodec(nil, limits)
			for i, s := range tt.steps {
				c.head = s.head
				if got, want := feed(t, c, []byte(s.answer)), expected(s.answer, s.want); got != want {
					t.Errorf("answer %d: got  %+v\nwant %+v", i, got, want)
				}
			}
		})
	}
}

// TestKnownHeadInside: only the beginning of an answer is compared. Behind an
// interim answer the limit counts both heads, and behind a status line a head is
// no header.
func TestKnownHeadInside(t *testing.T) {
	const interim = "HTTP/1.1 103 Early Hints\r\n\r\n"
	long := ok + "A: " + strings.Repeat("x", 150) + "\r\n" + five + "\r\nhello"
	for _, tt := range []struct {
		before string
		err    *fault
	}{{interim, errLongHead}, {ok, errName}} {
		c := NewCodec(nil, limits)
		feed(t, c, []byte(long))
		if got := feed(t, c, []byte(tt.before+long), len(tt.before)); got.err != tt.err {
			t.Errorf("%q and a known head: %v, want %v", tt.before, got.err, tt.err)
		}
	}
}

// TestRecall: the head is not read again, which only a forged memory shows.
func TestRecall(t *testing.T) {
	c := NewCodec(nil, Options{})
	in := []byte(ok + five + "\r\nhello")
	feed(t, c, in)
	c.known.answer.said.status = 299
	c.Reset() // another connection
	if got := feed(t, c, in); got.status != 299 {
		t.Errorf("status %d, want the remembered 299", got.status)
	}
	in[len("HTTP/1.1 200 O")] = 'k'
	if got := feed(t, c, in); got.status != 200 {
		t.Errorf("status %d, want that of the other head, 200", got.status)
	}
}

// TestKnownIsBounded: a head of 1 KiB is remembered, a longer one and one that
// came in pieces are not, and leave what was there.
func TestKnownIsBounded(t *testing.T) {
	c := NewCodec(nil, Options{})
	frame := len(ok + "A: \r\n" + five + "\r\n")
	for _, n := range []int{maxKnown, maxKnown + 1} {
		feed(t, c, []byte(ok+"A: "+strings.Repeat("x", n-frame)+"\r\n"+five+"\r\nhello"))
		if len(c.known.bytes) != maxKnown {
			t.Errorf("%d bytes are known after a head of %d", len(c.known.bytes), n)
		}
	}
	feed(t, c, []byte(ok+five+"\r\nhello"), len(ok))
	if len(c.known.bytes) != maxKnown {
		t.Errorf("%d bytes are known after a head in two pieces", len(c.known.bytes))
	}
}

// FuzzSequence: a codec that has seen other answers and one that has seen none
// take the next alike, however each is cut, and whatever was asked. data is any
// number of answers; each is followed by itself with one byte changed.
func FuzzSequence(f *testing.F) {
	addCorpus(f)
	for i, tt := range corpus { // pairs of neighbours, and pairs with themselves
		f.Add([]byte(tt.answer+corpus[(i+1)%len(corpus)].answer), tt.head, uint64(i))
		f.Add([]byte(tt.answer+tt.answer), !tt.head, uint64(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, head bool, seed uint64) {
		if len(data) > maxFuzz {
			return
		}
		random := rand.New(rand.NewPCG(seed, 0))
		seen := NewCodec(nil, limits)
		for len(data) > 0 {
			seen.head = head
			used := alike(t, seen, data, random)
			if used == 0 {
				return
			}
			changed := append([]byte(nil), data...)
			changed[random.IntN(used)] ^= 1 << random.IntN(8)
			seen.head = random.IntN(4) == 0
			alike(t, seen, changed, random)
			seen.head = head
			alike(t, seen, data[:random.IntN(used+1)], random)
			data = data[used:]
		}
	})
}

// alike gives data to seen and to a new codec, in the same pieces, twice.
func alike(t *testing.T, seen *Codec, data []byte, random *rand.Rand) (used int) {
	for range 2 {
		var cuts []int
		if len(data) > 0 && random.IntN(2) == 0 {
			cuts = []int{random.IntN(len(data))}
		}
		c := NewCodec(nil, limits)
		c.head = seen.head
		want := feed(t, c, data, cuts...)
		if got := feed(t, seen, data, cuts...); got != want {
			t.Errorf("%q cut at %v:\ngot  %+v\nwant %+v", data, cuts, got, want)
		}
		used = want.used
	}
	return used
}
