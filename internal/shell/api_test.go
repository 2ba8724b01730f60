package shell_test

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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
)

// web is a client of the API. It checks every answer against the OpenAPI file.
type web struct {
	t     *testing.T
	url   string
	token string
	api   *openAPI
}

// serveWeb runs a shell with the API.
func serveWeb(t *testing.T, home string, run shell.Run, flags ...string) (*web, *running) {
	t.Helper()
	server := serve(t, home, run, append([]string{"--http", "127.0.0.1:0"}, flags...)...)
	w := &web{t: t, url: server.http}
	w.api = readOpenAPI(t, w.raw("GET", "/v1/openapi.json", "", nil).body)
	return w, server
}

// as is the same client with a token.
func (w *web) as(token string) *web { return &web{w.t, w.url, token, w.api} }

type answer struct {
	status int
	header http.Header
	body   []byte
}

// raw sends a request as it is.
func (w *web) raw(method, path, body string, header map[string]string) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	client := &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	back, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer back.Body.Close()
	b, err := io.ReadAll(back.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.api != nil {
		path, _, _ := strings.Cut(path, "?")
		w.api.check(method, path, back.StatusCode, back.Header.Get("Content-Type"), b)
	}
	return answer{back.StatusCode, back.Header, b}
}

// do sends a request, and decodes the answer, whose status has to be the expected one.
func (w *web) do(method, path, body string, status int, what any) {
	w.t.Helper()
	a := w.raw(method, path, body, nil)
	if a.status != status {
		w.t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, a.status, a.body, status)
	}
	if what != nil {
		if err := json.Unmarshal(a.body, what); err != nil {
			w.t.Fatalf("%v: %s", err, a.body)
		}
	}
}

func lineOf(text string) string {
	b, _ := json.Marshal(map[string]string{"line": text}) // a map of texts has no error
	return string(b)
}

type webJob struct {
	ID                           int
	State, User, Command, Reason string
	Position                     int
	Reports                      []string
	ExitCode                     *int `json:"exit_code"`
	Cancelled                    bool
}

type webSaid struct {
	Output string
	Jobs   []webJob
	Errors []string
}

type webProblem struct {
	Status                int
	Detail, Cause, Remedy string
	Errors                []string
}

// awaitJob waits until a job is in a state.
func (w *web) awaitJob(id int, state string) (j webJob) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		w.do("GET", fmt.Sprintf("/v1/jobs/%d", id), "", 200, &j)
		if j.State == state {
			return j
		}
		if time.Now().After(end) {
			w.t.Fatalf("job %d is %s", id, j.State)
		}
	}
}

