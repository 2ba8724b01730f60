package http

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver/http/script"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// scenarioFile writes a scenario.
func scenarioFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scenario")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// scenarioRun runs a scenario against a server, which has TLS for --insecure.
func scenarioRun(t *testing.T, flags, text string, h http.HandlerFunc) *takt.Report {
	t.Helper()
	return scenarioRows(t, flags, text, h, nil)
}

// scenarioRows is scenarioRun with a function that gets the rows.
func scenarioRows(t *testing.T, flags, text string, h http.HandlerFunc, rows engine.OnSamples) *takt.Report {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	if s.EnableHTTP2 = true; strings.Contains(flags, "--h2 --insecure") {
		s.StartTLS()
	} else {
		s.Start()
	}
	defer s.Close()
	o, e := New(), new(engine.Options)
	*e = engine.Defaults()
	fs := pflag.NewFlagSet("http", pflag.ContinueOnError)
	e.AddFlags(fs)
	o.AddFlags(fs)
	if err := fs.Parse(append(strings.Fields(flags), "--scenario", scenarioFile(t, text))); err != nil {
		t.Fatal(err)
	}
	o.Shape(e)
	if faults := append(o.Validate([]string{s.URL}), e.Validate()...); len(faults) > 0 {
		t.Fatal(faults)
	}
	o.Identify(engine.NewID(time.Now()))
	base, err := e.Source()
	if err != nil {
		t.Fatal(err)
	}
	src, err := o.Source(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	d, err := o.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := engine.Run(context.Background(), engine.Plan{Options: *e, Kind: "http", Source: src, Driver: d, OnSamples: rows})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Counts; c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
		t.Errorf("the accounting does not add up: %+v", c)
	}
	return r
}

// protocols are flags for HTTP/1.1 and HTTP/2.
var protocols = []string{"", "--h2 ", "--h2 --insecure "}

// stepCounts are the ok, failed and skipped steps.
func stepCounts(r *takt.Report) string {
	var parts []string
	for _, s := range r.Extra["steps"].([]any) {
		row := s.(map[string]any)
		parts = append(parts, fmt.Sprint(row["ok"], "+", row["failed"], "+", row["skipped"]))
	}
	return strings.Join(parts, " ")
}

const shop = `POST /login
@name log in
@body {"user":"{{.Seq}}"}
@capture token json access.token
@capture next header X-Next

GET {{next}}
Authorization: Bearer {{token}}
@think 20ms

POST /buy
@body {{token}}
`

// Every user sends its own token and its own cookie, in order, on its own connection.
func TestScenario(t *testing.T) {
	for _, flags := range []string{"--rate 300/s -n 90", "-c 7 -n 90", "--rate 300/s -n 90 --h2", "-c 7 -n 90 --h2 --insecure"} {
		var mu sync.Mutex
		n := 0
		conns := map[string]string{} // by token
		var wrong []string
		r := scenarioRun(t, flags, shop, func(w http.ResponseWriter, q *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			body, _ := io.ReadAll(q.Body)
			if q.URL.Path == "/login" {
				n++
				token := fmt.Sprint("t", n)
				conns[token] = q.RemoteAddr
				w.Header().Set("X-Next", "/orders/"+token)
				w.Header().Set("Set-Cookie", "sid="+token+"; Path=/")
				fmt.Fprintf(w, `{"access":{"token":%q}}`, token)
				return
			}
			token := strings.TrimPrefix(q.URL.Path, "/orders/")
			if q.URL.Path == "/buy" {
				token = string(body)
			} else if q.Header.Get("Authorization") != "Bearer "+token {
				wrong = append(wrong, q.Header.Get("Authorization"))
			}
			if strings.Contains(flags, "--h2") != (q.ProtoMajor == 2) {
				wrong = append(wrong, q.Proto)
			}
			if conns[token] != q.RemoteAddr || q.Header.Get("Cookie") != "sid="+token {
				wrong = append(wrong, fmt.Sprint(q.URL, q.RemoteAddr, conns[token], q.Header))
			}
		})
		if c := r.Counts; c.Scheduled != 90 || c.OK != 90 || len(wrong) > 0 || n < 30 || stepCounts(r) != "30+0+0 30+0+0 30+0+0" && strings.HasPrefix(flags, "--rate") {
			t.Errorf("%s: %+v, %s, %d logins, %q", flags, c, stepCounts(r), n, wrong)
		}
	}
}

