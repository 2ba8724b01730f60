package llm

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// load makes a run as the command does.
func load(t *testing.T, o *Options, url string, change func(*engine.Options)) *takt.Report {
	t.Helper()
	return drivertest.Make(t, drivertest.Plan(t, "llm", o, change, url))
}

// extra are the driver's figures, as a reader of the report gets them.
func extra(t *testing.T, r *takt.Report) (x struct {
	Output int    `json:"output_tokens"`
	Input  int    `json:"input_tokens"`
	Cached int    `json:"cached_tokens"`
	From   string `json:"tokens_from"`
	Length int
	PerS   float64 `json:"output_tokens_per_s"`
}) {
	t.Helper()
	b, err := json.Marshal(r.Extra[tokens.Key])
	if err == nil {
		err = json.Unmarshal(b, &x)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Against a target that records each token: all is counted once, and no token came before the target had it.
func TestTargetOfStreams(t *testing.T) {
	for name, opt := range map[string]target.Options{"plain": {}, "tls": {TLS: true}} {
		t.Run(name, func(t *testing.T) {
			const n, most = 10, 6
			opt.SSE, opt.Service = "5ms", "20ms"
			s := targettest.Serve(t, opt)
			o := New()
			o.MaxTokens, o.conn.TLS.Insecure = strconv.Itoa(most), true
			o.SLOs = []string{"ttft<1h,e2e<1h", "ttfo<1ns"}
			r := load(t, o, s.URL(), func(e *engine.Options) { e.Requests, e.Rate = n, engine.MustRate("100/s") })
			x, l := extra(t, r), r.Latency
			if r.Counts.OK != n || x.Output != n*most || x.Length != n || x.From != "usage" || x.Input == 0 {
				t.Fatalf("%+v, %+v, %+v", r.Counts, r.Errors, x)
			}
			if got := l["ttft_sent"].Count + l["ttft_unknown"].Count; got != n || l["ttft"].Count != n || l["ttfo"].Count != n {
				t.Errorf("%d first tokens from sent, %d from due, %d of content; want %d", got, l["ttft"].Count, l["ttfo"].Count, n)
			}
			if gaps := l["gap"].Count + l["gap_unknown"].Count; gaps != n*(most-1) { // the events of the role and the end have no output
				t.Errorf("%d gaps; want %d", gaps, n*(most-1))
			}
			if l["ttft"].Max > l[takt.LatencyResponse].Max || l["tpot"].Count > n {
				t.Errorf("first token after %v of %v; %d TPOTs", l["ttft"].Max, l[takt.LatencyResponse].Max, l["tpot"].Count)
			}
			truth, least := s.Truth(), time.Hour
			for i, stream := range truth.Streams {
				least = min(least, stream.Due[0]-truth.Records[i].Arrival)
			}
			if got := time.Duration(l["ttft"].Min * float64(time.Microsecond)); len(truth.Streams) != n || got < least-least/100 {
				t.Errorf("the earliest first token came after %v; the target had it after %v", got, least)
			}
			if g := r.Goodput; g == nil || g.Good != 0 || g.Missed["ttfo<1ns"] != uint64(n) || g.Missed["ttft<1h"] != 0 {
				t.Errorf("goodput %+v", g)
			}
		})
	}
}

// A stall of a second is no good answer. Those without one are as good as the target was.
func TestStallIsFound(t *testing.T) {
	s := targettest.Serve(t, target.Options{SSE: "1ms", SSEStall: "100%/1s"})
	o := New()
	o.MaxTokens, o.SLOs = "10", []string{"maxgap<300ms", "ttft<1h"}
	r := load(t, o, s.URL(), func(e *engine.Options) { e.Requests, e.Connections = 3, 3 })
	if g := r.Goodput; r.Counts.OK != 3 || g.Good != 0 || g.Percent != 0 || g.Missed["maxgap<300ms"]+g.Undecided != 3 || g.Missed["ttft<1h"] != 0 {
		t.Errorf("%+v, goodput %+v", r.Counts, g)
	}
	o = New()
	o.MaxTokens, o.SLOs = "10", []string{"maxgap<1h", "tpot<1h"}
	r = load(t, o, s.URL(), func(e *engine.Options) { e.Requests, e.Connections = 3, 3 })
	if g := r.Goodput; g.Good != 3 || g.Percent != 100 || g.PerS == 0 {
		t.Errorf("goodput %+v", g)
	}
}

// serve answers each request with a status, a content type and a body.
func serve(t *testing.T, answer func(w http.ResponseWriter, body map[string]any)) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(q.Body).Decode(&body); err != nil || q.Method != "POST" || q.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s with %s: %v", q.Method, q.Header, err)
		}
		answer(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestFailuresByName(t *testing.T) {
	token := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
	for _, c := range []struct{ name, kind, path, stream, class, sample string }{
		{"good", "text/event-stream", "", token + "data: [DONE]\n\n", "", ""},
		{"an error", "text/event-stream", "", token + "data: {\"error\":{\"message\":\"out of memory\"}}\n\ndata: [DONE]\n\n", "error_event", "out of memory"},
		{"a cut", "text/event-stream", "", token, "cut", "without a finish reason"},
		{"no parts", "text/event-stream", "", "", "cut", "without a finish reason"},
		{"no choices", "text/event-stream", "", "data: [DONE]\n\n", "no_choices", "no choices"},
		{"no stream", "application/json", "", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, "no_stream", "application/json"},
		{"compressed", "text/event-stream+gzip", "", token, "no_stream", "compressed with \"gzip\""},
		{"lines of Ollama", "application/x-ndjson", "/api/chat", "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"done\":true,\"eval_count\":1}\n", "", ""},
		{"overloaded", "text/event-stream", "/v1/messages", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", "error_event", "Overloaded"},
		{"too long an event", "text/event-stream", "", "data: " + strings.Repeat("x", 1<<20+1), "too_large", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, _ map[string]any) {
				kind, coding, _ := strings.Cut(c.kind, "+")
				w.Header().Set("Content-Type", kind)
				if coding != "" {
					w.Header().Set("Content-Encoding", coding)
				}
				fmt.Fprint(w, c.stream)
			})
			o := New()
			o.SLOs = []string{"ttft<1h"}
			r := load(t, o, url+c.path, func(e *engine.Options) { e.Requests = 2 })
			x := extra(t, r)
			if c.class == "" {
				if r.Counts.OK != 2 || x.Output != 2 || r.Goodput.Good != 2 || r.Goodput.Percent != 100 {
					t.Errorf("%+v, %+v, %+v", r.Counts, r.Errors, x)
				}
				return
			}
			if r.Counts.Failed != 2 || len(r.Errors) != 1 || r.Errors[0].Class != c.class || !strings.Contains(r.Errors[0].Sample, c.sample) || r.Goodput.Good != 0 || x.Output != 0 {
				t.Errorf("%+v, %+v, %+v", r.Counts, r.Errors, x)
			}
		})
	}
}

