package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/mcp"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/target"
)

// agent is a client of takt mcp over pipes, whose calls run in this process.
type agent struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan error
	began chan []string // command lines that begin
	last  int
}

// startAgent starts a server with these limits. A call finds takt's store in a folder of the test.
func startAgent(t *testing.T, o mcp.Options) *agent {
	t.Helper()
	dir := t.TempDir()
	o.Folder = dir
	env := func(name string) string { return map[string]string{"TAKT_STORE": filepath.Join(dir, "takt.db")}[name] }
	a := &agent{t: t, ended: make(chan error, 1), began: make(chan []string, 100)}
	host := ShellHost(core.Env{Getenv: env})
	host.Run = func(ctx context.Context, abort <-chan struct{}, c shell.Call) int {
		a.began <- c.Args
		interrupted, interrupt := context.WithCancelCause(context.WithoutCancel(ctx))
		defer interrupt(nil)
		defer context.AfterFunc(ctx, func() { interrupt(&core.SignalError{Number: 2}) })()
		return Main(core.Env{Stdin: strings.NewReader(""), Stdout: c.Report, Stderr: c.Out, Getenv: env, Interrupt: interrupted, Abort: abort}, c.Args)
	}
	s, err := mcp.New(o, host)
	if err != nil {
		t.Fatal(err)
	}
	in, w := io.Pipe()
	r, out := io.Pipe()
	a.in, a.lines = w, bufio.NewScanner(r)
	a.lines.Buffer(nil, 1<<22)
	go func() {
		a.ended <- s.Serve(t.Context(), nil, in, out)
		_ = out.Close()
	}()
	t.Cleanup(func() { _ = w.Close(); _, _ = io.Copy(io.Discard, r); <-a.ended })
	return a
}

func (a *agent) send(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Fatal(err)
	}
}

// reply is a message of the server.
type reply struct {
	ID     any            `json:"id"`
	Method string         `json:"method"`
	Result map[string]any `json:"result"`
	Error  *struct {
		Code int            `json:"code"`
		Text string         `json:"message"`
		Data map[string]any `json:"data"`
	} `json:"error"`
}

func (a *agent) next() (r reply) {
	a.t.Helper()
	if !a.lines.Scan() {
		a.t.Fatal("no answer: ", a.lines.Err())
	}
	if err := json.Unmarshal(a.lines.Bytes(), &r); err != nil {
		a.t.Fatalf("%s: %v", a.lines.Text(), err)
	}
	return r
}

func (a *agent) ask(method, params string) reply {
	a.t.Helper()
	a.last++
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, a.last, method, params))
	r := a.next()
	if r.ID != float64(a.last) {
		a.t.Fatalf("%v, want the answer to %d", r, a.last)
	}
	return r
}

// call calls a tool, and returns its sentences and its structure.
func (a *agent) call(tool, arguments string) (words string, structured map[string]any, refused bool) {
	a.t.Helper()
	r := a.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	if r.Error != nil {
		a.t.Fatalf("%s: %+v", tool, r.Error)
	}
	first := r.Result["content"].([]any)[0].(map[string]any)
	structured, _ = r.Result["structuredContent"].(map[string]any)
	return first["text"].(string), structured, r.Result["isError"].(bool)
}

func limits() mcp.Options {
	return mcp.Options{Rate: 400, Time: time.Minute, Connections: 50}
}