// After a failed step the rest of the round is not sent: it is dropped if a schedule has it, and
// was never scheduled if not.
func TestFailedSteps(t *testing.T) {
	for text, class := range map[string]string{
		"status": "5xx", "none": classCapture, "crlf": classCapture, "long": classCapture, "big cookie": "header", "cut": "",
	} {
		asked := 0
		handler := func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path != "/login" {
				asked++
				return
			}
			switch text {
			case "status":
				w.WriteHeader(500)
			case "none":
				_, _ = io.WriteString(w, `{}`)
			case "crlf":
				_, _ = io.WriteString(w, `{"access":{"token":"x\r\nX-Evil: 1"}}`)
			case "long":
				_, _ = io.WriteString(w, `{"access":{"token":"`+strings.Repeat("x", 10<<20)+`"}}`)
			case "big cookie":
				w.Header().Set("Set-Cookie", "a="+strings.Repeat("x", 1<<20))
			case "cut":
				panic(http.ErrAbortHandler)
			}
		}
		for _, flags := range protocols {
			r := scenarioRun(t, flags+"--rate 300/s -n 9", "POST /login\n@capture token json access.token\n\nGET /a\nX-T: {{token}}\n\nGET /b\n", handler)
			if c := r.Counts; c.Failed != 3 || c.Dropped != 6 || asked > 0 || stepCounts(r) != "0+3+0 0+0+3 0+0+3" || !r.Warned("steps_skipped") || r.Warned("dropped") {
				t.Errorf("%s%s: %+v, %s, %d asked, %v", flags, text, c, stepCounts(r), asked, r.Warnings)
			}
			if class != "" && class != "header" && (len(r.Errors) != 1 || r.Errors[0].Class != class) {
				t.Errorf("%s: %+v", text, r.Errors)
			}
			r = scenarioRun(t, flags+"-c 2 -n 4", "POST /login\n@capture token json access.token\n\nGET /a\nX-T: {{token}}\n", handler)
			if c := r.Counts; c.Failed != 4 || c.Dropped != 0 || asked > 0 {
				t.Errorf("%s: %+v", text, c)
			}
		}
	}
}

// A later step is due after its think time; a slow answer before it is part of its response time.
func TestStepsWait(t *testing.T) {
	r := scenarioRun(t, "--rate 100/s -n 2", "GET /slow\n\nGET /fast\n@think 10ms\n", func(_ http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/slow" {
			time.Sleep(200 * time.Millisecond)
		}
	})
	fast := r.Extra["steps"].([]any)[1].(map[string]any)
	if response, service := fast["response_max_us"].(float64), fast["service_max_us"].(float64); response < 180e3 || response-service < 150e3 {
		t.Errorf("response %v µs, service %v µs", response, service)
	}
}

// Long think times lower the rates of a run, and the report says so.
func TestThinkTimesLowerRates(t *testing.T) {
	ok := func(http.ResponseWriter, *http.Request) {}
	if r := scenarioRun(t, "--rate 100/s -n 2", "GET /a\n\nGET /b\n@think 100ms\n", ok); !r.Warned("think_times") {
		t.Errorf("of %v/s of 100/s: %v", *r.Rate.Intended, r.Warnings)
	}
	for _, flags := range []string{"--rate 100/s -n 40", "-c 1 -n 2"} {
		if r := scenarioRun(t, flags, "GET /a\n\nGET /b\n@think 10ms\n", ok); r.Warned("think_times") {
			t.Errorf("%s: %v", flags, r.Warnings)
		}
	}
}

// wantFault wants a scenario to have one fault, which says this.
func wantFault(t *testing.T, text, want string) {
	t.Helper()
	o := New()
	o.Scenario = scenarioFile(t, text)
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) != 1 || !strings.Contains(faults[0].Error(), want) {
		t.Errorf("%.200q: %v", text, faults)
	}
}

// manyValues is a scenario with n values, the last one in its second step.
func manyValues(n int) string {
	b := new(strings.Builder)
	b.WriteString("GET /a\n")
	for i := range n - 1 {
		fmt.Fprintf(b, "@set a%d b\n", i)
	}
	return b.String() + "\nGET /b\n@set c0 d\n"
}

func TestScenarioFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                 "no step in it",
		"GET /a\nX: {{token}}\n":                           "unknown placeholder",
		"GET /a\n@think fast\n":                            "is not a time",
		"GET /a\n@capture t\n":                             "is not a part of an answer",
		"GET /a\n@body a\n@body b\n":                       "second body",
		"what\n":                                           "does not begin a step",
		"GET /a\n\n@name b\n":                              "scenario:3: a blank line before it ended the step",
		"GET /a\n\nX-B: c\n":                               "scenario:3: a blank line before it ended the step",
		"GET http://{{uuid}}.example/\n":                   "placeholder in its host",
		"GET ftp://other.example/\n":                       "has the scheme ftp",
		"GET /a\n@/no/such/file\n":                         "cannot read the body",
		"GET /a\nHost: {{uuid}}\n":                         "Host header",
		"GET /a\nX: {{t}}\n@capture t json a":              "unknown placeholder",
		"GET /a b\n":                                       "must be percent-encoded",
		"GET /a\n@setup\n@think 1s\n\nGET /b":              "scenario:3: @think before the first step of @setup",
		"GET /a\n@captur t json a\n":                       "scenario:2: unknown line @captur; known are @name, @think, @capture, @check, @form, @file, @body",
		"\nGET /a\nX: {{token}}\nY: z\n\n":                 "scenario:3: ",
		"GET /{{token}}\nY: z\n\n":                         "@capture",
		"GET /b\n\nGET /a\n@think no\n\nX /":               "scenario:4: ",
		"GET /b\n\n# c\nGET /a b\nX: y\n":                  "scenario:4: ",
		"GET /a\n@body a\n@captur t json a\n":              "scenario:3: unknown line @captur",
		"POST /a\n@form a b\n@body c\n":                    "scenario:2: the step has a form and another body",
		"POST /a\n@file a /no/such/file\n":                 "scenario:2: cannot read the file",
		"POST /a\n@form\n":                                 "scenario:2: @form without a name",
		"GET /a\n@check time < 1s\n":                       "scenario:2: check \"time < 1s\": which time?",
		"GET /a\n@check service > 1s\n":                    "is not a limit of a time",
		"GET /a\n@check status ok\n":                       "is not a list of statuses",
		"GET /a\n@check size < x\n":                        "is not a limit of a size",
		"GET /a\n@check json a ==\n":                       "compares with nothing",
		"GET /a\n@check json a == {{b}}\n":                 "scenario:2: step 1 check 1: {{b}}: unknown placeholder",
		"X-A: 1\n@name a\nGET /a\n":                        "scenario:2: the line does not begin a step",
		"X-A: {{b}}\nGET /a\n":                             "scenario:1: no step has the header X-A",
		"X-A: 1\nGET /a\nX-A: 2\n":                         "scenario:1: no step has the header X-A",
		"X-A: {{file \"no\"}}\n\nGET /a\n":                 "scenario:1: step 1 header X-A",
		"X-A: 1\n":                                         "no step in it",
		"GET /a\n@capture a json x.{{b}}\n":                "scenario:1: the capture a needs {{b}}, which is captured by no earlier step",
		"GET /a\n@check json x.{{b}} == 1\n":               "scenario:2: check 1 needs {{b}}",
		"GET /a\n@check json x.{{b c}}\n":                  "begin no value",
		"GET /a\n@think 1s\n@think 2s\n":                   "scenario:3: a second @think in the step",
		"GET /a\n@name a\n@name b\n":                       "scenario:3: a second @name in the step",
		"GET /a\n@check size < -1\n":                       "is not a limit of a size",
		"GET /a\n@check size < 0\n":                        "is not a limit of a size",
		"GET /a\n@check service < 0\n":                     "is not a limit of a time",
		"GET /a\n@check json a > b\n":                      "scenario:2: check \"json a > b\": \"json a > b\" compares numbers, and \"b\" is not one",
		"GET /b\n@name a\n\nGET /c\n@name a":               "scenario:5: the step of line 2 has the name \"a\", too",
		"GET /a\n" + strings.Repeat("@check body\n", 1001): "scenario:1002: more than 1000 lines with @ in the step",
		manyValues(1001):                                   "scenario:1004: c0 is value 1001 of the scenario",
		"GET /a\n@body " + strings.Repeat("x", 16<<20):     "scenario:2: the line is longer than 16 MiB",
		"POST /a\n@body {\n  \"a\": 1\n}\n":                "scenario:3: the line looks like a part of a body",
		"POST /a\n{\"a\": 1}\n":                            "scenario:2: the line looks like a part of a body",
		"POST /a\nX: y\n\n{\"a\": 1}\n":                    "scenario:4: the line looks like a part of a body",
		"GET /a\n@check json a = b\n":                      "write @check json a == b",
		"GET /a\n@check json a exists\n":                   "write @check json a, without",
		"GET /a\n@capture token json t\n@capture id body\n\nGET /{{tokn}}": "; values here: token, id",
		"GET /{{tokn}}":                           "; values here: none",
		"GET /a\n\nGET http://b.example:0/x\n":    "scenario:3: url \"http://b.example:0\" has the port 0; a port is 1 to 65535",
		"GET /a\n\nGET http://b.example:99999/\n": "scenario:3: url \"http://b.example:99999\" has the port 99999",
		"GET /a\n\nGET //orders/1\n":              "scenario:3: \"//orders/1\" is a path of the host orders, as in a browser; write /orders/1 for a path",
		"GET login\n":                             "does not begin a step; write GET /login",
		"get /login\n":                            "write GET /login",
		"GET /a HTTP/1.1\n":                       "the request line ends with HTTP/1.1; write GET /a",
		"GET {{base}}/a\n":                        "if it should be the host, write the path only",
		"GET /a\n@set x = {{uuid}}\n":             "scenario:2: \"x = {{uuid}}\" has a = that would be a part of the value; write @set x {{uuid}}",
		"GET /a\n@form a=b\n":                     "scenario:2: \"a=b\" is a name without a value; write @form a b",
		"GET /a\n@capture t = json t\n":           "scenario:2: capture t: leave the = out; write @capture t json t",
		"GET /a\n@capture t $.t\n":                "scenario:2: capture t: \"$.t\" is a path in JSON; write json $.t",
		"GET /a\n@check 200\n":                    "scenario:2: check \"200\": it begins with a status; write @check status 200",
		"GET /a\n@capture x json x\n\nGET /b\n@when {{ x }} == 1\n": "scenario:5: \"{{ x }} == 1\" is not a condition: it has braces around the name; write x == 1",
		"GET /a\n@sleep 1s\n":              "scenario:2: unknown line @sleep; write @think 500ms",
		"GET /a\n\nGET /b\n@journey b 9\n": "the step of line 3 begins the journey b",
		"GET //\n":                         "write / for a path",
		"GET /a\n@capture a" + strings.Join(strings.Split("bcdefghijkl", ""), " body\n@capture ") + " body\n\nGET /{{x}}": "; values here: …, c, d, e, f, g, h, i, j, k, l",
	} {
		wantFault(t, text, want)
	}
	o := New()
	o.Scenario = scenarioFile(t, "GET http://127.0.0.1:1/\n\nGET /a\n")
	if faults := o.Validate(nil); len(faults) != 1 || !strings.Contains(faults[0].Error(), "scenario:3: \"/a\" has no host, and there is no url argument") {
		t.Errorf("without a URL: %v", faults)
	}
}

