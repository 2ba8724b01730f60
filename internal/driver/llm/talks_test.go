package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// message is one message of a request.
type message struct{ Role, Content string }

// asks is a request that a model server got.
type asks struct {
	System   any
	Messages []message
	came     time.Time
	remote   string
	proto    string
}

// last is the last question.
func (a *asks) last() string { return a.Messages[len(a.Messages)-1].Content }

// model is a model server whose answers a test decides. Each answer is JSON's inside of a string, in pieces.
type model struct {
	url    string
	mu     sync.Mutex
	got    []asks
	ended  map[string]time.Time // by the last question: when its answer was on its way
	answer func(w http.ResponseWriter, a *asks)
}

// serveModel serves; h2: over TLS and HTTP/2.
func serveModel(t *testing.T, h2 bool, answer func(w http.ResponseWriter, a *asks)) *model {
	m := &model{ended: map[string]time.Time{}, answer: answer}
	s := httptest.NewUnstartedServer(m)
	if s.EnableHTTP2 = h2; h2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	m.url = s.URL
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	a := asks{came: time.Now(), remote: q.RemoteAddr, proto: q.Proto}
	if err := json.NewDecoder(q.Body).Decode(&a); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, err)
		return
	}
	m.mu.Lock()
	m.got = append(m.got, a)
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	m.answer(w, &a)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended[a.last()] = time.Now()
}