// Each revision of the protocol begins as it says, and a request of the newest names its own.
func TestAgentBegins(t *testing.T) {
	a := startAgent(t, limits())
	for asked, agreed := range map[string]string{"2024-11-05": "2024-11-05", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "2030-01-01": "2025-11-25"} {
		if r := a.ask("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, asked)); r.Result["protocolVersion"] != agreed {
			t.Errorf("%s: %v", asked, r)
		}
	}
	if r := a.ask("initialize", `{}`); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("%v", r)
	}
	meta := func(revision string) string {
		return fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/protocolVersion":%q}}`, revision)
	}
	if r := a.ask("server/discover", meta("2026-07-28")); r.Result["resultType"] != "complete" || r.Result["supportedVersions"].([]any)[0] != "2026-07-28" {
		t.Errorf("%v", r)
	}
	if r := a.ask("tools/list", meta("1900-01-01")); r.Error == nil || r.Error.Code != -32022 || r.Error.Data["requested"] != "1900-01-01" {
		t.Errorf("%v", r)
	}
	if r := a.ask("ping", `{}`); r.Error != nil || r.Result["resultType"] != nil {
		t.Errorf("%v", r)
	}
	var names []string
	for _, one := range a.ask("tools/list", `{}`).Result["tools"].([]any) {
		names = append(names, one.(map[string]any)["name"].(string))
	}
	if want := []string{"run", "verify", "capacity", "compare", "show", "runs"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// What is no message gets an error, and the session goes on.
func TestAgentSendsRubbish(t *testing.T) {
	a := startAgent(t, limits())
	for line, code := range map[string]int{
		`x`:                        -32700,
		`{"jsonrpc":"2.0"`:         -32700,
		`"text"`:                   -32600,
		`{}`:                       -32600,
		`{"id":1,"method":"ping"}`: -32600,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                            -32600,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                              -32600,
		`{"jsonrpc":"2.0","id":1,"method":7}`:                                    -32600,
		`{"jsonrpc":"2.0","id":1,"method":"exec"}`:                               -32601,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}`:  -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`:             -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                         -32602,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`:                             -32600, // not in this revision
		strings.Repeat("[", 5000):                                                -32700,
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 3<<20) + `"}`: -32600,
	} {
		a.send(line)
		if r := a.next(); r.Error == nil || r.Error.Code != code || len(r.Error.Text) > 500 {
			t.Errorf("%.100s: %+v, want %d", line, r, code)
		}
	}
	a.send(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	a.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`)
	a.send("")
	if r := a.ask("ping", `{}`); r.Error != nil {
		t.Errorf("%+v", r)
	}
	a.ask("initialize", `{"protocolVersion":"2025-03-26"}`)
	a.send(`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"a","method":"ping"},3,{"jsonrpc":"2.0","id":"b","method":"ping"}]`)
	var all []reply
	if a.lines.Scan(); json.Unmarshal(a.lines.Bytes(), &all) != nil || len(all) != 3 {
		t.Errorf("%s", a.lines.Text())
	}
}

// Each tool answers with what its run supports.
func TestAgentTools(t *testing.T) {
	a, url := startAgent(t, limits()), serve(t, target.Options{})
	words, run, refused := a.call("run", fmt.Sprintf(`{"url":%q,"rate_per_s":100,"duration_s":1,"assert":"errors<1%%","labels":["side=a"]}`, url))
	if refused || run["claims"] == nil || run["counts"].(map[string]any)["ok"] != 100.0 || run["verdict"] == "valid" && !strings.Contains(words, "errors<1%") {
		t.Errorf("%s: %v", words, run)
	}
	if invalid := run["verdict"] == "invalid"; invalid && (run["latency"] != nil || run["assertions"] != nil) || invalid != strings.HasPrefix(words, "INVALID RUN") {
		t.Errorf("%v: %s", run, words)
	}
	if again, shown, _ := a.call("show", `{"run":"@-1"}`); again != words || shown["run"] != run["run"] {
		t.Errorf("%s, want %s", again, words)
	}
	a.call("run", fmt.Sprintf(`{"url":%q,"rate_per_s":100,"duration_s":1}`, url))
	if _, list, _ := a.call("runs", `{"filters":["side=a"]}`); len(list["runs"].([]any)) != 1 {
		t.Errorf("%v", list)
	}
	// one run a side proves nothing, and the answer says so first
	if words, c, _ := a.call("compare", `{"base":["@-2"],"head":["@-1"]}`); c["verdict"] != "inconclusive" || c["claims"].([]any)[0].(map[string]any)["supported"] != false {
		t.Errorf("%s: %v", words, c)
	}
	// takt itself judges these searches: which word it finds depends on the machine
	if words, c, refused := a.call("capacity", fmt.Sprintf(`{"url":%q,"slo":["errors<1%%"],"start_per_s":20,"max_per_s":20,"budget_s":20,"step_s":1,"warmup_s":0}`, url)); !refused && (c["claims"] == nil || c["sustainable_per_s"] != nil) {
		t.Errorf("%s: %v", words, c)
	}
	if words, j, refused := a.call("verify", fmt.Sprintf(`{"base":%[1]q,"head":%[1]q,"rate_per_s":100,"budget_s":8,"metrics":["p50"]}`, url)); !refused && (j["claims"] == nil || j["verdict"] == "regressed") {
		t.Errorf("%s: %v", words, j)
	}
}

// The user's limits hold, and a refusal says whose they are.
func TestAgentLimits(t *testing.T) {
	o := limits()
	o.Allow = []string{"127.0.0.1:1"}
	a := startAgent(t, o)
	for arguments, want := range map[string]string{
		`{"url":"http://127.0.0.1:2/","rate_per_s":1}`:                                          "--allow-target",
		`{"url":"http://127.0.0.1:1@10.0.0.1/","rate_per_s":1}`:                                 "10.0.0.1 may not be loaded",
		`{"url":"http://0x7f000001:1/","rate_per_s":1}`:                                         "may not be loaded",
		`{"url":"http://localhost:1/","rate_per_s":1}`:                                          "may not be loaded",
		`{"url":"http://127.0.0.1:1/{{file \"/etc/passwd\"}}","rate_per_s":1}`:                  "plain URL",
		`{"url":"http://127.0.0.1:1,10.0.0.1:1/","rate_per_s":1}`:                               "give a",
		`{"url":"--fault=x@1s","rate_per_s":1}`:                                                 "complete URL",
		`{"url":"file:///etc/passwd","rate_per_s":1}`:                                           "complete URL",
		`{"url":"http://127.0.0.1:1/","rate_per_s":401}`:                                        "--max-rate",
		`{"url":"http://127.0.0.1:1/","rate_per_s":"max"}`:                                      "wrong type",
		`{"url":"http://127.0.0.1:1/","rate_per_s":0}`:                                          "0.1 or more",
		`{"url":"http://127.0.0.1:1/","rate_per_s":-1}`:                                         "0.1 or more",
		`{"url":"http://127.0.0.1:1/"}`:                                                         "rate_per_s is missing",
		`{"url":"http://127.0.0.1:1/","rate_per_s":1,"duration_s":61}`:                          "--max-duration",
		`{"url":"http://127.0.0.1:1/","rate_per_s":1,"duration_s":59,"warmup_s":2}`:             "--max-duration",
		`{"url":"http://127.0.0.1:1/","rate_per_s":1,"connections":51}`:                         "--max-connections",
		`{"url":"http://127.0.0.1:1/","rate_per_s":1,"config":"x"}`:                             "no argument \"config\"",
		`{"url":"http://127.0.0.1:1/","rate_per_s":1,"method":"GET --proxy=http://10.0.0.1:1"}`: "give one of GET",
		`{"url":"http://127.0.0.1:1/","rate_per_s":1,"body":"{{file \"/etc/passwd\"}}"}`:        "--folder",
		`{"url":"http://127.0.0.1:1/","rate_per_s":1,"body":"{{file \"../x\"}}"}`:               "--folder",
		`{"url":"http://127.0.0.1:1/","rate_per_s":1,"page":"/tmp/x.html"}`:                     "--folder",
		`{"url":"http://127.0.0.1:1/","rate_per_s":1,"body":"a\u0000b"}`:                        "NUL",
		`[1]`: "not an object",
	} {
		words, _, refused := a.call("run", arguments)
		if !refused || !strings.Contains(words, want) {
			t.Errorf("%s: %q, want %q", arguments, words, want)
		}
	}
	for tool, arguments := range map[string]string{
		"verify":   `{"base":"http://127.0.0.1:1/","head":"http://10.0.0.1:1/","rate_per_s":100}`,
		"capacity": `{"url":"http://10.0.0.1:1/","slo":["p95<1s"]}`,
		"show":     `{"run":"/etc/passwd"}`,
		"compare":  `{"base":["@-1,../../x"],"head":["--store=x"]}`,
		"runs":     `{"filters":["--store=elasticsearch://10.0.0.1:1"]}`,
	} {
		if words, _, refused := a.call(tool, arguments); !refused {
			t.Errorf("%s: %s", tool, words)
		}
	}
	if words, _, refused := a.call("verify", `{"base":"http://127.0.0.1:1/","head":"http://127.0.0.1:1/","rate_per_s":100,"budget_s":20}`); !refused || !strings.Contains(words, "limit is 19") {
		t.Errorf("a budget that may take longer than the limit: %s", words)
	}
	if len(a.began) > 0 {
		t.Errorf("this was run: %q", <-a.began)
	}
}

// Whatever a call says, each command line has the limits in it.
func TestAgentLinesHaveLimits(t *testing.T) {
	o := limits()
	o.Allow = []string{"127.0.0.1:1"} // where nobody listens
	a := startAgent(t, o)
	for tool, c := range map[string]struct {
		arguments string
		want      []string
	}{
		"run":      {`{"url":"http://127.0.0.1:1/","rate_per_s":1,"duration_s":1}`, []string{"--max-in-flight=50", "--rate=1/s"}},
		"verify":   {`{"base":"http://127.0.0.1:1/","head":"http://127.0.0.1:1/x","rate_per_s":100}`, []string{"--max-in-flight=25", "--budget=19s", "--rate=100/s"}},
		"capacity": {`{"url":"http://127.0.0.1:1/","slo":"p95<1s"}`, []string{"--max-in-flight=50", "--max=400/s", "--budget=60s"}},
	} {
		a.call(tool, c.arguments)
		line := <-a.began
		for _, want := range c.want {
			if !slices.Contains(line, want) {
				t.Errorf("%s: %q lacks %s", tool, line, want)
			}
		}
	}
}

// doorbell is a server that tells of its first requests.
func doorbell(t *testing.T) (url string, rung <-chan bool) {
	t.Helper()
	c := make(chan bool, 1000)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { c <- true }))
	t.Cleanup(s.Close)
	return s.URL, c
}

// One call runs at a time. A cancelled one gets no answer, and its run is stored.
func TestAgentCancels(t *testing.T) {
	a := startAgent(t, limits())
	url, rung := doorbell(t)
	run := func(id string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"run","arguments":{"url":%q,"rate_per_s":10,"duration_s":50}}}`, id, url)
	}
	a.send(run("first"))
	<-a.began
	<-rung
	a.send(run("second"))
	a.send(run("second"))
	if r := a.next(); r.ID != "second" || r.Error == nil {
		t.Errorf("an id twice: %+v", r)
	}
	if r := a.ask("ping", `{}`); r.Error != nil || len(a.began) > 0 {
		t.Errorf("%+v, %d calls run at once", r, 1+len(a.began))
	}
	for _, id := range []string{"second", "first", "unknown"} {
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id))
	}
	if words, list, _ := a.call("runs", `{}`); len(list["runs"].([]any)) != 1 { // waits for its turn
		t.Errorf("%s: %v", words, list)
	}
	if line := <-a.began; line[0] != "runs" {
		t.Errorf("%q was run", line)
	}
}

