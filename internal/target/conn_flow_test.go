package target

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/parts"
)

// ask sends a question and returns the events of the answer, and how it ended.
func ask(t *testing.T, c *http.Client, url, body string) (status int, events []string, err error) {
	t.Helper()
	resp, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	r := parts.NewReader(parts.KindOf(resp.Header.Get("Content-Type")), parts.Most)
	r.Feed(b)
	for p, ok := r.Next(); ok; p, ok = r.Next() {
		events = append(events, string(p.Data))
	}
	return resp.StatusCode, events, err
}

func TestStream(t *testing.T) {
	for name, c := range map[string]*http.Client{
		"plain": client(t), "tls": {Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: patience},
	} {
		t.Run(name, func(t *testing.T) {
			defer c.CloseIdleConnections()
			s, stop := start(t, Options{SSE: "1ms", TLS: name == "tls"})
			const chat = `{"model":"m","stream":true,"max_tokens":5,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"12345678"}]}`
			for range 3 { // on one connection
				status, events, err := ask(t, c, s.URL()+"/v1/chat/completions", chat)
				if status != 200 || err != nil || len(events) != 9 {
					t.Fatalf("status %d, %d events, %v; want 9: %q", status, len(events), err, events)
				}
				checkChat(t, events)
			}
			status, events, err := ask(t, c, s.URL()+"/v1/completions", `{"stream":true,"prompt":"x"}`)
			if status != 200 || err != nil || len(events) != defaultTokens+2 || !strings.Contains(events[0], `"text":" takt"`) {
				t.Errorf("completions: status %d, %v: %q", status, err, events)
			}
			c.CloseIdleConnections()
			stop()
			truth := s.Truth()
			if truth.Counts.OK != 4 || len(truth.Streams) != 4 {
				t.Fatalf("counts %+v, %d streams", truth.Counts, len(truth.Streams))
			}
			checkStream(t, truth.Records[0], truth.Streams[0], 5, 2)
			checkStream(t, truth.Records[3], truth.Streams[3], defaultTokens, 1)
		})
	}
}

func checkChat(t *testing.T, events []string) {
	t.Helper()
	type chunk struct {
		ID, Model string
		Choices   []struct {
			Delta        struct{ Role, Content *string }
			FinishReason *string `json:"finish_reason"`
		}
		Usage *struct {
			Completion int `json:"completion_tokens"`
			Prompt     int `json:"prompt_tokens"`
		}
	}
	chunks := make([]chunk, len(events)-1)
	for i := range chunks {
		if err := json.Unmarshal([]byte(events[i]), &chunks[i]); err != nil {
			t.Fatalf("event %d: %v: %s", i, err, events[i])
		}
		if chunks[i].Model != "m" || chunks[i].ID != chunks[0].ID {
			t.Errorf("event %d: %s", i, events[i])
		}
	}
	if r := chunks[0].Choices[0].Delta.Role; r == nil || *r != "assistant" {
		t.Errorf("the first event is %s", events[0])
	}
	for i := 1; i <= 5; i++ {
		if text := chunks[i].Choices[0].Delta.Content; text == nil || *text != word {
			t.Errorf("token %d is %s", i, events[i])
		}
	}
	if r := chunks[6].Choices[0].FinishReason; r == nil || *r != "length" {
		t.Errorf("the end is %s", events[6])
	}
	if u := chunks[7].Usage; u == nil || u.Completion != 5 || u.Prompt != 2 || len(chunks[7].Choices) > 0 {
		t.Errorf("the usage is %s", events[7])
	}
	if events[8] != "[DONE]" {
		t.Errorf("the last event is %s", events[8])
	}
}

// checkStream compares what the record of a stream says with itself.
func checkStream(t *testing.T, r Record, s Stream, tokens, prompt int) {
	t.Helper()
	if s.Prompt != prompt || len(s.Due) != tokens || len(s.Sent) != tokens {
		t.Fatalf("%d tokens of the prompt, %d due, %d sent; want %d, %d", s.Prompt, len(s.Due), len(s.Sent), prompt, tokens)
	}
	if r.Came > r.Arrival || r.Start < r.Arrival || r.End != s.Due[0] || r.Released != s.Sent[0] {
		t.Errorf("record %+v, first token due at %v, sent at %v", r, s.Due[0], s.Sent[0])
	}
	for i := range s.Due {
		if s.Sent[i] < s.Due[i] || i > 0 && s.Due[i] != s.Due[i-1]+time.Millisecond {
			t.Errorf("token %d was due at %v and sent at %v", i, s.Due[i], s.Sent[i])
		}
	}
}