// What requests have, by API.
func TestBodies(t *testing.T) {
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "prompts")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	lines := file("\ufefffirst\n\n  second  \r\n")
	messages := file(`{"messages":[{"role":"system","content":"s"}],"id":1}` + "\n\n" + `{"prompt":"p"}` + "\n")
	share := file(`[{"id":"a","conversations":[{"from":"system","value":"s"},{"from":"human","value":"h"},{"from":"gpt","value":"g"}]}]`)
	for _, c := range []struct {
		path, prompts, extra string
		tokens               string
		want                 []string
	}{
		{"", lines, "", "5", []string{
			`{"max_tokens":5,"messages":[{"content":"first","role":"user"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}`,
			`{"max_tokens":5,"messages":[{"content":"second","role":"user"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}`}},
		{"/v1/completions", share, `{"max_tokens":9,"ignore_eos":true}`, "5", []string{
			`{"ignore_eos":true,"max_tokens":9,"model":"m","prompt":"h","stream":true,"stream_options":{"include_usage":true}}`}},
		{"/v1/messages", messages, "", "5", []string{
			`{"max_tokens":5,"messages":[{"content":"s","role":"system"}],"model":"m","stream":true}`, `{"max_tokens":5,"messages":[{"content":"p","role":"user"}],"model":"m","stream":true}`}},
		{"/api/chat", share, "", "0", []string{`{"messages":[{"content":"h","role":"user"}],"model":"m","stream":true}`}},
		{"/api/generate", share, "", "7", []string{`{"model":"m","options":{"num_predict":7},"prompt":"h","stream":true}`}},
	} {
		o := ready()
		o.Model, o.Prompts, o.Extra, o.MaxTokens = "m", c.prompts, c.extra, c.tokens
		if faults := o.Validate([]string{"http://127.0.0.1:1" + c.path}); len(faults) > 0 {
			t.Errorf("%s: %v", c.path, faults)
			continue
		}
		var got []string
		for i := range o.frame.scripts {
			got = append(got, bodyOf(t, o, uint64(i)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.path, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// bodyOf is the body of operation n, with its members in order.
func bodyOf(t *testing.T, o *Options, n uint64) string {
	t.Helper()
	var members map[string]any
	body := o.frame.appendBody(nil, n, &o.frame.scripts[n%uint64(len(o.frame.scripts))], nil)
	err := json.Unmarshal(body, &members)
	if err == nil {
		body, err = json.Marshal(members)
	}
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return string(body)
}

// ready are options as they are before Validate.
func ready() *Options {
	o := New()
	e := engine.Defaults()
	o.Shape(&e)
	return o
}

// asked is what operation n asks: the system message, and the prompt.
func asked(t *testing.T, o *Options, n uint64) (system, prompt string) {
	t.Helper()
	var body struct {
		System   string
		Prompt   string
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(bodyOf(t, o, n)), &body); err != nil {
		t.Fatal(err)
	}
	system, prompt = body.System, body.Prompt
	for _, m := range body.Messages {
		if m.Role == "system" {
			system = m.Content
		} else {
			prompt += m.Content
		}
	}
	return system, prompt
}

// valid are options after Validate.
func valid(t *testing.T, url string, change func(o *Options)) *Options {
	t.Helper()
	o := ready()
	change(o)
	if faults := o.Validate([]string{url}); len(faults) > 0 {
		t.Fatal(faults)
	}
	return o
}

// Prompts of one seed are the same, no two operations have the same beginning, and their lengths are as asked.
func TestMadePrompts(t *testing.T) {
	with := func(words string, seed uint64) *Options {
		return valid(t, "http://h:1/", func(o *Options) { o.Words, o.seed = words, seed })
	}
	a, again, other := with("20", 1), with("20", 1), with("20", 2)
	begun := map[string]bool{}
	for n := range uint64(3 * mostMade) {
		_, text := asked(t, a, n)
		words := strings.Fields(text)
		if begun[strings.Join(words[:openWords], " ")] = true; len(words) != 20 {
			t.Fatalf("%d words: %q", len(words), text)
		}
	}
	_, first := asked(t, a, 0)
	_, next := asked(t, a, 1)
	if len(begun) != 3*mostMade || strings.Fields(first)[0] == strings.Fields(next)[0] {
		t.Errorf("%d beginnings; %q and %q", len(begun), first, next)
	}
	for n, differs := range map[*Options]bool{again: false, other: true} {
		if _, text := asked(t, n, 0); (text != first) != differs {
			t.Errorf("%q and %q", text, first)
		}
	}
	if long := with(strconv.Itoa(mostWords), 1); len(long.frame.scripts) != 5 {
		t.Errorf("%d prompts of %d words", len(long.frame.scripts), mostWords)
	}
	for _, words := range []string{"1", "2", "3..5"} {
		o := with(words, 1)
		if _, text := asked(t, o, 7); len(strings.Fields(text)) < 1 || len(strings.Fields(text)) > 5 {
			t.Errorf("%s: %q", words, text)
		}
	}
	sum, o := 0, with("normal(200,50)", 1)
	for n := range uint64(mostMade) {
		_, text := asked(t, o, n)
		sum += len(strings.Fields(text))
	}
	if mean := float64(sum) / mostMade; mean < 192 || mean > 208 { // 5 standard errors
		t.Errorf("%v words are the mean of normal(200,50)", mean)
	}
}

// Answers have lengths from a distribution, also those to one prompt.
func TestLengthsOfAnswers(t *testing.T) {
	o := valid(t, "http://h:1/", func(o *Options) { o.MaxTokens = "10..30" })
	sum, seen := int64(0), map[int64]bool{}
	for n := range uint64(2000) {
		most := o.frame.most(n, 0)
		if sum, seen[most] = sum+most, true; most < 10 || most > 30 || most != o.frame.most(n, 0) {
			t.Fatalf("%d tokens", most)
		}
	}
	if mean := float64(sum) / 2000; len(seen) != 21 || mean < 19 || mean > 21 {
		t.Errorf("%d lengths, their mean is %v", len(seen), mean)
	}
	if text := bodyOf(t, o, 5); !strings.Contains(text, fmt.Sprintf(`"max_tokens":%d,`, o.frame.most(5, 0))) {
		t.Error(text)
	}
}

// Requests have one of K beginnings in turn, which are no two alike, and then what is theirs.
func TestPrefixes(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/messages", "/api/chat", "/api/generate"} {
		o := valid(t, "http://h:1"+path, func(o *Options) { o.PrefixTokens, o.Prefixes, o.Words = 50, 3, "10" })
		var prefixes []string
		for n := range uint64(7) {
			system, prompt := asked(t, o, n)
			if system == "" { // of an API with a text
				words := strings.Fields(prompt)
				system, prompt = strings.Join(words[:50], " "), strings.Join(words[50:], " ")
			}
			prefixes = append(prefixes, system)
			if len(strings.Fields(system)) != 50 || len(strings.Fields(prompt)) != 10 {
				t.Fatalf("%s: %q, %q", path, system, prompt)
			}
			if n >= 3 && system != prefixes[n-3] || n > 0 && strings.Fields(system)[0] == strings.Fields(prefixes[n-1])[0] {
				t.Errorf("%s: %q", path, prefixes)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	name := filepath.Join(t.TempDir(), "prompts")
	with := func(text string) func(*Options) {
		return func(o *Options) {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			o.Prompts = name
		}
	}
	for _, c := range []struct {
		url, want string
		change    func(*Options)
	}{
		{"http://h:1/other", "names no API", func(*Options) {}},
		{"http://h:1/", "unknown API", func(o *Options) { o.API = "grpc" }},
		{"http://h:1/", `"p99<1s" is no condition`, func(o *Options) { o.SLOs = []string{"ttft<1s,p99<1s"} }},
		{"http://h:1/", "write --assert 'ttft.p99<1s'", func(o *Options) { o.SLOs = []string{"ttft.p99<1s"} }},
		{"http://h:1/", "write --assert 'goodput>99%'", func(o *Options) { o.SLOs = []string{"goodput>99%"} }},
		{"http://h:1/", "has no time above 0", func(o *Options) { o.SLOs = []string{"ttft<fast"} }},
		{"http://h:1/", "has no time above 0", func(o *Options) { o.SLOs = []string{"ttft<0s"} }},
		{"http://h:1/", "is not a JSON object", func(o *Options) { o.Extra = "[1]" }},
		{"http://h:1/", "is not a JSON object", func(o *Options) { o.Extra = "null" }},
		{"http://h:1/", `"0" is not a number from 1 to 1000000`, func(o *Options) { o.Words = "0" }},
		{"http://h:1/", `--prompt-tokens: "1e12" is not a number`, func(o *Options) { o.Words = "1e12" }},
		{"http://h:1/", `--prompt-tokens: "uniform(5,1)" is not a number`, func(o *Options) { o.Words = "uniform(5,1)" }},
		{"http://h:1/", `--max-tokens: "-1" is not a number`, func(o *Options) { o.MaxTokens = "-1" }},
		{"http://h:1/", "both --prompt-tokens and --prompts", func(o *Options) { o.Words, o.Prompts = "5", name }},
		{"http://h:1/", "--prefix-tokens is -1", func(o *Options) { o.PrefixTokens = -1 }},
		{"http://h:1/", "--prefixes is 0", func(o *Options) { o.Prefixes = 0 }},
		{"http://h:1/", "--prefixes is given without", func(o *Options) { o.Prefixes = 2 }},
		{"http://h:1/", "have more than 32 MiB", func(o *Options) { o.PrefixTokens, o.Prefixes = 1_000_000, 1<<40 }},
		{"http://h:1/", "--extra has messages", func(o *Options) { o.PrefixTokens, o.Extra = 5, `{"messages":[]}` }},
		{"http://h:1/v1/messages", "--extra has system", func(o *Options) { o.PrefixTokens, o.Extra = 5, `{"system":"s"}` }},
		{"http://h:1/", "prompt 1: it has a system message", func(o *Options) {
			o.PrefixTokens = 5
			with(`{"messages":[{"role":"system","content":"s"}]}`)(o)
		}},
		{"http://h:1/", "cannot read the prompts", func(o *Options) { o.Prompts = name + ".none" }},
		{"http://h:1/", "it is empty", with(" \n")},
		{"http://h:1/", "begins as a JSON array", with("[INST] hi\n")},
		{"http://h:1/", "entry 2: it has no prompt", with("{\"prompt\":\"a\"}\n{\"text\":\"b\"}\n")},
		{"http://h:1/", "no person says anything", with(`[{"conversations":[]},{"conversations":[{"from":"gpt","value":"a"},{"from":"human","value":" "}]}]`)},
		{"http://h:1/", "entry 1: conversations.value is a JSON number; write {", with(`{"conversations":[{"from":"human","value":5}]}`)},
		{"http://h:1/", "entry 1: messages is a JSON string; write {", with(`{"messages":"hi"}`)},
		{"http://h:1/", "exceeded max depth", with(`{"messages":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}")},
		{"http://h:1/", "entry 2: it is no JSON object on one line", with("{\"prompt\":\"a\"}\nplain\n")},
		{"http://h:1/", "entry 1: it is a JSON string, and no object", with(`["hi"]`)},
		{"http://h:1/v1/completions", "prompt 1: it has messages", with(`{"messages":[]}`)},
		{"http://h:1/", "give 100000 at most", with(strings.Repeat("a\n", 100_001))},
	} {
		o := ready()
		c.change(o)
		faults := o.Validate([]string{c.url})
		if len(faults) != 1 || !strings.Contains(fmt.Sprint(faults), c.want) {
			t.Errorf("%s: %v; want %q", c.url, faults, c.want)
		}
	}
}

// What is not known of a request decides neither way.
func TestSLOs(t *testing.T) {
	const ms = time.Millisecond
	s, err := parseSLO("maxgap < 300ms")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		low, high       time.Duration
		missed, unknown bool
	}{{0, 0, false, false}, {299, 299, false, false}, {300, 300, true, false}, {100, 400, false, true}, {400, 500, true, false}} {
		var f figures
		f[maxGap] = span{c.low * ms, c.high * ms}
		if missed, unknown := s.misses(&f); missed != c.missed || unknown != c.unknown {
			t.Errorf("%d to %d ms: missed %t, unknown %t", c.low, c.high, missed, unknown)
		}
	}
}

// The figures of one answer whose reads came at known instants: due at 10 ms, sent at 20, reasoning at 100, content at
// 150 and 250, the end at 260.
func TestFiguresOfReads(t *testing.T) {
	const ms = time.Millisecond
	o := ready()
	o.SLOs = []string{"ttft<91ms", "ttfo<140ms", "tpot<90ms", "maxgap<101ms", "e2e<251ms"}
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) > 0 {
		t.Fatal(faults)
	}
	d, err := o.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]time.Duration{}
	record := func(phase int, due, dur time.Duration) {
		if due != 10*ms {
			t.Errorf("due at %v", due)
		}
		name := o.Timed()[phase-len(engine.NetPhases)].Name
		got[name] = append(got[name], dur/ms)
	}
	c := d.Loop.Codec(0).(*codec)
	c.Append(nil, &takt.Op{})
	var r takt.Result
	c.Starts(0, 10*ms, 20*ms, &r)
	for _, read := range []struct {
		at   time.Duration
		text string
	}{
		{30, `{"choices":[{"delta":{"role":"assistant","content":""}}]}`}, {100, `{"choices":[{"delta":{"reasoning_content":"hm"}}]}`}, {150, `{"choices":[{"delta":{"content":"a"}}]}`},
		{250, `{"choices":[{"delta":{"content":"b"}}]}`}, {260, `{"choices":[{"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":5}}}`},
	} {
		text := "data: " + read.text + "\n\n"
		text = fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
		if read.at == 30 {
			text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + text
		}
		if read.at == 260 {
			text += "0\r\n\r\n"
		}
		c.Came(engine.Coming{From: (read.at - 1) * ms, At: read.at * ms, Record: record})
		c.Parse([]byte(text), false, &r)
	}
	report := &takt.Report{Extra: map[string]any{}, DurationS: 2, Counts: takt.Counts{Scheduled: 4}, Goodput: new(takt.Goodput)}
	if err := d.Finish(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]time.Duration{
		"ttft": {90}, "ttft_sent": {80}, "ttft_unknown": nil, "ttfo": {140}, "gap": {50, 100}, "gap_unknown": nil, "maxgap": {100}, "tpot": {80},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: %v; want %v", name, got[name], want)
		}
	}
	x := extra(t, report)
	if r.Class != "" || x.Output != 3 || x.Input != 7 || x.Cached != 5 || x.PerS != 1.5 || x.Length != 1 || x.From != "usage" {
		t.Errorf("class %q, %+v", r.Class, x)
	}
	report.DurationS = 0.1 // the answer ended 0.26 s after the start
	if err := d.Finish(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	if got := extra(t, report).PerS; got < 11.53 || got > 11.54 {
		t.Errorf("%v tokens per second, want 3 in 0.26 s", got)
	}
	if want := [takt.MaxTimed]time.Duration{90 * ms, 100 * ms, 80 * ms, 140 * ms}; r.Timed != want || r.Goal != takt.GoalMissed {
		t.Errorf("the row has %v, goal %v; want %v", r.Timed, r.Goal, want)
	}
	if g := report.Goodput; g.Missed["ttfo<140ms"] != 1 || g.Missed["ttft<91ms"]+g.Missed["tpot<90ms"]+g.Missed["maxgap<101ms"]+g.Missed["e2e<251ms"] != 0 {
		t.Errorf("goodput %+v", g)
	}
}

// The driver is held against what the engine expects.
func TestSuite(t *testing.T) {
	drivertest.Run(t, "loop", func(t *testing.T, behaviour drivertest.Target) *takt.Driver {
		url := ""
		switch behaviour {
		case drivertest.Down:
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			url = "http://" + l.Addr().String()
			_ = l.Close() // nobody is there
		case drivertest.Hanging:
			hang := make(chan struct{})
			url = serve(t, func(http.ResponseWriter, map[string]any) { <-hang })
			t.Cleanup(func() { close(hang) })
		default:
			url = serve(t, func(w http.ResponseWriter, _ map[string]any) {
				w.Header().Set("Content-Type", "text/event-stream")
				if behaviour == drivertest.Failing {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n")
			})
		}
		o := ready()
		if faults := o.Validate([]string{url}); len(faults) > 0 {
			t.Fatal(faults)
		}
		d, err := o.Open(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}