// A step fails if one of its checks does, all of them are asked, and each is a row of its own. A check of the status
// says which are right.
func TestChecks(t *testing.T) {
	const text = `POST /login
@form user {{file "FILE" 1}} & co
@form empty
@check status 201
@check header Location matches ^/orders/[0-9]+$
@capture id header Location regexp ([0-9]+)

POST /upload
@form id {{id}}
@file data FILE
@check json id == {{id}}
@check json list.# >= 3
@check json list.# >= 2
@check body contains ann
@check size > 1kB
@check service < 10s
@check response < 1h
@capture next last json list
`
	users := filepath.Join(t.TempDir(), "users.csv")
	if err := os.WriteFile(users, []byte("ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range protocols {
		var mu sync.Mutex
		var wrong []string
		r := scenarioRun(t, flags+"--rate 300/s -n 20", strings.ReplaceAll(text, "FILE", users), func(w http.ResponseWriter, q *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if q.URL.Path == "/login" {
				if got := q.PostFormValue("user") + "|" + q.PostFormValue("empty"); got != "ann & co|" {
					wrong = append(wrong, got)
				}
				w.Header().Set("Location", "/orders/17")
				w.WriteHeader(201)
				return
			}
			f, head, err := q.FormFile("data")
			if err != nil {
				wrong = append(wrong, err.Error())
				return
			}
			b, _ := io.ReadAll(f)
			if got := string(b) + q.PostFormValue("id") + head.Filename + head.Header.Get("Content-Type"); !strings.HasPrefix(got, "ann\n17users.csvtext/csv") {
				wrong = append(wrong, got)
			}
			fmt.Fprintf(w, `{"id":"%s","list":["x","ann"],"rest":%q}`, q.PostFormValue("id"), strings.Repeat("x", 1000))
		})
		if len(wrong) > 0 || stepCounts(r) != "10+0+0 0+10+0" || len(r.Errors) != 1 || r.Errors[0].Class != script.ClassCheck {
			t.Fatalf("%s, %+v, %q", stepCounts(r), r.Errors, wrong)
		}
		var got []string
		for _, s := range r.Extra["steps"].([]any) {
			for _, c := range s.(map[string]any)["checks"].([]any) {
				one := c.(map[string]any)
				got = append(got, fmt.Sprint(one["check"], ": ", one["passed"], "+", one["failed"]))
			}
		}
		want := []string{
			"status 201: 10+0", "header Location matches ^/orders/[0-9]+$: 10+0", "json id == {{id}}: 10+0", "json list.# >= 3: 0+10", "json list.# >= 2: 10+0",
			"body contains ann: 10+0", "size > 1kB: 10+0", "service < 10s: 10+0", "response < 1h: 10+0",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		r = scenarioRun(t, flags+"--rate 300/s -n 4", "GET /a\n@check status 404,5xx\n\nGET /b\n@check service < 1ns\n", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
		if stepCounts(r) != "2+0+0 0+2+0" || r.Errors[0].Class != "5xx" {
			t.Errorf("%s, %+v", stepCounts(r), r.Errors)
		}
		r = scenarioRun(t, flags+"-c 1 -n 4", "GET /a\n@check service < 1ns\n", func(http.ResponseWriter, *http.Request) {})
		if stepCounts(r) != "0+4+0" || r.Errors[0].Class != script.ClassCheck {
			t.Errorf("%s, %+v", stepCounts(r), r.Errors)
		}
	}
}

// A cookie without a path belongs to the folder of the path that was sent, and not to that of the
// text with placeholders.
func TestCookieOfAPathWithAValue(t *testing.T) {
	var got atomic.Value
	scenarioRun(t, "-c 1 -n 2", "GET /u{{.Seq}}/in\n\nGET /u{{.Seq}}/out\n", func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/in") {
			w.Header().Set("Set-Cookie", "sid=1")
			return
		}
		got.Store(q.Header.Get("Cookie"))
	})
	if got.Load() != "sid=1" {
		t.Errorf("the cookie is %q", got.Load())
	}
}

// Steps that the end of the run cuts are unfinished in the report, and neither failed nor skipped.
func TestCutSteps(t *testing.T) {
	for _, flags := range protocols {
		r := scenarioRun(t, flags+"--rate 100/s -n 10 --drain 200ms", "GET /a\n\nGET /b\n", func(_ http.ResponseWriter, q *http.Request) {
			<-q.Context().Done() // when takt hangs up
		})
		if got := stepCounts(r); r.Counts.Unfinished != 10 || got != "0+0+0 0+0+0" {
			t.Errorf("%+v, steps %s", r.Counts, got)
		}
	}
}

// A poll that never ends goes on for --drain after the last step that no answer decides, think times included: then what waits
// for an answer is unfinished, and what would be due later is in no count.
func TestCutPolls(t *testing.T) {
	const scenario = "GET /a\n\nGET /job\n@think 100ms\n@until json done == true\n@poll 10ms 10000\n\nGET /behind\n@think 200ms\n"
	for _, flags := range protocols {
		for _, answers := range []bool{true, false} {
			r := scenarioRun(t, flags+"--rate 100/s -n 10 --drain 300ms", scenario, func(w http.ResponseWriter, q *http.Request) {
				if q.URL.Path == "/job" && !answers {
					<-q.Context().Done() // when takt hangs up
				}
				io.WriteString(w, `{"done":false}`)
			})
			rounds, _ := r.Extra["rounds"].(map[string]any)
			c := r.Counts
			ok := r.Warned(warn.RoundsCut) && rounds["completed"] == 0.0 && rounds["failed"] == 0.0 && c.OK+c.Unfinished == c.Scheduled
			if answers { // the schedule lasts 100 ms, and its think times and the drain 600 ms
				ok = ok && c.Scheduled > 10 && r.DurationS >= 0.7
			} else {
				ok = ok && c.Scheduled >= 10 && c.Unfinished > 0
			}
			if !ok {
				t.Errorf("%s, it answers: %v: %+v, %.3f s, rounds %v, steps %s, %v", flags, answers, r.Counts, r.DurationS, rounds, stepCounts(r), r.Warnings)
			}
		}
	}
}

// Random values are those of each run with the same seed, and the id of the run is another one in each.
func TestValuesOfRuns(t *testing.T) {
	values := func() (ids, uuids []string) {
		var mu sync.Mutex
		scenarioRun(t, "--rate 100/s -n 6", "POST /tenants\n@setup\n@body {{.Run}}-s {{uuid}}\n\nPOST /signup\n@set mail {{.Run}}-{{.Seq}}\n@set key {{uuid}}\n@body {{mail}} {{key}}\n\nGET /{{mail}}\n", func(_ http.ResponseWriter, q *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if body, _ := io.ReadAll(q.Body); len(body) > 0 {
				id, key, _ := strings.Cut(string(body), " ")
				ids, uuids = append(ids, id), append(uuids, key)
			}
		})
		slices.Sort(ids)
		slices.Sort(uuids)
		return ids, uuids
	}
	ids, uuids := values()
	others, again := values()
	if n := len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(ids, others))))); len(ids) != 4 || n != 8 || ids[0][:26] != ids[3][:26] {
		t.Errorf("%q, then %q", ids, others)
	}
	if !slices.Equal(uuids, again) {
		t.Errorf("%q, then %q", uuids, again)
	}
}

