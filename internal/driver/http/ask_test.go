package http

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/answers"
	"github.com/taktload/takt/pkg/takt"
)

// asker opens an asker of requests to a URL.
func asker(t *testing.T, url string, change func(*Options)) *Asker {
	t.Helper()
	o := New()
	if change != nil {
		change(o)
	}
	e := engine.Defaults()
	o.Shape(&e)
	if faults := o.Validate([]string{url}); len(faults) > 0 {
		t.Fatal(faults)
	}
	a, err := o.Asker()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// living is a server whose answers have ids, times, tokens and lists in any order.
func living(gzipped, chunked bool, wrong func(seq int, doc map[string]any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		seq, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		items := []map[string]any{}
		for i := range 6 {
			items = append(items, map[string]any{"sku": fmt.Sprintf("%d-%d", seq, i), "token": rand.Uint64(), "price": 1.5 * float64(i)})
		}
		rand.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		doc := map[string]any{"seq": seq, "id": rand.Uint64(), "at": time.Now().Format(time.RFC3339Nano), "second": time.Now().Unix(), "items": items}
		if wrong != nil {
			wrong(seq, doc)
		}
		body, _ := json.Marshal(doc)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", fmt.Sprint(rand.Uint64()))
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprint(rand.Uint64())})
		if gzipped {
			w.Header().Set("Content-Encoding", "gzip")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(body)
			_ = z.Close()
			body = b.Bytes()
		}
		if !chunked {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		_, _ = w.Write(body[:len(body)/2])
		if chunked {
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write(body[len(body)/2:])
	}
}

// compare asks both servers as takt verify does, without the time between both answers of base.
func compare(t *testing.T, n int, base, head http.HandlerFunc) answers.Result {
	t.Helper()
	b, h := httptest.NewServer(base), httptest.NewServer(head)
	defer b.Close()
	defer h.Close()
	one, other := asker(t, b.URL+"/{{.Seq}}", nil), asker(t, h.URL+"/{{.Seq}}", nil)
	c := answers.New(nil, nil)
	ask := func(a *Asker, i int) *answers.Answer {
		got := a.Ask(t.Context(), &takt.Op{Seq: uint64(i)})
		return &got
	}
	var first []*answers.Answer
	for i := range n {
		first = append(first, ask(one, i))
	}
	for i := range n {
		b, h := ask(one, i), ask(other, i)
		if c.Compare(first[i], b, h) {
			c.Repeat(b, h, ask(one, i), ask(other, i))
		}
	}
	return c.Result(n, 0.95)
}

// Equal servers do not differ, whatever varies in their answers and however bodies come; a wrong field is found.
func TestAnswersOfServers(t *testing.T) {
	for i := range 48 {
		if r := compare(t, 20, living(i&1 > 0, i&2 > 0, nil), living(i&4 > 0, i&8 > 0, nil)); r.Verdict != answers.Same || len(r.Differences) > 0 {
			t.Errorf("pair %d: %+v", i, r.Differences)
		}
	}
	for i := range 4 {
		r := compare(t, 60, living(i&1 > 0, false, nil), living(i&2 > 0, true, func(seq int, doc map[string]any) {
			if seq == 41 {
				doc["items"].([]map[string]any)[3]["price"] = 0.25
			}
		}))
		if r.Verdict != answers.Differ || r.Differing != 1 || len(r.Differences) != 1 || r.Differences[0].Path != "$.items[*].price" || r.Differences[0].Example.Request != "GET /41" {
			t.Errorf("%d: %+v", i, r.Differences)
		}
	}
}

// Both sides get the requests of the load: method, header and body, with the values of the same operations.
func TestAskedAsTheLoad(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		got = append(got, r.Method+" "+r.URL.String()+" "+r.Header.Get("X-A")+" "+b.String())
	}))
	defer server.Close()
	for range 2 {
		a := asker(t, server.URL+"/{{.Seq}}", func(o *Options) {
			o.Method, o.Body = "POST", "{{uuid}} {{.Seq}}"
			_ = o.Header.Set("X-A: {{randInt 1 1000000}}")
		})
		for i := range 3 {
			a.Ask(t.Context(), &takt.Op{Seq: uint64(i)})
		}
	}
	for i := range 3 {
		if got[i] != got[i+3] || !strings.HasPrefix(got[i], fmt.Sprintf("POST /%d ", i)) {
			t.Errorf("%s\n%s", got[i], got[i+3])
		}
	}
}

// A hostile server costs bounded memory and time, and each of its answers is an answer.
func TestAskHostile(t *testing.T) {
	var z bytes.Buffer
	bomb := gzip.NewWriter(&z)
	for range 100 {
		_, _ = bomb.Write(make([]byte, 1<<20))
	}
	_ = bomb.Close()
	piece := make([]byte, 1<<20) // the server allocates in the same process
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			for range 100 {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(z.Bytes())
		case "/broken":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("no gzip"))
		case "/short":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("short"))
		case "/slow":
			_, _ = w.Write([]byte("{"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/close":
			panic(http.ErrAbortHandler)
		}
	}))
	server.Config.ErrorLog = nil
	defer server.Close()
	for path, want := range map[string]func(a answers.Answer) bool{
		"/long": func(a answers.Answer) bool {
			return !a.Whole && len(a.Body) == answers.MostKept && a.Size >= answers.MostRead && a.Size < answers.MostRead+1<<16
		},
		"/bomb":   func(a answers.Answer) bool { return !a.Whole && len(a.Body) == answers.MostKept },
		"/broken": func(a answers.Answer) bool { return !a.Whole && a.Failed == "" },
		"/short":  func(a answers.Answer) bool { return a.Broken != "" && string(a.Body) == "short" },
		"/slow":   func(a answers.Answer) bool { return a.Broken == engine.ClassTimeout },
		"/close":  func(a answers.Answer) bool { return a.Failed == "closed" },
	} {
		one := asker(t, server.URL+path, func(o *Options) {
			if path == "/slow" {
				o.Timeout = 100 * time.Millisecond
			}
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := one.Ask(context.Background(), &takt.Op{})
		runtime.ReadMemStats(&after)
		if !want(a) {
			t.Errorf("%s: %d bytes of %d, whole %v, broken %q, failed %q", path, len(a.Body), a.Size, a.Whole, a.Broken, a.Failed)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%s: %d bytes were allocated", path, used)
		}
	}
}

// A scenario has no requests that both sides would get.
func TestNoAskerOfScenarios(t *testing.T) {
	if _, err := (&Options{Scenario: "x"}).Asker(); err == nil {
		t.Error("an asker")
	}
}