// When the client closes its end, a run ends with its report, and what only reads is answered.
func TestAgentLeaves(t *testing.T) {
	a := startAgent(t, limits())
	url, rung := doorbell(t)
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"url":%q,"rate_per_s":10,"duration_s":50}}}`, url))
	<-a.began
	<-rung
	a.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"runs","arguments":{}}}`)
	_ = a.in.Close()
	first, second := a.next(), a.next()
	if text := fmt.Sprint(first.Result["content"]); first.ID != 1.0 || !strings.Contains(text, "STOPPED EARLY: the client closed its end") {
		t.Errorf("%+v", first)
	}
	if list := second.Result["structuredContent"].(map[string]any)["runs"].([]any); second.ID != 2.0 || len(list) != 1 {
		t.Errorf("%+v", second)
	}
	if err := <-a.ended; err != nil {
		t.Error(err)
	}
	a.ended <- nil // for the end of the test
}

// The limits themselves are checked.
func TestAgentOptions(t *testing.T) {
	for words, want := range map[string]string{
		"--max-rate max": "is no limit", "--max-duration 1s": "too short", "--max-connections 1": "2 or more", "--allow-target http://x/": "is not a machine", "http://127.0.0.1:1": "takes no arguments",
	} {
		if code, _, errs := call(t.Context(), append([]string{"mcp"}, strings.Fields(words)...)...); code != core.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s", words, code, errs)
		}
	}
	if code, _, errs := call(t.Context(), "mcp"); code != core.ExitFailed || !strings.Contains(errs, "cannot confine") {
		t.Errorf("%d %s", code, errs)
	}
	if _, err := os.Stat("mcp"); err == nil {
		t.Error("it made a folder")
	}
}