// A step of a group that is passed over in a repetition has no value of an earlier one: neither captured nor made.
func TestValuesOfRepetitions(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	r := scenarioRun(t, "--rate 1/s -n 1", `GET /item/{{n}}
@group item
@repeat n in 1..3
@capture kind json kind

GET /price/{{n}}
@group item
@when kind == odd
@set made {{n}}
@capture price json price

GET /buy/{{n}}?price={{price}}&made={{made}}
@group item
@optional

GET /seen/{{n}}
@group item
@when price
`, func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q.RequestURI)
		kind := "odd"
		if strings.HasSuffix(q.URL.Path, "/2") {
			kind = "even"
		}
		fmt.Fprintf(w, `{"kind":%q,"price":%q}`, kind, "p"+q.URL.Path[len(q.URL.Path)-1:])
	})
	want := []string{"/item/1", "/price/1", "/buy/1?price=p1&made=1", "/seen/1", "/item/2", "/item/3", "/price/3", "/buy/3?price=p3&made=3", "/seen/3"}
	if !slices.Equal(asked, want) || r.Counts.Failed != 1 || r.Errors[0].Class != classRequest {
		t.Errorf("%q; %+v, %+v", asked, r.Counts, r.Errors)
	}
}

// The Location of an answer is followed as a step: with its path and the cookies of the user, if it is on the host of the
// scenario, and not at all if it is on another one. A URL in a query is no host.
func TestCapturedLocation(t *testing.T) {
	for _, c := range []struct {
		location string // HOST is the server's
		want     string // of the request line; "": the step fails
	}{
		{"http://HOST/orders/1?a=b#top", "/orders/1?a=b"}, {"/orders/1", "/orders/1"}, {"/orders/1?a=b#p7", "/orders/1?a=b"}, {"//HOST/orders/1", "/orders/1"},
		{"http://other.test/orders/1", ""}, {"https://HOST/orders/1", ""},
	} {
		for _, flags := range []string{"-c 1 -n 3", "--rate 200/s -n 3"} {
			var got, cookie atomic.Value
			asked := atomic.Int64{}
			r := scenarioRun(t, flags, "GET /go?url=https://x.test/a\n\nPOST /orders\n@capture next header Location\n\nGET {{next}}\n", func(w http.ResponseWriter, q *http.Request) {
				switch q.URL.Path {
				case "/go":
					if q.RequestURI != "/go?url=https://x.test/a" {
						t.Errorf("the first step asks for %s", q.RequestURI)
					}
				case "/orders":
					w.Header().Set("Set-Cookie", "sid=1; Path=/")
					w.Header().Set("Location", strings.ReplaceAll(c.location, "HOST", q.Host))
				default:
					asked.Add(1)
					got.Store(q.RequestURI)
					cookie.Store(q.Header.Get("Cookie"))
				}
			})
			switch {
			case c.want != "" && (r.Counts.OK != 3 || got.Load() != c.want || cookie.Load() != "sid=1"):
				t.Errorf("%s: %+v, %v with the cookie %v; %+v", c.location, r.Counts, got.Load(), cookie.Load(), r.Errors)
			case c.want == "" && (r.Counts.Failed != 1 || asked.Load() > 0 || r.Errors[0].Class != classRequest || !strings.Contains(r.Errors[0].Sample, "no host that only an answer names")):
				t.Errorf("%s: %+v, %d asked, %+v", c.location, r.Counts, asked.Load(), r.Errors)
			}
		}
	}
}

// feederFile writes users u0, u1 and so on.
func feederFile(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "u%d\n", i)
	}
	return scenarioFile(t, b.String())
}

// visitors are the users that a server saw: how often each began a round, and how often while it was still in.
type visitors struct {
	mu    sync.Mutex
	in    map[string]int
	begun map[string]int
	twice int
}

