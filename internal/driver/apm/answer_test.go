package apm

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

var update = flag.Bool("update", false, "write the goldens")

// recorded is one line of testdata/answers.jsonl.
type recorded struct {
	Server, Case string
	Status       int
	Type, Body   string
}

func recordings(t testing.TB) (all []recorded) {
	f, err := os.Open("testdata/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var r recorded
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if s.Err() != nil || len(all) < 200 {
		t.Fatalf("%d answers: %v", len(all), s.Err())
	}
	return all
}

// planOf is that of a run without a server.
func planOf(t testing.TB, change func(*Options)) *plan {
	t.Helper()
	o := New()
	if change != nil {
		change(o)
	}
	if faults := o.Validate(nil); len(faults) > 0 {
		t.Fatal(faults)
	}
	p, err := o.newPlan()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func httpText(status int, kind, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, kind, len(body), body)
}

// What is made of every answer that real servers gave, whatever its content type.
func TestRecordedAnswers(t *testing.T) {
	var got strings.Builder
	p := planOf(t, func(o *Options) { o.Events, o.Spans = 1, 0 })
	for _, a := range recordings(t) {
		p.servers[0].targets = []*target{{part: p.servers[0].targets[0].part, requests: p.servers[0].targets[0].requests}}
		c := newCodec(p, 0)
		c.Request(&takt.Op{})
		var r takt.Result
		text := httpText(a.Status, a.Type, a.Body)
		if n, progress := c.Parse(text, false, &r); n != len(text) || progress == takt.More {
			t.Errorf("%s %s: %d of %d bytes were read", a.Server, a.Case, n, len(text))
		}
		y := &p.servers[0].targets[0].tally
		said := "ok"
		if r.Class != "" {
			said = r.Class + " " + r.Err.Error()
		}
		fmt.Fprintf(&got, "%s | %s | %d | accepted %d, refused %d | %s\n", a.Server, a.Case, a.Status, y.accepted.Load(), y.refused.Load(), said)
		if y.status[a.Status].Load() != 1 || y.pushed.plain.Load() == 0 {
			t.Errorf("%s %s was not counted", a.Server, a.Case)
		}
		if len(r.Body) > http1.SampleBytes {
			t.Errorf("%s %s: a sample of %d bytes", a.Server, a.Case, len(r.Body))
		}
	}
	if *update {
		if err := os.WriteFile("testdata/answers.golden", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/answers.golden")
	if err != nil {
		t.Fatal(err)
	}
	lines, wanted := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(lines), len(wanted)) {
		if i >= len(lines) || i >= len(wanted) || lines[i] != wanted[i] {
			t.Fatalf("line %d:\n%s\nwant\n%s", i+1, lines[min(i, len(lines)-1)], wanted[min(i, len(wanted)-1)])
		}
	}
}

func TestReadAnswer(t *testing.T) {
	for _, tt := range []struct {
		body string
		want answer
	}{
		{"", answer{-1, 0, ""}},
		{`{"accepted":0}`, answer{0, 0, ""}},
		{"{\n  \"accepted\" : 12\n}", answer{12, 0, ""}},
		{`{"accepted":"x"}`, answer{-1, 0, ""}},
		{`{"accepted":99999999999999999999}`, answer{-1, 0, ""}},
		{`{"error":"authentication failed"}`, answer{-1, 0, "authentication failed"}},
		{`{"accepted":2,"errors":[{"message":"a \"b\" é","document":"{\"message\":1,\"error\":2}"},{"message":"c"}]}`, answer{2, 2, `a "b" é`}},
		{`{"accepted":2,"errors":[{"message":"cut off in the mid`, answer{2, 1, "cut off in the mid"}},
		{`{"accepted":2,"errors":[{"message":5}]}`, answer{2, 1, ""}},
		{"  queue is full\nand more", answer{-1, 0, "queue is full"}},
		{strings.Repeat("x", 300), answer{-1, 0, strings.Repeat("x", maxMessage) + "…"}},
	} {
		got := readAnswer([]byte(tt.body))
		if acceptedIn([]byte(tt.body)) > 1<<53 {
			t.Errorf("%s: more than a number of JSON can be", tt.body)
		}
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.body, got, tt.want)
		}
	}
}

// An answer is read as far as it can be: counts are never negative but -1, and messages
// are bounded, whatever comes.
func FuzzReadAnswer(f *testing.F) {
	for _, a := range recordings(f)[:40] {
		f.Add([]byte(a.Body))
	}
	f.Add([]byte(`{"errors":[{"message":"\`))
	f.Add([]byte(strings.Repeat("x", maxMessage-3) + "\xebxyz")) // one bad byte becomes two
	f.Fuzz(func(t *testing.T, body []byte) {
		a := readAnswer(body)
		if a.accepted < -1 || a.refused < 0 || len(a.message) > maxMessage+len("…") {
			t.Errorf("%+v", a)
		}
		var whole struct {
			Accepted *int `json:"accepted"`
		}
		simple := strings.HasPrefix(string(body), `{"accepted":`) && strings.Count(string(body), `"accepted"`) == 1
		if simple && json.Unmarshal(body, &whole) == nil && whole.Accepted != nil && *whole.Accepted >= 0 && *whole.Accepted < 1<<40 && a.accepted != *whole.Accepted {
			t.Errorf("%s: %d accepted, JSON says %d", body, a.accepted, *whole.Accepted)
		}
	})
}

// A server without the old protocol is known by its 404.
func TestHintOfV1(t *testing.T) {
	got := readAnswer([]byte("404 page not found\n")).sentence(404, true)
	if want := "answered 404: 404 page not found; apm-server has no intake v1 since 7.0, leave --intake out"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
