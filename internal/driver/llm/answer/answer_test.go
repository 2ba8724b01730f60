package answer_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver/llm/answer"
	"github.com/taktload/takt/internal/parts"
)

// outcome is what a stream said in the end.
type outcome struct {
	outputs string // the channels of each part with output: c, r, t
	n       int    // tokens
	counted bool
	input   int
	cached  int
	length  bool
	err     string
}

func read(api answer.API, kind parts.Kind, stream string) outcome {
	r := parts.NewReader(kind, parts.Most)
	var s answer.Stream
	s.Reset(api)
	var o outcome
	take := func() {
		for p, ok := r.Next(); ok; p, ok = r.Next() {
			said := s.Read(p)
			for _, c := range []struct {
				channel answer.Channel
				letter  string
			}{{answer.Content, "c"}, {answer.Reasoning, "r"}, {answer.Tool, "t"}} {
				if said.Output&c.channel != 0 {
					o.outputs += c.letter
				}
			}
		}
	}
	r.Feed([]byte(stream))
	take()
	r.End()
	take()
	o.n, o.counted = s.Tokens()
	o.input, o.cached, o.length = s.Input(), s.Cached(), s.Length()
	if err := s.Err(); err != nil {
		o.err = err.Error()
	}
	return o
}

// events is a stream of events with that data.
func events(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

// delta is a chunk of OpenAI's with one choice.
func delta(d string) string {
	return `{"choices":[{"index":0,"delta":{` + d + `},"finish_reason":null}]}`
}

const (
	role    = `{"id":"x","choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}]}`
	stop    = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done    = "[DONE]"
	said    = `"content":"a"`
	errText = "the server sent an error in its stream: "
)

func TestStreams(t *testing.T) {
	cut, none := answer.ErrCut.Error(), answer.ErrNoChoices.Error()
	ping := "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	start := events(`{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":25,"cache_read_input_tokens":9,"output_tokens":1}}}`)
	block := events(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`)
	end := events(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}`, `{"type":"message_stop"}`)
	for _, c := range []struct {
		name   string
		api    answer.API
		stream string
		want   outcome
	}{
		{"the role, output, the end", answer.Chat, events(role, delta(said), delta(said), stop, done), outcome{outputs: "cc", n: 2}},
		{"no space after the colon", answer.Chat, "data:" + delta(said) + "\n\ndata:" + stop + "\n\ndata:[DONE]\n\n", outcome{outputs: "c", n: 1}},
		{"several lines of data", answer.Chat, "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n", outcome{outputs: "c", n: 1}},
		{"comments and empty chunks as keep-alive", answer.Chat, ": ping\n\n" + events("", `{"choices":[]}`, `{}`, delta(""), delta(`"content":""`), delta(said), stop, done), outcome{outputs: "c", n: 1}},
		{"the role twice", answer.Chat, events(role, role, delta(said), stop, done), outcome{outputs: "c", n: 1}},
		{"two choices in turns", answer.Chat, events(delta(said), `{"choices":[{"index":1,"delta":{"content":"b"}}]}`, stop, `{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"length"}]}`), outcome{outputs: "ccc", n: 3, length: true}},
		{"one of two choices has no end", answer.Chat, events(delta(said), `{"choices":[{"index":1,"delta":{"content":"b"}}]}`, stop), outcome{outputs: "cc", n: 2, err: cut}},
		{"both choices in one chunk", answer.Chat, events(`{"choices":[{"index":0,"delta":{"content":"b"}},{"index":1,"delta":{"content":"b"}}]}`, done), outcome{outputs: "c", n: 1}},
		{"usage without choices", answer.Chat, events(role, delta(said), stop, `{"choices":[],"usage":{"completion_tokens":4,"prompt_tokens":30,"prompt_tokens_details":{"cached_tokens":7}}}`, done), outcome{outputs: "c", n: 4, counted: true, input: 30, cached: 7}},
		{"usage in the chunk of the end, and no [DONE]", answer.Chat, events(delta(said), `{"choices":[{"delta":{},"index":0,"finish_reason":"length"}],"usage":{"completion_tokens":5,"prompt_tokens":3}}`), outcome{outputs: "c", n: 5, counted: true, input: 3, length: true}},
		{"usage that grows, with bytes held back", answer.Chat, events(
			`{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":1}}`, `{"choices":[{"delta":{"content":""}}],"usage":{"completion_tokens":2}}`,
			`{"choices":[{"delta":{"content":"ab"}}],"usage":{"completion_tokens":3}}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":3}}`, `{"choices":[],"usage":{"completion_tokens":3}}`, done), outcome{outputs: "ccc", n: 3, counted: true}},
		{"usage as differences", answer.Chat, events(
			`{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":1}}`, `{"choices":[{"delta":{"content":"b"}}],"usage":{"completion_tokens":2}}`,
			`{"choices":[{"delta":{"content":"c"},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}`, done), outcome{outputs: "ccc", n: 4, counted: true}},
		{"usage is null", answer.Chat, events(`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":null}`, done), outcome{outputs: "c", n: 1}},
		{"an absurd usage", answer.Chat, events(delta(said), stop, `{"choices":[],"usage":{"completion_tokens":99999999999999999999,"prompt_tokens":-5}}`, done), outcome{outputs: "c", n: 1}},
		{"no [DONE]", answer.Chat, events(delta(said), stop), outcome{outputs: "c", n: 1}},
		{"no finish reason", answer.Chat, events(delta(said), done), outcome{outputs: "c", n: 1}},
		{"no end", answer.Chat, events(role, delta(said)), outcome{outputs: "c", n: 1, err: cut}},
		{"nothing", answer.Chat, "", outcome{err: cut}},
		{"no choices", answer.Chat, events(done), outcome{err: none}},
		{"an empty list of choices", answer.Chat, events(`{"choices":[]}`, done), outcome{err: none}},
		{"an answer without output", answer.Chat, events(role, stop, done), outcome{}},
		{"reasoning_content, then content", answer.Chat, events(delta(`"reasoning_content":"hm","content":null`), delta(`"reasoning_content":null,"content":"a"`), stop, done), outcome{outputs: "rc", n: 2}},
		{"reasoning, and thinking", answer.Chat, events(delta(`"reasoning":"hm"`), delta(`"thinking":"hm"`), stop, done), outcome{outputs: "rr", n: 2}},
		{"a call of a tool without content", answer.Chat, events(delta(`"content":null,"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]`), delta(`"tool_calls":[]`), delta(`"tool_calls":[ ]`), stop, done), outcome{outputs: "t", n: 1}},
		{"a refusal", answer.Chat, events(delta(`"refusal":"no"`), stop, done), outcome{outputs: "c", n: 1}},
		{"an error, then [DONE]", answer.Chat, events(delta(said), `{"error":{"message":"CUDA \"out\" of memory","code":500}}`, done), outcome{outputs: "c", n: 1, err: errText + `CUDA "out" of memory`}},
		{"an error as a string in an object", answer.Chat, events(`{"error":"no \u00e9"}`), outcome{err: errText + "no é"}},
		{"an error as a plain string", answer.Chat, events("Error: out of memory", done), outcome{err: errText + "Error: out of memory"}},
		{"an error as a string of JSON", answer.Chat, events(`"overloaded"`), outcome{err: errText + "overloaded"}},
		{"an error that is null", answer.Chat, events(`{"error":null,"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`), outcome{outputs: "c", n: 1}},
		{"an event error", answer.Chat, "event: error\ndata: {\"message\":\"no\"}\n\n", outcome{err: errText + "no"}},
		{"the first error counts", answer.Chat, events(`{"error":"a"}`, `{"error":"b"}`), outcome{err: errText + "a"}},
		{"prompt_progress", answer.Chat, events(`{"choices":[{"index":0,"delta":{},"finish_reason":null}],"prompt_progress":{"total":10,"content":"x"}}`, delta(said), stop, done), outcome{outputs: "c", n: 1}},
		{"text that looks like JSON", answer.Chat, events(delta(`"content":"\"}]},{\"error\":{\\"`), stop, done), outcome{outputs: "c", n: 1}},
		{"white space", answer.Chat, events("{ \"choices\" : [ { \"delta\" : { \"content\" : \"a\" } , \"finish_reason\" : \"stop\" } ] }"), outcome{outputs: "c", n: 1}},
		{"a chunk that ends early", answer.Chat, events(`{"choices":[{"delta":{"content":"a`, done), outcome{err: none}},
		{"completions", answer.Text, events(`{"choices":[{"text":"","index":0}]}`, `{"choices":[{"text":" a","index":0,"logprobs":null,"finish_reason":null}]}`, `{"choices":[{"text":" b","finish_reason":"length"}],"usage":{"prompt_tokens":2,"completion_tokens":2}}`, done), outcome{outputs: "cc", n: 2, counted: true, input: 2, length: true}},
		{"Anthropic", answer.Anthropic, start + ping + block + ping + block + end, outcome{outputs: "cc", n: 15, counted: true, input: 25, cached: 9}},
		{"Anthropic: thinking and tools", answer.Anthropic, start + events(
			`{"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}`, `{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}`,
			`{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"xx"}}`, `{"type":"content_block_stop"}`,
			`{"type":"content_block_start","content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
			`{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}}`, `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"a"}}`) +
			events(`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`), outcome{outputs: "rtt", n: 9, counted: true, input: 25, cached: 9, length: true}},
		{"Anthropic: unknown events", answer.Anthropic, start + "event: new\ndata: {\"type\":\"new\",\"text\":\"x\"}\n\n" + block + end, outcome{outputs: "c", n: 15, counted: true, input: 25, cached: 9}},
		{"Anthropic: an error", answer.Anthropic, start + block + "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"Overloaded\"}}\n\n", outcome{outputs: "c", n: 1, input: 25, cached: 9, err: errText + "Overloaded"}},
		{"Anthropic: an error without the name", answer.Anthropic, events(`{"type":"error","error":{"type":"overloaded_error"}}`), outcome{err: errText + `{"type":"overloaded_error"}`}},
		{"Anthropic: no end", answer.Anthropic, start + block, outcome{outputs: "c", n: 1, input: 25, cached: 9, err: cut}},
		{"Ollama: chat", answer.Ollama, `{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}` + "\n" + `{"message":{"content":"a"},"done":false}` + "\n\n" +
			`{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":282,"eval_duration":4709213000}`, outcome{outputs: "rc", n: 282, counted: true, input: 26}},
		{"Ollama: generate", answer.Ollama, `{"response":"a","done":false}` + "\n" + `{"response":"","done":true,"done_reason":"length","context":[1,2],"eval_count":1}` + "\n", outcome{outputs: "c", n: 1, counted: true, length: true}},
		{"Ollama: an error", answer.Ollama, `{"response":"a","done":false}` + "\n" + `{"error":"no memory"}` + "\n", outcome{outputs: "c", n: 1, err: errText + "no memory"}},
		{"Ollama: no end", answer.Ollama, `{"response":"a","done":false}` + "\n", outcome{outputs: "c", n: 1, err: cut}},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := parts.Events
			if c.api == answer.Ollama {
				kind = parts.Lines
			}
			if got := read(c.api, kind, c.stream); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// What llama.cpp and transformers sent.
func TestRecorded(t *testing.T) {
	for name, want := range map[string]outcome{
		"llamacpp":     {outputs: "cc", n: 4, counted: true, input: 30, length: true},
		"transformers": {outputs: "cccc", n: 5, counted: true, input: 3, length: true},
	} {
		b, err := os.ReadFile("../../../parts/testdata/" + name + ".sse")
		if err != nil {
			t.Fatal(err)
		}
		if got := read(answer.Chat, parts.Events, string(b)); got != want {
			t.Errorf("%s: got %+v; want %+v", name, got, want)
		}
	}
}

func TestAPIs(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/chat/completions": "openai-chat", "/chat/completions/": "openai-chat", "/v1/completions": "openai", "/v1/messages": "anthropic",
		"/api/chat": "ollama", "/api/generate": "ollama",
	} {
		if got := answer.OfPath(path); got == 0 || got.String() != want {
			t.Errorf("%s is %v; want %s", path, got, want)
		}
		if api, err := answer.Parse(want); err != nil || api.String() != want {
			t.Errorf("%s: %v, %v", want, api, err)
		}
	}
	if got := answer.OfPath("/v1"); got != 0 {
		t.Errorf("/v1 is %v", got)
	}
	if _, err := answer.Parse(""); err == nil {
		t.Error("an API without a name")
	}
}

