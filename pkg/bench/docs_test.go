package bench_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Every Go block of docs/library.md, docs/library-wrk3.md, docs/scenarios-examples.md and README.md is a program that compiles, or stands word for
// word in the example that has a test of its own.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile("../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("examples/http/main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	wrk3, err := os.ReadFile("../../docs/library-wrk3.md")
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := os.ReadFile("../../docs/scenarios-examples.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, text := range [][]byte{doc, wrk3, readme, scenarios} {
		blocks = append(blocks, strings.Split(string(text), "\n```go\n")[1:]...)
	}
	for _, rest := range blocks {
		block, _, _ := strings.Cut(rest, "\n```")
		switch {
		case strings.HasPrefix(block, "package main\n"):
			path := compile(t, block)
			if strings.Contains(block, "os.MkdirTemp") {
				setsUp(t, path)
			}
			if strings.Contains(block, "type crawl") {
				crawls(t, path)
			}
		case !strings.Contains(string(example), block):
			t.Errorf("neither a program nor part of examples/http:\n%s", block)
		}
	}
	if len(blocks) < 3 {
		t.Errorf("only %d blocks were found", len(blocks))
	}
}

// setsUp runs the program whose set-up creates a folder, and removes it.
func setsUp(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if out := runProgram(t, path, "--files=20", "-n=50", "--rate=1k/s", "--progress=none", "--output=json=-"); !strings.Contains(out, `"ok": 50`) || !strings.Contains(out, `"received": 204800`) || !strings.Contains(out, `"files": 20`) {
		t.Errorf("%s", out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the set-up left %v (%v)", left, err)
	}
	err := exec.Command(path, "--files=0").Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("without files: %v, want exit code 2", err)
	}
}

// crawls runs the program that reads the pages of a list, with tokens that expire within the run: it asks for each page of a
// round once, in order, and with no token that has expired.
func crawls(t *testing.T, path string) {
	t.Helper()
	type token struct {
		worker string
		until  time.Time
	}
	var mu sync.Mutex
	tokens, pages, requests, wrong := map[string]token{}, map[string]int{}, 0, []string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests++
		if q.Method == http.MethodPost {
			if q.FormValue("client_secret") != "s" {
				wrong = append(wrong, "secret")
			}
			name := fmt.Sprint("t", requests)
			tokens["Bearer "+name] = token{q.RemoteAddr, time.Now().Add(6 * time.Second)}
			fmt.Fprintf(w, `{"access_token":%q,"expires_in":6}`, name)
			return
		}
		by, is := tokens[q.Header.Get("Authorization")]
		want := fmt.Sprintf("first=%d&max=7", pages[by.worker]%4*7)
		if !is || by.worker != q.RemoteAddr || time.Now().After(by.until) || q.URL.RawQuery != want {
			wrong = append(wrong, fmt.Sprint(q.URL, by))
		}
		pages[by.worker]++
		fmt.Fprint(w, `[]`)
	}))
	defer server.Close()
	out := runProgram(t, path, "--size=7", "--pages=4", "--secret=s", "-c=2", "--rate=100/s", "-n=250", "--progress=none", "--output=json=-", server.URL)
	if !strings.Contains(out, `"ok": 250`) || requests != 250 || len(tokens) < 3 || len(wrong) > 0 {
		t.Errorf("%d requests, %d tokens, %v, %q\n%s", requests, len(tokens), pages, wrong, out)
	}
}