func (v *visitors) ServeHTTP(_ http.ResponseWriter, q *http.Request) {
	u := q.URL.Query().Get("u")
	v.mu.Lock()
	switch q.URL.Path {
	case "/in":
		if v.begun[u]++; v.in[u] > 0 {
			v.twice++
		}
		v.in[u]++
	case "/out":
		v.in[u]--
	}
	v.mu.Unlock()
	time.Sleep(2 * time.Millisecond)
}

// Rounds get the lines of a file in turn, each as often as the others, however many steps a round has and whichever shard
// has it; an exclusive line is with one round only; once each line is used one time, and the run ends.
func TestFeedersOfRounds(t *testing.T) {
	const steps = 4
	for _, c := range []struct {
		flags, words string
		lines        int
		rounds       int // for each line; 0: any
	}{
		{"--rate 2000/s -n 400", "", 50, 2},
		{"-c 5 -n 400", "", 50, 2},
		{"--rate 2000/s -n 400 --shard 2/3", "", 300, 1},
		{"--rate 2000/s -n 400", " exclusive", 2, 0}, // of 8 ms or more each: fewer than begin
		{"-c 5 -n 400", " exclusive", 5, 0},
		{"--rate 2000/s -n 400 --shard 1/2", " exclusive", 2, 0},
		{"--rate 2000/s -n 400", " once", 30, 1},
		{"-c 5 -n 400", " once", 30, 1},
		{"--rate 2000/s -n 400", " random", 20, 0},
	} {
		v := &visitors{in: map[string]int{}, begun: map[string]int{}}
		file := fmt.Sprintf("{{file %q%s}}", feederFile(t, c.lines), c.words)
		r := scenarioRun(t, c.flags, "GET /in?u="+file+"\n\nGET /a\n\nGET /b\n\nGET /out?u="+file+"\n", v.ServeHTTP)
		rounds, more := 0, 0
		if strings.HasPrefix(c.flags, "-c") && c.words != " once" {
			more = 4 // of 5 users, whose last rounds the end cuts
		}
		for u, n := range v.begun {
			if rounds += n; c.rounds > 0 && n != c.rounds && n != c.rounds+min(1, more) {
				t.Errorf("%s%s: %s began %d rounds, want %d", c.flags, c.words, u, n, c.rounds)
			}
		}
		want := 400 / steps
		switch {
		case c.words == " once":
			want = c.lines
		case strings.HasSuffix(c.flags, "2/3"):
			want = 34 // of 133 operations
		case strings.HasSuffix(c.flags, "1/2"):
			want = 50
		}
		if rounds < want || rounds > want+more || int(r.Counts.OK) < want*steps-3 || int(r.Counts.OK) > want*steps || strings.Contains(c.words, "exclusive") && v.twice > 0 {
			t.Errorf("%s%s: %d rounds, want %d, %d while the user was in; %+v, %+v", c.flags, c.words, rounds, want, v.twice, r.Counts, r.Errors)
		}
		if waited := r.Warned("lines_lent"); waited != (c.words == " exclusive" && strings.HasPrefix(c.flags, "--rate")) {
			t.Errorf("%s%s: %v", c.flags, c.words, r.Warnings)
		}
	}
}

// A line comes back when its round fails, and the end of the run does not wait for those that wait for one.
func TestExclusiveLinesComeBack(t *testing.T) {
	file := fmt.Sprintf("{{file %q exclusive}}", feederFile(t, 2))
	r := scenarioRun(t, "--rate 400/s -n 40", "GET /in?u="+file+"\n\nGET /out?u="+file+"\n", func(w http.ResponseWriter, q *http.Request) {
		w.WriteHeader(500)
	})
	if r.Counts.Failed != 20 || r.Counts.Dropped != 20 {
		t.Errorf("%+v, %+v", r.Counts, r.Errors)
	}
	r = scenarioRun(t, "--rate 100/s -n 20 --drain 100ms", "GET /in?u="+file+"\n", func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	if r.Counts.Unfinished != 20 {
		t.Errorf("%+v, %+v", r.Counts, r.Errors)
	}
	o := New()
	o.Scenario = scenarioFile(t, "GET /in?u="+file+"\n")
	e := engine.Defaults()
	e.Connections = 3
	o.Shape(&e)
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) != 1 || !strings.Contains(faults[0].Error(), "lends 2 lines to 3 users") {
		t.Errorf("%v", faults)
	}
}

// Values are encoded for the place where they are: a token with + in a form, and a name with quotes in JSON.
func TestEncodedValues(t *testing.T) {
	const token, name = "a+b/c==&d%41 e", `Anna "Ann" O'Neill \ x`
	var wrong atomic.Value
	r := scenarioRun(t, "-c 1 -n 6", `POST /login
@body user={{url file "`+scenarioFile(t, name+"\n")+`"}}
@capture token json token
@capture name json name

POST /orders?token={{url token}}
Authorization: Basic {{base64 name}}
@body {"name":"{{json name}}"}
`, func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		if q.URL.Path == "/login" {
			if v, err := url.ParseQuery(string(body)); err != nil || v.Get("user") != name {
				wrong.Store(string(body))
			}
			_ = json.NewEncoder(w).Encode(map[string]string{"token": token, "name": name})
			return
		}
		var order struct{ Name string }
		user, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(q.Header.Get("Authorization"), "Basic "))
		if json.Unmarshal(body, &order) != nil || order.Name != name || q.URL.Query().Get("token") != token || string(user) != name || err != nil {
			wrong.Store(fmt.Sprint(string(body), q.URL, string(user), err))
		}
	})
	if r.Counts.OK != 6 || wrong.Load() != nil {
		t.Errorf("%+v, %+v, %v", r.Counts, r.Errors, wrong.Load())
	}
}