// Each path of the API does what its line in the shell does, and answers as the OpenAPI file says.
func TestAPI(t *testing.T) {
	w, _ := serveWeb(t, t.TempDir(), inProcess)
	url := targettest.Serve(t, target.Options{}).URL() + "/"
	var s webSaid
	w.do("POST", "/v1/lines", lineOf("define five http -n 5 --rate 50/s --progress none $"), 200, &s)
	w.do("POST", "/v1/lines", lineOf("define"), 200, &s)
	if !strings.Contains(s.Output, "five") {
		t.Errorf("%+v", s)
	}
	w.do("POST", "/v1/jobs", lineOf("five "+url), 202, &s)
	if len(s.Jobs) != 1 || s.Jobs[0].User != "local" || !strings.Contains(s.Jobs[0].Command, "http -n 5") || !strings.HasPrefix(s.Output, "job 1: http") {
		t.Fatalf("%+v", s)
	}
	events := w.raw("GET", "/v1/jobs/1/events", "", nil)
	text, kinds, last := readEvents(t, events.body)
	if !strings.Contains(text, "operations   5 scheduled") || !strings.HasSuffix(text, "\n") || !strings.Contains(text, "job 1 done in") || last.State != "done" {
		t.Errorf("%s\n%+v", text, last)
	}
	if kinds["state"] < 2 || kinds["second"] == 0 {
		t.Errorf("%v", kinds)
	}
	j := w.awaitJob(1, "done")
	if j.ExitCode == nil || *j.ExitCode != 0 || len(j.Reports) != 1 {
		t.Fatalf("%+v", j)
	}
	var report struct {
		ID     string
		Counts struct{ OK int }
	}
	w.do("GET", "/v1/jobs/1/report", "", 200, &report)
	if report.ID != j.Reports[0] || report.Counts.OK != 5 {
		t.Errorf("%+v", report)
	}
	w.do("GET", "/v1/jobs/1/report?run="+report.ID, "", 200, nil)
	w.do("GET", "/v1/jobs/1/report?run=@-1", "", 404, nil)
	w.do("GET", "/v1/jobs/1/events?from=-1", "", 400, nil)
	text, _, _ = readEvents(t, w.raw("GET", "/v1/jobs/1/events?from=99999999", "", nil).body)
	if text != "" {
		t.Errorf("%q", text)
	}
	var words webSaid
	b, _ := json.Marshal(map[string][]string{"words": {"http", "-n", "2", "--progress", "none", "--no-store", "--label", "a=b; c $", url}})
	w.do("POST", "/v1/jobs", string(b), 202, &words)
	w.awaitJob(2, "done")
	w.do("GET", "/v1/jobs/2/report", "", 404, nil)
	var all struct{ Jobs []webJob }
	w.do("GET", "/v1/jobs", "", 200, &all)
	if len(all.Jobs) != 2 || all.Jobs[0].ID != 2 || !strings.Contains(all.Jobs[0].Command, "'a=b; c $'") {
		t.Errorf("%+v", all)
	}
	w.do("POST", "/v1/lines", lineOf("runs"), 200, &s)
	if !strings.Contains(s.Output, "http") {
		t.Errorf("%+v", s)
	}
	for _, line := range []string{"help", "help http", "status", "status -w", "words", "queue", "log 1", "auth x", "quit"} {
		w.do("POST", "/v1/lines", lineOf(line), map[bool]int{true: 409, false: 200}[line == "status -w"], nil)
	}
}

