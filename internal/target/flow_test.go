package target

import (
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/internal/ring"
)

// played is what the model did with a request.
type played struct {
	start   time.Duration
	tokens  []time.Duration
	outcome Outcome
}

// play lets requests arrive at the model of o, in virtual time. leave says when clients leave.
func play(t *testing.T, o Options, questions []question, arrivals []time.Duration, leave map[int]time.Duration) []played {
	t.Helper()
	set, faults := o.settings()
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	l := &line{sse: set.sse, servers: o.Servers, services: &set.services, fates: &set.fates, freezes: set.freeze.next}
	due := ring.NewHeap(func(a, b ticket) bool { return a.end < b.end || a.end == b.end && a.number < b.number })
	out := make([]played, len(questions))
	flows := make([]*flow, len(questions))
	run := func(until time.Duration) {
		for due.Len() > 0 && due.Top().end <= until {
			now := due.Pop()
			f := now.flow
			if at, ok := leave[int(f.number)]; ok && at <= now.end {
				f.gone.Store(true)
			}
			if !f.begun {
				out[f.number].start = now.end
			}
			m, next := l.step(f, now.end)
			if m == moveToken || m == moveEnd {
				out[f.number].tokens = append(out[f.number].tokens, now.end)
			}
			if !m.last() {
				due.Push(f.ticket(next))
				continue
			}
			out[f.number].outcome = f.outcome
			if w, start := l.advance(now.end); w != nil {
				due.Push(w.ticket(start))
			}
		}
	}
	for i, q := range questions {
		run(arrivals[i])
		flows[i] = &flow{question: q, number: uint64(i)}
		if start, a := l.arrive(flows[i], arrivals[i]); a == queued {
			due.Push(flows[i].ticket(start))
		} else if a == full {
			out[i].outcome = flows[i].outcome
		}
	}
	run(forever)
	if l.busy != 0 || l.decoding != 0 || l.waiting.Len() != 0 {
		t.Errorf("at the end %d servers are busy, %d streams decode, %d wait", l.busy, l.decoding, l.waiting.Len())
	}
	return out
}

func TestLine(t *testing.T) {
	const ms = time.Millisecond
	short := question{tokens: 3}
	for _, c := range []struct {
		name      string
		options   Options
		questions []question
		arrivals  []time.Duration
		leave     map[int]time.Duration
		want      []played
	}{
		{"each stream by itself", Options{SSE: "20ms", Service: "100ms"}, []question{short, short}, []time.Duration{0, 5 * ms}, nil,
			[]played{{0, []time.Duration{100 * ms, 120 * ms, 140 * ms}, OK}, {5 * ms, []time.Duration{105 * ms, 125 * ms, 145 * ms}, OK}}},
		{"the prompt", Options{SSE: "20ms", Service: "100ms", SSEPrompt: "1ms"}, []question{{tokens: 1, prompt: 50}}, []time.Duration{0}, nil,
			[]played{{0, []time.Duration{150 * ms}, OK}}},
		// The first stream is alone until 5 ms: its token at 20 ms was ordered then. The one at 42 ms was ordered with two.
		{"a batch", Options{SSE: "20ms", SSEBatch: "2ms"}, []question{short, short}, []time.Duration{0, 5 * ms}, nil,
			[]played{{0, []time.Duration{0, 20 * ms, 42 * ms}, OK}, {5 * ms, []time.Duration{5 * ms, 27 * ms, 49 * ms}, OK}}},
		{"one server", Options{SSE: "20ms", Service: "10ms", Servers: 1}, []question{short, short}, []time.Duration{0, 5 * ms}, nil,
			[]played{{0, []time.Duration{10 * ms, 30 * ms, 50 * ms}, OK}, {50 * ms, []time.Duration{60 * ms, 80 * ms, 100 * ms}, OK}}},
		{"a limit", Options{SSE: "20ms", Servers: 1, SSELimit: 2}, []question{short, short, short, short}, []time.Duration{0, 1 * ms, 2 * ms, 41 * ms}, nil,
			[]played{{0, []time.Duration{0, 20 * ms, 40 * ms}, OK}, {40 * ms, []time.Duration{40 * ms, 60 * ms, 80 * ms}, OK}, {0, nil, Rejected}, {80 * ms, []time.Duration{80 * ms, 100 * ms, 120 * ms}, OK}}},
		{"a freeze", Options{SSE: "20ms", Service: "10ms", Freeze: "100ms/120ms"}, []question{short, short}, []time.Duration{0, 50 * ms}, nil,
			[]played{{0, []time.Duration{10 * ms, 130 * ms, 250 * ms}, OK}, {120 * ms, []time.Duration{130 * ms, 250 * ms, 370 * ms}, OK}}},
		{"a stall", Options{SSE: "20ms", SSEStall: "100%/300ms"}, []question{{tokens: 2}}, []time.Duration{0}, nil,
			[]played{{0, []time.Duration{0, 320 * ms}, OK}}},
		{"clients that leave free the server", Options{SSE: "20ms", Servers: 1}, []question{short, short, short}, []time.Duration{0, 1 * ms, 2 * ms}, map[int]time.Duration{0: 10 * ms, 1: 15 * ms},
			[]played{{0, []time.Duration{0}, Left}, {20 * ms, nil, Left}, {20 * ms, []time.Duration{20 * ms, 40 * ms, 60 * ms}, OK}}},
		{"errors come before the first token", Options{SSE: "20ms", Service: "10ms", ErrorRate: 1}, []question{short}, []time.Duration{0}, nil,
			[]played{{0, nil, Error}}},
		{"resets come after half of the tokens", Options{SSE: "20ms", ResetRate: 1}, []question{{tokens: 4}, {tokens: 1}}, []time.Duration{0, 0}, nil,
			[]played{{0, []time.Duration{0, 20 * ms}, Reset}, {0, nil, Reset}}},
		{"times that overflow", Options{SSE: "1h", SSEBatch: "1h", SSEPrompt: "1h", Freeze: "1ms/2ms"}, []question{{tokens: 1, prompt: maxPrompt / promptBytes}}, []time.Duration{0}, nil,
			[]played{{0, []time.Duration{2*time.Hour - ms}, OK}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := play(t, c.options, c.questions, c.arrivals, c.leave)
			for i, want := range c.want {
				if g := got[i]; g.start != want.start || g.outcome != want.outcome || !slices.Equal(g.tokens, want.tokens) {
					t.Errorf("request %d: %v; want %v", i, g, want)
				}
			}
		})
	}
}