// Lines of a file with characters that separate parts of a URL are said, unless they are encoded or meant so.
func TestFeederInURL(t *testing.T) {
	ok := func(http.ResponseWriter, *http.Request) {}
	for step, want := range map[string]bool{
		`GET /a?q={{file "tea & cake\nplain\n"}}`: true, `GET /a?q={{file "1+1\n"}}`: true, `GET /a?q={{url file "tea & cake\n"}}`: false,
		`GET {{file "/a?b=c&d\n"}}`: false, `GET /a?{{file "b=c&d=e\n"}}`: false, `POST /a\n@body {{file "tea & cake\n"}}`: false, `GET /a?q={{file "plain\n"}}`: false,
	} {
		before, rest, _ := strings.Cut(step, `file "`)
		lines, after, _ := strings.Cut(rest, `"`)
		lines = strings.ReplaceAll(strings.ReplaceAll(lines, " ", "%20"), `\n`, "\n")
		text := before + `file "` + scenarioFile(t, lines) + `"` + after
		r := scenarioRun(t, "-c 1 -n 2", strings.ReplaceAll(text, `\n`, "\n")+"\n", ok)
		if r.Warned("feeder_in_url") != want {
			t.Errorf("%s: %v, %+v", step, r.Warnings, r.Errors)
		}
	}
}

// The causes of a value that is not there are told apart, and only steps that ask for a body keep one.
func TestCausesOfCaptures(t *testing.T) {
	for path, want := range map[string]string{
		"/missing": "does not have it", "/empty": "no body", "/cut": "longer than the first 1 MiB", "/zstd": "takt does not decode", "/value": "the value is empty", "/text": "is not JSON",
		"/list": "", "/gzip": "",
	} {
		for _, flags := range protocols {
			r := scenarioRun(t, flags+"-c 1 -n 2", "GET "+path+"\n@capture t json t\n\nGET /{{t}}\n", func(w http.ResponseWriter, q *http.Request) {
				switch q.URL.Path {
				case "/missing":
					_, _ = io.WriteString(w, `{"u":1}`)
				case "/cut":
					_, _ = io.WriteString(w, `{"list":"`+strings.Repeat("x", 2<<20)+`","t":1}`)
				case "/list":
					_, _ = io.WriteString(w, `{"list":"`+strings.Repeat("x", 122<<10)+`","t":1}`)
				case "/zstd":
					w.Header().Set("Content-Encoding", "zstd")
					_, _ = io.WriteString(w, `{"t":1}`)
				case "/gzip":
					w.Header().Set("Content-Encoding", "gzip")
					z := gzip.NewWriter(w)
					_, _ = io.WriteString(z, `{"t":1}`)
					_ = z.Close()
				case "/value":
					_, _ = io.WriteString(w, `{"t":""}`)
				case "/text":
					_, _ = io.WriteString(w, `t`)
				}
			})
			switch {
			case want == "" && r.Counts.OK != 2:
				t.Errorf("%s: %+v, %+v", path, r.Counts, r.Errors)
			case want != "" && (len(r.Errors) != 1 || r.Errors[0].Class != classCapture || !strings.Contains(r.Errors[0].Sample, want)):
				t.Errorf("%s: %+v, want %s", path, r.Errors, want)
			}
		}
	}
}

// Redirects of a scenario are not followed, and the advice does not name a flag that is refused beside it.
func TestRedirectsOfScenarios(t *testing.T) {
	r := scenarioRun(t, "-c 1 -n 1", "GET /a\n", func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, "/b", http.StatusFound) })
	for _, w := range r.Warnings {
		if w.Code == "redirects" && (strings.Contains(w.Message, "--redirects") || !strings.Contains(w.Message, "@capture")) {
			t.Errorf("%s", w.Message)
		}
	}
	if !r.Warned("redirects") {
		t.Errorf("%v", r.Warnings)
	}
}

// A capture and a check may look for a value that the round has, also one that the same answer brought. Without the value the
// step fails before it is sent.
func TestValuesInSources(t *testing.T) {
	asked := atomic.Int64{}
	r := scenarioRun(t, "-c 3 -n 60 --seed 1", `GET /list
@capture id random json #.id
@capture name json #(id=={{id}}).name

GET /list
@name again
@check json #(id=={{id}}).name == {{name}}
@check json #(id=={{id}}).gone

GET /x
@optional
@capture late header X-Late

GET /list
@name never
@check json #(id=={{late}}).name
`, func(w http.ResponseWriter, q *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `[{"id":1,"name":"a"},{"id":2,"name":"b"},{"id":3,"name":"c","gone":1}]`)
	})
	rows := r.Extra["steps"].([]any)[1].(map[string]any)["checks"].([]any)
	first, second := rows[0].(map[string]any), rows[1].(map[string]any)
	if first["failed"] != 0.0 || first["passed"].(float64) < 10 || second["failed"].(float64) < 3 || second["passed"].(float64) < 1 {
		t.Errorf("%v", rows)
	}
	if never := r.Extra["steps"].([]any)[3].(map[string]any); never["ok"] != 0.0 || never["failed"].(float64) < 1 || asked.Load()+int64(never["failed"].(float64)) != int64(r.Counts.Scheduled) {
		t.Errorf("%v of %d, %+v", never, asked.Load(), r.Errors)
	}
}