// readEvents reads lines of JSON: the output, how many there are of each kind, and the last state.
func readEvents(t *testing.T, b []byte) (text string, kinds map[string]int, last webJob) {
	t.Helper()
	kinds = map[string]int{}
	for line := range bytes.Lines(b) {
		var e struct {
			Event, Text string
			At          int
			Job         webJob
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds[e.Event]++
		switch e.Event {
		case "output":
			if e.At != len(text) && len(text) > 0 {
				t.Errorf("output at %d after %d bytes", e.At, len(text))
			}
			text += e.Text
		case "state":
			last = e.Job
		}
	}
	return text, kinds, last
}

// Jobs over the API wait in the same queue; DELETE removes or stops them, the second time at once.
func TestAPICancel(t *testing.T) {
	tick := make(chan struct{})
	w, server := serveWeb(t, t.TempDir(), held(tick))
	owner := holdJob(t, server.addr)
	w.do("POST", "/v1/jobs", lineOf("http -n 6 http://127.0.0.1:1/ ; http -n 7 http://127.0.0.1:1/"), 202, nil)
	if j := w.awaitJob(3, "waiting"); j.Position != 2 {
		t.Errorf("%+v", j)
	}
	var s webSaid
	w.do("DELETE", "/v1/jobs/3", "", 202, &s)
	if len(s.Jobs) != 1 || s.Jobs[0].State != "removed" {
		t.Errorf("%+v", s)
	}
	w.do("DELETE", "/v1/jobs/3", "", 409, nil)
	w.do("DELETE", "/v1/jobs/99", "", 404, nil)
	w.do("DELETE", "/v1/jobs/1", "", 202, &s)
	if text := owner.until(jobDone); !strings.Contains(text, "job 1 is told to stop by local, in session") {
		t.Errorf("%q", text)
	}
	w.awaitJob(2, "running")
	w.do("DELETE", "/v1/jobs/2", "", 202, nil)
	if j := w.awaitJob(2, "done"); !j.Cancelled {
		t.Errorf("%+v", j)
	}
}

// What is wrong is said with its cause and what to do, and nothing of it runs.
func TestAPIRefuses(t *testing.T) {
	w, server := serveWeb(t, t.TempDir(), held(nil))
	origin := "http://" + strings.TrimPrefix(w.url, "http://")
	for _, c := range []struct {
		method, path, body string
		header             map[string]string
		status             int
		detail             string
	}{
		{"GET", "/v1/jobs", "", map[string]string{"Origin": "http://evil.example"}, 403, "another origin"},
		{"GET", "/v1/jobs", "", map[string]string{"Origin": "null"}, 403, "another origin"},
		{"GET", "/v1/jobs", "", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, "another origin"},
		{"GET", "/v1/jobs", "", map[string]string{"Origin": origin, "Sec-Fetch-Site": "same-origin"}, 200, ""},
		{"POST", "/v1/jobs", lineOf("http http://127.0.0.1:1"), map[string]string{"Origin": "https://" + strings.TrimPrefix(w.url, "http://")}, 403, "another origin"},
		{"POST", "/v1/jobs", lineOf("http http://127.0.0.1:1"), map[string]string{"Host": "evil.example:8235"}, 421, "not a name of this server"},
		{"GET", "/v1/openapi.json", "", map[string]string{"Host": "evil.example"}, 421, "not a name of this server"},
		{"GET", "/v1/jobs", "", map[string]string{"X-Forwarded-For": "127.0.0.1"}, 421, "a proxy sent this request"},
		{"GET", "/v1/jobs", "", map[string]string{"Host": "localhost:1"}, 200, ""},
		{"POST", "/v1/jobs", lineOf("http http://127.0.0.1:1"), map[string]string{"Content-Type": "text/plain"}, 415, "send Content-Type: application/json"},
		{"POST", "/v1/jobs", "line=x", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, "not JSON"},
		{"POST", "/v1/jobs", "{", nil, 400, "send {"},
		{"POST", "/v1/jobs", "{}", nil, 400, "no command"},
		{"POST", "/v1/jobs", `{"line":"status","words":["status"]}`, nil, 400, "either"},
		{"POST", "/v1/jobs", `{"line":"status","x":1}`, nil, 400, "unknown field"},
		{"POST", "/v1/jobs", `{"line":"status"}{}`, nil, 400, "text after"},
		{"POST", "/v1/jobs", lineOf("status"), nil, 422, "send the line to /v1/lines"},
		{"POST", "/v1/lines", lineOf("http http://127.0.0.1:1"), nil, 422, "send the line to /v1/jobs"},
		{"POST", "/v1/lines", lineOf("status\nquit"), nil, 422, "does not show"},
		{"POST", "/v1/lines", lineOf("edit on"), nil, 422, "needs a session by telnet"},
		{"POST", "/v1/lines", lineOf("attach"), nil, 422, "needs a session by telnet"},
		{"POST", "/v1/jobs", lineOf("http --rate x http://127.0.0.1:1 ; nothing"), nil, 422, "unknown command"},
		{"POST", "/v1/jobs", strings.Repeat("x", 1<<20), nil, 413, "shorter line"},
		{"GET", "/v1/jobs", "x", nil, 400, "no body"},
		{"PUT", "/v1/jobs", "", nil, 405, "use GET or POST"},
		{"OPTIONS", "/v1/jobs", "", nil, 405, "use GET or POST"},
		{"POST", "/v1/jobs/1", "", nil, 405, "use GET or DELETE"},
		{"GET", "/v1/lines", "", nil, 405, "use POST"},
		{"GET", "/", "", nil, 404, "openapi.json"},
		{"GET", "//v1/jobs", "", nil, 404, "openapi.json"},
		{"GET", "/v1/jobs/", "", nil, 404, "openapi.json"},
		{"GET", "/v1/x/../jobs", "", nil, 404, "openapi.json"},
		{"GET", "/v1/jobs/01", "", nil, 404, "openapi.json"},
		{"GET", "/v1/jobs/%31", "", nil, 404, "openapi.json"},
		{"GET", "/v1/jobs/-1", "", nil, 404, "openapi.json"},
		{"GET", "/v1/jobs/..%2f..%2fetc%2fpasswd/report", "", nil, 404, "openapi.json"},
		{"GET", "/v1/jobs/9/report", "", nil, 404, "job 9 is unknown"},
	} {
		a := w.raw(c.method, c.path, c.body, c.header)
		var p webProblem
		_ = json.Unmarshal(a.body, &p) // an answer that is not JSON has no detail
		if a.status != c.status || !strings.Contains(p.Detail, c.detail) || c.status >= 400 && (p.Status != c.status || p.Cause == "" || a.header.Get("Content-Type") != "application/problem+json") {
			t.Errorf("%s %s %.80s %v: %d %s", c.method, c.path, c.body, c.header, a.status, a.body)
		}
		if c.status == 405 && a.header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", c.method, c.path)
		}
	}
	c := dial(t, server.addr)
	c.until(prompted)
	c.send("queue")
	if text := c.until(prompted); text != "the queue is empty\n" {
		t.Error(text)
	}
}