// The decoding of one server with N streams: each adds --sse-batch to the time of all.
func TestBatchSlowsAll(t *testing.T) {
	const streams, tokens = 10, 100
	qs := slices.Repeat([]question{{tokens: tokens}}, streams)
	got := play(t, Options{SSE: "10ms", SSEBatch: "1ms"}, qs, make([]time.Duration, streams), nil)
	for i, p := range got {
		if gap := p.tokens[tokens/2] - p.tokens[tokens/2-1]; gap != 19*time.Millisecond {
			t.Errorf("stream %d has a gap of %v among ten; want 10 ms and nine of 1 ms", i, gap)
		}
	}
}

func TestReadQuestion(t *testing.T) {
	for body, want := range map[string]question{
		``:                                 {tokens: 7},
		`{"stream":true,"prompt":"12345"}`: {tokens: 7, prompt: 2},
		`{"stream":false,"max_tokens":3,"prompt":["1234","5678"]}`:                                               {tokens: 3, limited: true, whole: true, prompt: 2},
		`{"max_tokens":3,"max_completion_tokens":4,"stream":true}`:                                               {tokens: 4, limited: true},
		`{"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"1234"}]}`:  {tokens: 7, usage: true, prompt: 1},
		`{"stream":true,"messages":[{"content":[{"type":"text","text":"12"},{"type":"text","text":"345678"}]}]}`: {tokens: 7, prompt: 2},
		`{"stream":true,"messages":null,"max_tokens":null,"stop":["x"],"temperature":0.5}`:                       {tokens: 7},
	} {
		got, err := readQuestion([]byte(body), otherPath, 7)
		got.model, got.created = "", 0
		if err != nil || got != want {
			t.Errorf("%s: %+v %v; want %+v", body, got, err, want)
		}
	}
	for _, body := range []string{`{`, `[]`, `"x"`, `{"max_tokens":0}`, `{"max_tokens":-1}`, `{"max_tokens":100001}`, `{"max_tokens":1e99}`, `{"stream":1}`, "\x00"} {
		if _, err := readQuestion([]byte(body), otherPath, 7); err == nil {
			t.Errorf("%q was accepted", body)
		}
	}
}

func TestStreamOptions(t *testing.T) {
	for _, o := range []Options{
		{SSE: "soon"}, {SSE: "2h"}, {SSE: "1ms", SSETokens: -1}, {SSE: "1ms", SSETokens: maxTokens + 1}, {SSE: "1ms", SSEPrompt: "x"}, {SSE: "1ms", SSEBatch: "-1ms"},
		{SSE: "1ms", SSEStall: "1ms"}, {SSE: "1ms", SSELimit: -1}, {SSE: "1ms", Status: 201}, {SSE: "1ms", Null: true},
		{SSETokens: 1}, {SSEPrompt: "1ms"}, {SSEBatch: "1ms"}, {SSEStall: "1%/1ms"}, {SSELimit: 1},
	} {
		if faults := o.Validate(); len(faults) != 1 {
			t.Errorf("%+v: %v; want one fault", o, faults)
		}
	}
	if faults := (Options{SSE: "0", SSETokens: 1}).Validate(); len(faults) > 0 {
		t.Error(faults)
	}
}
