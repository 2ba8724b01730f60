package parts

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// shape is a stream, and its parts: "name=data", or "data" without a name.
type shape struct {
	name   string
	stream string
	want   []string
}

var eventShapes = []shape{
	{"one event", "data: a\n\n", []string{"a"}},
	{"no space after the colon", "data:a\nevent:x\n\n", []string{"x=a"}},
	{"one space is no part of the data, a second one is", "data:  a\n\n", []string{" a"}},
	{"a tab is part of the data", "data:\ta\n\n", []string{"\ta"}},
	{"CR", "data: a\rdata: b\r\rdata: c\r\r", []string{"a\nb", "c"}},
	{"CR LF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{"a\nb", "c"}},
	{"mixed ends of lines", "data: a\rdata: b\r\ndata: c\n\r\ndata: d\n\n", []string{"a\nb\nc", "d"}},
	{"LF CR is two ends", "data: a\n\rdata: b\n\n", []string{"a", "b"}},
	{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []string{"a"}},
	{"a second byte order mark is part of a name", "\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", []string{"b"}},
	{"bytes like the beginning of a byte order mark", "\xef\xbbdata: a\ndata: b\n\n", []string{"b"}},
	{"a byte order mark later", "data: a\n\n\xef\xbb\xbfdata: b\n\ndata: c\n\n", []string{"a", "c"}},
	{"several lines of data", "data: YHOO\ndata: +2\ndata: 10\n\n", []string{"YHOO\n+2\n10"}},
	{"empty data is an event", "data\n\ndata\ndata\n\ndata:", []string{"", "\n"}},
	{"empty data with a colon", "data:\n\ndata: \n\n", []string{"", ""}},
	{"an empty line of data before another", "data:\ndata: a\n\n", []string{"\na"}},
	{"an empty line of data after another", "data: a\ndata:\n\n", []string{"a\n"}},
	{"three empty lines of data", "data\ndata:\ndata: \n\n", []string{"\n\n"}},
	{"id and retry", "id: 1\nretry: 10\ndata: a\nid\nretry: x\n\n", []string{"a"}},
	{"id alone is no event", "id: 1\n\ndata: a\n\n", []string{"a"}},
	{"a comment", ": test stream\n\ndata: first event\nid: 1\n\n", []string{"first event"}},
	{"a comment and an empty line as keep-alive", ":\n\n: ping\n\n:ping\n\ndata: a\n\n: ping\n\n", []string{"a"}},
	{"a comment within an event", "data: a\n: ping\ndata: b\n\n", []string{"a\nb"}},
	{"a comment that looks like data", ":data: a\n\n", nil},
	{"OpenRouter's comment", ": OPENROUTER PROCESSING\n\ndata: a\n\n", []string{"a"}},
	{"empty lines", "\n\n\r\r\n\ndata: a\n\n\n\n\n", []string{"a"}},
	{"a name", "event: ping\ndata: {}\n\n", []string{"ping={}"}},
	{"the name after the data", "data: {}\nevent: ping\n\n", []string{"ping={}"}},
	{"the last name counts", "event: a\nevent: b\ndata: x\n\n", []string{"b=x"}},
	{"an empty name is none", "event: a\nevent\ndata: x\n\n", []string{"x"}},
	{"a name without data is no event", "event: a\n\ndata: x\n\n", []string{"x"}},
	{"a name of one event only", "event: a\ndata: x\n\ndata: y\n\n", []string{"a=x", "y"}},
	{"names differ by case and blanks", "Data: a\nDATA: b\n data: c\ndata : d\ndata: e\n\n", []string{"e"}},
	{"unknown fields", "foo: a\ndatabase: b\ndat: c\ndata2: d\neventual: e\nx\ndata: f\n\n", []string{"f"}},
	{"a field error:", "error: overloaded\n\ndata: a\n\n", []string{"a"}},
	{"colons in data", "data: a:b: c\n\ndata::\n\n", []string{"a:b: c", ":"}},
	{"no empty line at the end", "data: a\n\ndata: b\n", []string{"a"}},
	{"no end of the last line", "data: a\n\ndata: b", []string{"a"}},
	{"data without end is none, even complete", "data: [DONE]", nil},
	{"UTF-8 within a rune", "data: é😀\n\n", []string{"é😀"}},
	{"bytes that are not UTF-8", "data: \xf0\x9f\n\ndata: \x98\x80\n\n", []string{"\xf0\x9f", "\x98\x80"}},
	{"NUL", "data: a\x00b\nid: \x00\n\n", []string{"a\x00b"}},
	{"the role, empty deltas, several choices", roles, []string{
		`{"choices":[{"delta":{"role":"assistant","content":null}}]}`, `{"choices":[{"delta":{}}]}`,
		`{"choices":[{"index":1,"delta":{"content":"b"}}]}`, `{"choices":[{"index":0,"delta":{"content":"a"}}]}`, "[DONE]"}},
	{"an error at status 200", "data: {\"error\":{\"message\":\"no\"}}\n\ndata: [DONE]\n\n", []string{`{"error":{"message":"no"}}`, "[DONE]"}},
	{"an error as a string", "data: Error: out of memory\n\n", []string{"Error: out of memory"}},
	{"an error as an event", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
		[]string{`error={"type":"error","error":{"type":"overloaded_error"}}`}},
	{"pings of Anthropic", "event: message_start\ndata: {}\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\nevent: message_stop\ndata: {}\n\n",
		[]string{"message_start={}", `ping={"type": "ping"}`, "message_stop={}"}},
	{"after [DONE]", "data: [DONE]\n\ndata: a\n\n", []string{"[DONE]", "a"}},
	{"nothing", "", nil},
}

const roles = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n" +
	"data: {\"choices\":[{\"delta\":{}}]}\n\n" +
	"data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n" +
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"

var lineShapes = []shape{
	{"lines", "{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}},
	{"CR LF", "{}\r\n[]\r\n", []string{"{}", "[]"}},
	{"a CR alone ends no line", "{}\r[]\n", []string{"{}\r[]"}},
	{"two CRs", "{}\r\r\n", []string{"{}\r"}},
	{"empty lines as keep-alive", "\n\r\n\n{}\n\n\n", []string{"{}"}},
	{"no end of the last line", "{}\n{\"done\":true}", []string{"{}", `{"done":true}`}},
	{"a CR at the end", "{}\n\r", []string{"{}"}},
	{"byte order mark", "\xef\xbb\xbf{}\n", []string{"{}"}},
	{"half a byte order mark", "\xef\xbb", []string{"\xef\xbb"}},
	{"lines of Ollama", "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"done\":true,\"done_reason\":\"stop\",\"eval_count\":2}\n",
		[]string{`{"message":{"content":"a"},"done":false}`, `{"done":true,"done_reason":"stop","eval_count":2}`}},
	{"lines that look like events", "data: a\n\nevent: b\n", []string{"data: a", "event: b"}},
	{"nothing", "", nil},
}

// Every shape gives the same parts, wherever it is cut in two, and cut into single bytes.
func TestShapes(t *testing.T) {
	for kind, shapes := range map[Kind][]shape{Events: eventShapes, Lines: lineShapes} {
		for _, s := range shapes {
			t.Run(kind.String()+"/"+s.name, func(t *testing.T) {
				for at := range len(s.stream) + 1 {
					compare(t, cut(kind, s.stream[:at], s.stream[at:]), s.want, fmt.Sprintf("cut at %d", at))
				}
				compare(t, cut(kind, strings.Split(s.stream, "")...), s.want, "cut into runes")
				compare(t, cut(kind, bytesOf(s.stream)...), s.want, "cut into bytes")
			})
		}
	}
}

// What llama.cpp and transformers sent for 4 and 5 tokens: with them the role, the end and, of one, the usage and
// [DONE].
func TestRecorded(t *testing.T) {
	for name, want := range map[string]int{"llamacpp.sse": 6, "transformers.sse": 6} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		whole := cut(Events, string(b))
		if len(whole) != want || !strings.HasPrefix(whole[0], "{") {
			t.Errorf("%s has %d events; want %d: %q", name, len(whole), want, whole)
		}
		for at := range len(b) {
			compare(t, cut(Events, string(b[:at]), string(b[at:])), whole, fmt.Sprintf("%s cut at %d", name, at))
		}
	}
}

// A part ends where its last byte is: with the CR of a CR LF, and the bytes of the next part change nothing.
func TestEndsWithItsLastByte(t *testing.T) {
	r := NewReader(Events, Most)
	for _, step := range []struct {
		feed string
		want []string
	}{
		{"data: a\r", nil}, {"\n", nil}, {"\r", []string{"a"}}, {"\n", nil}, {"data: b\n", nil}, {"\ndata: c\n\ndata: d", []string{"b", "c"}}, {"\n\n", []string{"d"}},
	} {
		r.Feed([]byte(step.feed))
		compare(t, rest(r), step.want, fmt.Sprintf("after %q", step.feed))
	}
}

func TestChunks(t *testing.T) {
	r := NewReader(Chunks, Most)
	var got []string
	for _, piece := range []string{"ab", "c", "|", "|", "\xef\xbb\xbf", "|", "rest"} {
		if piece == "|" {
			r.Cut() // an empty chunk is no part
		} else {
			r.Feed([]byte(piece))
		}
		got = append(got, rest(r)...)
	}
	r.End()
	compare(t, append(got, rest(r)...), []string{"abc", "\xef\xbb\xbf", "rest"}, "chunks")
}

// A part that is too long is an error, however its bytes come. Comments and unknown fields may be of any length,
// and need no memory.
func TestBounds(t *testing.T) {
	const mega = 1 << 20
	long := strings.Repeat("x", 64<<10)
	for _, c := range []struct {
		name        string
		kind        Kind
		begin, each string
		times       int
		end         string
		size        int // of the part; 0: none
		err         error
	}{
		{"the longest event", Events, "data:", long, mega / len(long), "\n\n", mega, nil},
		{"a longer one", Events, "data:x", long, mega / len(long), "\n\n", 0, ErrTooLong},
		{"many lines", Events, "", "data: a\n", mega, "\n", 0, ErrTooLong},
		{"many empty lines of data", Events, "", "data\n", mega + 2, "\n", 0, ErrTooLong},
		{"the longest line", Lines, "", long, mega / len(long), "\n", mega, nil},
		{"a longer line", Lines, "x", long, mega / len(long), "\n", 0, ErrTooLong},
		{"100 MiB of a comment", Events, ":", long, 100 * mega / len(long), "\n\n", 0, nil},
		{"4 MiB of comments", Events, "", ": ping\n\n" + strings.Repeat(":\n", len(long)/2), 4 * mega / len(long), "", 0, nil},
		{"100 MiB of an unknown field", Events, "x: ", long, 100 * mega / len(long), "\n\n", 0, nil},
		{"100 MiB of the name of a field", Events, "", long, 100 * mega / len(long), "\n\n", 0, nil},
		{"100 MiB of the name of an event", Events, "event: ", long, 100 * mega / len(long), "\ndata: a\n\n", 1, nil},
		{"4 MiB of ends of lines", Lines, "", strings.Repeat("\n", len(long)), 4 * mega / len(long), "", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader(c.kind, Most)
			size := 0
			feed := func(b []byte) {
				r.Feed(b)
				for p, ok := r.Next(); ok; p, ok = r.Next() {
					size = p.Size
					if len(p.Data) != p.Size {
						t.Errorf("a part of %d bytes has %d", p.Size, len(p.Data))
					}
				}
			}
			feed([]byte(c.begin))
			each := []byte(c.each)
			for range c.times {
				feed(each)
			}
			feed([]byte(c.end))
			if size != c.size || !errors.Is(r.Err(), c.err) {
				t.Errorf("a part of %d bytes and error %v; want %d and %v", size, r.Err(), c.size, c.err)
			}
			if cap(r.data) > 2*mega || cap(r.name) > 2*mostName {
				t.Errorf("%d and %d bytes are kept", cap(r.data), cap(r.name))
			}
			r.Feed([]byte("data: a\n\n"))
			if _, ok := r.Next(); ok && c.err != nil {
				t.Error("a part after the error")
			}
		})
	}
}