// With tokens, each role may do over HTTP what it may do in a session.
func TestAPIRoles(t *testing.T) {
	home := t.TempDir()
	log := filepath.Join(home, "audit")
	w, _ := serveWeb(t, home, held(nil), "--token-file", tokenFile(t), "--audit-log", log)
	ann, lou := w.as("correct-horse"), w.as("battery-staple")
	for _, header := range []map[string]string{nil, {"Authorization": "Basic eDp5"}, {"Authorization": "correct-horse"}} {
		if a := w.raw("GET", "/v1/jobs", "", header); a.status != 401 || a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%v: %d %s", header, a.status, a.body)
		}
	}
	var p webProblem
	lou.do("POST", "/v1/jobs", lineOf("http http://127.0.0.1:1"), 403, &p)
	if p.Cause != "http: your role is look, which may not do this" || p.Remedy != "see help look" {
		t.Errorf("%+v", p)
	}
	ann.do("POST", "/v1/jobs", lineOf("http --bearer "+secret+" http://127.0.0.1:1"), 202, nil)
	lou.do("DELETE", "/v1/jobs/1", "", 403, nil)
	lou.do("POST", "/v1/lines", lineOf("define x status"), 403, nil)
	lou.do("GET", "/v1/jobs/1", "", 200, nil)
	if a := lou.raw("GET", "/v1/jobs", "", map[string]string{"Host": "any.example"}); a.status != 200 || bytes.Contains(a.body, []byte(secret)) {
		t.Errorf("%d %s", a.status, a.body)
	}
	ann.do("DELETE", "/v1/jobs/1", "", 202, nil)
	for i := range 5 {
		a := w.as("wrong-horse").raw("GET", "/v1/jobs", "", nil)
		if want := map[bool]int{true: 401, false: 429}[i < 3]; a.status != want || want == 429 && a.header.Get("Retry-After") == "" {
			t.Errorf("wrong token %d: %d", i, a.status)
		}
	}
	ann.do("GET", "/v1/jobs", "", 429, nil)
	text, err := os.ReadFile(log)
	if err != nil || strings.Contains(string(text), secret) || !strings.Contains(string(text), `"command":"cancel","outcome":"refused: your role is look`) || !strings.Contains(string(text), `"command":"cancel 1","outcome":"allowed"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// Many requests with a right token at once are no tries.
func TestAPIManyAtOnce(t *testing.T) {
	w, _ := serveWeb(t, t.TempDir(), held(nil), "--token-file", tokenFile(t))
	codes := make(chan int)
	for range 20 {
		go func() { codes <- w.as("correct-horse").raw("GET", "/v1/jobs", "", nil).status }()
	}
	for range 20 {
		if code := <-codes; code != 200 {
			t.Error(code)
		}
	}
}

// A client that sends no end of its body, or reads nothing of a job's output, delays nobody, and
// goes with the server.
func TestAPISlowClients(t *testing.T) {
	tick := make(chan struct{})
	w, server := serveWeb(t, t.TempDir(), held(tick))
	addr := strings.TrimPrefix(w.url, "http://")
	w.do("POST", "/v1/jobs", lineOf("http http://127.0.0.1:1"), 202, nil)
	for _, text := range []string{
		"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		"GET /v1/jobs/1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"GET /v1/jobs HTTP/1.1\r\nHo",
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.(*net.TCPConn).SetReadBuffer(1024) // the system chooses its own least size
		fmt.Fprint(conn, text)
	}
	for range 5000 { // 5 MB, more than sockets have room for
		tick <- struct{}{}
	}
	w.do("GET", "/v1/jobs/1", "", 200, nil)
	server.stop()
}

// A reader that comes late hears what it has missed; one that leaves costs nothing.
func TestAPIEventsMissed(t *testing.T) {
	tick := make(chan struct{})
	w, _ := serveWeb(t, t.TempDir(), held(tick))
	w.do("POST", "/v1/jobs", lineOf("http http://127.0.0.1:1"), 202, nil)
	for range 5000 {
		tick <- struct{}{}
	}
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "GET", w.url+"/v1/jobs/1/events", nil) // the URL is well-formed
	back, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Body.Close()
	in := bufio.NewReader(back.Body)
	var seen []string
	for len(seen) < 3 {
		line, err := in.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var e struct{ Event string }
		_ = json.Unmarshal(line, &e)
		seen = append(seen, e.Event)
	}
	leave()
	if !slices.Equal(seen, []string{"state", "missed", "output"}) {
		t.Errorf("%q", seen)
	}
	w.do("DELETE", "/v1/jobs/1", "", 202, nil)
	w.awaitJob(1, "done")
}

// queueAt queues a job, and returns its number.
func queueAt(url string) (int, error) {
	back, err := http.Post(url+"/v1/jobs", "application/json", strings.NewReader(lineOf("http -n 5 http://127.0.0.1:1/")))
	if err != nil {
		return 0, err
	}
	defer back.Body.Close()
	var s webSaid
	if err := json.NewDecoder(back.Body).Decode(&s); err != nil {
		return 0, err
	}
	if len(s.Jobs) == 0 {
		return 0, fmt.Errorf("%d", back.StatusCode)
	}
	return s.Jobs[0].ID, nil
}

// A hostile user with a token gets over HTTP no further than in a session.
func TestHostileUserOverHTTP(t *testing.T) {
	home := t.TempDir()
	dir := outside(t, home)
	before := contents(t, dir)
	w, _ := serveWeb(t, home, inProcess, "--token-file", tokenFile(t), "--allow-target", "127.0.0.1", "--audit-log", filepath.Join(home, "audit"))
	for _, token := range []string{"correct-horse", "battery-staple"} {
		user := w.as(token)
		for _, lines := range attempts() {
			for _, line := range lines {
				line = strings.ReplaceAll(line, "OUT", dir)
				for _, path := range []string{"/v1/jobs", "/v1/lines"} {
					if a := user.raw("POST", path, lineOf(line), nil); a.status < 400 || bytes.Contains(a.body, []byte(secret)) {
						t.Errorf("%s: %d %s", line, a.status, a.body)
					}
				}
			}
		}
		var all struct{ Jobs []webJob }
		user.do("GET", "/v1/jobs", "", 200, &all)
		if len(all.Jobs) > 0 {
			t.Errorf("%+v", all)
		}
	}
	if after := contents(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("before\n%q\nafter\n%q", before, after)
	}
	if log, err := os.ReadFile(filepath.Join(home, "audit")); err != nil || bytes.Contains(log, []byte(secret)) {
		t.Errorf("%v\n%s", err, log)
	}
}

// The command line, a session and the API make the same report: only ids, instants and what was
// measured differ.
func TestEqualReports(t *testing.T) {
	url := targettest.Serve(t, target.Options{}).URL() + "/"
	line := "http --rate 50/s -n 10 --progress none --label a=b " + url
	home := t.TempDir()
	env := environment(t.Context(), home)
	if code := cli.Main(env, strings.Fields(line)); code != 0 {
		t.Fatal(code)
	}
	w, server := serveWeb(t, home, inProcess)
	c := dial(t, server.addr)
	c.until(prompted)
	c.send(line)
	c.until(prompted)
	w.do("POST", "/v1/jobs", lineOf(line), 202, nil)
	w.awaitJob(2, "done")
	var shapes []string
	for _, run := range []string{"@-3", "@-2", "@-1"} {
		var out bytes.Buffer
		env.Stdout = &out
		if code := cli.Main(env, []string{"show", run, "-o", "json=-"}); code != 0 {
			t.Fatal(code)
		}
		var r map[string]any
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, shapeOf(r))
	}
	if shapes[0] == "" || shapes[0] != shapes[1] || shapes[0] != shapes[2] {
		t.Errorf("command line\n%s\nsession\n%s\nAPI\n%s", shapes[0], shapes[1], shapes[2])
	}
}

// shapeOf is a report without its id, its figures and its warnings, which depend on the machine.
func shapeOf(r map[string]any) string {
	same := map[string]any{}
	for _, name := range []string{"schema_version", "tool", "kind", "command", "labels", "variables", "schedule", "target", "protocol", "warmup_s"} {
		same[name] = r[name]
	}
	counts, _ := r["counts"].(map[string]any)
	same["scheduled"], same["ok"] = counts["scheduled"], counts["ok"]
	var names []string
	for name := range r {
		if name != "warnings" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	same["names"] = names
	b, _ := json.MarshalIndent(same, "", " ") // it was JSON
	return string(b)
}

// With a certificate the API is TLS only, and knows its own origin.
func TestAPITLS(t *testing.T) {
	home := t.TempDir()
	cert, key := certificate(t, home)
	server := serve(t, home, held(nil), "--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // its own
	defer client.CloseIdleConnections()
	for origin, want := range map[string]int{server.http: 200, strings.Replace(server.http, "https", "http", 1): 403} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", server.http+"/v1/jobs", nil) // the URL is well-formed
		r.Header.Set("Origin", origin)
		back, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = back.Body.Close()
		if back.StatusCode != want || !strings.HasPrefix(server.http, "https://") {
			t.Errorf("%s: %d", origin, back.StatusCode)
		}
	}
}

// Beyond loopback, sessions over HTTP load only what --allow-target lists, as others do.
func TestAPIBeyondLoopback(t *testing.T) {
	home := t.TempDir()
	server := serve(t, home, held(nil), "--http", "0.0.0.0:0", "--insecure", "--token-file", tokenFile(t))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.http, "http://")) // the server's own
	w := &web{t: t, url: "http://127.0.0.1:" + port, token: "correct-horse"}
	if a := w.raw("POST", "/v1/jobs", lineOf("http http://127.0.0.1:1"), nil); a.status != 403 || !strings.Contains(string(a.body), "127.0.0.1:1 may not be loaded") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Connections that say nothing keep out neither a new client nor one that has shown who it is.
func TestAPICrowd(t *testing.T) {
	w, _ := serveWeb(t, t.TempDir(), held(nil))
	addr := strings.TrimPrefix(w.url, "http://")
	known, err := net.Dial("tcp", addr) // has an answer, and stays
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	answers := bufio.NewReader(known)
	list := func() error {
		fmt.Fprint(known, "GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		answer, err := http.ReadResponse(answers, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
		}
		return err
	}
	if err := list(); err != nil {
		t.Fatal(err)
	}
	var all []net.Conn
	for range 300 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		all = append(all, conn)
	}
	if _, err := queueAt(w.url); err != nil {
		t.Errorf("the owner, while 256 connections say nothing: %v", err)
	}
	if err := list(); err != nil {
		t.Errorf("a known visitor: %v", err)
	}
}

// A command that asks gets its answer in the body of the request.
func TestAPIAnswer(t *testing.T) {
	w, _ := serveWeb(t, t.TempDir(), inProcess)
	w.do("POST", "/v1/lines", lineOf("elasticsearch use "+apm(t)), 200, nil)
	var p webProblem
	w.do("POST", "/v1/lines", lineOf("elasticsearch reset"), 409, &p)
	if !strings.Contains(p.Cause, "? yes or no") || p.Remedy != `send the line again with "answer"` {
		t.Errorf("%+v", p)
	}
	var s webSaid
	w.do("POST", "/v1/lines", `{"line":"elasticsearch reset","answer":"no"}`, 200, &s)
	if !strings.HasSuffix(s.Output, "nothing is deleted\n") {
		t.Errorf("%q", s.Output)
	}
	w.do("POST", "/v1/lines", `{"line":"elasticsearch reset","answer":"yes"}`, 202, &s)
	if len(s.Jobs) != 1 || s.Jobs[0].Command != "elasticsearch reset" {
		t.Errorf("%+v", s)
	}
	w.awaitJob(1, "done")
}

// Each request that takt refuses has a line in the audit log that says why.
func TestRefusedRequests(t *testing.T) {
	home := t.TempDir()
	log := filepath.Join(home, "audit")
	w, _ := serveWeb(t, home, held(nil), "--token-file", tokenFile(t), "--audit-log", log)
	ann := w.as("correct-horse")
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/v1/etc/passwd", "", `"event":"session","outcome":"refused: there is nothing at this path`},
		{"PUT", "/v1/jobs", "", `"event":"session","outcome":"refused: this path does not accept the method`},
		{"POST", "/v1/lines", lineOf("status") + " {}", `"user":"ann","role":"run","from":"127.0.0.1:`},
		{"POST", "/v1/lines", "{}", `"event":"command","outcome":"refused: not understood"`},
		{"POST", "/v1/jobs", lineOf("status"), `"command":"status","outcome":"refused: no command of the line is a job`},
		{"POST", "/v1/lines", lineOf("http http://127.0.0.1:1"), `"command":"http","outcome":"refused: a command of the line is a job`},
		{"POST", "/v1/jobs", lineOf("http --nosuch=" + secret + " http://127.0.0.1:1"), `"command":"http","outcome":"refused: unknown flag"`},
		{"GET", "/v1/jobs/999/events", "", `"command":"attach 999","outcome":"failed"`},
		{"DELETE", "/v1/jobs/999", "", `"command":"cancel 999","outcome":"failed"`},
	} {
		before, _ := os.ReadFile(log) // the server has made it
		if a := ann.raw(c.method, c.path, c.body, nil); a.status < 400 {
			t.Errorf("%s %s: %d", c.method, c.path, a.status)
		}
		text, err := os.ReadFile(log)
		if err != nil || !strings.Contains(string(text[len(before):]), c.want) {
			t.Errorf("%s %s: no %s in %s", c.method, c.path, c.want, text[len(before):])
		}
	}
}