// A token costs no allocation.
func TestPartsAllocateNothing(t *testing.T) {
	var s answer.Stream
	for api, data := range map[answer.API]string{
		answer.Chat:      delta(said),
		answer.Anthropic: `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`,
		answer.Ollama:    `{"message":{"content":"a"},"done":false}`,
	} {
		s.Reset(api)
		p := parts.Part{Data: []byte(data), Size: len(data)}
		if n := testing.AllocsPerRun(100, func() { s.Read(p) }); n != 0 {
			t.Errorf("%v: %v allocations", api, n)
		}
	}
}

// FuzzRead: any bytes are read without a panic, an error is bounded, and a stream with output has tokens.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{role, delta(said), stop, done, `{"error":{"message":"x"}}`, `{"type":"message_delta","usage":{"output_tokens":3}}`, `{"done":true,"eval_count":3}`, `"`, `{"a`, `{"choices":[[{]}`, `{"error":"\`, `[}`} {
		for api := range 4 {
			f.Add(uint8(api), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, api uint8, data []byte) {
		var s answer.Stream
		s.Reset(answer.Chat + answer.API(api%4))
		had := append([]byte(nil), data...)
		outputs := 0
		for line := range strings.SplitSeq(string(data), "\n") {
			if s.Read(parts.Part{Data: []byte(line), Size: len(line)}).Output != 0 {
				outputs++
			}
		}
		if string(had) != string(data) {
			t.Fatal("the reader changed its bytes")
		}
		if n, _ := s.Tokens(); n < outputs {
			t.Fatalf("%d tokens in %d parts", n, outputs)
		}
		var event *answer.EventError
		if err := s.Err(); errors.As(err, &event) && len(event.Text) > 1000 {
			t.Fatal(fmt.Sprint("an error of ", len(event.Text), " bytes"))
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var s answer.Stream
	s.Reset(answer.Chat)
	data := []byte(`{"id":"chatcmpl-0","object":"chat.completion.chunk","created":1795981487,"model":"takt","choices":[{"index":0,"delta":{"content":" takt"},"finish_reason":null}]}`)
	p := parts.Part{Data: data, Size: len(data)}
	b.ReportAllocs()
	for b.Loop() {
		s.Read(p)
	}
}