// A file that a scenario names is in the working directory, or else beside the scenario.
func TestFilesBesideTheScenario(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.csv", "b.csv", "key.txt", "body.txt", "up.txt"} {
		write(filepath.Join(dir, name), "beside "+name)
	}
	write("b.csv", "here")
	path := filepath.Join(dir, "steps.txt")
	write(path, "POST /a?{{url file \"a.csv\"}}&{{url file \"b.csv\"}}&{{hmac sha1 \"key.txt\" .Seq}}\n@body.txt\n\nPOST /b\n@file f up.txt\n")
	o := New()
	o.Scenario = path
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) > 0 {
		t.Fatal(faults)
	}
	s := o.requests.(*scenario)
	first, upload := s.fill(s.visit(0), s.Steps[0].Target), s.fill(s.visit(0), s.Steps[1].Body)
	if !strings.HasPrefix(first, "/a?beside%20a.csv&here&") || s.fill(s.visit(0), s.Steps[0].Body) != "beside body.txt" || !strings.Contains(upload, "beside up.txt") {
		t.Errorf("%s, %s", first, upload)
	}
	write(path, "GET /{{file \"no.csv\"}}\n")
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) != 1 || !strings.Contains(faults[0].Error(), "not beside the scenario") {
		t.Errorf("%v", faults)
	}
}

// The row of each operation names its step, also of one that failed, that was not sent, and that the end of the run cut off.
func TestRowsNameTheirSteps(t *testing.T) {
	for _, flags := range []string{"--rate 300/s -n 30 --drain 300ms", "-c 3 -n 30 --drain 300ms"} {
		var mu sync.Mutex
		rows := map[string]float64{}
		calls := 0
		r := scenarioRows(t, flags, "POST /a\n\nGET /b\n\nGET /c\n", func(w http.ResponseWriter, q *http.Request) {
			mu.Lock()
			calls++
			n := calls
			mu.Unlock()
			switch {
			case n == 5:
				<-q.Context().Done()
			case n%7 == 0:
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}, func(_ []string, list []takt.Sample) {
			for _, s := range list {
				rows[fmt.Sprint(s.Step, " ", s.Class)]++
			}
		})
		unfinished := 0.0
		for i, one := range r.Extra["steps"].([]any) {
			step := one.(map[string]any)
			for class, name := range map[string]string{"": "ok", "5xx": "failed", takt.ClassDropped: "skipped"} {
				if got := rows[fmt.Sprint(i+1, " ", class)]; got != step[name] {
					t.Errorf("%s: step %d has %v rows of class %q, want %v; %v", flags, i+1, got, class, step[name], rows)
				}
			}
			unfinished += rows[fmt.Sprint(i+1, " ", takt.ClassUnfinished)]
		}
		if unfinished == 0 || unfinished != float64(r.Counts.Unfinished) || r.Counts.Failed == 0 {
			t.Errorf("%s: %v unfinished rows name a step; %+v", flags, unfinished, r.Counts)
		}
	}
}

// With --rounds a fixed file has the operations of the equivalent --rate: the same instants, and the same key. The report
// counts the rounds. In a file that reacts the two flags are the same.
func TestRoundsAreARate(t *testing.T) {
	const fixed = "GET /a\n\nGET /b\n@think 10ms\n\nGET /c\n"
	for _, c := range []struct {
		text, rounds, rate string
		want               string // of the rounds
	}{
		{fixed, "--rounds 100/s -n 20", "--rate 300/s -n 60", "map[asked_per_s:100 begun:20 completed:15 failed:5]"},
		{fixed, "--rounds 100/s -z 200ms --shard 2/3", "--rate 300/s -z 200ms --shard 2/3", "map[asked_per_s:100 begun:7 completed:5 failed:1]"},
		{fixed, "--rounds 50/s..150/s -z 200ms", "--rate 150/s..450/s -z 200ms", "map[begun:20 completed:15 failed:5]"},
		{fixed + "@optional\n", "--rounds 100/s -n 20", "--rate 100/s -n 20", "map[begun:20 completed:20 failed:0]"},
	} {
		run := func(flags string) (due []string, r *takt.Report) {
			var mu sync.Mutex
			third := 0
			r = scenarioRows(t, flags, c.text, func(w http.ResponseWriter, q *http.Request) {
				if mu.Lock(); q.URL.Path == "/c" {
					if third++; third%4 == 0 {
						w.WriteHeader(http.StatusServiceUnavailable)
					}
				}
				mu.Unlock()
			}, func(_ []string, list []takt.Sample) {
				for _, s := range list {
					due = append(due, fmt.Sprintf("%09d %d", s.Due, s.Step))
				}
			})
			slices.Sort(due)
			return due, r
		}
		due, r := run(c.rounds)
		want, other := run(c.rate)
		if !slices.Equal(due, want) || fmt.Sprint(r.Schedule) != fmt.Sprint(other.Schedule) {
			t.Errorf("%s: due %v, want %v; %+v, want %+v", c.rounds, due, want, r.Schedule, other.Schedule)
		}
		rounds := r.Extra["rounds"].(map[string]any)
		intended := rounds["intended_per_s"]
		delete(rounds, "intended_per_s")
		if got := fmt.Sprint(rounds); got != c.want || intended.(float64) <= 0 {
			t.Errorf("%s: %s at %v, want %s", c.rounds, got, intended, c.want)
		}
	}
}