// After many refusals of a client each new reason still has its lines, and they are bounded.
func TestRefusedForManyReasons(t *testing.T) {
	home := t.TempDir()
	log := filepath.Join(home, "audit")
	w, _ := serveWeb(t, home, held(nil), "--token-file", tokenFile(t), "--audit-log", log)
	stranger := w.as("")
	for range 5 {
		stranger.raw("GET", "/v1/etc/passwd", "", nil)
	}
	for _, c := range []struct {
		status       int
		method, body string
		header       map[string]string
		want         string
	}{
		{405, "PUT", "", nil, "this path does not accept the method"},
		{415, "POST", "{}", map[string]string{"Content-Type": "text/plain"}, "the body is not JSON"},
		{413, "POST", strings.Repeat("x", 128<<10+1), nil, "the body has more than 128 KiB"},
		{400, "GET", "{}", nil, "this request accepts no body"},
		{401, "GET", "", nil, "the request has no token"},
	} {
		if a := stranger.raw(c.method, "/v1/jobs", c.body, c.header); a.status != c.status {
			t.Errorf("%s: %d, want %d", c.want, a.status, c.status)
		}
		text, err := os.ReadFile(log)
		if err != nil || !strings.Contains(string(text), `"outcome":"refused: `+c.want) {
			t.Errorf("no %s in %s, %v", c.want, text, err)
		}
	}
	text, err := os.ReadFile(log)
	if n := strings.Count(string(text), "there is nothing at this path"); n != 3 || err != nil || !strings.Contains(string(text), "refused: 2 more, for reasons of lines above") {
		t.Errorf("%d lines of one reason in %s, %v", n, text, err)
	}
}
