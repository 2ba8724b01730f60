package http_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/takt"
)

const (
	events  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	lines   = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nConnection: close\r\n\r\n"
	chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// arrival is one read: its bytes, and when they came.
type arrival struct {
	from, at time.Duration // in ms
	bytes    string
}

// What is known of parts by when the bytes of each read came. The operation is due at 1 ms and sent at 2 ms.
func TestPartsOfReads(t *testing.T) {
	const ms = time.Millisecond
	a, b := chunk("data: a\n\n"), chunk("data: b\n\n")
	for _, c := range []struct {
		name    string
		reads   []arrival
		eof     bool
		first   time.Duration // from sent, in ms; negative: at most
		maxgap  time.Duration
		known   []time.Duration // gaps
		unknown []time.Duration
		class   string
	}{
		{name: "one part a read", reads: []arrival{{2, 10, events}, {11, 100, a}, {101, 120, b}, {121, 150, a}, {159, 160, "0\r\n\r\n"}}, first: 98, maxgap: 30, known: []time.Duration{20, 30}},
		{name: "the head with the first part", reads: []arrival{{2, 100, events + a}, {101, 101, "0\r\n\r\n"}}, first: 98},
		{name: "one part that was read late is known by its stamp", reads: []arrival{{2, 100, events + a}, {100, 400, b}, {419, 420, a + "0\r\n\r\n"}}, first: 98, maxgap: 300, known: []time.Duration{300, 20}},
		{name: "parts that the server sent together", reads: []arrival{{2, 100, events + a}, {299, 300, b + a + b}, {319, 320, a + "0\r\n\r\n"}}, first: 98, maxgap: 199, known: []time.Duration{199, 0, 0, 20}},
		{name: "parts that were read late", reads: []arrival{{2, 100, events + a}, {100, 300, b + a + b}, {319, 320, a + "0\r\n\r\n"}}, first: 98, maxgap: 20, known: []time.Duration{20}, unknown: []time.Duration{200, 200, 200}},
		{name: "the first parts were read late", reads: []arrival{{2, 300, events + a + b}, {319, 320, a + "0\r\n\r\n"}}, first: -298, maxgap: 20, known: []time.Duration{20}, unknown: []time.Duration{298}},
		{name: "a late read with a part and the beginning of another", reads: []arrival{{2, 100, events + a}, {100, 300, b + "9\r\ndata: "}, {301, 310, "a\n\n\r\n"}, {319, 320, b + "0\r\n\r\n"}}, first: 98, maxgap: 10, known: []time.Duration{10}, unknown: []time.Duration{200, 10}},
		{name: "a prompt read with a part and the beginning of another", reads: []arrival{{2, 100, events + a}, {299, 300, b + "9\r\ndata: "}, {309, 310, "a\n\n\r\n0\r\n\r\n"}}, first: 98, maxgap: 199, known: []time.Duration{199, 10}},
		{name: "a late read with a part and the end of the answer", reads: []arrival{{2, 100, events + a}, {100, 300, b + "0\r\n\r\n"}}, first: 98, unknown: []time.Duration{200}},
		{name: "a late read with a part and a comment", reads: []arrival{{2, 100, events + a}, {100, 300, b + chunk(": ping\n\n")}, {301, 310, "0\r\n\r\n"}}, first: 98, unknown: []time.Duration{200}},
		{name: "a prompt read with a part and the end of the answer", reads: []arrival{{2, 100, events + a}, {299, 300, b + "0\r\n\r\n"}}, first: 98, maxgap: 200, known: []time.Duration{200}},
		{name: "a stream that breaks off after a long rest", reads: []arrival{{2, 10, events + a}, {11, 40, b}, {41, 90, ""}}, eof: true, first: 8, maxgap: 50, known: []time.Duration{30}, class: "truncated"},
		{name: "comments are no parts", reads: []arrival{{2, 50, events + chunk(": ping\n\n")}, {51, 100, a}, {101, 110, chunk(":\n\n")}, {129, 130, b + "0\r\n\r\n"}}, first: 98, maxgap: 30, known: []time.Duration{30}},
		{name: "an event in several chunks", reads: []arrival{{2, 50, events + chunk("data: ")}, {51, 60, chunk("a\n")}, {99, 100, chunk("\n") + "0\r\n\r\n"}}, first: 98},
		{name: "lines, and the last one without an end", reads: []arrival{{2, 10, lines + "{}\n"}, {11, 30, "\n{}"}, {31, 40, ""}}, eof: true, first: 8, maxgap: 30, known: []time.Duration{30}},
		{name: "chunks", reads: []arrival{{2, 10, chunked + chunk("ab")}, {11, 30, "3\r\nab"}, {39, 40, "c\r\n0\r\n\r\n"}}, first: 8, maxgap: 30, known: []time.Duration{30}},
		{name: "what is compressed comes in chunks", reads: []arrival{{2, 10, strings.Replace(events, "\r\n", "\r\nContent-Encoding: gzip\r\n", 1) + a}, {29, 30, b + "0\r\n\r\n"}}, first: 8, maxgap: 20, known: []time.Duration{20}},
		{name: "identity is no compression", reads: []arrival{{2, 10, strings.Replace(events, "\r\n", "\r\nContent-Encoding: identity\r\n", 1) + chunk(":\n")}, {29, 30, b + "0\r\n\r\n"}}, first: 28},
		{name: "no parts", reads: []arrival{{9, 10, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}}},
		{name: "a body with a length is one part", reads: []arrival{{2, 10, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"}, {11, 20, "cd"}}, first: 18},
		{name: "a failed answer has no parts", reads: []arrival{{9, 10, strings.Replace(events, "200 OK", "500 No", 1) + a + "0\r\n\r\n"}}, class: "5xx"},
		{name: "a stream that is cut", reads: []arrival{{2, 10, events + a}, {11, 40, b}, {41, 50, ""}}, eof: true, first: 8, maxgap: 30, known: []time.Duration{30}, class: "truncated"},
		{name: "an event that is too long", reads: []arrival{{2, 10, events + a}, {11, 40, chunk("data:" + strings.Repeat("x", 1<<20+1))}}, first: 8, maxgap: 30, class: "too_large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			codec := streamCodec(t)
			for range 2 { // answers on one connection
				var r takt.Result
				got := map[int][]time.Duration{}
				record := func(phase int, due, d time.Duration) {
					if due != ms {
						t.Errorf("due at %v", due)
					}
					got[phase] = append(got[phase], d.Round(ms)/ms)
				}
				codec.Starts(0, ms, 2*ms, &r)
				for i, read := range c.reads {
					codec.Came(engine.Coming{From: read.from * ms, At: read.at * ms, Record: record})
					_, p := codec.Parse([]byte(read.bytes), c.eof && i == len(c.reads)-1, &r)
					if done := p != takt.More; done != (i == len(c.reads)-1) {
						t.Fatalf("read %d: progress %v, class %q, %v", i, p, r.Class, r.Err)
					}
				}
				one := func(phase int) time.Duration {
					if len(got[phase]) > 1 {
						t.Errorf("%d times phase %d", len(got[phase]), phase)
					}
					return append(got[phase], 0)[0]
				}
				first := one(engine.PhaseFirstPart) - one(engine.PhaseFirstPartUnknown)
				known, unknown := got[engine.PhaseGap], got[engine.PhaseGapUnknown]
				if first != c.first || !slices.Equal(known, c.known) || !slices.Equal(unknown, c.unknown) || r.Class != c.class {
					t.Errorf("first %d, gaps %d, unknown %d, class %q; want %d, %d, %d, %q", first, known, unknown, r.Class, c.first, c.known, c.unknown, c.class)
				}
				if most := one(engine.PhaseMaxGap); most != c.maxgap {
					t.Errorf("longest gap %d; want %d", most, c.maxgap)
				}
				if due := one(engine.PhaseFirstPartDue); c.first != 0 && due != max(first, -first)+1 {
					t.Errorf("first part from due %d, from sent %d", due, first)
				}
				if c.class != "" || c.eof {
					codec.Reset()
				}
			}
		})
	}
}

// A stream that stops in the middle has the time since its last part as a gap: 10 ms to 90 ms. One without parts has none.
func TestStreamThatStops(t *testing.T) {
	codec := streamCodec(t)
	for name, want := range map[string]map[int]time.Duration{
		events + chunk("data: a\n\n"): {engine.PhaseFirstPart: 8, engine.PhaseFirstPartDue: 9, engine.PhaseMaxGap: 80}, events: {},
	} {
		got := map[int]time.Duration{}
		record := func(phase int, _, d time.Duration) { got[phase] = d / time.Millisecond }
		var r takt.Result
		codec.Starts(0, time.Millisecond, 2*time.Millisecond, &r)
		codec.Came(engine.Coming{From: 9 * time.Millisecond, At: 10 * time.Millisecond, Record: record})
		codec.Parse([]byte(name), false, &r)
		codec.Stops(0, 90*time.Millisecond, record)
		if !maps.Equal(got, want) {
			t.Errorf("%q: %v; want %v", name, got, want)
		}
		if row := [2]time.Duration{want[engine.PhaseFirstPartDue], want[engine.PhaseMaxGap]}; row != [2]time.Duration{r.Timed[engine.RowFirstPart] / time.Millisecond, r.Timed[engine.RowMaxGap] / time.Millisecond} {
			t.Errorf("%q: the row has %v; want %v", name, r.Timed, row)
		}
		codec.Reset()
	}
}

// The report says if more than one gap of a hundred is unknown.
func TestUnknownGapsAreTold(t *testing.T) {
	o := http.New()
	o.Stream = true
	e := engine.Defaults()
	o.Shape(&e)
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) > 0 {
		t.Fatal(faults)
	}
	d, err := o.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for unknown, want := range map[uint64]int{0: 0, 1: 0, 2: 1} {
		r := &takt.Report{Extra: map[string]any{}, Latency: map[string]takt.Latency{"gap": {Count: 100 - unknown}, "gap_unknown": {Count: unknown}}}
		if err := d.Finish(t.Context(), r); err != nil || len(r.Warnings) != want {
			t.Errorf("%d unknown: %v, %v", unknown, r.Warnings, err)
		}
	}
}

type partedCodec interface {
	takt.Codec
	engine.Parted
}

// streamCodec is the codec of one connection with --stream.
func streamCodec(t *testing.T) partedCodec {
	o := http.New()
	o.Stream = true
	e := engine.Defaults()
	o.Shape(&e)
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) > 0 {
		t.Fatal(faults)
	}
	d, err := o.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return d.Loop.Codec(0).(partedCodec)
}

// A run over streams counts each part and each gap once.
func TestStreams(t *testing.T) {
	for name, o := range map[string]target.Options{"plain": {}, "tls": {TLS: true}, "h2c": {H2: true}, "h2": {H2: true, TLS: true}} {
		t.Run(name, func(t *testing.T) {
			const n, tokens = 10, 5
			o.SSE, o.SSETokens = "5ms", tokens
			s := targettest.Serve(t, o)
			client := http.New()
			client.Stream, client.TLS.Insecure, client.HTTP2 = true, true, o.H2
			e := engine.Defaults()
			e.Requests, e.Rate = n, engine.MustRate("100/s")
			r, err := (&scene{o: client}).load(t, e, s.URL()+"/v1/completions")
			if err != nil {
				t.Fatal(err)
			}
			l := r.Latency
			if r.Counts.OK != n {
				t.Fatalf("%+v, %+v", r.Counts, r.Errors)
			}
			first, gaps := l["first_part"].Count+l["first_part_unknown"].Count, l["gap"].Count+l["gap_unknown"].Count
			if first != n || l["first_part_due"].Count != n || gaps != n*(tokens+2-1) { // with the end and [DONE]
				t.Errorf("%d first parts, %d from due, %d gaps; want %d, %d and %d", first, l["first_part_due"].Count, gaps, n, n, n*(tokens+1))
			}
			if unknown := l["gap_unknown"].Count; unknown == 0 && (l["maxgap"].Count == 0 || l["maxgap"].Max != l["gap"].Max) {
				t.Errorf("the longest gap of all is %v, and of operations %v", l["gap"].Max, l["maxgap"].Max)
			}
		})
	}
}