// say streams pieces in the form of OpenAI's chat.
func say(w io.Writer, pieces ...string) {
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n")
	for _, p := range pieces {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n", p)
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// converse makes a run of conversations.
func converse(t *testing.T, o *Options, url string, change func(*engine.Options)) *takt.Report {
	t.Helper()
	p := drivertest.Plan(t, "llm", o, change, url)
	src, err := o.Source(t.Context(), p.Source)
	if err != nil {
		t.Fatal(err)
	}
	p.Source = src
	return drivertest.Make(t, p)
}

// conversing are options with turns.
func conversing(turns, think string, change func(o *Options)) *Options {
	o := New()
	if o.Turns, o.Think = turns, think; change != nil {
		change(o)
	}
	return o
}

// prompts writes a file of prompts.
func prompts(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "prompts")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func rounds(r *takt.Report) (begun, completed, failed float64) {
	x, _ := r.Extra[steps.Rounds].(map[string]any)
	n := func(name string) float64 { f, _ := x[name].(float64); return f }
	return n("begun"), n("completed"), n("failed")
}

// Turn n+1 carries the answer to turn n, whatever characters it has, comes the think time after it, and over the same
// connection; over HTTP/1.1 and 2, in the loop's absence.
func TestTurnsCarryAnswers(t *testing.T) {
	const think = 30 * time.Millisecond
	// A character in two escapes that two events share, a quote, and an emoji as it is.
	pieces := []string{`\ud83d`, `\ude00 \"a\"`, "\U0001f600"}
	const said = "\U0001f600 \"a\"\U0001f600"
	for name, h2 := range map[string]bool{"http/1.1": false, "h2": true} {
		t.Run(name, func(t *testing.T) {
			m := serveModel(t, h2, func(w http.ResponseWriter, _ *asks) { say(w, pieces...) })
			o := conversing("3", think.String(), func(o *Options) {
				o.Words, o.PrefixTokens, o.SLOs = "5", 4, []string{"e2e<1h"}
				o.conn.HTTP2, o.conn.TLS.Insecure = h2, h2
			})
			r := converse(t, o, m.url, func(e *engine.Options) { e.Requests, e.Rate = 4, engine.MustRate("100/s") })
			if begun, completed, failed := rounds(r); r.Counts.OK != 12 || begun != 4 || completed != 4 || failed != 0 {
				t.Fatalf("%+v, %+v; %v begun, %v completed, %v failed", r.Counts, r.Errors, begun, completed, failed)
			}
			byTalk := map[string][]asks{}
			for _, a := range m.got {
				first := a.Messages[1].Content
				byTalk[first] = append(byTalk[first], a)
			}
			if len(byTalk) != 4 {
				t.Fatalf("%d conversations", len(byTalk))
			}
			for _, list := range byTalk {
				slices.SortFunc(list, func(a, b asks) int { return cmp.Compare(len(a.Messages), len(b.Messages)) })
				for i, a := range list {
					if a.Messages[0].Role != "system" || len(a.Messages) != 2+2*i || a.remote != list[0].remote || strings.HasPrefix(a.proto, "HTTP/2") != h2 {
						t.Errorf("turn %d: %+v", i, a)
					}
					if i == 0 {
						continue
					}
					if before := a.Messages[len(a.Messages)-2]; before != (message{"assistant", said}) {
						t.Errorf("turn %d carries %+v", i, before)
					}
					if pause := a.came.Sub(m.ended[list[i-1].last()]); pause < think-5*time.Millisecond { // the answer came before the server noted its end
						t.Errorf("turn %d came %v after the answer", i, pause)
					}
				}
			}
			l := r.Latency
			if l["ttft"].Count != 12 || l["ttft_first"].Count != 4 || l["ttft_later"].Count != 8 || l["ttfo"].Count != 12 {
				t.Errorf("%d first tokens, %d of first turns, %d of later ones", l["ttft"].Count, l["ttft_first"].Count, l["ttft_later"].Count)
			}
			if first := steps.Of(r, "first turn"); first == nil || first.Counts.OK != 4 || steps.Of(r, "later turns").Counts.OK != 8 {
				t.Errorf("rows: %+v", r.Extra[steps.Key])
			}
			if g := r.Goodput; g.Good != 12 || g.Percent != 100 {
				t.Errorf("%+v", g)
			}
		})
	}
}

// A turn that fails ends its conversation: the later turns are never due.
func TestFailedTurnEndsConversation(t *testing.T) {
	m := serveModel(t, false, func(w http.ResponseWriter, a *asks) {
		if len(a.Messages) > 1 {
			fmt.Fprint(w, "data: {\"error\":{\"message\":\"out of memory\"}}\n\n")
			return
		}
		say(w, "a")
	})
	r := converse(t, conversing("4", "", nil), m.url, func(e *engine.Options) { e.Requests, e.Rate = 5, engine.MustRate("100/s") })
	begun, completed, failed := rounds(r)
	if r.Counts.OK != 5 || r.Counts.Failed != 5 || r.Counts.Dropped != 0 || begun != 5 || completed != 0 || failed != 5 || len(m.got) != 10 {
		t.Errorf("%+v; %v begun, %v completed, %v failed; %d requests", r.Counts, begun, completed, failed, len(m.got))
	}
	if r.Errors[0].Class != classEvent {
		t.Errorf("%+v", r.Errors)
	}
}

// Conversations that began in the warm-up are not counted, though their later turns are.
func TestWarmupOfConversations(t *testing.T) {
	m := serveModel(t, false, func(w http.ResponseWriter, _ *asks) { say(w, "a") })
	r := converse(t, conversing("2", "300ms", nil), m.url, func(e *engine.Options) {
		e.Warmup, e.Duration, e.Rate = 100*time.Millisecond, 100*time.Millisecond, engine.MustRate("50/s")
	})
	begun, completed, _ := rounds(r)
	if first, later := steps.Of(r, "first turn").Counts.OK, steps.Of(r, "later turns").Counts.OK; begun != 5 || completed != 5 || first != 5 || later != 10 {
		t.Errorf("%v begun, %v completed; %d first and %d later turns", begun, completed, first, later)
	}
}

// The key log has the secrets of the connections of both engines.
func TestKeyLog(t *testing.T) {
	m := serveModel(t, true, func(w http.ResponseWriter, _ *asks) { say(w, "a") })
	for _, turns := range []string{"1", "2"} {
		name := filepath.Join(t.TempDir(), "keys")
		o := conversing(turns, "", func(o *Options) { o.conn.TLS.Insecure, o.conn.TLS.KeyLog = true, name })
		r := converse(t, o, m.url, func(e *engine.Options) { e.Requests, e.Rate = 2, engine.MustRate("100/s") })
		if b, err := os.ReadFile(name); err != nil || !strings.Contains(string(b), "TRAFFIC_SECRET") || r.Counts.Failed > 0 || r.Extra["tls"] == nil {
			t.Errorf("turns %s: %d bytes, %v; %+v, %v", turns, len(b), err, r.Counts, r.Extra["tls"])
		}
	}
}

// Users without a schedule begin another conversation after each, and a server that is gone does not make them run.
func TestUsersConverse(t *testing.T) {
	m := serveModel(t, false, func(w http.ResponseWriter, _ *asks) { say(w, "a") })
	r := converse(t, conversing("2", "1ms", nil), m.url, func(e *engine.Options) { e.Requests, e.Connections = 20, 2 })
	if begun, completed, _ := rounds(r); r.Counts.OK != 20 || begun < 10 || completed < 8 {
		t.Errorf("%+v; %v begun, %v completed", r.Counts, begun, completed)
	}
}

// Against a target that records each token, connections outside the loop count all once, too, and no token came before the
// target had it.
func TestTargetOutsideTheLoop(t *testing.T) {
	const n, tokens = 12, 6
	for name, make := range map[string]func(t *testing.T, url string) *takt.Report{
		"worker": func(t *testing.T, url string) *takt.Report {
			o := New()
			o.MaxTokens = strconv.Itoa(tokens)
			return load(t, o, url, func(e *engine.Options) { e.Requests, e.Rate, e.Engine = n, engine.MustRate("100/s"), "worker" })
		},
		"conversations": func(t *testing.T, url string) *takt.Report {
			o := conversing("3", "5ms", func(o *Options) { o.MaxTokens = strconv.Itoa(tokens) })
			return converse(t, o, url, func(e *engine.Options) { e.Requests, e.Rate = n/3, engine.MustRate("100/s") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := targettest.Serve(t, target.Options{SSE: "5ms", Service: "20ms"})
			r := make(t, s.URL())
			x, l := extra(t, r), r.Latency
			if r.Counts.OK != n || x.Output != n*tokens || l["ttft"].Count != n || l["ttft_sent"].Count+l["ttft_unknown"].Count != n {
				t.Fatalf("%+v, %+v, %+v, %d first tokens", r.Counts, r.Errors, x, l["ttft"].Count)
			}
			if gaps := l["gap"].Count + l["gap_unknown"].Count; gaps != n*(tokens-1) {
				t.Errorf("%d gaps", gaps)
			}
			truth, least := s.Truth(), time.Hour
			for i, stream := range truth.Streams {
				least = min(least, stream.Due[0]-truth.Records[i].Arrival)
			}
			for _, name := range []string{"ttft", "ttft_sent", "ttft_first", "ttft_later"} {
				if got := time.Duration(l[name].Min * float64(time.Microsecond)); l[name].Count > 0 && got < least-least/100 {
					t.Errorf("%s: the earliest first token came after %v; the target had it after %v", name, got, least)
				}
			}
		})
	}
}

// A server that closes connections while persons think gets another one: no turn fails for it.
func TestIdleConnectionsEnd(t *testing.T) {
	m := &model{ended: map[string]time.Time{}, answer: func(w http.ResponseWriter, _ *asks) { say(w, "a") }}
	s := httptest.NewUnstartedServer(m)
	s.Config.IdleTimeout = time.Millisecond
	s.Start()
	t.Cleanup(s.Close)
	r := converse(t, conversing("3", "50ms", nil), s.URL, func(e *engine.Options) { e.Requests, e.Rate = 3, engine.MustRate("100/s") })
	remotes := map[string]bool{}
	for _, a := range m.got {
		remotes[a.remote] = true
	}
	if r.Counts.OK != 9 || len(remotes) <= 3 {
		t.Errorf("%+v, %+v, %d connections", r.Counts, r.Errors, len(remotes))
	}
}

// An answer may be empty: without a token, or only with reasoning. Anthropic's API takes no empty message.
func TestEmptyAnswers(t *testing.T) {
	chat := "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	messages := "data: {\"type\":\"message_start\",\"message\":{}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
	for path, c := range map[string]struct {
		stream string
		want   []string
	}{
		"/v1/chat/completions": {chat, []string{"user", "assistant", "user"}}, "/v1/messages": {messages, []string{"user", "user"}},
	} {
		m := serveModel(t, false, func(w http.ResponseWriter, _ *asks) { fmt.Fprint(w, c.stream) })
		r := converse(t, conversing("2", "", nil), m.url+path, func(e *engine.Options) { e.Requests, e.Rate = 1, engine.MustRate("100/s") })
		if r.Counts.OK != 2 || len(m.got) != 2 {
			t.Fatalf("%s: %+v, %+v", path, r.Counts, r.Errors)
		}
		var roles []string
		for _, one := range m.got[1].Messages {
			roles = append(roles, one.Role)
		}
		if !slices.Equal(roles, c.want) {
			t.Errorf("%s: %s", path, roles)
		}
	}
}

// Of an endless answer a conversation carries the beginning, and what is no JSON is left out.
func TestLongAndBrokenAnswers(t *testing.T) {
	piece := strings.Repeat("x", 1<<18)
	m := serveModel(t, false, func(w http.ResponseWriter, _ *asks) {
		say(w, `\q`, "\x01", piece, piece, piece, "\xff", piece, piece, "y")
	})
	r := converse(t, conversing("2", "", nil), m.url, func(e *engine.Options) { e.Requests, e.Rate = 1, engine.MustRate("100/s") })
	if r.Counts.OK != 2 {
		t.Fatalf("%+v, %+v", r.Counts, r.Errors)
	}
	if got := m.got[1].Messages[1].Content; got != piece+piece+piece+"\ufffd" {
		t.Errorf("%d bytes", len(got))
	}
	if x := r.Extra[tokens.Key].(map[string]any); x["answers_cut"] != 2.0 {
		t.Errorf("%v", x)
	}
}

// Files have conversations in two forms, of which takt sends what persons say.
func TestFilesOfConversations(t *testing.T) {
	lines := `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"x"},{"role":"user","content":"b"},{"role":"user","content":"c"},{"role":"assistant","content":"y"},{"role":"user","content":"d"}]}
{"prompt":"alone"}
{"conversations":[{"from":"gpt","value":"hi"},{"from":"human","value":"e"},{"from":"gpt","value":"x"},{"from":"human","value":""},{"from":"human","value":"f"}]}
{"conversations":[]}
`
	o := conversing("2", "", func(o *Options) { o.Prompts = prompts(t, lines) })
	e := engine.Defaults()
	o.Shape(&e)
	if faults := o.Validate([]string{"http://h:1/"}); len(faults) > 0 {
		t.Fatal(faults)
	}
	var got []string
	for _, s := range o.frame.scripts {
		var turns []string
		for _, turn := range s.turns {
			turns = append(turns, string(turn))
		}
		got = append(got, strings.Join(turns, " / "))
	}
	want := []string{
		`{"role":"system","content":"s"},{"role":"user","content":"a"} / {"role":"user","content":"b"},{"role":"user","content":"c"}`,
		`{"role":"user","content":"alone"}`,
		`{"role":"user","content":"e"} / {"role":"user","content":"f"}`,
	}
	if !slices.Equal(got, want) || o.Variables()["prompts_empty"] != 1 {
		t.Errorf("\n%s\nwant\n%s\n%v", strings.Join(got, "\n"), strings.Join(want, "\n"), o.Variables())
	}
}

func TestFaultsOfTurns(t *testing.T) {
	file := func(text string) func(*Options) {
		return func(o *Options) { o.Turns, o.Prompts = "3", prompts(t, text) }
	}
	for _, c := range []struct {
		url, want string
		change    func(*Options)
	}{
		{"http://h:1/", "--think is given without --turns", func(o *Options) { o.Think = "1s" }},
		{"http://h:1/", `--turns: "0" is not a number from 1 to 1000`, func(o *Options) { o.Turns = "0" }},
		{"http://h:1/", `--think: "later" is not a time`, func(o *Options) { o.Turns, o.Think = "2", "later" }},
		{"http://h:1/v1/completions", "--turns needs an API with messages", func(o *Options) { o.Turns = "2" }},
		{"http://h:1/", "--extra has messages", func(o *Options) { o.Turns, o.Extra = "2", `{"messages":[]}` }},
		{"http://h:1/", "make conversations of more than 32 MiB", func(o *Options) { o.Turns, o.Words = "1000", "1000000" }},
		{"http://h:1/", "--h2-connections or --h2-streams is given with --turns", func(o *Options) { o.Turns, o.conn.HTTP2, o.conn.HTTP2Connections = "2", true, 3 }},
		{"http://h:1/", `message 2 has the role "tool"`, file(`{"messages":[{"role":"user","content":"a"},{"role":"tool","content":"b"}]}`)},
		{"http://h:1/", `message 1 has the role ""`, file(`{"messages":[5]}`)},
		{"http://h:1/", "no message with the role user", file(`{"messages":[{"role":"assistant","content":"a"}]}`)},
		{"http://h:1/", "no message with the role user", file(`{"messages":[]}`)},
	} {
		o := New()
		c.change(o)
		e := engine.Defaults()
		o.Shape(&e)
		if faults := o.Validate([]string{c.url}); len(faults) != 1 || !strings.Contains(fmt.Sprint(faults), c.want) {
			t.Errorf("%s: %v; want %q", c.url, faults, c.want)
		}
	}
}

// Tokens are measured in each way to the server.
func TestWays(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !q.URL.IsAbs() {
			t.Errorf("the proxy was asked for %s", q.URL)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say(w, "a", "b")
	}))
	t.Cleanup(proxy.Close)
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	plain := serveModel(t, false, func(w http.ResponseWriter, _ *asks) { say(w, "a", "b") })
	secure := serveModel(t, true, plain.answer)
	unix := &http.Server{Handler: plain}
	go unix.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { unix.Close() })
	for name, c := range map[string]struct {
		url    string
		change func(o *Options, e *engine.Options)
		async  string
	}{
		"loop":   {plain.url, func(*Options, *engine.Options) {}, "loop"},
		"worker": {plain.url, func(_ *Options, e *engine.Options) { e.Engine = "worker" }, "worker"},
		"tls in workers": {secure.url, func(o *Options, e *engine.Options) {
			e.Engine, o.conn.TLS.Insecure = "worker", true
		}, "worker"},
		"h2":          {secure.url, func(o *Options, _ *engine.Options) { o.conn.HTTP2, o.conn.TLS.Insecure = true, true }, "loop"},
		"proxy":       {"http://model.example/v1/chat/completions", func(o *Options, _ *engine.Options) { _ = o.conn.Proxy.Set(proxy.URL) }, "loop"},
		"unix socket": {"http://h/", func(o *Options, _ *engine.Options) { o.conn.UnixSocket = socket }, "worker"},
	} {
		t.Run(name, func(t *testing.T) {
			o := New()
			o.SLOs = []string{"ttft<1h"}
			r := load(t, o, c.url, func(e *engine.Options) {
				e.Requests, e.Connections = 6, 2
				c.change(o, e)
			})
			x := extra(t, r)
			if r.Counts.OK != 6 || x.Output != 12 || r.Goodput.Good != 6 || r.Latency["ttft"].Count != 6 || r.Latency["ttfo"].Count != 6 || r.Generator.Engine != c.async {
				t.Errorf("%s: %+v, %+v, %+v, %d first tokens", r.Generator.Engine, r.Counts, r.Errors, x, r.Latency["ttft"].Count)
			}
			if n := r.Latency["gap"].Count + r.Latency["gap_unknown"].Count; n != 6 {
				t.Errorf("%d gaps", n)
			}
		})
	}
	for name, change := range map[string]func(o *Options, e *engine.Options){
		"--engine loop is given with --turns": func(o *Options, e *engine.Options) { o.Turns, e.Engine = "2", "loop" },
		"HTTP/2 in workers":                   func(o *Options, e *engine.Options) { o.conn.HTTP2, e.Engine = true, "worker" },
		"proxies over TLS":                    func(o *Options, _ *engine.Options) { _ = o.conn.Proxy.Set("https://p:1") },
		"HTTP/2 without TLS through a proxy":  func(o *Options, _ *engine.Options) { o.conn.HTTP2 = true; _ = o.conn.Proxy.Set("http://p:1") },
		"--h2-streams is given without --h2;": func(o *Options, _ *engine.Options) { o.conn.HTTP2Streams = 3 },
	} {
		o, e := New(), engine.Defaults()
		change(o, &e)
		o.Shape(&e)
		if faults := fmt.Sprint(o.Validate([]string{"http://h:1/"})); !strings.Contains(faults, name) {
			t.Errorf("%s: %s", name, faults)
		}
	}
}