// Without keep nothing is copied, and sizes are right.
func TestKeepNothing(t *testing.T) {
	r := NewReader(Events, 0)
	for _, b := range bytesOf("data: abc\ndata: d\n\n") {
		r.Feed([]byte(b))
		for p, ok := r.Next(); ok; p, ok = r.Next() {
			if p.Size != 5 || len(p.Data) > 0 {
				t.Errorf("%d bytes, kept %q; want 5 and none", p.Size, p.Data)
			}
		}
	}
	if cap(r.data) > 0 {
		t.Errorf("%d bytes are kept", cap(r.data))
	}
}

func TestNothingIsAllocated(t *testing.T) {
	whole, lines := []byte(strings.Repeat(token, 10)), []byte("data: a\ndata: b\n\n")
	r := NewReader(Events, Most)
	r.Feed(lines)
	rest(r)
	n := testing.AllocsPerRun(100, func() {
		r.Feed(whole)
		for _, ok := r.Next(); ok; _, ok = r.Next() {
		}
		for i := range lines {
			r.Feed(lines[i : i+1])
			r.Next()
		}
		r.Reset(Events, Most)
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestKindOf(t *testing.T) {
	for text, want := range map[string]Kind{
		"text/event-stream": Events, "Text/Event-Stream;charset=utf-8": Events, "text/event-stream ; x=y": Events,
		"application/x-ndjson": Lines, "application/jsonl; charset=utf-8": Lines, "application/json": Chunks, "": Chunks, "text/event-streams": Chunks,
	} {
		if got := KindOf(text); got != want {
			t.Errorf("%q is of %v; want %v", text, got, want)
		}
	}
}

// Any cutting of any stream gives the parts of the specification's own words.
func FuzzCuts(f *testing.F) {
	for _, s := range eventShapes {
		f.Add([]byte(s.stream), uint64(0x5a5a), true)
	}
	for _, s := range lineShapes {
		f.Add([]byte(s.stream), uint64(0x1234567), false)
	}
	f.Fuzz(func(t *testing.T, stream []byte, cuts uint64, events bool) {
		kind, want := Lines, linesOf(string(stream))
		if events {
			kind, want = Events, eventsOf(string(stream))
		}
		compare(t, cut(kind, string(stream)), want, "whole")
		compare(t, cut(kind, pieces(string(stream), cuts)...), want, fmt.Sprintf("cut by %x", cuts))
	})
}

// pieces cuts s where bits of cuts are set, again and again.
func pieces(s string, cuts uint64) (ps []string) {
	from := 0
	for i := range len(s) {
		if cuts>>(i%64)&1 != 0 {
			ps = append(ps, s[from:i])
			from = i
		}
	}
	return append(ps, s[from:])
}

// eventsOf are the events of a whole stream, as section 9.2.6 of WHATWG's HTML reads it.
func eventsOf(s string) (events []string) {
	s = strings.TrimPrefix(s, byteOrderMark)
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(s, "\n")
	data, kind := "", ""
	for _, line := range lines[:len(lines)-1] { // the last one has no end
		if line == "" {
			if data != "" {
				events = append(events, text(kind, strings.TrimSuffix(data, "\n")))
			}
			data, kind = "", ""
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			kind = value[:min(len(value), mostName)]
		case "data":
			data += value + "\n"
		}
	}
	return events
}

func linesOf(s string) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimPrefix(s, byteOrderMark), "\n") {
		if line = strings.TrimSuffix(line, "\r"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// cut are the parts of the pieces of a stream.
func cut(kind Kind, pieces ...string) (got []string) {
	r := NewReader(kind, Most)
	for _, p := range pieces {
		b := []byte(p)
		r.Feed(b)
		got = append(got, rest(r)...)
		clear(b) // the bytes are the caller's again
	}
	r.End()
	return append(got, rest(r)...)
}

func rest(r *Reader) (got []string) {
	for p, ok := r.Next(); ok; p, ok = r.Next() {
		got = append(got, text(string(p.Name), string(p.Data)))
		if p.Size != len(p.Data) {
			got = append(got, fmt.Sprintf("%d bytes, not %d", len(p.Data), p.Size))
		}
	}
	return got
}

func text(name, data string) string {
	if name != "" {
		return name + "=" + data
	}
	return data
}

func bytesOf(s string) (bs []string) {
	for i := range len(s) {
		bs = append(bs, s[i:i+1])
	}
	return bs
}

func compare(t *testing.T, got, want []string, how string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: parts %q; want %q", how, got, want)
	}
}

const token = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764300000,"model":"truth","choices":[{"index":0,"delta":{"content":" hello"},"finish_reason":null}]}` + "\n\n"

func BenchmarkEvents(b *testing.B) {
	for name, piece := range map[string]int{"one a read": len(token), "many a read": 64 << 10, "cut": 100} {
		b.Run(name, func(b *testing.B) {
			stream := []byte(strings.Repeat(token, 1000))
			r := NewReader(Events, Most)
			b.ReportAllocs()
			b.SetBytes(int64(len(token)))
			n := 0
			for n < b.N {
				for piece := range slices.Chunk(stream, piece) {
					r.Feed(piece)
					for _, ok := r.Next(); ok; _, ok = r.Next() {
						n++
					}
				}
			}
		})
	}
}