// Answers that are no streams.
func TestNoStream(t *testing.T) {
	s, stop := start(t, Options{SSE: "0"})
	c := client(t)
	for _, q := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/completions", `{"prompt":"12345","max_tokens":2}`, 200, `"text":" takt takt","finish_reason":"length"}],"usage":{"prompt_tokens":2,"completion_tokens":2,"total_tokens":4}}`},
		{"/v1/chat/completions", `{"messages":[],"max_tokens":1}`, 200, `"message":{"role":"assistant","content":" takt"}`},
		{"/v1/models", "", 200, `"object":"list"`},
		{"/v1/completions", `{"prompt":`, 400, "not JSON"},
		{"/v1/completions", `{"max_tokens":0}`, 400, "write 1 to 100000"},
		{"/v1/completions", `{"prompt":"` + strings.Repeat("x", maxPrompt) + `"}`, 413, ""},
	} {
		resp, err := c.Post(s.URL()+q.path, "application/json", strings.NewReader(q.body))
		if err != nil {
			if q.status == 413 {
				continue // the answer may be lost when the server closes before the client has sent all
			}
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != q.status || err != nil || !strings.Contains(string(b), q.want) {
			t.Errorf("%s: status %d, %v, %s; want %d and %s", q.path, resp.StatusCode, err, b, q.status, q.want)
		}
	}
	stop()
	if n := s.Truth().Counts; n.OK != 2 || n.Malformed != 3 || n.Requests != 2 {
		t.Errorf("counts %+v", n)
	}
}

// One server, one that waits, and no more; who leaves is noticed, and its server serves the next one.
func TestLimitAndLeaving(t *testing.T) {
	s, stop := start(t, Options{SSE: "1ms", SSETokens: maxTokens, Servers: 1, SSELimit: 2})
	first, leave := context.WithCancel(t.Context())
	resp := begin(t, first, s.URL(), "")
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
		t.Fatal(line, err)
	}
	second := make(chan *http.Response, 1)
	go func() { second <- begin(t, t.Context(), s.URL(), `{"stream":true,"max_tokens":2}`) }()
	for s.Requests() < 2 {
		time.Sleep(time.Millisecond)
	}
	third := begin(t, t.Context(), s.URL(), "")
	if b, _ := io.ReadAll(third.Body); third.StatusCode != 503 || !bytes.Contains(b, []byte("--sse-limit")) {
		t.Errorf("status %d: %s", third.StatusCode, b)
	}
	leave()
	if b, err := io.ReadAll((<-second).Body); err != nil || !bytes.Contains(b, []byte("[DONE]")) {
		t.Errorf("%v: %s", err, b)
	}
	stop()
	if n := s.Truth().Counts; n.Left != 1 || n.OK != 1 || n.Rejected != 1 || n.Unfinished != 0 {
		t.Errorf("counts %+v", n)
	}
}

func begin(t *testing.T, ctx context.Context, url, body string) *http.Response {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return nil
	}
	resp, err := client(t).Do(q)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// A stream that fails is cut in the middle, without the chunk that ends it.
func TestStreamsFail(t *testing.T) {
	for _, c := range []struct {
		options Options
		status  int
		tokens  int
		count   func(n Counts) uint64
	}{
		{Options{SSE: "1ms", ErrorRate: 1}, 500, 0, func(n Counts) uint64 { return n.Errors }},
		{Options{SSE: "1ms", CloseRate: 1}, 200, 3, func(n Counts) uint64 { return n.Closed }},
		{Options{SSE: "1ms", ResetRate: 1}, 200, -1, func(n Counts) uint64 { return n.Resets }}, // a reset may take the tokens with it
	} {
		s, stop := start(t, c.options)
		status, events, err := ask(t, client(t), s.URL(), `{"stream":true,"max_tokens":6}`)
		if c.tokens >= 0 && (status != c.status || len(events) != c.tokens) || (err == nil) != (c.status == 500) {
			t.Errorf("%+v: status %d, %d events, %v", c.options, status, len(events), err)
		}
		stop()
		if n := s.Truth().Counts; c.count(n) != 1 {
			t.Errorf("%+v: counts %+v", c.options, n)
		}
	}
	s, stop := start(t, Options{SSE: "1ms", HalfOpenRate: 1})
	resp := begin(t, t.Context(), s.URL(), `{"stream":true,"max_tokens":4}`)
	in := bufio.NewScanner(resp.Body)
	for range 4 { // two events
		in.Scan()
	}
	if in.Err() != nil || s.Truth().Counts.HalfOpen > 1 {
		t.Errorf("%v, counts %+v", in.Err(), s.Truth().Counts)
	}
	stop()
	if in.Scan(); in.Err() == nil {
		t.Error("the stream ended well")
	}
}

// A client that does not read loses its connection, and others do not wait for it.
func TestSlowReader(t *testing.T) {
	s, stop := start(t, Options{SSE: "0", SSETokens: maxTokens})
	slow, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	_ = slow.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprint(slow, "GET / HTTP/1.1\r\n\r\n")
	for s.Requests() < 1 {
		time.Sleep(time.Millisecond)
	}
	if _, events, err := ask(t, client(t), s.URL(), `{"stream":true,"max_tokens":10}`); err != nil || len(events) != 12 {
		t.Errorf("%d events, %v", len(events), err)
	}
	for s.Truth().Counts.Left < 1 {
		time.Sleep(time.Millisecond)
	}
	stop()
}
